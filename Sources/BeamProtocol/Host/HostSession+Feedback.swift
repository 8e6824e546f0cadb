import BeamMedia

/// What version 2 viewers say of the stream, and what they are told of it beside the frames.
extension HostSession {
    mutating func take(_ feedback: Feedback, isNewest: Bool, from index: Int, now: MediaTime) {
        guard isBroadcasting, viewers[index].stream.isWatching,
            viewers[index].delivery?.admitsFeedback(now: now) == true
        else { return }
        let lane = viewers[index].lane
        // What is said of a lane that the viewer was taken out of has no meaning any more.
        if feedback.lane == UInt8(lane) {
            if let report = feedback.report, isNewest { take(report, from: index, now: now) }
            for missing in feedback.missing.prefix(Self.mostMissing) { take(missing, from: index, now: now) }
        }
        guard let lost = feedback.keyframeAfter else { return }
        viewers[index].delivery?.path.gaveUp()
        // One that has left since is on its way already.
        let pacer = lanes[lane].pacer
        if feedback.lane == UInt8(lane), let keyframe = pacer.newestKeyframe, keyframe.distance(from: lost) > 0 {
            return
        }
        totals.keyframesWanted += 1
        perform(lanes[lane].keyframes.wanted(now: now), lane: lane)
    }

    // MARK: What is to be sent again

    /// Frames with gaps in one datagram; who lacks more says so in the next.
    private static let mostMissing = 8

    private mutating func take(_ missing: Feedback.Missing, from index: Int, now: MediaTime) {
        let lane = viewers[index].lane
        guard let delivery = viewers[index].delivery, !delivery.path.isSilent else { return }
        guard let frame = lanes[lane].pacer.sent.repairable(missing.frame, now: now) else {
            // It is too late for that.
            if let keyframe = lanes[lane].pacer.newestKeyframe, keyframe.distance(from: missing.frame) > 0 { return }
            if let newest = lanes[lane].pacer.newest, newest.distance(from: missing.frame) >= 0 {
                perform(lanes[lane].keyframes.wanted(now: now), lane: lane)
            }
            return
        }
        // What hasn't left yet isn't missing.
        let sent = 0..<frame.sent
        let parts = missing.parts.isEmpty ? [sent] : missing.parts.map { $0.clamped(to: sent) }
        // Nor is it on its way.
        if let last = parts.map(\.upperBound).max(), last > 0,
            let departure = lanes[lane].pacer.sent.departure(of: missing.frame, part: last - 1)
        {
            viewers[index].delivery?.path.heard(sentBefore: departure.time, now: now)
        }
        let hasRoom =
            viewers[index].delivery?.repairs.ask(
                parts.joined(), of: missing.frame, pause: delivery.repairPause, now: now) ?? true
        abandonLongFrames(lane, now: now)
        if !hasRoom {
            viewers[index].delivery?.repairs.removeAll()
            perform(lanes[lane].keyframes.wanted(now: now), lane: lane)
        }
    }

    /// The next burst of what somebody has asked for again.
    mutating func nextRepair(now: MediaTime) -> Output? {
        for index in viewers.indices {
            guard let delivery = viewers[index].delivery, let due = delivery.repairs.due else { continue }
            let (id, lane) = (viewers[index].id, viewers[index].lane)
            guard let destination = viewers[index].stream.destination, !viewers[index].isSilent else {
                viewers[index].delivery?.repairs.removeAll()
                continue
            }
            if due > now {
                deadlines.set(.repair(id), at: due)
                continue
            }
            guard let length = takeRepair(index, now: now) else { continue }
            let burst = MediaBurst(
                bytes: repairMemory, range: 0..<length, segmentSize: MediaLimits.datagramLength,
                addresses: [destination.address])
            totals.repairs += UInt64(burst.datagramCount)
            viewers[index].delivery?.sent(bytes: burst.range.count, now: now)
            lanes[lane].pacer.charge(burst.range.count, now: now)
            armPath(index)
            count(burst)
            return .transmit(burst)
        }
        return nil
    }

    /// Writes the next repair that there is something to send for, if it can be paid for: how many bytes.
    private mutating func takeRepair(_ index: Int, now: MediaTime) -> Int? {
        let (id, lane) = (viewers[index].id, viewers[index].lane)
        while let delivery = viewers[index].delivery, let due = delivery.repairs.due, due <= now {
            let limit = delivery.repairBurst
            let cost = min(limit, delivery.repairs.nextCount) * MediaLimits.datagramLength
            if let time = viewers[index].delivery?.payRepair(cost, now: now) {
                deadlines.set(.repair(id), at: time)
                return nil
            }
            guard
                let repair = viewers[index].delivery?.repairs.next(echoes: delivery.wantsEchoes, limit: limit, now: now)
            else { return nil }
            let length = lanes[lane].pacer.writeAgain(repair.parts, of: repair.frame, to: &repairMemory)
            if let length, length > 0 { return length }
            // Too late for that one.
            viewers[index].delivery?.returnRepair(cost)
        }
        if let due = viewers[index].delivery?.repairs.due { deadlines.set(.repair(id), at: due) }
        return nil
    }

    // MARK: The stream's state

    /// Tells a viewer that the host is there, how far the stream has come, and what its path carries.
    mutating func sayState(to index: Int, now: MediaTime) {
        guard let destination = viewers[index].stream.destination else { return }
        sayState(
            lane: viewers[index].lane, rates: viewers[index].delivery?.rates(now: now),
            wantsReport: viewers[index].isSilent, to: [destination.address])
    }

    /// A moment after the last frame: whoever has missed it learns so.
    mutating func tailReached(lane: Int, now: MediaTime) {
        if lanes[lane].tail.take(now: now) {
            sayState(lane: lane, rates: nil, to: destinations(lane) { $0.isSecure })
        }
        armTail(lane: lane)
    }

    mutating func armTail(lane: Int) {
        if let time = lanes[lane].tail.deadline {
            deadlines.set(.tail(lane: lane), at: time)
        } else {
            deadlines.cancel(.tail(lane: lane))
        }
    }

    private mutating func sayState(
        lane: Int, rates: StreamState.Rates?, wantsReport: Bool = false, to addresses: [NetworkAddress]
    ) {
        let state = StreamState(
            lane: UInt8(lane), newest: lanes[lane].pacer.newest, rates: rates, wantsReport: wantsReport)
        guard !addresses.isEmpty, let bytes = lanes[lane].pacer.seal(state) else { return }
        let burst = MediaBurst(
            bytes: bytes, range: 0..<bytes.count, segmentSize: MediaLimits.datagramLength, addresses: addresses)
        count(burst)
        outputs.append(.transmit(burst))
    }
}
