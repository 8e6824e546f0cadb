/// The RTP sources of one browser's stream, as its session description says them.
///
/// Each browser has sources of its own, at random: nothing that one knows helps with another one's stream.
public struct BrowserSources: Sendable, Hashable {
    /// SSRCs.
    public var video: UInt32
    /// Nil if the browser gets no sound.
    public var sound: UInt32?
    /// Payload types.
    public static let videoType: UInt8 = 96
    public static let soundType: UInt8 = 111
    /// The canonical name (CNAME), the same for both, so that browsers play them in step.
    public static let name = "b"

    public init(video: UInt32, sound: UInt32?) {
        self.video = video
        self.sound = sound
    }

    /// Two different sources.
    public init(hasSound: Bool, random: inout some RandomNumberGenerator) {
        let (video, other): (UInt32, UInt32) = (random.next(), random.next())
        self.video = video
        sound = hasSound ? (other == video ? ~other : other) : nil
    }
}
