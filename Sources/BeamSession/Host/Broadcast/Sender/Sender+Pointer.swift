import BeamMedia

/// The pointer that goes to one viewer.
extension Sender {
    /// The pointer may be sent to it now.
    var takesPointer: Bool { pointer.isTaken && isReachable }

    /// What bounds the rate, in bits a second; nil: the path doesn't.
    private var boundRate: Int? { delivery?.path.isBound == true ? delivery?.path.rate : nil }

    mutating func payPlace(_ bytes: Int, isRepeat: Bool, now: MediaTime) -> Bool {
        pointer.payPlace(bytes, rate: boundRate, isRepeat: isRepeat, now: now)
    }

    mutating func payLook(_ bytes: Int, now: MediaTime) -> Bool {
        pointer.payLook(bytes, rate: boundRate, now: now)
    }

    /// Like sound it leaves at once, and what it takes is left to the pictures no more.
    mutating func pointerSent(_ burst: MediaBurst, now: MediaTime) {
        bucket.charge(burst.range.count, now: now)
        quota.charge(burst.range.count, now: now)
        delivery?.soundSent(bytes: burst.range.count, rate: sound.rate(now: now), now: now)
        totals.bytes += UInt64(burst.range.count)
        totals.datagrams += UInt64(burst.datagramCount)
    }
}
