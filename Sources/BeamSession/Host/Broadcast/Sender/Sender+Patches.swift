import BeamMedia

/// The exact patches that go to one viewer.
extension Sender {
    /// On a path that bounds the rate a change may take so much of its time, and a repair so much: the rest of the picture
    /// waits for it.
    private static let changeTime = 0.002
    private static let repairTime = 0.02

    /// Patches may be sent to it now: not before its first picture has left, on which they lie.
    var takesPatches: Bool { patches.isTaken && isReachable && hasSentPicture }

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

    mutating func patchSent(_ burst: MediaBurst, now: MediaTime) {
        delivery?.soundSent(bytes: burst.range.count, rate: sound.rate(now: now), now: now)
        totals.bytes += UInt64(burst.range.count)
        totals.datagrams += UInt64(burst.datagramCount)
    }
}
