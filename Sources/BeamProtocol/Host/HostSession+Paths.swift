import BeamMedia

/// What the viewers' paths carry: how fast frames leave, what the encoders are to make, and who gets which lane.
extension HostSession {
    /// Of what a path carries, the part that isn't headers.
    private static let payloadShare = Double(MediaForm.version2.payloadLength) / Double(MediaLimits.datagramLength)
    /// A frame that needs longer than this to leave holds the encoder: what it made now would only wait.
    static let longestBacklog = Duration.milliseconds(5)
    /// What takes longer than this to arrive is outdated.
    static let longestPicture = Duration.milliseconds(700)
    static let longestRepair = Duration.milliseconds(30)
    /// After a silence of so long a keyframe is better than all that was missed.
    private static let longestSilence = Duration.milliseconds(400)
    /// From one sign of the host's to the next towards a viewer that doesn't answer.
    private static let probing = Duration.milliseconds(100)
    /// A change of rate that is less than this part of it isn't worth telling.
    private static let leastChange = 0.02

    mutating func take(_ report: Feedback.Report, from index: Int, now: MediaTime) {
        let lane = viewers[index].lane
        let wasSilent = viewers[index].isSilent
        viewers[index].delivery?.take(report, of: lanes[lane].pacer.sent, now: now)
        armPath(index)
        if wasSilent, !viewers[index].isSilent { heardAgain(index, now: now) }
        chooseLane(index, now: now)
        abandonLongFrames(viewers[index].lane, now: now)
    }

    /// A path that turns out to be slow may have a picture before it that was made for a fast one: a smaller one made now is there
    /// sooner.
    mutating func abandonLongFrames(_ lane: Int, now: MediaTime) {
        guard paths(lane).contains(where: { $0.isBound }), isBroadcasting else { return }
        let rest = lanes[lane].pacer.backlogTime(now: now)
        let repairs = viewers.reduce(Duration.zero) { longest, viewer in
            guard viewer.lane == lane, viewer.stream.isWatching else { return longest }
            return max(longest, viewer.delivery?.repairTime ?? .zero)
        }
        guard rest + repairs > Self.longestPicture else { return }
        // Where that is one viewer's path alone, the others keep their picture.
        if leaveFarSlower(lane, now: now) { return }
        dropped(lanes[lane].pacer.abandon())
        for index in viewers.indices where viewers[index].lane == lane {
            viewers[index].delivery?.repairs.removeAll()
        }
        lanes[lane].droppedUntilKeyframe = 0
        needKeyframe(lane: lane, now: now)
    }

    // MARK: Silence

    mutating func armPath(_ index: Int) {
        let id = viewers[index].id
        if let deadline = viewers[index].delivery?.path.deadline {
            deadlines.set(.path(id), at: deadline)
        } else if !viewers[index].isSilent {
            deadlines.cancel(.path(id))
        }
    }

    mutating func checkPath(_ id: ViewerID, now: MediaTime) {
        guard let index = index(of: id), viewers[index].stream.isWatching else { return }
        let wasSilent = viewers[index].isSilent
        viewers[index].delivery?.path.timePassed(now: now)
        guard viewers[index].isSilent else { return armPath(index) }
        wasSilent ? probe(index, now: now) : fellSilent(index, now: now)
    }

    /// Nothing gets there: the others aren't to wait. Who is alone gets what he misses when he is heard again.
    mutating func fellSilent(_ index: Int, now: MediaTime) {
        viewers[index].delivery?.silentSince = now
        _ = viewers[index].delivery?.standing.holds(false, now: now)
        viewers[index].delivery?.repairs.removeAll()
        if isReachable(viewers[index].lane) { interrupt(index) }
        probe(index, now: now)
    }

    private mutating func probe(_ index: Int, now: MediaTime) {
        viewers[index].delivery?.probed(now: now)
        sayState(to: index, now: now)
        deadlines.set(.path(viewers[index].id), at: now + Self.probing)
    }

    /// The viewer's path carries something again.
    private mutating func heardAgain(_ index: Int, now: MediaTime) {
        let lane = viewers[index].lane
        let silence = viewers[index].delivery?.silentSince.map { now - $0 } ?? .zero
        let isStreaming = viewers[index].stream.destination?.isStreaming ?? false
        guard silence > Self.longestSilence || !isStreaming else { return }
        // What it was sent last is outdated, and so is what waits.
        if !isReachable(lane, but: index) { dropped(lanes[lane].pacer.abandon()) }
        interrupt(index)
        viewers[index].delivery?.changedLane()
        if isBroadcasting { perform(lanes[lane].keyframes.joined(now: now), lane: lane) }
    }

