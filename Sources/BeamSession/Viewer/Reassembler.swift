import BeamMedia
import BeamWire

/// Reassembles frames from datagrams, and delivers them in order, complete, and only if everything they refer to was
/// delivered before.
///
/// While a frame is missing, later ones wait for it: at most a second, or, where parts can be requested, as long as
/// they keep arriving. A complete newer keyframe ends the waiting. Once a frame is lost, nothing is delivered until a
/// keyframe.
///
/// A disposable frame, which nothing refers to, is waited for only until the frame after it is complete. Its own header
/// and the next frame's both say that it is disposable, so that this is known even if nothing of it has arrived: the
/// host skipped it for this viewer, or it was lost. Where the headers contradict each other the frame counts as needed.
/// If a host lies in both, decoding fails, and a keyframe restores the picture.
struct Reassembler: Sendable {
    enum Position: Sendable {
        /// Nothing has arrived yet.
        case unknown
        /// Only a keyframe with this number or a later one can be decoded.
        case searching(from: SequenceNumber)
        /// The frame before `next` was delivered.
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
    /// Sorted by number, none older than the position.
    private(set) var frames: [FrameAssembly] = []
    private var reserved = 0
    /// The newest number that has arrived.
    private(set) var newest: SequenceNumber?
    /// The simulcast layer; nil before the first datagram.
    private(set) var layer: UInt8?
    /// A keyframe was delivered: what is missing after it counts as lost, and isn't just from before this viewer
    /// joined.
    private var hasBegun = false
    private var lastProgress: MediaTime?
    /// A keyframe behind the position. When it is complete, the host's restarted numbering is followed from there.
    private var restart: FrameAssembly?
    /// The newest frame that the host says it has sent, while nothing of it has arrived; and when the host said so.
    private(set) var announcedFrame: (number: SequenceNumber, since: MediaTime)?
    /// The host makes disposable frames, so a frame of which nothing arrives may have been skipped.
    private(set) var hasDisposableFrames = false
    /// Parts and keyframes can be requested (version 2).
    let canAsk: Bool
    var requests = PartRequests()
    /// Arrivals for the reports to the host, in order, until `moveArrivalEvents` takes them. Empty where the host can't
    /// be told (version 1).
    private(set) var arrivalEvents: [ArrivalEvent] = []
    var statistics = ViewerStatistics()

    /// The most frames that one gap counts as lost; a larger leap in the numbers isn't loss.
    private static let longestGap = 4096

    /// `canAsk`: parts and keyframes can be requested.
    init(limits: Limits = Limits(), canAsk: Bool = false) { self.init(limits, canAsk, ViewerStatistics()) }

    private var timeout: Duration { canAsk ? requests.timing.timeout : limits.timeout }

    /// When to call `expire`. Read with each datagram: nothing is allocated.
    var deadline: MediaTime? {
        var next = MediaTime.distantFuture
        if case .following = position {
            let index = firstNeeded.index
            if index < frames.count { next = end(of: frames[index]) }
        } else {
            next = frames.reduce(next) { min($0, end(of: $1)) }
        }
        if let announcedFrame { next = min(next, announcedFrame.since + announcementTimeout) }
        return next < .distantFuture ? next : nil
    }

    /// How long nothing may arrive of a frame that the host says it has sent. Of the first one of all, nothing is worth
    /// recovering.
    private var announcementTimeout: Duration {
        if case .unknown = position { min(timeout, ViewerTiming.firstFrameTimeout) } else { timeout }
    }

    /// The host has newer frames than the last one that was complete.
    var isBehind: Bool {
        switch position {
        case .unknown: announcedFrame != nil
        case .searching: true
        case .following(let next): newestKnown.map { $0.distance(from: next) >= 0 } ?? false
        }
    }

    /// When to give up a frame. Where parts can be requested, it isn't late as long as parts of it keep arriving.
    private func end(of frame: FrameAssembly) -> MediaTime {
        guard canAsk else { return frame.firstSeen + timeout }
        guard frame.unit == nil, frame.sequence == firstNeeded.number || frame.isStart else {
            return frame.firstSeen + timeout
        }
        return min(frame.lastSeen + timeout, frame.firstSeen + limits.timeoutWithRequests)
    }

    /// The frame after which a keyframe is needed; nil unless decoding has stopped and no keyframe is arriving.
    var keyframeNeededAfter: SequenceNumber? {
        guard case .searching(let next) = position, !frames.contains(where: \.isStart) else { return nil }
        let last = SequenceNumber(next.value &- 1)
        return newest.map { $0.distance(from: last) > 0 ? $0 : last } ?? last
    }

    var framesInFlight: Int { frames.count }
    /// Memory reserved, in bytes.
    var bytesHeld: Int { reserved + (restart?.reservation ?? 0) }

