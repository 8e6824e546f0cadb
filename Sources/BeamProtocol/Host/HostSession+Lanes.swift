import BeamMedia

/// Who gets which lane: nobody is to pay for what somebody else's path can't do, or for what somebody says of his.
extension HostSession {
    /// A path that carries less than this part of what the others get doesn't hold those back any longer; and it comes back when
    /// it carries that part of what they get.
    private static let slow = 1.0 / 3
    private static let fastEnough = 0.7
    /// What waits takes one viewer's path so many times as long as the quickest one's, or so much longer: then the others
    /// wait for that one alone.
    private static let farLonger = 2.5
    private static let muchLonger = Duration.milliseconds(30)
    /// Devices that are remembered as having been moved out of the full lane.
    private static let mostStandings = 64

    /// By what a viewer's path carries, or is said to carry.
    mutating func chooseLane(_ index: Int, now: MediaTime) {
        guard let delivery = viewers[index].delivery, !delivery.path.isSilent else { return }
        if configuration.usesFullChroma, !delivery.decodesFullChroma { return }
        let others = viewers.indices.filter {
            $0 != index && viewers[$0].lane == Lane.full && viewers[$0].stream.isWatching && !viewers[$0].isSilent
        }
        // Version 1 has no path: it takes all there is.
        let best = others.map { viewers[$0].delivery?.path.rate ?? configuration.bitRate }.max()
        let (rate, isBound) = (Double(delivery.path.rate), delivery.path.isBound)
        if viewers[index].lane == Lane.full {
            let isSlow = best.map { isBound && rate < Double($0) * Self.slow } ?? false
            if viewers[index].delivery?.standing.isFarSlower(isSlow, now: now) == true {
                move(index, to: Lane.reduced, now: now)
            }
        } else {
            let isFast = best.map { !isBound || rate > Double($0) * Self.fastEnough } ?? true
            let mayReturn = viewers[index].delivery?.standing.isFastEnough(isFast, now: now) == true
            if mayReturn || best == nil { move(index, to: Lane.full, now: now) }
        }
    }

    // MARK: Who keeps the others waiting

    /// Counts against each viewer the time for which its path alone keeps its lane from sending: its window is full, what
    /// waits takes its path far longer than the others', or it is being sent too much again. Guests have little of that time
    /// each once they have used up what they have together. True if one has left.
    mutating func judgeHolders(_ lane: Int, isHeld: Bool, now: MediaTime) -> Bool {
        guard
            isHeld || lanes[lane].heldByGuests.isHolding
                || viewers.contains(where: { $0.lane == lane && $0.delivery?.standing.isHolding ?? false })
        else { return false }
        let watching = viewers.indices.filter { isServed($0, lane) && isJudged($0) }
        let holding = isHeld ? holders(lane, now: now).filter(isJudged) : []
        lanes[lane].heldByGuests.holds(holding.contains(where: isGuest), now: now)
        let isStrict = lanes[lane].heldByGuests.total >= LaneStanding.mostHeld
        var next = isStrict ? nil : lanes[lane].heldByGuests.time(of: LaneStanding.mostHeld)
        var hasLeft = false
        for index in watching {
            let isHolding = holding.contains(index)
            guard isHolding || viewers[index].delivery?.standing.isHolding == true else { continue }
            let most = isStrict && isGuest(index) ? LaneStanding.mostHeldByGuest : LaneStanding.mostHeld
            if viewers[index].delivery?.standing.holds(isHolding, most: most, now: now) == true {
                leave(index, now: now)
                hasLeft = true
            } else if let deadline = viewers[index].delivery?.standing.deadline(most: most) {
                next = min(next ?? deadline, deadline)
            }
        }
        if let next { deadlines.set(.lane(lane), at: max(next, now + .milliseconds(1))) }
        return hasLeft
    }

    /// From the full lane there is a way out; and who hasn't said anything yet isn't waited for in any lane.
    private func isJudged(_ index: Int) -> Bool {
        guard let delivery = viewers[index].delivery else { return false }
        return viewers[index].lane == Lane.full || !delivery.path.hasReported
    }

    /// Nobody here has paired with its device.
    private func isGuest(_ index: Int) -> Bool {
        viewers[index].secure.map { !book.trusts($0.device) } ?? false
    }

