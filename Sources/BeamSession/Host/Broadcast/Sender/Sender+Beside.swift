import BeamMedia

/// What goes to one viewer beside the pictures in common: sound, patches and the pointer.
extension Sender {
    /// Sound or the pointer is about to leave. It goes at once: the pictures' bursts wait for it.
    mutating func chargeAtOnce(_ bytes: Int, now: MediaTime) {
        bucket.charge(bytes, now: now)
        quota.charge(bytes, now: now)
    }

    /// A burst has left. What it takes of the path is left to the pictures no more.
    mutating func besidePicturesSent(_ burst: MediaBurst, now: MediaTime) {
        delivery?.besidePicturesSent(bytes: burst.range.count, rate: sound.rate(now: now), now: now)
        totals.bytes += UInt64(burst.range.count)
        totals.datagrams += UInt64(burst.datagramCount)
    }
}
