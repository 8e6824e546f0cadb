import BeamMedia
import BeamWire

/// The media key, and the one that replaces it.
///
/// The key is rotated when a viewer leaves, so that it can't open what is sent afterwards, and long before the key's
/// datagram numbers run out. Viewers get the next key first. It is used when all of them confirm it, or after
/// `HostLimits.mediaKeyTimeout`, so that no viewer sees an interruption.
struct MediaKeys: Sendable {
    private(set) var current: SealingKey
    /// The key being announced, and when it is used at the latest.
    private(set) var next: (key: SealingKey, deadline: MediaTime)?
    /// A viewer left while a key was being announced that it may have received.
    private var isStale = false

    init(random: inout some RandomNumberGenerator) { current = SealingKey(number: 0, random: &random) }

    var deadline: MediaTime? { next?.deadline }

    /// A new key to announce to every viewer; nil if one is being announced already.
    mutating func replace(now: MediaTime, random: inout some RandomNumberGenerator) -> SealingKey? {
        guard next == nil else {
            isStale = true
            return nil
        }
        let key = SealingKey(number: current.number &+ 1, random: &random)
        next = (key, now + HostLimits.mediaKeyTimeout)
        return key
    }

    /// Makes the next key the current one. True if that has to be replaced at once, too.
    mutating func advance() -> Bool {
        guard let key = next?.key else { return false }
        current = key
        next = nil
        defer { isStale = false }
        return isStale
    }
}
