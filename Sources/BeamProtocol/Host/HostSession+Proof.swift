import BeamMedia

/// Where version 2 viewers are: an address is proved before the stream goes there (RFC 9000, 8).
extension HostSession {
    /// The newest hello of a version 2 viewer: the stream goes where it comes from, once the viewer has proved to be there.
    mutating func sealedHello(
        _ index: Int, token: UInt64?, length: Int, from address: NetworkAddress, now: MediaTime
    ) {
        if viewers[index].stream.destination?.address != address {
            let verdict = viewers[index].proof.hello(length, token: token, from: address, now: now, random: &random)
            if case .challenge(let token) = verdict { return challenge(index, token, at: address, now: now) }
            deadlines.cancel(.proof(viewers[index].id))
        }
        hello(index, from: address, now: now)
        sayState(to: index, now: now)
    }

    /// Sends the token there. A viewer that gets no stream yet is about to: its keyframe is made meanwhile.
    private mutating func challenge(_ index: Int, _ token: UInt64, at address: NetworkAddress, now: MediaTime) {
        let lane = viewers[index].lane
        if let expiry = viewers[index].proof.expiry { deadlines.set(.proof(viewers[index].id), at: expiry) }
        if isBroadcasting, !viewers[index].stream.isWatching {
            // The others in the lane don't pay for more of them than for those that are asked for.
            if isWatched(lane) {
                perform(lanes[lane].keyframes.wanted(now: now), lane: lane)
            } else if lanes[lane].beforeProof.isEmpty {
                needKeyframe(lane: lane, now: now)
            }
        }
        let state = StreamState(newest: nil, challenge: token)
        guard let bytes = lanes[lane].pacer.seal(state), viewers[index].proof.pay(bytes.count) else { return }
        let burst = MediaBurst(
            bytes: bytes, range: 0..<bytes.count, segmentSize: MediaLimits.datagramLength, addresses: [address])
        count(burst)
        outputs.append(.transmit(burst))
    }

    /// Nobody has answered from there.
    mutating func proofMissed(_ id: ViewerID) {
        guard let index = index(of: id) else { return }
        viewers[index].proof.cancel()
        stopIdleLanes()
    }

    /// Somebody is about to get a lane: it is proving its address.
    func isExpected(_ lane: Int) -> Bool {
        viewers.contains { $0.lane == lane && !$0.stream.isWatching && $0.proof.expiry != nil }
    }

    /// It was made for somebody whose address isn't proved yet.
    mutating func handleEarlyFrame(_ unit: AccessUnit, now: MediaTime) {
        guard isExpected(unit.lane) else { return }
        if unit.isKeyframe {
            lanes[unit.lane].keyframes.keyframeCame(now: now, isPeriodic: false)
            armKeyframe(lane: unit.lane)
        }
        lanes[unit.lane].beforeProof.put(unit)
    }
}