    /// It has kept the others waiting for too long. Who hasn't reported anything yet gets the stream once it does; what else its
    /// path is like isn't known.
    private mutating func leave(_ index: Int, now: MediaTime) {
        guard viewers[index].delivery?.path.hasReported == false else {
            return move(index, to: Lane.reduced, now: now)
        }
        viewers[index].delivery?.path.silence(now: now)
        fellSilent(index, now: now)
        remember(index)
    }

    private func isServed(_ index: Int, _ lane: Int) -> Bool {
        viewers[index].lane == lane && viewers[index].stream.isWatching && !viewers[index].isSilent
    }

    /// Those that keep the rest of the lane waiting; empty where all wait for each other.
    private func holders(_ lane: Int, now: MediaTime) -> [Int] {
        let watching = viewers.indices.filter { isServed($0, lane) }
        guard watching.count > 1 else { return [] }
        let backlog = lanes[lane].pacer.backlog
        let quickest = watching.map { waitingTime(backlog, to: $0) }.min() ?? .zero
        let holding = watching.filter { index in
            guard let delivery = viewers[index].delivery else { return false }
            if lanes[lane].isBlocked, delivery.path.window < delivery.path.inFlight { return true }
            if delivery.repairTime > Self.longestRepair { return true }
            let time = waitingTime(backlog, to: index)
            return time > Self.longestBacklog
                && (time.inSeconds > quickest.inSeconds * Self.farLonger || time > quickest + Self.muchLonger)
        }
        return holding.count < watching.count ? holding : []
    }

    /// How long so many bytes take at the pace of one viewer's path.
    private func waitingTime(_ bytes: Int, to index: Int) -> Duration {
        let pace = viewers[index].delivery?.path.pacingRate ?? configuration.pacing.bitsPerSecond
        return .seconds(clamping: Double(bytes) * 8 / Double(max(1, min(pace, configuration.pacing.bitsPerSecond))))
    }

    /// Moves those out of the full lane whose paths alone would take what waits, and what they are to be sent again, too long. True
    /// if there are some, and others stay.
    mutating func leaveFarSlower(_ lane: Int, now: MediaTime) -> Bool {
        guard lane == Lane.full else { return false }
        let watching = viewers.indices.filter { isServed($0, lane) }
        let backlog = lanes[lane].pacer.backlog
        let slow = watching.filter { index in
            let repairs = viewers[index].delivery?.repairTime ?? .zero
            return waitingTime(backlog, to: index) + repairs > Self.longestPicture / 2
        }
        guard !slow.isEmpty, slow.count < watching.count else { return false }
        for index in slow { move(index, to: Lane.reduced, now: now) }
        return true
    }

    // MARK: Changing lanes

    mutating func move(_ index: Int, to lane: Int, now: MediaTime) {
        if let address = viewers[index].stream.destination?.address { lanes[viewers[index].lane].pacer.remove(address) }
        viewers[index].stream.interrupt()
        viewers[index].delivery?.changedLane()
        if lane == Lane.reduced {
            viewers[index].delivery?.standing.left(now: now)
        } else {
            viewers[index].delivery?.standing.cameBack(now: now)
        }
        remember(index)
        viewers[index].lane = lane
        if isBroadcasting, viewers[index].stream.isWatching {
            perform(lanes[lane].keyframes.joined(now: now), lane: lane)
        }
        emit(.laneChanged(session: viewers[index].session.description, isReduced: lane == Lane.reduced))
    }

    /// A device that leaves and comes again doesn't begin anew.
    private mutating func remember(_ index: Int) {
        guard let device = viewers[index].secure?.device, let standing = viewers[index].delivery?.standing else {
            return
        }
        standings.removeAll { $0.device == device }
        if standings.count >= Self.mostStandings {
            // Guests may have as many keys as they like.
            standings.remove(at: standings.firstIndex { !book.trusts($0.device) } ?? 0)
        }
        standings.append((device, standing))
    }

    /// What is remembered of the viewer's device, and the lane that suits it.
    mutating func resumeStanding(_ index: Int) {
        let device = viewers[index].secure?.device
        guard let standing = standings.first(where: { $0.device == device })?.standing else { return }
        viewers[index].delivery?.standing = standing
        if standing.isOut { viewers[index].lane = Lane.reduced }
    }
}
