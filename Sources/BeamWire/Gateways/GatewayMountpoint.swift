/// What a host makes at a gateway: a stream that others can watch there. Whoever knows `id` and `secret` can end it; whoever
/// knows `id` and `pin` can watch.
public struct GatewayMountpoint: Sendable, Hashable, Codable {
    /// Less than 2⁵³, as JavaScript has no larger whole numbers.
    public let id: Int
    public let secret: String
    public let pin: String

    /// Of 64 different characters: 192 random bits each.
    static let secretLength = 32

    /// `random` has to be a generator for cryptography.
    public init(random: inout some RandomNumberGenerator) {
        id = Int.random(in: 1 << 32..<1 << 53, using: &random)
        secret = SessionOffer.secret(Self.secretLength, random: &random)
        pin = SessionOffer.secret(Self.secretLength, random: &random)
    }

    /// One that was kept. Nil if it can't be one.
    public init?(id: Int, secret: String) {
        guard (1..<1 << 53).contains(id), !secret.isEmpty, secret.utf8.count <= 64 else { return nil }
        self.id = id
        self.secret = secret
        pin = ""
    }
}

/// The UDP ports at which a gateway takes a mountpoint's packets.
public struct GatewayPorts: Sendable, Hashable {
    /// SRTP, and RTCP in the clear, both ways.
    public var video: UInt16
    public var videoControl: UInt16
    /// Nil: the mountpoint has no sound.
    public var sound: UInt16?
    public var soundControl: UInt16?

    public init(video: UInt16, videoControl: UInt16, sound: UInt16? = nil, soundControl: UInt16? = nil) {
        self.video = video
        self.videoControl = videoControl
        self.sound = sound
        self.soundControl = soundControl
    }
}

/// The key and salt of SRTP, from a host to a gateway (AES_CM_128_HMAC_SHA1_80, RFC 4568, 6.2): 30 bytes. There is none for
/// the way back, as a gateway sends nothing there but requests for keyframes, in the clear.
public struct GatewayKey: Sendable, Hashable {
    public static let length = 30
    public let bytes: [UInt8]

    /// `random` has to be a generator for cryptography.
    public init(random: inout some RandomNumberGenerator) {
        bytes = (0..<Self.length).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}
