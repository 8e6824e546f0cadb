import BeamMedia

/// How fast datagrams may leave, and how much may wait for it.
public struct Pacing: Sendable, Hashable {
    /// Bytes that may leave at once after a pause, towards each viewer. A single datagram is always let through.
    public var bucketBytes: Int
    /// After that, in bits a second towards each viewer.
    public var bitsPerSecond: Int
    /// Once the bucket is empty, so many datagrams of a frame are waited for, and leave in one go. What the bucket holds
    /// leaves in one go, too.
    public var burstDatagrams: Int
    /// Bytes of encoded frames that may wait for their first datagram to leave, and for how long.
    public var queueBytes: Int
    public var queueTime: Duration

    /// What suits an Ethernet switch: far above a stream's own rate, gentle enough for the queue of one of its ports.
    public init(
        bucketBytes: Int = 48_000, bitsPerSecond: Int = 200_000_000, burstDatagrams: Int = 16,
        queueBytes: Int = 4_000_000, queueTime: Duration = .milliseconds(500)
    ) {
        self.bucketBytes = bucketBytes
        self.bitsPerSecond = bitsPerSecond
        self.burstDatagrams = burstDatagrams
        self.queueBytes = queueBytes
        self.queueTime = queueTime
    }

    /// The same for paths that are to be sent no more than so many bits a second, and so many bytes at once.
    func slowed(to rate: Int, burst: Int) -> Pacing {
        var slowed = self
        slowed.bitsPerSecond = max(1, min(bitsPerSecond, rate))
        slowed.bucketBytes = max(MediaLimits.datagramLength, min(bucketBytes, burst))
        return slowed
    }

    /// What the system takes in one go: as many bytes as an IP datagram holds, and fewer than 64 datagrams.
    private static let longestBurst = 65_507 / MediaLimits.datagramLength

    /// The length of the next burst in bytes, when the bucket holds `tokens`. It fits into the bucket, and is one datagram
    /// at least.
    func burstBytes(holding tokens: Int) -> Int {
        let waitedFor = min(burstDatagrams, bucketBytes / MediaLimits.datagramLength)
        let datagrams = min(max(waitedFor, tokens / MediaLimits.datagramLength), Self.longestBurst)
        return max(1, datagrams) * MediaLimits.datagramLength
    }
}

/// Lets bytes through at a rate, with room for a burst.
struct TokenBucket: Sendable {
    private var capacity: Int64
    private var nanosecondsPerByte: Double
    /// In bytes; negative only while a burst larger than the bucket is paid off.
    private var tokens: Int64
    private var filledAt: MediaTime?

    init(capacity: Int, bitsPerSecond: Int) {
        self.capacity = Int64(max(1, capacity))
        nanosecondsPerByte = 8e9 / Double(max(1, bitsPerSecond))
        tokens = self.capacity
    }

    /// From now on. What is in the bucket already stays.
    mutating func change(capacity: Int, bitsPerSecond: Int, now: MediaTime) {
        fill(now)
        self.capacity = Int64(max(1, capacity))
        nanosecondsPerByte = 8e9 / Double(max(1, bitsPerSecond))
    }

    /// Takes `count` bytes out and returns nil; or says when they will be there.
    mutating func take(_ count: Int, now: MediaTime) -> MediaTime? {
        fill(now)
        let missing = min(Int64(count), capacity) - tokens
        guard missing > 0 else {
            tokens -= Int64(count)
            return nil
        }
        return now + .nanoseconds(Int64(clamping: (Double(missing) * nanosecondsPerByte).rounded(.up)))
    }

    /// Takes bytes out whether they are there or not: what comes next waits for them.
    mutating func charge(_ count: Int, now: MediaTime) {
        fill(now)
        tokens -= Int64(count)
    }

    /// What was taken and not used.
    mutating func putBack(_ count: Int) { tokens = min(max(tokens, capacity), tokens + Int64(count)) }

    /// Bytes that may leave now.
    mutating func level(now: MediaTime) -> Int {
        fill(now)
        return Int(max(0, tokens))
    }

    private mutating func fill(_ now: MediaTime) {
        guard let last = filledAt, last < now else {
            filledAt = filledAt ?? now
            return
        }
        let gained = (Double((now - last).inNanoseconds) / nanosecondsPerByte).rounded(.down)
        if gained >= Double(capacity - tokens) {
            // There may be more since it was larger.
            tokens = max(tokens, capacity)
            filledAt = now
        } else {
            // Whole bytes only; the time of the fraction counts next time.
            tokens += Int64(clamping: gained)
            filledAt = min(now, last + .nanoseconds(Int64(clamping: (gained * nanosecondsPerByte).rounded(.up))))
        }
    }
}
