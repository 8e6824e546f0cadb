import BeamMedia

/// Which packets a browser was sent last, by sequence number: to find those that it asks for again.
struct PacketHistory: Sendable {
    /// A picture's packets.
    struct Entry: Sendable {
        /// The first one's sequence number, counted without end.
        let first: Int64
        var count: Int
        let layer: Int
        let position: Int
    }

    /// A packet: the entry, and which of its packets.
    struct Packet: Sendable, Hashable {
        let layer: Int
        let position: Int
        let index: Int
        let sequence: UInt16
    }

    /// The most pictures that are remembered: 17 s at 60 a second.
    private static let mostEntries = 1024
    private static let slack = 128

    private var entries: [Entry] = []
    /// The next packet's.
    private(set) var next: Int64
    /// For each of the last packets, whether it was missed already.
    private var missed = [UInt64](repeating: 0, count: BrowserLayer.ring / 64)

    /// `first`: at random, the first sequence number.
    init(first: UInt16) { next = Int64(first) }

    /// The number of pictures.
    var count: Int { entries.count }

    var nextSequence: UInt16 { UInt16(truncatingIfNeeded: next) }

    /// A picture of so many packets is being sent: returns its first sequence number.
    mutating func add(count: Int, layer: Int, position: Int) -> UInt16 {
        defer { next += Int64(count) }
        entries.append(Entry(first: next, count: count, layer: layer, position: position))
        for number in next..<next + Int64(min(count, BrowserLayer.ring)) { mark(number, false) }
        if entries.count > Self.mostEntries + Self.slack { entries.removeFirst(entries.count - Self.mostEntries) }
        return UInt16(truncatingIfNeeded: next)
    }

    /// Of the newest picture only `count` packets were sent, and the others never will be.
    mutating func cutShort(to count: Int) {
        guard let last = entries.last, count < last.count else { return }
        next = last.first + Int64(count)
        if count > 0 { entries[entries.count - 1].count = count } else { entries.removeLast() }
    }

    /// The packet with that sequence number, and whether it is missed for the first time. Nil if it isn't among the last
    /// `BrowserLayer.ring`, or wasn't sent.
    mutating func find(_ sequence: UInt16) -> (packet: Packet, isNew: Bool)? {
        let back = Int64(nextSequence &- sequence)
        guard back > 0, back <= Int64(BrowserLayer.ring) else { return nil }
        let number = next - back
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].first <= number { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        let entry = entries[low - 1]
        guard number < entry.first + Int64(entry.count) else { return nil }
        let isNew = !isMarked(number)
        mark(number, true)
        let packet = Packet(
            layer: entry.layer, position: entry.position, index: Int(clamping: number - entry.first),
            sequence: sequence)
        return (packet, isNew)
    }

    /// The last packet; nil if none was sent.
    var newest: Packet? {
        entries.last.map {
            Packet(layer: $0.layer, position: $0.position, index: $0.count - 1, sequence: nextSequence &- 1)
        }
    }

    private func place(_ number: Int64) -> (word: Int, bit: UInt64) {
        let bit = Int(clamping: number & Int64(BrowserLayer.ring - 1))
        return (bit / 64, 1 << UInt64(bit % 64))
    }

    private func isMarked(_ number: Int64) -> Bool {
        let (word, bit) = place(number)
        return missed[word] & bit != 0
    }

    private mutating func mark(_ number: Int64, _ isMissed: Bool) {
        let (word, bit) = place(number)
        if isMissed { missed[word] |= bit } else { missed[word] &= ~bit }
    }
}
