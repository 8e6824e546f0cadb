import BeamMedia

/// Keeps what is sent to a viewer within what it wishes, where its layer has more than that: because others in the layer
/// need more, or because the encoder has exceeded its rate. The viewer's path has no part in it.
///
/// A pure value: time is an argument.
struct SendingQuota: Sendable {
    /// The bits that may leave at once, in seconds of the rate: twice what the encoder makes a keyframe of at most where the
    /// rate is limited.
    private static let burstTime = 0.5
    /// Frames are counted in this unit, because rates of frames have fractions.
    private static let frame = 100

    private(set) var wish = QualityWish.any
    private var bits: TokenBucket?
    private var frames: TokenBucket?

    mutating func set(_ wish: QualityWish, now: MediaTime) {
        guard wish != self.wish else { return }
        self.wish = wish
        bits = Self.bucket(bits, wish.bitRate.map { (Int(clamping: Double($0) / 8 * Self.burstTime), $0) }, now: now)
        frames = Self.bucket(
            frames, wish.frameRate.map { (2 * Self.frame, Int(clamping: $0 * Double(8 * Self.frame))) }, now: now)
    }

    /// The bucket goes on with what is in it, so that who changes the wish again and again gains nothing.
    private static func bucket(
        _ bucket: TokenBucket?, _ limit: (capacity: Int, rate: Int)?, now: MediaTime
    ) -> TokenBucket? {
        guard let limit else { return nil }
        guard var bucket else { return TokenBucket(capacity: limit.capacity, bitsPerSecond: limit.rate) }
        bucket.change(capacity: limit.capacity, bitsPerSecond: limit.rate, now: now)
        return bucket
    }

    /// A disposable frame of so many bytes is to be left out.
    mutating func leavesOut(_ bytes: Int, now: MediaTime) -> Bool {
        bits.map { _ in (bits?.level(now: now) ?? 0) < bytes } ?? false
            || frames.map { _ in (frames?.level(now: now) ?? 0) < Self.frame } ?? false
    }

    mutating func frameBegan(now: MediaTime) {
        // Frames that can't be left out may exceed the rate. Later ones make up for one of them at most.
        if frames?.level(now: now) ?? 0 > 0 { frames?.charge(Self.frame, now: now) }
    }

    /// Takes `bytes` and returns nil; if they are too many now, takes none and returns when they won't be.
    mutating func take(_ bytes: Int, now: MediaTime) -> MediaTime? { bits?.take(bytes, now: now) }

    mutating func putBack(_ bytes: Int) { bits?.putBack(bytes) }

    /// Something was sent that doesn't wait: frames wait for it.
    mutating func charge(_ bytes: Int, now: MediaTime) { bits?.charge(bytes, now: now) }
}
