import BeamMedia
import BeamWire

/// Joins the parts of exact patches, which come in any order, twice or not at all, and asks again for changes. A pure
/// value.
///
/// Repairs aren't asked for again here: the window asks for what it lacks.
struct PatchAssembly: Sendable {
    /// A patch of which all parts have arrived.
    struct Finished: Sendable, Equatable {
        var content: [UInt8]
        /// In µs of the host's clock.
        var hostTime: UInt64
        var pictureSize: PixelSize
        var isRepair: Bool
    }

    /// The most patches and the most content in bytes that are kept while parts are missing, and for how long.
    private static let most = 32
    private static let mostBytes = 4 << 20
    private static let patience = Duration.seconds(1)
    /// The numbers of patches that were finished last, so that a part that comes late begins none of them anew.
    private static let remembered = 64
    /// A part counts as lost if it hasn't come so long after a later one: datagrams overtake each other.
    private static let reordering = Duration.milliseconds(2)
    /// It is asked for again after so much more than a round trip, and so often.
    private static let leastRepeat = Duration.milliseconds(6)
    private static let mostRequests = 5
    /// Changes further apart than this say that much was lost, or that the host begins anew: frames show them.
    private static let longestGap: UInt32 = 64

    private struct Name: Hashable, Sendable {
        var number: UInt32
        var isRepair: Bool
    }

    private struct Patch: Sendable {
        var name: Name
        var began: MediaTime
        var time: UInt64
        var pictureSize: PixelSize
        /// Nil: it hasn't arrived.
        var parts: [[UInt8]?]
        var missing: Int
        var bytes = 0
        /// The length of all parts but the last; nil until one of them has arrived.
        var partLength: Int?
    }

    /// A change that isn't complete.
    private struct Gap: Sendable {
        var number: UInt32
        /// When it is asked for next.
        var due: MediaTime
        var requests = 0
    }

    /// In the order in which they began.
    private var underWay: [Patch] = []
    private var finished = Ring<Name>(capacity: remembered, filler: Name(number: 0, isRepair: true))
    private var bytes = 0
    /// The newest change that is known of, and those before it that are missing.
    private var newest: UInt32?
    private var gaps: [Gap] = []
    var roundTrip: Duration?

    /// Returns the patch if this was its last part.
    mutating func insert(_ datagram: PatchDatagram, now: MediaTime) throws(PatchDatagramError) -> Finished? {
        forget(before: now - Self.patience)
        let name = Name(number: datagram.number, isRepair: datagram.isRepair)
        guard !wasFinished(name) else { return nil }
        if !datagram.isRepair {
            expect(datagram.number, now: now)
            note(datagram.number, due: now + Self.reordering)
        }
        // Most patches are one datagram.
        if datagram.partCount == 1 {
            guard !underWay.contains(where: { $0.name == name }) else { throw .contradiction }
            finish(name)
            return Finished(
                content: Array(datagram.content), hostTime: datagram.captureTime, pictureSize: datagram.pictureSize,
                isRepair: datagram.isRepair)
        }
        let index = begin(datagram, name, now: now)
        guard underWay[index].parts.count == datagram.partCount, underWay[index].time == datagram.captureTime,
            underWay[index].pictureSize == datagram.pictureSize
        else { throw .contradiction }
        guard underWay[index].parts[datagram.part] == nil else { return nil }
        if datagram.part < datagram.partCount - 1 {
            guard underWay[index].partLength ?? datagram.content.count == datagram.content.count else {
                throw .contradiction
            }
            underWay[index].partLength = datagram.content.count
        }
        let total = underWay[index].bytes + datagram.content.count
        guard total <= PatchLimits.contentLength else { throw .tooLong(total) }
        underWay[index].parts[datagram.part] = Array(datagram.content)
        underWay[index].bytes = total
        underWay[index].missing -= 1
        bytes += datagram.content.count
        guard underWay[index].missing == 0 else {
            limit()
            return nil
        }
        let patch = remove(index)
        finish(name)
        return Finished(
            content: Array(patch.parts.compactMap { $0 }.joined()), hostTime: patch.time,
            pictureSize: patch.pictureSize, isRepair: name.isRepair)
    }