    /// What is sent to the viewer next has to begin with a keyframe.
    private mutating func interrupt(_ index: Int) {
        viewers[index].stream.interrupt()
        if let address = viewers[index].stream.destination?.address {
            lanes[viewers[index].lane].pacer.remove(address)
        }
    }

    /// Somebody gets the lane whose path isn't silent.
    private func isReachable(_ lane: Int, but index: Int? = nil) -> Bool {
        viewers.indices.contains {
            $0 != index && viewers[$0].lane == lane && viewers[$0].stream.isWatching && !viewers[$0].isSilent
        }
    }

    // MARK: What the encoders are to make

    /// The viewers of a lane whose paths count: those that get it, or are about to.
    func paths(_ lane: Int) -> some Sequence<PathControl> {
        viewers.lazy.filter { $0.lane == lane && $0.stream.isWatching }.compactMap { $0.delivery?.path }
            .filter { !$0.isSilent }
    }

    /// How many bytes more may be on their way to every viewer of a lane.
    func room(_ lane: Int) -> Int {
        // Nothing leaves into silence.
        guard isReachable(lane) else { return -1 }
        return paths(lane).reduce(.max) { min($0, $1.window - $1.inFlight) }
    }

    /// Tells what has changed for the encoders; false if nothing has.
    mutating func changeDemands(now: MediaTime) -> Bool {
        var hasChanged = false
        for lane in lanes.indices {
            let pace = paths(lane).reduce((rate: Int.max, burst: Int.max)) {
                (min($0.rate, $1.pacingRate), min($0.burst, $1.burst))
            }
            lanes[lane].pacer.slow(to: pace.rate, burst: pace.burst, now: now)
            let demand = demand(lane, now: now)
            if judgeHolders(lane, isHeld: demand.isHeld || lanes[lane].isBlocked, now: now) { hasChanged = true }
            guard demand != lanes[lane].demand else { continue }
            lanes[lane].demand = demand
            outputs.append(.demand(demand, lane: lane))
            hasChanged = true
        }
        return hasChanged
    }

    private mutating func demand(_ lane: Int, now: MediaTime) -> StreamDemand {
        let isExpected = isExpected(lane)
        var demand = StreamDemand(isWatched: isBroadcasting && (isWatched(lane) || isExpected))
        guard demand.isWatched else { return demand }
        var rate: Int?
        for path in paths(lane) where path.isBound { rate = min(rate ?? .max, path.rate) }
        let last = lanes[lane].demand.bitRate
        demand.bitRate = rate.map { rate in
            let useful = Int(clamping: Double(rate) * Self.payloadShare / (1 + overhead(lane)))
            guard let last, abs(Double(useful - last)) < Self.leastChange * Double(last) else { return useful }
            return last
        }
        let isBacklogged =
            lanes[lane].pacer.backlog > 0
            && (lanes[lane].isBlocked || lanes[lane].pacer.backlogTime(now: now) > Self.longestBacklog)
        demand.isHeld = (!isReachable(lane) && !isExpected) || isBacklogged || isMending(lane)
        return demand
    }

    /// So much is to be sent again that new frames would only be in its way.
    private func isMending(_ lane: Int) -> Bool {
        viewers.contains { viewer in
            guard viewer.lane == lane, let delivery = viewer.delivery, viewer.stream.isWatching else { return false }
            return delivery.repairTime > Self.longestRepair
        }
    }

    /// What repairs and parity add to a lane's frames, as a part of those.
    private func overhead(_ lane: Int) -> Double {
        viewers.reduce(0) { most, viewer in
            guard viewer.lane == lane, let delivery = viewer.delivery, !delivery.path.isSilent else { return most }
            return max(most, delivery.path.loss + delivery.parity.share)
        }
    }
}

extension PairedViewer {
    /// Nothing has come back from its path for so long that it has to be taken for dead.
    var isSilent: Bool { delivery?.path.isSilent ?? false }

    var parityShare: Double { delivery?.parity.share ?? 0 }
}
