import BeamMedia
import BeamWire

/// Finds missing parts, and decides when to request them.
extension Reassembler {
    /// Stands for "all parts" of a frame whose part count isn't known.
    private static let allParts = 1 << 16

    /// Records what a media datagram's arrival says of the path.
    mutating func note(_ header: MediaHeader, wireLength: Int, now: MediaTime) {
        guard canAsk else { return }
        let part = Int(header.part)
        guard !header.isSentAgain else {
            statistics.recovered += 1
            if let entry = requests.entry(header.sequence), entry.askedBelow == Self.allParts, entry.countedBelow == 0 {
                // The host sent this frame before, and all of it was lost.
                count(missed: Int(header.frame.partCount), of: header.sequence, below: Self.allParts, now: now)
            }
            record(.recoveryArrived(Feedback.Recovery(frame: header.sequence, part: header.part), at: now))
            return requests.answered(header.sequence, now: now)
        }
        let isLate = requests.arrivedLate(header.sequence, part: part, now: now)
        record(.arrived(header.sequence, part: header.part, wasMissed: isLate, at: now))
        if let last = frames.last, last.sequence == header.sequence {
            requests.partsArrived(apart: now - last.lastSeen)
        }
    }

    /// Parts were reconstructed from parity. They count as missed, unless they were counted when they were requested.
    mutating func noteReconstructed(_ frame: FrameAssembly, now: MediaTime) {
        statistics.reconstructed += UInt64(frame.reconstructed)
        guard canAsk, requests.entry(frame.sequence)?.askedAt == nil else { return }
        statistics.missed += UInt64(frame.reconstructed)
        record(.missed(frame.reconstructed, at: now))
    }

    /// Counts parts as missed; all missing ones below `below` have been counted then.
    private mutating func count(missed: Int, of frame: SequenceNumber, below: Int, now: MediaTime) {
        requests.counted(frame, below: below)
        guard missed > 0 else { return }
        record(.missed(missed, at: now))
        statistics.missed += UInt64(missed)
    }

    /// A disposable frame is given up. Only what is missing before a part that arrived is known to have been sent, and
    /// counts as lost.
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

    /// When the next request may be due; nil while nothing is missing.
    mutating func requestDeadline(now: MediaTime) -> MediaTime? {
        guard canAsk else { return nil }
        var next = MediaTime.distantFuture
        forEachMissing(now: now) { _, _, due in
            next = min(next, due)
            return true
        }
        // Once it has passed, each missing part has a deadline of its own, or can't be requested: there is nothing to
        // wake up for.
        if let silence = silenceDeadline, silence > now { next = min(next, silence) }
        return next < .distantFuture ? next : nil
    }

    /// The requests that are due.
    mutating func takeRequests(now: MediaTime) -> [Feedback.Missing] {
        guard canAsk else { return [] }
        var due: [(frame: SequenceNumber, index: Int?)] = []
        forEachMissing(now: now) { frame, index, time in
            if time <= now { due.append((frame, index)) }
            return due.count < Self.framesPerRequest
        }
        return due.compactMap { frame, index in
            let before = requests.entry(frame)?.countedBelow ?? 0
            let start = requests.ask(frame, now: now)
            guard let index else {
                // Nothing of it has arrived. Its part count is guessed from the next frame's.
                if before == 0, isSurelySent(frame) {
                    count(missed: usualPartCount, of: frame, below: Self.allParts, now: now)
                }
                return Feedback.Missing(frame: frame)
            }
            let below = requests.entry(frame)?.askedBelow ?? 0
            let parts = frames[index].missingParts(in: start..<max(start, below), limit: Feedback.Missing.mostRanges)
            if before < Self.allParts {
                // The host may have skipped the rest of a disposable frame.
                let sent = frames[index].header.isDisposable ? min(below, max(0, frames[index].highestPart)) : below
                let fresh = frames[index].missingCount(below: sent) - frames[index].missingCount(below: before)
                if sent > before { count(missed: fresh, of: frame, below: sent, now: now) }
            }
            return parts.isEmpty ? nil : Feedback.Missing(frame: frame, parts: parts)
        }
    }

    /// Frames requested at a time: four datagrams of `framesInFeedback`.
    private static let framesPerRequest = 12

    private var usualPartCount: Int { frames.first.map { Int($0.header.partCount) } ?? 1 }

