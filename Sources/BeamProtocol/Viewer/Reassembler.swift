import BeamMedia

/// Makes frames of datagrams, and hands them on in order, complete, and only if everything they refer to was handed
/// on before.
///
/// While a frame is missing those after it wait for it: for a second at most, or, where it can be asked for, as long as
/// that gets on. A complete newer keyframe ends the waiting at once. Once a frame is lost nothing is handed on until a keyframe.
///
/// A disposable frame, which nothing refers to, is waited for only until the frame after it is complete. Either frame's header
/// tells that it is one, so that a viewer knows it also of a frame of which nothing has come: such a frame was skipped by
/// the host, for this viewer, or lost. Where the two headers contradict each other the frame counts as needed. A host that
/// tells neither truth makes the decoder fail, and a keyframe mends that.
struct Reassembler: Sendable {
    struct Limits: Sendable {
        /// Frames in flight, and the memory reserved for them in bytes.
        var frames = 64
        var bytes = 32 << 20
        /// How long a frame may take from its first datagram until it is handed on.
        var patience = Duration.seconds(1)
        /// The same where what is missing can be asked for, as long as parts of it go on coming.
        var patienceWithRequests = Duration.seconds(5)
        /// Where so many frames are missing in a row, the link was down: a keyframe mends that sooner than all of them.
        var longestRepair = 32
        /// A keyframe so many frames behind is not late: the host has begun to count anew.
        var restartDistance = 256
        /// After so long without anything new, neither is any other keyframe behind.
        var restartSilence = Duration.milliseconds(500)
    }

    enum Position: Sendable {
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

    let limits: Limits
    private(set) var position = Position.unknown
    /// In the order of their numbers, none older than the position.
    private(set) var frames: [FrameAssembly] = []
    private var reserved = 0
    /// The newest number seen.
    private(set) var newest: SequenceNumber?
    /// Which of the host's streams this is; nil before the first datagram.
    private(set) var layer: UInt8?
    /// A keyframe was handed on: what is missing from there on is lost, not just before our time.
    private var hasBegun = false
    private var lastProgress: MediaTime?
    /// A keyframe behind the position: when it is complete, the host counts from there.
    private var restart: FrameAssembly?
    /// The newest frame that the host says it has sent, as long as nothing of it has come; and since when that is known.
    private(set) var awaited: (number: SequenceNumber, since: MediaTime)?
    /// The host has made disposable frames: a frame of which nothing comes may have been left out.
    private(set) var hasLayers = false
    /// The host sends again what it is asked for, and keyframes.
    let canAsk: Bool
    /// What is missing, and what was asked for.
    var requests = PartRequests()
    /// How what was sent has arrived: what the host's estimate of the path rests on. In the order in which it happened, until they are
    /// handed over. Empty where the host can't be told.
    private(set) var signs: [ArrivalSign] = []
    var statistics = ViewerStatistics()

    /// The most frames that count as lost in one go; a leap beyond that is no loss.
    private static let longestGap = 4096

    /// `canAsk` where the host sends a keyframe when it is asked.
    init(limits: Limits = Limits(), canAsk: Bool = false) { self.init(limits, canAsk, ViewerStatistics()) }

    private var patience: Duration { canAsk ? requests.timing.patience : limits.patience }

    /// When to call `expire`. Asked for with each datagram: nothing is allocated.
    var deadline: MediaTime? {
        var next = MediaTime.distantFuture
        if case .following = position {
            let index = firstNeeded.index
            if index < frames.count { next = end(of: frames[index]) }
        } else {
            next = frames.reduce(next) { min($0, end(of: $1)) }
        }
        if let awaited { next = min(next, awaited.since + patience) }
        return next < .distantFuture ? next : nil
    }

    /// When to give up a frame, and what waits for it. Where what is missing can be asked for, a frame isn't late as long as parts
    /// of it go on coming.
    private func end(of frame: FrameAssembly) -> MediaTime {
        guard canAsk else { return frame.firstSeen + patience }
        guard frame.unit == nil, frame.sequence == firstNeeded.number || frame.isStart else {
            return frame.firstSeen + patience
        }
        return min(frame.lastSeen + patience, frame.firstSeen + limits.patienceWithRequests)
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
        let timing = requests.timing
        let signs = signs
        self = Reassembler(limits, canAsk ?? self.canAsk, statistics)
        requests = PartRequests(timing: timing)
        self.signs = signs
        sign(.renumbered)
    }

    mutating func sign(_ sign: ArrivalSign) {
        if canAsk { signs.append(sign) }
    }

