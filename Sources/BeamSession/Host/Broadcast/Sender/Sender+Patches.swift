import BeamMedia

/// The exact patches that go to one viewer.
extension Sender {
    /// The longest that a change, and a repair, may occupy a path that bounds the rate, in seconds: pictures wait
    /// meanwhile.
    private static let changeTime = 0.002
    private static let repairTime = 0.02

    /// Patches may be sent to it now: not before its first picture has left, on which they lie.
    var takesPatches: Bool { patches.isTaken && patches.takers.contains(.exact) && isReachable && hasSentPicture }

    /// Takes what a patch needs of the path. False: it doesn't carry it now.
    mutating func payPatch(_ bytes: Int, isRepair: Bool, now: MediaTime) -> Bool {
        guard let delivery, delivery.path.windowSpace >= bytes else { return false }
        if delivery.path.isBound {
            let time = isRepair ? Self.repairTime : Self.changeTime
            guard Double(bytes) * 8 <= Double(delivery.path.rate) * time else { return false }
        }
        // A repair leaves room for a change.
        guard bucket.level(now: now) >= (isRepair ? 2 * bytes : bytes), quota.take(bytes, now: now) == nil else {
            return false
        }
        bucket.charge(bytes, now: now)
        return true
    }

    /// Queues a change that is too long to leave at once, or that has to stay behind queued ones. Only where neither
    /// the path nor the viewer's wish bounds the rate: elsewhere it would only be late.
    mutating func queueChange(
        _ number: UInt32, _ memory: [UInt8], _ length: Int, segmentSize: Int, now: MediaTime
    ) -> Bool {
        guard let delivery, !delivery.path.isBound, quota.wish.bitRate == nil else { return false }
        guard !patches.queue.isEmpty || length > min(bucket.level(now: now), PathControl.largestBurst) else {
            return false
        }
        return patches.queue(number, memory, length, segmentSize: segmentSize, now: now)
    }

    /// Longer ones are of no use: viewers don't wait for so long.
    private static let longestQueued = Duration.milliseconds(100)

    /// The next piece of a change that was queued; nil: none may leave now, or what waits is of no use any more.
    mutating func nextPatchPiece(now: MediaTime) -> MediaBurst? {
        guard let address = destination.address, !isSilent, delivery?.path.isBound == false,
            let piece = patches.queue.first, now - piece.queued < Self.longestQueued
        else {
            patches.dropQueue()
            return nil
        }
        followPath(now: now)
        burstAllowedAt = nil
        if let time = quota.take(piece.range.count, now: now) {
            burstAllowedAt = time
            return nil
        }
        if let time = bucket.take(piece.range.count, now: now) {
            quota.putBack(piece.range.count)
            burstAllowedAt = time
            return nil
        }
        _ = patches.takePiece()
        let burst = MediaBurst(
            bytes: piece.memory, range: piece.range, segmentSize: piece.segmentSize, address: address)
        besidePicturesSent(burst, now: now)
        return burst
    }

    /// The same for what the viewer has requested again.
    mutating func payPatchAgain(_ bytes: Int, now: MediaTime) -> Bool {
        guard delivery?.payResend(bytes, now: now) == nil else { return false }
        guard quota.take(bytes, now: now) == nil else {
            delivery?.returnResend(bytes)
            return false
        }
        bucket.charge(bytes, now: now)
        patches.sentAgain = now
        return true
    }

    /// A change has left. Where datagrams get lost, the viewer is told soon if no other follows.
    mutating func changeSent(now: MediaTime) {
        tail.changeSent(pathLoses: loses(now: now), now: now)
    }

    /// The path loses datagrams, so that some patches come late. Frames alone tell it too late, while there is one a second.
    func loses(now: MediaTime) -> Bool {
        if let lost = patches.sentAgain, now - lost < Self.lossMemory { return true }
        return delivery.map { $0.path.loss > Self.leastLoss } ?? false
    }

    private static let leastLoss = 0.001
    private static let lossMemory = Duration.seconds(5)
}
