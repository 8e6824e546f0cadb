import BeamMedia
import BeamWire

/// Where the host's pointer is, by its datagrams, which come in any order, twice or not at all. A pure value.
struct PointerReceiver: Sendable {
    /// How long a look that isn't here is waited for before it is asked for: its datagrams came with the place's, in
    /// another order or not at all.
    private static let patience = Duration.milliseconds(20)
    /// The pause before it is asked for again. It doubles each time that nothing of a look comes, up to so often.
    private static let leastPause = Duration.milliseconds(100)
    private static let mostDoublings = 3
    /// The most looks of which some pixels are missing.
    private static let mostUnderWay = 4

    private struct Partial: Sendable {
        let number: UInt32
        let size: PixelSize
        let hotspot: PixelPoint
        var pixels: [UInt32]
        var hasPixel: [Bool]
        var missing: Int

        init(_ part: PointerLookPart) {
            number = part.number
            size = part.size
            hotspot = part.hotspot
            pixels = Array(repeating: 0, count: part.size.area)
            hasPixel = Array(repeating: false, count: part.size.area)
            missing = part.size.area
        }

        /// Returns whether there was something new in it.
        mutating func take(_ part: PointerLookPart) -> Bool {
            let before = missing
            for index in 0..<part.pixels.count / 4 where !hasPixel[part.first + index] {
                hasPixel[part.first + index] = true
                pixels[part.first + index] = UInt32(
                    littleEndian: part.pixels.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
                missing -= 1
            }
            return missing < before
        }
    }

    private var place: PointerPlace?
    /// Those that are complete, the one that was used last at the end.
    private var looks: [(number: UInt32, look: PointerLook)] = []
    private var lookBytes = 0
    /// In the order in which they began.
    private var underWay: [Partial] = []
    /// The look that was shown last, which stands for one that hasn't come yet.
    private var lastLook: PointerLook?
    /// Since when the look of the present place is lacking. It stays if the next place has another look that is
    /// lacking.
    private var lackingSince: MediaTime?
    private var askedAt: MediaTime?
    /// How often it was asked since something of a look came.
    private var unanswered = 0

    /// What is to be shown.
    private(set) var pointer = ScreenPointer.inPicture

    /// Returns whether `pointer` has changed.
    mutating func insert(_ datagram: PointerDatagram, now: MediaTime) throws(PointerDatagramError) -> Bool {
        switch datagram {
        case .place(let next):
            if let place, next.sequence.distance(from: place.sequence) <= 0 { return false }
            place = next
        case .look(let part):
            guard try take(part) else { return false }
            unanswered = 0
        }
        return update(now: now)
    }

    private mutating func update(now: MediaTime) -> Bool {
        guard let place else { return false }
        let before = pointer
        var isLacking = false
        switch place.visibility {
        case .inPicture: pointer = .inPicture
        case .hidden: pointer = .hidden
        case .shown:
            let look = use(place.look)
            isLacking = look == nil
            lastLook = look ?? lastLook
            pointer = lastLook.map { .shown($0, at: place.point, in: place.pictureSize) } ?? .hidden
        }
        lackingSince = isLacking ? lackingSince ?? now : nil
        return pointer != before
    }

    /// The look of that number, if it is complete.
    private mutating func use(_ number: UInt32) -> PointerLook? {
        guard let index = looks.lastIndex(where: { $0.number == number }) else { return nil }
        if index < looks.count - 1 { looks.append(looks.remove(at: index)) }
        return looks.last?.look
    }

    // MARK: Looks

    /// Returns whether it had something new.
    private mutating func take(_ part: PointerLookPart) throws(PointerDatagramError) -> Bool {
        guard !looks.contains(where: { $0.number == part.number }) else { return false }
        var index = underWay.firstIndex { $0.number == part.number }
        if index == nil {
            if underWay.count == Self.mostUnderWay { underWay.removeFirst() }
            underWay.append(Partial(part))
            index = underWay.count - 1
        }
        guard let index else { return false }
        guard underWay[index].size == part.size, underWay[index].hotspot == part.hotspot else { throw .contradiction }
        guard underWay[index].take(part) else { return false }
        if underWay[index].missing == 0 {
            let whole = underWay.remove(at: index)
            if let look = PointerLook(size: whole.size, hotspot: whole.hotspot, pixels: whole.pixels) {
                keep(look, number: whole.number)
            }
        }
        return true
    }

    private mutating func keep(_ look: PointerLook, number: UInt32) {
        looks.append((number, look))
        lookBytes += look.byteCount
        while looks.count > PointerLimits.looks || lookBytes > PointerLimits.lookBytes {
            lookBytes -= looks.removeFirst().look.byteCount
        }
    }

    /// How much is kept: whole looks, their bytes, and looks under way.
    var kept: (looks: Int, bytes: Int, underWay: Int) { (looks.count, lookBytes, underWay.count) }

    // MARK: What is lacking

    /// When the host is to be asked for a look; nil: none is lacking.
    var deadline: MediaTime? {
        guard let lackingSince else { return nil }
        let due = lackingSince + Self.patience
        return askedAt.map { max(due, $0 + pause) } ?? due
    }

    private var pause: Duration { Self.leastPause * (1 << min(max(0, unanswered - 1), Self.mostDoublings)) }

    /// The number of the look to ask for now.
    mutating func takeRequest(now: MediaTime) -> UInt32? {
        guard let place, let deadline, deadline <= now else { return nil }
        askedAt = now
        unanswered += 1
        return place.look
    }
}

extension PointerLook {
    /// What its pixels take, in bytes.
    var byteCount: Int { 4 * pixels.count }
}
