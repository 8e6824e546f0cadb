import BeamMedia

/// Makes frames of datagrams, and hands them on in order, complete, and only if everything they refer to was handed
/// on before.
///
/// While a frame is missing those after it wait for it, for a second at most; a complete newer keyframe ends the
/// waiting at once. Once a frame is lost nothing is handed on until a keyframe.
struct Reassembler: Sendable {
    struct Limits: Sendable {
        /// Frames in flight, and the memory reserved for them in bytes.
        var frames = 64
        var bytes = 32 << 20
        /// How long a frame may take from its first datagram until it is handed on.
        var patience = Duration.seconds(1)
        /// The same where a keyframe can be asked for: what is late by more is lost on any local network.
        var patienceWithRequests = Duration.milliseconds(100)
        /// A keyframe so many frames behind is not late: the host has begun to count anew.
        var restartDistance = 256
        /// After so long without anything new, neither is any other keyframe behind.
        var restartSilence = Duration.milliseconds(500)
    }

    private enum Position: Sendable {
        /// Nothing has come yet.
        case unknown
        /// Nothing makes sense but a keyframe, of this number or a later one.
        case searching(from: SequenceNumber)
        /// The frame before `next` was handed on.
        case following(next: SequenceNumber)

        var number: SequenceNumber? {
            switch self {
            case .unknown: nil
            case .searching(let next), .following(let next): next
            }
        }
    }

    private let limits: Limits
    private var position = Position.unknown
    /// In the order of their numbers, none older than the position.
    private var frames: [FrameAssembly] = []
    private var reserved = 0
    /// The newest number seen.
    private var newest: SequenceNumber?
    /// A keyframe was handed on: what is missing from there on is lost, not just before our time.
    private var hasBegun = false
    private var lastProgress: MediaTime?
    /// A keyframe behind the position: when it is complete, the host counts from there.
    private var restart: FrameAssembly?
    /// The newest frame that the host says it has sent, as long as nothing of it has come; and since when that is known.
    private var awaited: (number: SequenceNumber, since: MediaTime)?
    /// The host sends a keyframe when it is asked.
    private let canAsk: Bool
    private(set) var statistics = ViewerStatistics()

    /// The most frames that count as lost in one go; a leap beyond that is no loss.
    private static let longestGap = 4096

    /// `canAsk` where the host sends a keyframe when it is asked.
    init(limits: Limits = Limits(), canAsk: Bool = false) { self.init(limits, canAsk, ViewerStatistics()) }

    private var patience: Duration { canAsk ? limits.patienceWithRequests : limits.patience }

    /// When to call `expire`.
    var deadline: MediaTime? {
        // Asked for with each datagram: nothing is allocated.
        let oldest = frames.reduce(awaited?.since ?? .distantFuture) { min($0, $1.firstSeen) }
        return oldest < .distantFuture ? oldest + patience : nil
    }

    /// The frame after which a keyframe is needed, as long as nothing else goes on and none is on its way.
    var keyframeNeededAfter: SequenceNumber? {
        guard case .searching(let next) = position, !frames.contains(where: \.isStart) else { return nil }
        let last = SequenceNumber(next.value &- 1)
        return newest.map { $0.distance(from: last) > 0 ? $0 : last } ?? last
    }

    var framesInFlight: Int { frames.count }
    /// Memory reserved, in bytes.
    var bytesHeld: Int { reserved + (restart?.reservation ?? 0) }

    /// Another host, or another session: nothing of what is there is of use. The totals go on. `canAsk` where the host
    /// sends a keyframe when it is asked; nil: as before.
    mutating func reset(canAsk: Bool? = nil) {
        for index in frames.indices { countDropped(frames[index]) }
        self = Reassembler(limits, canAsk ?? self.canAsk, statistics)
    }

    private init(_ limits: Limits, _ canAsk: Bool, _ statistics: ViewerStatistics) {
        self.limits = limits
        self.canAsk = canAsk
        self.statistics = statistics
    }

