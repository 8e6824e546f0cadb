import BeamMedia
import BeamWire

/// The pacing of each viewer's datagrams, and the limits of what may wait.
public struct Pacing: Sendable, Hashable {
    /// Bytes that may leave at once after a pause. A single datagram always may.
    public var bucketBytes: Int
    /// The pacing rate in bits a second.
    public var bitsPerSecond: Int
    /// How many datagrams of a frame the sender waits for once the bucket is empty, to send them at once. If the bucket
    /// holds more, all of it is sent at once.
    public var burstDatagrams: Int
    /// Encoded bytes that may wait to be sent, and for how long.
    public var queueBytes: Int
    public var queueTime: Duration

    /// The default rate is far above a stream's, and low enough not to overflow the queue of an Ethernet switch's port.
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

    /// This pacing with the rate and the bucket limited to `rate` bits a second and `burst` bytes.
    func slowed(to rate: Int, burst: Int) -> Pacing {
        var slowed = self
        slowed.bitsPerSecond = max(1, min(bitsPerSecond, rate))
        slowed.bucketBytes = max(MediaLimits.datagramLength, min(bucketBytes, burst))
        return slowed
    }

    /// Datagrams that one system call takes: as many bytes as an IP datagram holds (65,507 of UDP payload), which is
    /// fewer than 64 datagrams.
    static let longestBurst = 65_507 / MediaLimits.datagramLength

    /// The length of the next burst in bytes, in datagrams of that length, when the bucket holds `tokens` bytes: at least
    /// one datagram, and otherwise no more than fits into the bucket.
    func burstBytes(holding tokens: Int, in size: DatagramSize = .full) -> Int {
        let waitedFor = min(burstDatagrams, bucketBytes / size.length)
        let datagrams = min(max(waitedFor, tokens / size.length), Self.longestBurst)
        return max(1, datagrams) * size.length
    }
}