    private func wasFinished(_ name: Name) -> Bool {
        for back in 0..<finished.count where finished[back: back] == name { return true }
        return false
    }

    private mutating func finish(_ name: Name) {
        finished.append(name)
        if !name.isRepair { gaps.removeAll { $0.number == name.number } }
    }

    private mutating func begin(_ datagram: PatchDatagram, _ name: Name, now: MediaTime) -> Int {
        if let index = underWay.lastIndex(where: { $0.name == name }) { return index }
        if underWay.count == Self.most { _ = remove(0) }
        underWay.append(
            Patch(
                name: name, began: now, time: datagram.captureTime, pictureSize: datagram.pictureSize,
                parts: Array(repeating: nil, count: datagram.partCount), missing: datagram.partCount))
        return underWay.count - 1
    }

    /// The oldest go first.
    private mutating func limit() {
        while bytes > Self.mostBytes, !underWay.isEmpty { _ = remove(0) }
    }

    private mutating func forget(before time: MediaTime) {
        while let first = underWay.first, first.began < time { _ = remove(0) }
    }

    private mutating func remove(_ index: Int) -> Patch {
        let patch = underWay.remove(at: index)
        bytes -= patch.bytes
        return patch
    }

    // MARK: Changes that are missing

    /// The host has sent the change of that number, and all before it.
    mutating func announced(_ number: UInt32, now: MediaTime) {
        // Of what was sent before this viewer got patches nothing is missing, unless it is the host's first.
        guard newest != nil || number == 0 else { return newest = number }
        expect(number, now: now)
    }

    /// That change has left, and so have all before it.
    private mutating func expect(_ number: UInt32, now: MediaTime) {
        let due = now + Self.reordering
        guard let newest else {
            self.newest = number
            return gaps.append(Gap(number: number, due: due))
        }
        let distance = number &- newest
        if distance > Self.longestGap {
            // It is an old one, or too much was lost.
            guard distance < 1 << 31 else { return }
            gaps.removeAll()
            self.newest = number
            return gaps.append(Gap(number: number, due: due))
        }
        for next in 0..<distance { gaps.append(Gap(number: newest &+ 1 &+ next, due: due)) }
        self.newest = number
        if gaps.count > Int(Self.longestGap) { gaps.removeFirst(gaps.count - Int(Self.longestGap)) }
    }

    /// A part has come: the others aren't asked for before `due`.
    private mutating func note(_ number: UInt32, due: MediaTime) {
        if let index = gaps.firstIndex(where: { $0.number == number }) { gaps[index].due = max(gaps[index].due, due) }
    }

    /// When something has to be asked for.
    var deadline: MediaTime? { gaps.lazy.map(\.due).min() }

    /// What to ask for now.
    mutating func takeRequests(now: MediaTime) -> [Feedback.MissingChange] {
        var requests: [Feedback.MissingChange] = []
        let pause = max(Self.leastRepeat, (roundTrip ?? .zero) * 3 / 2)
        for index in gaps.indices.reversed() where gaps[index].due <= now {
            guard gaps[index].requests < Self.mostRequests else {
                gaps.remove(at: index)
                continue
            }
            guard requests.count < Feedback.mostMissingChanges else { break }
            gaps[index].requests += 1
            gaps[index].due = now + pause
            requests += missingParts(of: gaps[index].number)
        }
        return Array(requests.prefix(Feedback.mostMissingChanges))
    }

    private func missingParts(of number: UInt32) -> [Feedback.MissingChange] {
        let name = Name(number: number, isRepair: false)
        guard let patch = underWay.first(where: { $0.name == name }) else { return [.init(number: number)] }
        var ranges: [Range<Int>] = []
        for (part, content) in patch.parts.enumerated() where content == nil {
            if let last = ranges.last, last.upperBound == part {
                ranges[ranges.count - 1] = last.lowerBound..<part + 1
            } else {
                ranges.append(part..<part + 1)
            }
        }
        return ranges.map { .init(number: number, parts: $0) }
    }
}
