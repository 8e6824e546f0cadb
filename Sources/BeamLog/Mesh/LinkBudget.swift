import BeamMedia
import BeamWire

/// What a link may cost here: time of the thread that serves all links, and messages. A link that is over its budget is
/// read later, so that TCP slows its sender down; it is neither closed nor blamed, because an honest member may pass on
/// much.
struct LinkBudget: Sendable {
    #if DEBUG
        /// An unoptimised build takes about ten times as long for the same messages.
        static let scale: Int64 = 10
    #else
        static let scale: Int64 = 1
    #endif
    /// What each message costs besides the time that handling it takes: TLS, framing and the event loop, in nanoseconds,
    /// in all and for each byte.
    static let perMessage: Int64 = 3_000
    static let perByte: Int64 = 10

    /// In microseconds of a core.
    private var time: TokenBucket
    private var messages = TokenBucket(
        capacity: MeshLimits.burstMessages, bitsPerSecond: MeshLimits.messagesPerSecond * 8)
    private var links = 1
    /// What is left over of less than a microsecond, in nanoseconds.
    private var rest: Int64 = 0

    init() { time = Self.bucket(MeshLimits.linkTimePerSecond, burst: MeshLimits.linkTimeBurst) }

    private static func bucket(_ perSecond: Duration, burst: Duration) -> TokenBucket {
        TokenBucket(
            capacity: Int(clamping: microseconds(burst)), bitsPerSecond: Int(clamping: microseconds(perSecond)) * 8)
    }

    private static func microseconds(_ duration: Duration) -> Int64 { duration.inNanoseconds / 1000 * scale }

    /// All links together have a budget that they share evenly.
    private static func perSecond(of links: Int) -> Duration {
        min(MeshLimits.linkTimePerSecond, MeshLimits.allLinksTimePerSecond / max(1, links))
    }

    /// A message of so many bytes has come, and handling it took so long. Returns until when the link isn't to be read;
    /// nil: it is.
    mutating func spent(_ duration: Duration, bytes: Int, links: Int, now: MediaTime) -> MediaTime? {
        if links != self.links {
            self.links = links
            time.change(
                capacity: Int(clamping: Self.microseconds(MeshLimits.linkTimeBurst)),
                bitsPerSecond: Int(clamping: Self.microseconds(Self.perSecond(of: links))) * 8, now: now)
        }
        let nanoseconds =
            min(max(.zero, duration), .seconds(10)).inNanoseconds + Self.perMessage + Self.perByte * Int64(bytes) + rest
        rest = nanoseconds % 1000
        time.charge(Int(clamping: nanoseconds / 1000), now: now)
        messages.charge(1, now: now)
        let ends = [time.take(0, now: now), messages.take(0, now: now)].compactMap(\.self)
        guard let end = ends.max() else { return nil }
        // Not for ever shorter times: each pause costs something, too.
        return min(max(end, now + MeshLimits.shortestLinkPause), now + MeshLimits.longestLinkPause)
    }

    /// The budget that devices share of which nothing is known here.
    static var ofStrangers: TokenBucket {
        bucket(MeshLimits.strangersTimePerSecond, burst: MeshLimits.strangersTimeBurst)
    }

    /// Charges that one. True: it is used up.
    static func charge(_ duration: Duration, bytes: Int, to bucket: inout TokenBucket, now: MediaTime) -> Bool {
        let nanoseconds = min(max(.zero, duration), .seconds(10)).inNanoseconds + perMessage + perByte * Int64(bytes)
        bucket.charge(Int(clamping: nanoseconds / 1000), now: now)
        return bucket.take(0, now: now) != nil
    }
}
