import BeamMedia

/// What is missing, and when to ask for it again.
extension Reassembler {
    /// A part of which nothing but the number is known.
    private static let allParts = 1 << 16

    /// A datagram of a frame has come: what that says of the path.
    mutating func note(_ header: MediaHeader, wireLength: Int, now: MediaTime) {
        guard canAsk else { return }
        let part = Int(header.part)
        guard !header.isSentAgain else {
            statistics.resent += 1
            if let entry = requests.entry(header.sequence), entry.askedBelow == Self.allParts, entry.countedBelow == 0 {
                // So it had been sent before, and all of it was lost.
                count(missed: Int(header.frame.partCount), of: header.sequence, below: Self.allParts, now: now)
            }
            sign(.cameAgain(Feedback.Again(frame: header.sequence, part: header.part), at: now))
            return requests.answered(header.sequence, now: now)
        }
        let isLate = requests.cameLate(header.sequence, part: part, now: now)
        sign(.arrived(header.sequence, part: header.part, wasMissed: isLate, at: now))
        if let last = frames.last, last.sequence == header.sequence { requests.spaced(by: now - last.lastSeen) }
    }

    /// Parity has made parts of a frame: they were lost all the same, whether they had been asked for or not.
    mutating func noteRepaired(_ frame: FrameAssembly, now: MediaTime) {
        statistics.repaired += UInt64(frame.repaired)
        guard canAsk, requests.entry(frame.sequence)?.askedAt == nil else { return }
        statistics.missed += UInt64(frame.repaired)
        sign(.missed(frame.repaired, at: now))
    }

    /// Parts of a frame ought to have come by now: all those before `below` have been counted.
    private mutating func count(missed: Int, of frame: SequenceNumber, below: Int, now: MediaTime) {
        requests.counted(frame, below: below)
        guard missed > 0 else { return }
        sign(.missed(missed, at: now))
        statistics.missed += UInt64(missed)
    }

    /// A disposable frame is given up. Only a part before another one that came was surely sent.
    mutating func noteSkipped(_ frame: FrameAssembly) {
        let below = max(0, frame.highestPart)
        let missing = frame.missingCount(below: below)
        guard missing > 0 else { return }
        statistics.lost += UInt64(missing)
        guard canAsk else { return }
        let counted = min(below, requests.entry(frame.sequence)?.countedBelow ?? 0)
        count(
            missed: missing - frame.missingCount(below: counted), of: frame.sequence, below: below,
            now: frame.lastSeen)
    }

    /// When something may be asked for next; nil while nothing is missing.
    mutating func requestDeadline(now: MediaTime) -> MediaTime? {
        guard canAsk else { return nil }
        var next = MediaTime.distantFuture
        forEachMissing(now: now) { _, _, due in
            next = min(next, due)
            return true
        }
        // Once it has passed, what is missing has a time of its own, or is out of reach: there is nothing more to wake up for.
        if let silence = silenceDeadline, silence > now { next = min(next, silence) }
        return next < .distantFuture ? next : nil
    }

    /// What is to be asked for now, if anything.
    mutating func takeRequests(now: MediaTime) -> [Feedback.Missing] {
        guard canAsk else { return [] }
        var due: [(frame: SequenceNumber, index: Int?)] = []
        forEachMissing(now: now) { frame, index, time in
            if time <= now { due.append((frame, index)) }
            return due.count < Self.framesAtATime
        }
        return due.compactMap { frame, index in
            let before = requests.entry(frame)?.countedBelow ?? 0
            let start = requests.ask(frame, now: now)
            guard let index else {
                // Nothing of it has come: it may have as many parts as the one after it.
                if before == 0, isSurelySent(frame) {
                    count(missed: usualPartCount, of: frame, below: Self.allParts, now: now)
                }
                return Feedback.Missing(frame: frame)
            }
            let below = requests.entry(frame)?.askedBelow ?? 0
            let parts = frames[index].missingParts(in: start..<max(start, below), limit: Feedback.Missing.mostRanges)
            if before < Self.allParts {
                // The host may have left out the rest of a disposable frame.
                let sent = frames[index].header.isDisposable ? min(below, max(0, frames[index].highestPart)) : below
                let fresh = frames[index].missingCount(below: sent) - frames[index].missingCount(below: before)
                if sent > before { count(missed: fresh, of: frame, below: sent, now: now) }
            }
            return parts.isEmpty ? nil : Feedback.Missing(frame: frame, parts: parts)
        }
    }

    /// Frames in one request.
    private static let framesAtATime = 12

    private var usualPartCount: Int { frames.first.map { Int($0.header.partCount) } ?? 1 }

