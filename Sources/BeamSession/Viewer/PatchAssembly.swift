import BeamMedia
import BeamWire

/// Joins the parts of exact patches, which come in any order, twice or not at all. A pure value.
struct PatchAssembly: Sendable {
    /// A patch of which all parts have arrived.
    struct Finished: Sendable, Equatable {
        var content: [UInt8]
        /// In µs of the host's clock.
        var hostTime: UInt64
        var pictureSize: PixelSize
    }

    /// The most patches and the most content in bytes that are kept while parts are missing, and for how long.
    private static let most = 32
    private static let mostBytes = 4 << 20
    private static let patience = Duration.seconds(1)
    /// The numbers of patches that were finished last, so that a part that comes late begins none of them anew.
    private static let remembered = 64

    private struct Patch: Sendable {
        var number: UInt32
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

    /// In the order in which they began.
    private var underWay: [Patch] = []
    private var finished = Ring<UInt32>(capacity: remembered, filler: 0)
    private var bytes = 0

    /// Returns the patch if this was its last part.
    mutating func insert(_ datagram: PatchDatagram, now: MediaTime) throws(PatchDatagramError) -> Finished? {
        forget(before: now - Self.patience)
        // Most patches are one datagram.
        guard !wasFinished(datagram.number) else { return nil }
        if datagram.partCount == 1 {
            guard !underWay.contains(where: { $0.number == datagram.number }) else { throw .contradiction }
            finished.append(datagram.number)
            return Finished(
                content: Array(datagram.content), hostTime: datagram.captureTime, pictureSize: datagram.pictureSize)
        }
        let index = begin(datagram, now: now)
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
        finished.append(patch.number)
        return Finished(
            content: Array(patch.parts.compactMap { $0 }.joined()), hostTime: patch.time,
            pictureSize: patch.pictureSize)
    }

    private func wasFinished(_ number: UInt32) -> Bool {
        for back in 0..<finished.count where finished[back: back] == number { return true }
        return false
    }

    private mutating func begin(_ datagram: PatchDatagram, now: MediaTime) -> Int {
        if let index = underWay.lastIndex(where: { $0.number == datagram.number }) { return index }
        if underWay.count == Self.most { _ = remove(0) }
        underWay.append(
            Patch(
                number: datagram.number, began: now, time: datagram.captureTime, pictureSize: datagram.pictureSize,
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
}