    /// The decoder lacks a frame that was handed on: go on with the next keyframe.
    mutating func decoderFailed() {
        if case .following(let next) = position { position = .searching(from: next) }
    }

    /// The host says that it has sent the frames up to `number`.
    mutating func announced(_ number: SequenceNumber, now: MediaTime) {
        guard let next = position.number else {
            // Those were sent before our time, or else nothing of ours has come.
            awaited = awaited ?? (number, now)
            return
        }
        let isNews = newest.map { number.distance(from: $0) > 0 } ?? true
        let ahead = number.distance(from: next)
        guard isNews, ahead >= 0, ahead <= limits.restartDistance, awaited?.number != number else { return }
        awaited = (number, now)
    }

    // MARK: In

    /// Takes a version 1 datagram in. False for one that isn't of the protocol.
    mutating func insert(_ bytes: UnsafeRawBufferPointer, now: MediaTime) -> Bool {
        do throws(MediaDatagramError) {
            return insert(try MediaDatagram(bytes), now: now)
        } catch {
            refused(error, wireLength: bytes.count)
            return false
        }
    }

    /// A datagram of so many bytes came, and is none.
    mutating func refused(_ error: MediaDatagramError, wireLength: Int) {
        countDatagram(wireLength)
        statistics.malformed += 1
    }

    /// A sealed datagram of so many bytes came, and can't be used.
    mutating func refused(_ error: SealedDatagramError, wireLength: Int) {
        countDatagram(wireLength)
        switch error {
        case .replayed, .tooOld: statistics.duplicates += 1
        case .length, .kind, .reserved, .unknownKey, .forged: statistics.malformed += 1
        }
    }

    private mutating func countDatagram(_ wireLength: Int) {
        statistics.datagrams += 1
        statistics.bytes += UInt64(wireLength)
    }

    /// Takes a datagram in, of either version. False for one that contradicts others, or makes no frame.
    mutating func insert(_ datagram: MediaDatagram, now: MediaTime) -> Bool {
        countDatagram(datagram.wireLength)
        let sequence = datagram.header.sequence
        let next = nextNumber(orBefore: sequence)
        let ahead = sequence.distance(from: next)
        guard ahead >= 0 else { return insertBehind(datagram, by: -ahead, now: now) }

        var index = frames.endIndex
        while index > 0, frames[index - 1].sequence.distance(from: next) >= ahead { index -= 1 }
        if index == frames.endIndex || frames[index].sequence != sequence {
            let reservation = FrameAssembly.reservation(for: datagram.header.frame)
            while frames.count >= limits.frames || bytesHeld + reservation > limits.bytes {
                // The oldest goes; but nothing newer for something older.
                guard index > 0 else { return true }
                giveUp(0)
                index -= 1
            }
            let isLate = newest.map { sequence.distance(from: $0) < 0 } ?? false
            frames.insert(FrameAssembly(for: datagram, isLate: isLate, now: now), at: index)
            reserved += reservation
            if !isLate { newest = sequence }
            if let number = awaited?.number, sequence.distance(from: number) >= 0 { awaited = nil }
        }
        switch frames[index].insert(datagram, now: now) {
        case .inserted, .completed:
            lastProgress = now
        case .duplicate:
            statistics.duplicates += 1
        case .malformedFrame:
            statistics.malformed += 1
            statistics.dropped += 1
            remove(index)
            return false
        case .contradiction:
            statistics.malformed += 1
            if frames[index].received == 0 { remove(index) }
            return false
        }
        return true
    }

    /// The position's number. With the first datagram, one that leaves room for frames that were sent before it.
    private mutating func nextNumber(orBefore first: SequenceNumber) -> SequenceNumber {
        if let next = position.number { return next }
        let next = SequenceNumber(first.value &- UInt32(limits.frames))
        position = .searching(from: next)
        return next
    }