    /// Whether a frame of which nothing has come was sent. The host may leave out a disposable frame for a viewer that gets less
    /// than others; that is no loss, and the host's estimate of the path must not take it for one. So such a frame counts as missed
    /// only once it is known to have been sent: the frame after it needs it, or the host says that it was the last one sent, or
    /// (in `note`) it comes again. Where the host makes no disposable frames, it sends every frame.
    private func isSurelySent(_ frame: SequenceNumber) -> Bool {
        if awaited?.number == frame { return true }
        let index = frames.firstIndex { $0.sequence.distance(from: frame) > 0 }
        return isNeeded(frame, followedBy: index ?? frames.count) == true
    }

    /// Whether others refer to a frame of which nothing has come; nil as long as that isn't known. `index` is the place of the next
    /// frame that has begun.
    private func isNeeded(_ frame: SequenceNumber, followedBy index: Int) -> Bool? {
        guard hasLayers, index < frames.count else { return true }
        let isAfterDisposable = frames[index].header.isAfterDisposable
        switch frames[index].sequence.distance(from: frame) {
        case 1: return !isAfterDisposable
        // The one between is disposable, and no two in a row are (H.264 clause 8.2.1.3).
        case 2 where isAfterDisposable: return true
        default: return nil
        }
    }

    /// Calls `body` for each frame of which something is missing, with its place among those that have begun, and when that may
    /// be asked for; until it answers false.
    private mutating func forEachMissing(
        now: MediaTime, _ body: (SequenceNumber, _ index: Int?, _ due: MediaTime) -> Bool
    ) {
        guard case .following(let next) = position else { return searchForMissing(now: now, body) }
        guard let last = newestKnown, last.distance(from: next) >= 0 else { return }
        guard last.distance(from: next) < limits.longestRepair else { return giveUpRepairs() }
        var index = 0
        var frame = next
        while last.distance(from: frame) >= 0 {
            if index < frames.count, frames[index].sequence == frame {
                if let due = dueTime(ofBegun: index, now: now), !body(frame, index, due) { return }
                index += 1
            } else if mayAsk(for: frame, followedBy: index),
                !body(frame, nil, requests.missing(frame, below: Self.allParts, now: now))
            {
                return
            }
            frame = frame.next
        }
    }

    /// Whether to ask for a frame of which nothing has come; `index` is the place of the next one that has begun. Not for one that
    /// isn't needed; and only once as long as that isn't known, because the frame after it is missing, too.
    private func mayAsk(for frame: SequenceNumber, followedBy index: Int) -> Bool {
        isNeeded(frame, followedBy: index) ?? (requests.entry(frame)?.askedAt == nil)
    }

    /// While a keyframe is looked for nothing else is of use: the newest one is to be completed.
    private mutating func searchForMissing(
        now: MediaTime, _ body: (SequenceNumber, _ index: Int?, _ due: MediaTime) -> Bool
    ) {
        guard let index = frames.lastIndex(where: { $0.isStart && $0.unit == nil }) else { return }
        if let due = dueTime(ofBegun: index, now: now) { _ = body(frames[index].sequence, index, due) }
    }

    /// When what is missing of a frame that has begun may be asked for; nil if nothing is, as far as can be known.
    private mutating func dueTime(ofBegun index: Int, now: MediaTime) -> MediaTime? {
        let frame = frames[index]
        guard frame.unit == nil else { return nil }
        let below = isOver(frame, now: now) ? Int(frame.header.partCount) : frame.highestPart
        guard frame.missingCount(below: below) > 0 else { return nil }
        return requests.missing(frame.sequence, below: below, now: now)
    }

    /// Nothing more of the frame will come by itself.
    private func isOver(_ frame: FrameAssembly, now: MediaTime) -> Bool {
        if let newestKnown, newestKnown.distance(from: frame.sequence) > 0 { return true }
        if awaited?.number == frame.sequence { return true }
        return frame.lastSeen + silence <= now
    }

    /// How long after its last part the rest of a frame is taken for lost. Of the first one the host sends no more than any path
    /// holds until it has heard how that arrives: a round trip.
    private var silence: Duration {
        if case .following = position { return requests.timing.silence }
        return max(requests.timing.silence, requests.timing.repetition)
    }

    /// When the newest frame, which is incomplete, is taken to be over.
    private var silenceDeadline: MediaTime? {
        guard let last = frames.last, last.unit == nil, !isOver(last, now: last.lastSeen) else { return nil }
        if case .following = position {} else if !last.isStart { return nil }
        let deadline = last.lastSeen + silence
        // Once that has passed, what is missing has a time of its own.
        return requests.entry(last.sequence).map { $0.below >= Int(last.header.partCount) } == true ? nil : deadline
    }

    /// The newest frame that is known to have been sent.
    var newestKnown: SequenceNumber? {
        guard let newest else { return nil }
        guard let awaited, awaited.number.distance(from: newest) > 0 else { return newest }
        return awaited.number
    }
}