    /// Another host, session or layer: drops everything but the totals. `canAsk` nil: as before.
    mutating func reset(canAsk: Bool? = nil) {
        for index in frames.indices { countDropped(frames[index]) }
        let timing = requests.timing
        let arrivalEvents = arrivalEvents
        self = Reassembler(limits, canAsk ?? self.canAsk, statistics)
        requests = PartRequests(timing: timing)
        self.arrivalEvents = arrivalEvents
        record(.renumbered)
    }

    mutating func record(_ event: ArrivalEvent) {
        if canAsk { arrivalEvents.append(event) }
    }

    /// Moves the arrival events to `log`; their memory is kept.
    mutating func moveArrivalEvents(to log: inout ArrivalLog) {
        for event in arrivalEvents { log.note(event) }
        arrivalEvents.removeAll(keepingCapacity: true)
    }

    private init(_ limits: Limits, _ canAsk: Bool, _ statistics: ViewerStatistics) {
        self.limits = limits
        self.canAsk = canAsk
        self.statistics = statistics
    }

    /// The decoder couldn't use a delivered frame: continue with the next keyframe.
    mutating func decoderFailed() {
        if case .following(let next) = position { position = .searching(from: next) }
    }

    mutating func announced(_ number: SequenceNumber, now: MediaTime) {
        guard let next = position.number else {
            // They were sent before this viewer joined, or all of it was lost.
            announcedFrame = announcedFrame ?? (number, now)
            return
        }
        let isNews = newest.map { number.distance(from: $0) > 0 } ?? true
        let ahead = number.distance(from: next)
        guard isNews, ahead >= 0, ahead <= limits.restartDistance, announcedFrame?.number != number else { return }
        announcedFrame = (number, now)
    }

    // MARK: In

    /// Takes a version 1 datagram. Returns false if it isn't one.
    mutating func insert(_ bytes: UnsafeRawBufferPointer, now: MediaTime) -> Bool {
        do throws(MediaDatagramError) {
            return insert(try MediaDatagram(bytes), now: now)
        } catch {
            refused(wireLength: bytes.count)
            return false
        }
    }

    /// Counts a datagram of `wireLength` bytes that can't be parsed.
    mutating func refused(wireLength: Int) {
        countDatagram(wireLength)
        statistics.malformed += 1
    }

    /// Counts a sealed datagram of `wireLength` bytes that can't be opened or was opened before.
    mutating func refused(_ error: SealedDatagramError, wireLength: Int) {
        countDatagram(wireLength)
        switch error {
        case .replayed, .tooOld: statistics.duplicates += 1
        case .length, .kind, .reserved, .unknownKey, .forged: statistics.malformed += 1
        }
    }

    /// Counts a sealed datagram of `wireLength` bytes that isn't a frame's.
    mutating func received(wireLength: Int, isValid: Bool) {
        countDatagram(wireLength)
        if !isValid { statistics.malformed += 1 }
    }

    private mutating func countDatagram(_ wireLength: Int) {
        statistics.datagrams += 1
        statistics.bytes += UInt64(wireLength)
    }

    /// Takes a media datagram of either version. Returns false if it contradicts others of its frame, or the frame is
    /// malformed.
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

    /// Takes parity. Returns false if it contradicts the frame's parts.
    mutating func insert(_ parity: ParityDatagram, now: MediaTime) -> Bool {
        countDatagram(parity.wireLength)
        let sequence = parity.header.sequence
        guard follow(layerOf: parity.header.frame) else {
            statistics.duplicates += 1
            return true
        }
        if canAsk {
            record(.recoveryArrived(Feedback.Recovery(frame: sequence, part: Feedback.Recovery.parity), at: now))
            requests.parityArrived(now: now)
        }
        // Its frame was delivered or given up, or is too far ahead.
        guard sequence.distance(from: nextNumber(orBefore: sequence)) >= 0 else { return true }
        let index = place(sequence, parity.header.frame, now: now) { FrameAssembly(for: parity, isLate: $0, now: now) }
        guard let index else { return true }
        return inserted(index, now: now, isParity: true) { $0.insertParity(parity, now: now) }
    }