    /// A datagram of a frame that was handed on or given up; or of a host that has begun to count anew.
    private mutating func insertBehind(_ datagram: MediaDatagram, by distance: Int, now: MediaTime) -> Bool {
        let isQuiet = !hasBegun || lastProgress.map { now - $0 > limits.restartSilence } ?? true
        guard datagram.header.frame.isStart, distance > limits.restartDistance || isQuiet else {
            statistics.duplicates += 1
            return true
        }
        let isOld = restart.map { now - $0.firstSeen > patience } ?? true
        if isOld || restart?.sequence != datagram.header.sequence {
            restart = nil
            guard bytesHeld + FrameAssembly.reservation(for: datagram.header.frame) <= limits.bytes else { return true }
            restart = FrameAssembly(for: datagram, isLate: false, now: now)
        }
        switch restart?.insert(datagram, now: now) {
        case .completed:
            if let restart { follow(restart, now: now) }
        case .duplicate:
            statistics.duplicates += 1
        case .contradiction, .malformedFrame:
            statistics.malformed += 1
            restart = nil
            return false
        case .inserted, nil:
            break
        }
        return true
    }

    private mutating func follow(_ restarted: FrameAssembly, now: MediaTime) {
        reset()
        position = .searching(from: restarted.sequence)
        frames = [restarted]
        reserved = restarted.reservation
        newest = restarted.sequence
        lastProgress = now
    }

    // MARK: Out

    /// The next frame to decode, if it is there.
    mutating func nextFrame() -> AccessUnit? {
        if case .following(let next) = position, frames.first?.sequence == next, let unit = takeFirst() { return unit }
        // The newest complete keyframe, if any: whoever decodes it needs nothing older.
        guard let index = frames.lastIndex(where: { $0.unit != nil && $0.isStart }) else { return nil }
        advance(to: frames[index].sequence)
        hasBegun = true
        return takeFirst()
    }

    /// The first frame, if it is complete.
    private mutating func takeFirst() -> AccessUnit? {
        guard let unit = frames.first?.unit else { return nil }
        let frame = frames.removeFirst()
        reserved -= frame.reservation
        position = .following(next: frame.sequence.next)
        statistics.frames += 1
        statistics.keyframes += unit.isKeyframe ? 1 : 0
        statistics.reordered += frame.isReordered ? 1 : 0
        return unit
    }

    /// Gives up the frames that have waited for too long, and those before them.
    mutating func expire(now: MediaTime) {
        while let index = frames.firstIndex(where: { $0.firstSeen + patience <= now }) { giveUp(index) }
        guard let (number, since) = awaited, since + patience <= now else { return }
        awaited = nil
        guard let next = position.number else {
            position = .searching(from: number.next)
            return
        }
        guard number.distance(from: next) >= 0 else { return }
        advance(to: number.next)
        position = .searching(from: number.next)
    }

    /// The frame at `index` will not be handed on, nor anything before it, nor anything after it up to a keyframe.
    private mutating func giveUp(_ index: Int) {
        let sequence = frames[index].sequence
        if let next = position.number, sequence.distance(from: next) <= limits.restartDistance {
            advance(to: sequence.next)
            position = .searching(from: sequence.next)
        } else {
            // A leap, or a number that somebody made up: don't follow it.
            countDropped(frames[index])
            remove(index)
        }
    }

    /// Gives up everything before `sequence`, which the caller goes on from.
    private mutating func advance(to sequence: SequenceNumber) {
        guard let next = position.number else { return }
        let count = frames.firstIndex { $0.sequence.distance(from: next) >= sequence.distance(from: next) }
        let passed = frames.prefix(count ?? frames.count)
        let unseen = sequence.distance(from: next) - passed.count
        if hasBegun { statistics.lost += UInt64(max(0, min(unseen, Self.longestGap))) }
        for frame in passed {
            countDropped(frame)
            reserved -= frame.reservation
        }
        frames.removeFirst(passed.count)
    }

    private mutating func remove(_ index: Int) {
        reserved -= frames.remove(at: index).reservation
    }

    private mutating func countDropped(_ frame: FrameAssembly) {
        statistics.dropped += 1
        statistics.reordered += frame.isReordered ? 1 : 0
        if hasBegun { statistics.lost += UInt64(frame.missing) }
    }
}