    /// Whether a frame of which nothing has arrived is known to have been sent. The host may skip a disposable frame
    /// for a slow viewer, and its bandwidth estimate must not take that for loss. So such a frame counts as missed only
    /// when the next frame refers to it, when the host says that it was the last one sent, or when it is retransmitted
    /// (in `note`). A host that makes no disposable frames sends every frame.
    private func isSurelySent(_ frame: SequenceNumber) -> Bool {
        if announcedFrame?.number == frame { return true }
        let index = frames.firstIndex { $0.sequence.distance(from: frame) > 0 }
        return isNeeded(frame, followedBy: index ?? frames.count) == true
    }

    /// Whether other frames refer to a frame of which nothing has arrived; nil while that is unknown. `index` is the
    /// place of the next frame that has begun.
    private func isNeeded(_ frame: SequenceNumber, followedBy index: Int) -> Bool? {
        guard hasDisposableFrames, index < frames.count else { return true }
        let isAfterDisposable = frames[index].header.isAfterDisposable
        switch frames[index].sequence.distance(from: frame) {
        case 1: return !isAfterDisposable
        // The frame between is disposable, and no two disposable frames follow each other (H.264 clause 8.2.1.3).
        case 2 where isAfterDisposable: return true
        default: return nil
        }
    }

    /// Calls `body` for each frame with missing parts, with its index in `frames` (nil if nothing of it has arrived)
    /// and the time when they may be requested. Stops when `body` returns false.
    private mutating func forEachMissing(
        now: MediaTime, _ body: (SequenceNumber, _ index: Int?, _ due: MediaTime) -> Bool
    ) {
        guard case .following(let next) = position else { return searchForMissing(now: now, body) }
        guard let last = newestKnown, last.distance(from: next) >= 0 else { return }
        guard last.distance(from: next) < limits.longestRecovery else { return giveUpRecovery() }
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

    /// Whether to request a frame of which nothing has arrived; `index` is the place of the next frame that has begun.
    /// Not if no frame refers to it; only once while that is unknown, because the next frame is missing as well.
    private func mayAsk(for frame: SequenceNumber, followedBy index: Int) -> Bool {
        isNeeded(frame, followedBy: index) ?? (requests.entry(frame)?.askedAt == nil)
    }

    /// While the viewer waits for a keyframe, only the newest incomplete keyframe is worth requesting.
    private mutating func searchForMissing(
        now: MediaTime, _ body: (SequenceNumber, _ index: Int?, _ due: MediaTime) -> Bool
    ) {
        guard let index = frames.lastIndex(where: { $0.isStart && $0.unit == nil }) else { return }
        if let due = dueTime(ofBegun: index, now: now) { _ = body(frames[index].sequence, index, due) }
    }

    /// When the missing parts of a frame that has begun may be requested; nil if none is known to be missing.
    private mutating func dueTime(ofBegun index: Int, now: MediaTime) -> MediaTime? {
        let frame = frames[index]
        guard frame.unit == nil else { return nil }
        let below = isOver(frame, now: now) ? Int(frame.header.partCount) : frame.highestPart
        guard frame.missingCount(below: below) > 0 else { return nil }
        return requests.missing(frame.sequence, below: below, now: now)
    }

    /// Whether the host has finished sending the frame: a later frame is known, or it has been silent for long enough.
    private func isOver(_ frame: FrameAssembly, now: MediaTime) -> Bool {
        if let newestKnown, newestKnown.distance(from: frame.sequence) > 0 { return true }
        if announcedFrame?.number == frame.sequence { return true }
        return frame.lastSeen + silence <= now
    }

    /// How long after its last part the rest of a frame counts as lost. Until the first feedback the host sends only
    /// what any path holds, so the rest of the first frame takes another round trip.
    private var silence: Duration {
        if case .following = position { return requests.timing.silence }
        return max(requests.timing.silence, requests.timing.repeatInterval)
    }

    /// When the newest frame, if incomplete, counts as over.
    private var silenceDeadline: MediaTime? {
        guard let last = frames.last, last.unit == nil, !isOver(last, now: last.lastSeen) else { return nil }
        if case .following = position {} else if !last.isStart { return nil }
        let deadline = last.lastSeen + silence
        // Once all its parts have been noted as missing, each has a deadline of its own.
        return requests.entry(last.sequence).map { $0.below >= Int(last.header.partCount) } == true ? nil : deadline
    }

    /// The newest frame known to have been sent, by arrival or by the host's word.
    var newestKnown: SequenceNumber? {
        guard let newest else { return nil }
        guard let announcedFrame, announcedFrame.number.distance(from: newest) > 0 else { return newest }
        return announcedFrame.number
    }
}
