import BeamMedia
import BeamWire

/// What a viewer sends to the host's media port in a version 2 session: hellos, which answer the host's challenges of the
/// address that they come from, and feedback.
struct MediaUplink: Sendable {
    /// The host's newest challenge.
    private struct Challenge: Sendable {
        var token: UInt64
        var time: MediaTime
        var expiry: MediaTime { time + ViewerTiming.challengeLifetime }
    }

    private(set) var sealer: DatagramSealer
    private var challenge: Challenge?

    init(_ key: SealingKey) { sealer = DatagramSealer(key: key) }

    mutating func setKey(_ key: SealingKey) { sealer = DatagramSealer(key: key) }

    /// The host has challenged the address. Answered at once, and with every hello for a while, because an answer may be
    /// lost. Returns whether to say hello now.
    mutating func challenged(_ token: UInt64, now: MediaTime) -> Bool {
        if let last = challenge, now - last.time < ViewerTiming.challengeAnswerInterval { return false }
        challenge = Challenge(token: token, time: now)
        return true
    }

    /// Another address: it wasn't challenged.
    mutating func moved() { challenge = nil }

    /// Sealing fails only after 2³² datagrams, more than a viewer sends.
    mutating func hello(now: MediaTime) -> [UInt8]? {
        let token = challenge.flatMap { $0.expiry > now ? $0.token : nil }
        return try? sealer.seal(.hello, SealedHello(time: now, token: token).plaintext)
    }

    mutating func seal(_ feedback: Feedback) -> [UInt8]? { try? sealer.seal(.feedback, feedback.plaintext) }
}
