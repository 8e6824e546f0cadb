import BeamMedia

/// The keys that open a viewer's media datagrams: the current one, those announced for later, and the previous one for
/// a moment.
///
/// A viewer that was evicted knows the previous key and could seal with it. So that key is accepted only for as long as
/// a frame may be in flight.
package struct MediaKeyRing: Sendable {
    private struct Entry: Sendable {
        var key: SealingKey
        var opener: DatagramOpener
        var sound: DatagramOpener

        init(_ key: SealingKey) {
            self.key = key
            opener = DatagramOpener(key: key)
            sound = DatagramOpener(key: key.forSound)
        }
    }

    /// The current key, the previous one, and two announced ones.
    package static let limit = 4
    /// How long the previous key is accepted, from the first datagram with the new one on.
    package static let grace = Duration.seconds(1)

    private var entries: [Entry] = []
    /// The index of the newest key that an authentic datagram has used.
    private var current: Int?
    /// When the keys before the current one are dropped.
    private var retirement: MediaTime?

    package init() {}

    /// The numbers of the accepted keys, in the order in which they were announced.
    package var numbers: [UInt16] { entries.map(\.key.number) }

    /// The host has announced a key. A known one keeps its replay window.
    package mutating func add(_ key: SealingKey) {
        if let known = entries.first(where: { $0.key.number == key.number }) {
            guard known.key != key else { return }
            // Another key with the same number: the host has started over.
            self = MediaKeyRing()
        }
        entries.append(Entry(key))
        guard entries.count > Self.limit else { return }
        // The previous key is dropped first, then the oldest announced one; never the current one.
        if current == 0 {
            entries.remove(at: 1)
        } else {
            entries.removeFirst()
            current = current.map { $0 - 1 }
        }
    }

    /// Opens a datagram from the host into `plaintext`, whose memory is reused; on failure `plaintext` is empty.
    package mutating func open(
        _ bytes: UnsafeRawBufferPointer, into plaintext: inout [UInt8], now: MediaTime
    ) throws(SealedDatagramError) -> DatagramOpener.Opened {
        plaintext.removeAll(keepingCapacity: true)
        let datagram = try SealedDatagram(bytes, from: .host)
        if let retirement, retirement <= now { dropRetired() }
        guard let index = entries.firstIndex(where: { $0.key.number == datagram.header.keyNumber }) else {
            throw .unknownKey(datagram.header.keyNumber)
        }
        var opened =
            datagram.header.kind == .sound
            ? try entries[index].sound.open(datagram, into: &plaintext)
            : try entries[index].opener.open(datagram, into: &plaintext)
        if let current, index < current {
            opened.isNewest = false
        } else if index != current {
            moveOn(to: index, now: now)
        }
        return opened
    }

    /// The host uses a later key now. Keys announced in between were never used.
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
