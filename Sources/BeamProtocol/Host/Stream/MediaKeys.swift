import BeamMedia

/// The key that the stream is sealed with, and the one that is to replace it.
///
/// A key is replaced when a viewer has left, so that what comes after is none of its business, and long before its
/// datagrams run out. The viewers get the next key first, and it is used when all of them hold it, or when the slowest have had a second:
/// so nobody sees the change.
struct MediaKeys: Sendable {
    private(set) var current: SealingKey
    /// What the viewers are being given, and when it is used at the latest.
    private(set) var next: (key: SealingKey, deadline: MediaTime)?
    /// Somebody left while a key was being given out that it may have got.
    private var isStale = false

    init(random: inout some RandomNumberGenerator) { current = SealingKey(number: 0, random: &random) }

    var deadline: MediaTime? { next?.deadline }

    /// A fresh key, to be given to every viewer; nil if one is being given out already.
    mutating func replace(now: MediaTime, random: inout some RandomNumberGenerator) -> SealingKey? {
        guard next == nil else {
            isStale = true
            return nil
        }
        let key = SealingKey(number: current.number &+ 1, random: &random)
        next = (key, now + HostLimits.mediaKeyTimeout)
        return key
    }

    /// The next key is used from now on. True: and it has to be replaced at once.
    mutating func advance() -> Bool {
        guard let key = next?.key else { return false }
        current = key
        next = nil
        defer { isStale = false }
        return isStale
    }
}