    /// The index of the frame's assembly, which is made if there is none; nil if there is no room for it.
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
            // The oldest frame is dropped, but never a newer one for an older one.
            guard index > 0 else { return nil }
            giveUp(0)
            index -= 1
        }
        let isLate = newest.map { sequence.distance(from: $0) < 0 } ?? false
        frames.insert(begin(isLate), at: index)
        if header.isDisposable || header.isAfterDisposable { hasDisposableFrames = true }
        reserved += frames[index].reservation
        if !isLate { newest = sequence }
        if let number = announcedFrame?.number, sequence.distance(from: number) >= 0 { announcedFrame = nil }
        return index
    }

    /// Inserts a part or parity, and counts the outcome.
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
            // Unneeded parity isn't counted: it is normal.
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

    /// Whether the datagram belongs to the layer that is followed. A keyframe of another layer switches to that.
    private mutating func follow(layerOf header: MediaHeader.Frame) -> Bool {
        guard header.layer != layer else { return true }
        guard layer == nil || header.isStart else { return false }
        if layer != nil { reset() }
        layer = header.layer
        return true
    }

    /// The position's number. At the first datagram it is set back by `limits.frames`, so that frames sent earlier
    /// still fit.
    private mutating func nextNumber(orBefore first: SequenceNumber) -> SequenceNumber {
        if let next = position.number { return next }
        let next = SequenceNumber(first.value &- UInt32(limits.frames))
        position = .searching(from: next)
        return next
    }

    /// A datagram behind the position: a late one, or the host has restarted its numbering.
    private mutating func insertBehind(_ datagram: MediaDatagram, by distance: Int, now: MediaTime) -> Bool {
        let isQuiet = !hasBegun || lastProgress.map { now - $0 > limits.restartSilence } ?? true
        guard datagram.header.frame.isStart, distance > limits.restartDistance || isQuiet else {
            statistics.duplicates += 1
            return true
        }
        let isOld = restart.map { now - $0.firstSeen > timeout } ?? true
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

    /// The next frame to decode, if it is complete.
    mutating func nextFrame() -> ReceivedFrame? {
        if case .following(let next) = position {
            if frames.first?.sequence == next, let frame = takeFirst() { return frame }
            let needed = firstNeeded
            if needed.number != next, needed.index < frames.count, frames[needed.index].unit != nil {
                skip(to: needed)
                return takeFirst()
            }
        }
        // The newest complete keyframe, if any: nothing older is needed to decode it.
        guard let index = frames.lastIndex(where: { $0.unit != nil && $0.isStart }) else { return nil }
        advance(to: frames[index].sequence)
        hasBegun = true
        return takeFirst()
    }

    /// The first frame from the position on that is complete or isn't disposable, and the index in `frames` where it is
    /// or would be. The frames before it, whether begun or not, are disposable according to the frame after each of
    /// them.
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

    /// Skips the disposable frames before `target`.
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

    private mutating func takeFirst() -> ReceivedFrame? {
        guard let complete = frames.first?.complete else { return nil }
        let frame = frames.removeFirst()
        reserved -= frame.reservation
        position = .following(next: frame.sequence.next)
        statistics.frames += 1
        statistics.keyframes += complete.isKeyframe ? 1 : 0
        statistics.reordered += frame.isReordered ? 1 : 0
        if frame.reconstructed > 0 { noteReconstructed(frame, now: complete.lastArrival) }
        requests.forget(before: frame.sequence.next)
        return complete
    }

    /// Gives up the frames that are too late, and those before them.
    mutating func expire(now: MediaTime) {
        while let index = indexOfLate(now: now) { giveUp(index) }
        guard let (number, since) = announcedFrame, since + announcementTimeout <= now else { return }
        announcedFrame = nil
        guard let next = position.number else {
            position = .searching(from: number.next)
            return
        }
        guard number.distance(from: next) >= 0 else { return }
        advance(to: number.next)
        position = .searching(from: number.next)
    }

    private func indexOfLate(now: MediaTime) -> Int? {
        // Only the first needed frame can be late: those behind it wait for it.
        if case .following = position {
            let needed = firstNeeded
            guard needed.index < frames.count else { return nil }
            let frame = frames[needed.index]
            // A complete one is delivered as soon as those before it have been skipped.
            let isReady = frame.unit != nil && frame.sequence == needed.number
            return !isReady && end(of: frame) <= now ? needed.index : nil
        }
        return frames.firstIndex { end(of: $0) <= now }
    }

    /// Too much is missing to recover it in time: continue with a keyframe.
    mutating func giveUpRecovery() {
        guard case .following(let next) = position, let newest = newestKnown else { return }
        let target = frames.first { $0.isStart }?.sequence ?? newest.next
        guard target.distance(from: next) > 0 else { return }
        announcedFrame = nil
        advance(to: target)
        position = .searching(from: target)
    }

    /// Gives up the frame at `index`, those before it, and those after it up to a keyframe.
    private mutating func giveUp(_ index: Int) {
        let sequence = frames[index].sequence
        if case .following = position, frames[index].header.isDisposable,
            let needed = firstNeeded.number, needed.distance(from: sequence) >= 0
        {
            // Nothing refers to it, so the stream continues with the next frame.
            skip(to: (sequence.next, index + 1))
        } else if let next = position.number, sequence.distance(from: next) <= limits.restartDistance {
            advance(to: sequence.next)
            position = .searching(from: sequence.next)
        } else {
            // A leap in the numbers, perhaps forged: don't follow it.
            countDropped(frames[index])
            remove(index)
        }
    }

    /// Gives up everything before `sequence`. The caller sets the position.
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
        // Numbers wrap around: a forged one left here would lie behind the real ones one day.
        if newest == frame.sequence { newest = frames.last?.sequence }
    }

    private mutating func countDropped(_ frame: FrameAssembly) {
        statistics.dropped += 1
        statistics.reordered += frame.isReordered ? 1 : 0
        if hasBegun { statistics.lost += UInt64(frame.missing) }
    }
}
