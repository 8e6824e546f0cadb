import BeamMedia

/// The keys that a viewer may be sent media with: the one in use, those that the host has announced for later, and for
/// a moment the one before.
///
/// A viewer that was sent away knows the old key, and could go on sealing with it: so that key is good for no longer
/// than a frame may be on its way.
struct MediaKeyRing: Sendable {
    private struct Entry: Sendable {
        var key: SealingKey
        var opener: DatagramOpener
    }

    /// The one in use, the one before, and two that were announced.
    static let limit = 4
    /// How long the key before is good, from the first datagram with the new one on.
    static let grace = Duration.seconds(1)

    /// In the order in which they were announced.
    private var entries: [Entry] = []
    /// Of the latest key that an authentic datagram has come with.
    private var current: Int?
    /// When the keys before the present one are dropped.
    private var retirement: MediaTime?

    /// The numbers of the keys that are good now, in the order in which they were announced.
    var numbers: [UInt16] { entries.map(\.key.number) }

    /// The host has announced a key. One that is known already stays as it is, and remembers what came.
    mutating func add(_ key: SealingKey) {
        if let known = entries.first(where: { $0.key.number == key.number }) {
            guard known.key != key else { return }
            // Another key by the same number: the host has begun anew.
            self = MediaKeyRing()
        }
        entries.append(Entry(key: key, opener: DatagramOpener(key: key)))
        guard entries.count > Self.limit else { return }
        // The key before goes first, then what was announced first; never the one in use.
        if current == 0 {
            entries.remove(at: 1)
        } else {
            entries.removeFirst()
            current = current.map { $0 - 1 }
        }
    }

    /// Opens a datagram from the host into `plaintext`, whose memory is used again; when that fails it is empty.
    mutating func open(
        _ bytes: UnsafeRawBufferPointer, into plaintext: inout [UInt8], now: MediaTime
    ) throws(SealedDatagramError) -> DatagramOpener.Opened {
        plaintext.removeAll(keepingCapacity: true)
        let datagram = try SealedDatagram(bytes, from: .host)
        if let retirement, retirement <= now { dropRetired() }
        guard let index = entries.firstIndex(where: { $0.key.number == datagram.header.keyNumber }) else {
            throw .unknownKey(datagram.header.keyNumber)
        }
        var opened = try entries[index].opener.open(datagram, into: &plaintext)
        if let current, index < current {
            opened.isNewest = false
        } else if index != current {
            moveOn(to: index, now: now)
        }
        return opened
    }

    /// The host has begun to use a later key. Those between were announced and never used.
    private mutating func moveOn(to index: Int, now: MediaTime) {
        let previous = current.map { entries[$0] }
        entries.removeFirst(index)
        current = 0
        guard let previous else { return }
        entries.insert(previous, at: 0)
        current = 1
        retirement = now + Self.grace
    }

    private mutating func dropRetired() {
        retirement = nil
        guard let index = current else { return }
        entries.removeFirst(index)
        current = 0
    }
}
