import BeamMedia
import BeamWire

/// The pointer of what is shared, as viewers are told: its place, numbered, and the looks that they may ask for. A pure
/// value.
struct PointerStream: Sendable {
    /// When the last place is sent again if no other comes: a lost one must not stay wrong. Those who miss all of these
    /// get it with the answer to their next hello.
    private static let repeats: [Duration] = [.milliseconds(20), .milliseconds(100)]

    /// The last place; nil: nothing was told yet.
    private(set) var place: PointerPlace?
    /// The one that was used last at the end.
    private var looks: [(number: UInt32, look: PointerLook)] = []
    private var lookBytes = 0
    private var nextLook: UInt32 = 1
    private var since = MediaTime.zero
    /// How often the last place was sent again.
    private var repeated = repeats.count

    /// Takes where the pointer is now. Returns the number of its look if nobody has that yet.
    mutating func take(_ pointer: ScreenPointer, now: MediaTime) -> UInt32? {
        var next = PointerPlace(
            sequence: place?.sequence.next ?? SequenceNumber(0),
            visibility: pointer == .inPicture ? .inPicture : .hidden)
        var newLook: UInt32?
        if case .shown(let look, let point, let size) = pointer {
            let (number, isNew) = number(of: look)
            newLook = isNew ? number : nil
            (next.visibility, next.look, next.point, next.pictureSize) = (.shown, number, point, size)
        }
        place = next
        (since, repeated) = (now, 0)
        return newLook
    }

    /// When the last place is to be sent again.
    var deadline: MediaTime? { repeated < Self.repeats.count ? since + Self.repeats[repeated] : nil }

    /// Returns whether the last place is to be sent again now.
    mutating func deadlineReached(now: MediaTime) -> Bool {
        guard let deadline, deadline <= now else { return false }
        repeated += 1
        return true
    }

    // MARK: Looks

    func look(_ number: UInt32) -> PointerLook? { looks.last { $0.number == number }?.look }

    private mutating func number(of look: PointerLook) -> (UInt32, isNew: Bool) {
        if let index = looks.lastIndex(where: { $0.look == look }) {
            let known = looks[index].number
            if index < looks.count - 1 { looks.append(looks.remove(at: index)) }
            return (known, false)
        }
        let number = nextLook
        nextLook &+= 1
        looks.append((number, look))
        lookBytes += look.byteCount
        while looks.count > PointerLimits.looks || lookBytes > PointerLimits.lookBytes {
            lookBytes -= looks.removeFirst().look.byteCount
        }
        return (number, true)
    }
}