    /// Hands the signs over; their memory is used again.
    mutating func moveSigns(to log: inout ArrivalLog) {
        for sign in signs { log.note(sign) }
        signs.removeAll(keepingCapacity: true)
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
    mutating func refused(_ error: MediaDatagramError, wireLength: Int) { refused(wireLength: wireLength) }

    mutating func refused(wireLength: Int) {
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
        guard follow(layerOf: datagram.header.frame) else {
            statistics.duplicates += 1
            return true
        }
        note(datagram.header, wireLength: datagram.wireLength, now: now)
        let next = nextNumber(orBefore: sequence)
        let ahead = sequence.distance(from: next)
        guard ahead >= 0 else { return insertBehind(datagram, by: -ahead, now: now) }
        let index = place(sequence, datagram.header.frame, now: now) {
            FrameAssembly(for: datagram, isLate: $0, now: now)
        }
        guard let index else { return true }
        return inserted(index, now: now) { $0.insert(datagram, now: now) }
    }

    /// Takes parity in. False for what contradicts the frame's parts.
    mutating func insert(_ parity: ParityDatagram, now: MediaTime) -> Bool {
        countDatagram(parity.wireLength)
        let sequence = parity.header.sequence
        guard follow(layerOf: parity.header.frame) else {
            statistics.duplicates += 1
            return true
        }
        if canAsk {
            sign(.cameAgain(Feedback.Again(frame: sequence, part: Feedback.Again.parity), at: now))
            requests.parityCame(now: now)
        }
        // What it could repair was handed on or given up, or is too far away.
        guard sequence.distance(from: nextNumber(orBefore: sequence)) >= 0 else { return true }
        let index = place(sequence, parity.header.frame, now: now) { FrameAssembly(for: parity, isLate: $0, now: now) }
        guard let index else { return true }
        return inserted(index, now: now, isParity: true) { $0.insertParity(parity, now: now) }
    }

    /// Where the frame is being put together, or is from now on; nil if there is no room for it.
    private mutating func place(
        _ sequence: SequenceNumber, _ header: MediaHeader.Frame, now: MediaTime,
        begin: (_ isLate: Bool) -> FrameAssembly
    ) -> Int? {
        let next = nextNumber(orBefore: sequence)
        let ahead = sequence.distance(from: next)
        var index = frames.endIndex
        while index > 0, frames[index - 1].sequence.distance(from: next) >= ahead { index -= 1 }
        guard index == frames.endIndex || frames[index].sequence != sequence else { return index }
        let reservation = FrameAssembly.reservation(for: header)
        while frames.count >= limits.frames || bytesHeld + reservation > limits.bytes {
            // The oldest goes; but nothing newer for something older.
            guard index > 0 else { return nil }
            giveUp(0)
            index -= 1
        }
        let isLate = newest.map { sequence.distance(from: $0) < 0 } ?? false
        frames.insert(begin(isLate), at: index)
        if header.isDisposable || header.isAfterDisposable { hasLayers = true }
        reserved += frames[index].reservation
        if !isLate { newest = sequence }
        if let number = awaited?.number, sequence.distance(from: number) >= 0 { awaited = nil }
        return index
    }

    /// Puts something into a frame, and counts what comes of it.
    private mutating func inserted(
        _ index: Int, now: MediaTime, isParity: Bool = false, _ insert: (inout FrameAssembly) -> FrameAssembly.Insertion
    ) -> Bool {
        let before = frames[index].reservation
        let outcome = insert(&frames[index])
        reserved += frames[index].reservation - before
        switch outcome {
        case .inserted, .completed:
            lastProgress = now
        case .duplicate:
            // Parity that isn't needed is what one hopes for.
            statistics.duplicates += isParity ? 0 : 1
        case .malformedFrame:
            statistics.malformed += 1
            statistics.dropped += 1
            remove(index)
            return false
        case .contradiction:
            statistics.malformed += 1
            if frames[index].isEmpty { remove(index) }
            return false
        }
        return true
    }

    /// Whether the datagram is of the stream that is followed; a keyframe of another one is the beginning of that.
    private mutating func follow(layerOf header: MediaHeader.Frame) -> Bool {
        guard header.layer != layer else { return true }
        guard layer == nil || header.isStart else { return false }
        if layer != nil { reset() }
        layer = header.layer
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
        let layer = layer
        reset()
        self.layer = layer
        position = .searching(from: restarted.sequence)
        frames = [restarted]
        reserved = restarted.reservation
        newest = restarted.sequence
        lastProgress = now
    }

    // MARK: Out

    /// The next frame to decode, if it is there.
    mutating func nextFrame() -> ReceivedFrame? {
        if case .following(let next) = position {
            if frames.first?.sequence == next, let frame = takeFirst() { return frame }
            let needed = firstNeeded
            if needed.number != next, needed.index < frames.count, frames[needed.index].unit != nil {
                skip(to: needed)
                return takeFirst()
            }
        }
        // The newest complete keyframe, if any: whoever decodes it needs nothing older.
        guard let index = frames.lastIndex(where: { $0.unit != nil && $0.isStart }) else { return nil }
        advance(to: frames[index].sequence)
        hasBegun = true
        return takeFirst()
    }

    /// The first frame from the position on that is complete or can't be done without, and its place in `frames`, where it is or
    /// would be. Those before it, begun or not, are disposable, as the frame after each of them says.
    private var firstNeeded: (number: SequenceNumber?, index: Int) {
        guard case .following(var number) = position else { return (position.number, 0) }
        var index = 0
        while true {
            var following = index
            if index < frames.count, frames[index].sequence == number {
                guard frames[index].unit == nil, frames[index].header.isDisposable else { break }
                following += 1
            }
            guard following < frames.count, frames[following].sequence == number.next,
                frames[following].header.isAfterDisposable
            else { break }
            (number, index) = (number.next, following)
        }
        return (number, index)
    }

    /// Gives up the disposable frames before `target`, without a word to anybody.
    private mutating func skip(to target: (number: SequenceNumber?, index: Int)) {
        guard case .following(let next) = position, let number = target.number else { return }
        statistics.skipped += UInt64(clamping: number.distance(from: next))
        for frame in frames.prefix(target.index) {
            reserved -= frame.reservation
            statistics.reordered += frame.isReordered ? 1 : 0
            noteSkipped(frame)
        }
        frames.removeFirst(target.index)
        position = .following(next: number)
        requests.forget(before: number)
    }

    /// The first frame, if it is complete.
    private mutating func takeFirst() -> ReceivedFrame? {
        guard let complete = frames.first?.complete else { return nil }
        let frame = frames.removeFirst()
        reserved -= frame.reservation
        position = .following(next: frame.sequence.next)
        statistics.frames += 1
        statistics.keyframes += complete.isKeyframe ? 1 : 0
        statistics.reordered += frame.isReordered ? 1 : 0
        if frame.repaired > 0 { noteRepaired(frame, now: complete.lastArrival) }
        requests.forget(before: frame.sequence.next)
        return complete
    }

    /// Gives up the frames that have waited for too long, and those before them.
    mutating func expire(now: MediaTime) {
        while let index = indexOfLate(now: now) { giveUp(index) }
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

    private func indexOfLate(now: MediaTime) -> Int? {
        // Those behind the one that all wait for have time.
        if case .following = position {
            let needed = firstNeeded
            guard needed.index < frames.count else { return nil }
            let frame = frames[needed.index]
            // One that is complete is about to be handed on, once those before it have been given up.
            let isReady = frame.unit != nil && frame.sequence == needed.number
            return !isReady && end(of: frame) <= now ? needed.index : nil
        }
        return frames.firstIndex { end(of: $0) <= now }
    }

    /// Nothing that is missing can come any more in time: go on with a keyframe.
    mutating func giveUpRepairs() {
        guard case .following(let next) = position, let newest = newestKnown else { return }
        let target = frames.first { $0.isStart }?.sequence ?? newest.next
        guard target.distance(from: next) > 0 else { return }
        awaited = nil
        advance(to: target)
        position = .searching(from: target)
    }

    /// The frame at `index` will not be handed on, nor anything before it, nor anything after it up to a keyframe.
    private mutating func giveUp(_ index: Int) {
        let sequence = frames[index].sequence
        if case .following = position, frames[index].header.isDisposable,
            let needed = firstNeeded.number, needed.distance(from: sequence) >= 0
        {
            // Nothing refers to it: the next one goes on.
            skip(to: (sequence.next, index + 1))
        } else if let next = position.number, sequence.distance(from: next) <= limits.restartDistance {
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
        let needed = firstNeeded
        if let number = needed.number, sequence.distance(from: number) >= 0 { skip(to: needed) }
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
        requests.forget(before: sequence)
    }

    private mutating func remove(_ index: Int) {
        let frame = frames.remove(at: index)
        reserved -= frame.reservation
        requests.forget(frame.sequence)
        // Numbers go around: one that somebody made up would lie behind the others one day.
        if newest == frame.sequence { newest = frames.last?.sequence }
    }

    private mutating func countDropped(_ frame: FrameAssembly) {
        statistics.dropped += 1
        statistics.reordered += frame.isReordered ? 1 : 0
        if hasBegun { statistics.lost += UInt64(frame.missing) }
    }
}
