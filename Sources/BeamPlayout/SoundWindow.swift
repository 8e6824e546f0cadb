import BeamMedia

/// The packets of sound that wait to be played, by their numbers: from the next one on, `capacity` numbers.
///
/// Its memory is allocated once. The host chooses the numbers, so none of them makes it larger.
struct SoundWindow: Sendable {
    enum Placement: Sendable {
        case stored
        /// It is there already.
        case duplicate
        /// Its number has been passed.
        case behind
        /// Its number is too far ahead.
        case beyond
    }

    /// 2.56 s: the longest latency that can be asked for (`SoundBuffer.longestLatency`), and the longest delay.
    static let capacity = 256
    /// The longest packet of Opus (RFC 6716, 3.2.1: 1275 bytes a frame, with its first byte).
    static let longestPacket = 1276

    private var slots = [ReceivedSound?](repeating: nil, count: capacity)
    /// The number that is played next.
    private(set) var next: UInt32
    private(set) var count = 0

    init(next: UInt32) { self.next = next }

    var isEmpty: Bool { count == 0 }

    /// The packet with the number `next` + `offset`; `offset` is less than `capacity`.
    subscript(offset: Int) -> ReceivedSound? { slots[slot(offset)] }

    /// How far the first packet is ahead of `next`.
    var firstOffset: Int? {
        guard count > 0 else { return nil }
        return (0..<Self.capacity).first { slots[slot($0)] != nil }
    }

    /// Where the newest packets begin between which none is missing.
    var lastRunOffset: Int? {
        guard var offset = (0..<Self.capacity).last(where: { slots[slot($0)] != nil }) else { return nil }
        while offset > 0, slots[slot(offset - 1)] != nil { offset -= 1 }
        return offset
    }

    private func slot(_ offset: Int) -> Int { (Int(truncatingIfNeeded: next) &+ offset) & (Self.capacity - 1) }

    mutating func put(_ sound: ReceivedSound) -> Placement {
        let offset = Self.distance(from: next, to: sound.number)
        guard offset >= 0 else { return .behind }
        guard offset < Self.capacity else { return .beyond }
        guard slots[slot(offset)] == nil else { return .duplicate }
        slots[slot(offset)] = sound
        count += 1
        return .stored
    }

    /// Moves the window back, so that it begins with `number`. Nothing at its end may be waiting then.
    mutating func begin(with number: UInt32) {
        let distance = Self.distance(from: number, to: next)
        guard distance > 0, distance < Self.capacity / 2 else { return }
        for offset in Self.capacity - distance..<Self.capacity { clear(offset) }
        next = number
    }

    /// Passes `count` numbers, at most `capacity`; tells how many packets there were among them.
    @discardableResult
    mutating func advance(by count: Int) -> Int {
        let before = self.count
        for offset in 0..<min(count, Self.capacity) { clear(offset) }
        next &+= UInt32(truncatingIfNeeded: count)
        return before - self.count
    }

    /// Forgets all packets; `number` comes next.
    mutating func restart(at number: UInt32) {
        if count > 0 { for offset in 0..<Self.capacity { clear(offset) } }
        next = number
    }

    private mutating func clear(_ offset: Int) {
        guard slots[slot(offset)] != nil else { return }
        slots[slot(offset)] = nil
        count -= 1
    }

    /// How far `to` is ahead of `from`; numbers wrap around.
    static func distance(from: UInt32, to: UInt32) -> Int { Int(Int32(bitPattern: to &- from)) }
}
