import BeamMedia
import BeamWire

/// The sound of a host: numbers packets, keeps the last ones to repeat them, and seals each datagram once for all viewers
/// that get the same.
struct SoundStream: Sendable {
    /// Packets kept for repeats and retransmissions: 0.64 s. Later nobody plays them any more.
    private static let kept = 64
    /// More missing packets than this (10 s) are none.
    private static let longestStep: Int64 = 1000
    /// The most packets before the newest one in a datagram.
    static let mostRepeats = 5
    /// How long an encoding is made after the last viewer that wanted it has gone, so that one that comes and goes doesn't
    /// make the host start and stop to capture.
    private static let linger = Duration.seconds(3)

    private struct Packet: Sendable {
        var number: UInt32
        var sound: EncodedSound
    }

    /// A datagram of the newest packet, sealed when the first viewer needs it.
    private struct Sealed: Sendable {
        var memory: [UInt8] = []
        var isFresh = false
    }

    private var sealer: DatagramSealer
    /// The last packets, in the order of their numbers.
    private var packets: [Packet] = []
    /// Of the full rate with 0 to `mostRepeats` repeats, then of the reduced rate.
    private var sealed = [Sealed](repeating: Sealed(), count: 2 * (mostRepeats + 1))
    private var nextNumber: UInt32 = 0
    /// What is added to given numbers, so that they go on where the ones before have ended.
    private var shift: UInt32 = 0
    /// What viewers want, and what was told last.
    private var wanted = SoundDemand()
    private(set) var demand = SoundDemand()
    /// When what nobody wants any more ends; nil while all of `demand` is wanted.
    private(set) var deadline: MediaTime?

    init(key: SealingKey) { sealer = DatagramSealer(key: key.forSound) }

    /// Seals with the sound key of this media key from now on.
    mutating func use(_ key: SealingKey) {
        sealer = DatagramSealer(key: key.forSound)
        for index in sealed.indices { sealed[index].isFresh = false }
    }

    var datagramsSealed: UInt64 { sealer.datagramsSealed }

    // MARK: Packets

    /// Adds a packet. `number`: the one that it has already, because it is passed on for another host; nil: the next one.
    ///
    /// - Returns: its number, and whether it is the newest one.
    mutating func push(_ sound: EncodedSound, number given: UInt32? = nil) -> (number: UInt32, isNewest: Bool) {
        let number = given.map { shifted($0) } ?? nextNumber
        let isNewest = packets.last.map { Int32(bitPattern: number &- $0.number) > 0 } ?? true
        let place = packets.firstIndex { Int32(bitPattern: $0.number &- number) >= 0 } ?? packets.count
        if place < packets.count, packets[place].number == number {
            packets[place].sound = sound
        } else {
            packets.insert(Packet(number: number, sound: sound), at: place)
        }
        if packets.count > Self.kept { packets.removeFirst() }
        if isNewest {
            nextNumber = number &+ 1
            for index in sealed.indices { sealed[index].isFresh = false }
        }
        return (number, isNewest)
    }

    /// A given number in the present numbering. One that is too old or too far ahead begins another one: whoever gave it has
    /// begun anew.
    private mutating func shifted(_ given: UInt32) -> UInt32 {
        let step = Int64(Int32(bitPattern: given &+ shift &- nextNumber))
        if step < -Int64(Self.kept) || step > Self.longestStep { shift = nextNumber &- given }
        return given &+ shift
    }

    /// Another source: numbers go on, but nothing of before is sent again.
    mutating func removeAll() {
        packets.removeAll(keepingCapacity: true)
        for index in sealed.indices { sealed[index].isFresh = false }
    }

    /// The datagram of the newest packet with up to `repeats` packets before it, as far as they fit into `size`; nil if
    /// the packet isn't encoded in that way, or nothing can be sealed.
    mutating func newest(isReduced: Bool, repeats: Int, size: DatagramSize) -> [UInt8]? {
        var repeats = min(max(0, repeats), Self.mostRepeats)
        while repeats > 0, length(isReduced, repeats) > size.length { repeats -= 1 }
        let index = (isReduced ? Self.mostRepeats + 1 : 0) + repeats
        if !sealed[index].isFresh {
            guard let last = packets.last,
                seal(packets.count - 1, isReduced, repeats: repeats, last.number, into: index)
            else { return nil }
        }
        return sealed[index].memory
    }

    /// A datagram with one packet again; nil if it isn't kept.
    mutating func again(_ number: UInt32, isReduced: Bool) -> [UInt8]? {
        guard let place = packets.lastIndex(where: { $0.number == number }) else { return nil }
        var memory: [UInt8] = []
        return seal(place, isReduced, repeats: 0, extra: .retransmission, into: &memory) ? memory : nil
    }

    private func opus(_ place: Int, _ isReduced: Bool) -> [UInt8]? {
        isReduced ? packets[place].sound.reduced : packets[place].sound.full
    }

    /// The places of the packets that may be repeated behind the newest one: with the numbers before it, and of the same
    /// span of sound, because their times follow from the newest one's.
    private func repeated(_ place: Int, _ isReduced: Bool, _ most: Int) -> Range<Int> {
        var first = place
        while place - first < most, first > 0, !packets[first].sound.begins,
            packets[first - 1].number == packets[first].number &- 1, opus(first - 1, isReduced) != nil
        { first -= 1 }
        return first..<place
    }

    private func length(_ isReduced: Bool, _ repeats: Int) -> Int {
        let place = packets.count - 1
        guard place >= 0 else { return 0 }
        let first = repeated(place, isReduced, repeats).lowerBound
        return (first...place).reduce(SealedHeader.overhead + SoundDatagram.headLength) {
            $0 + SoundDatagram.entryHeadLength + (opus($1, isReduced)?.count ?? 0)
        }
    }

    private mutating func seal(
        _ place: Int, _ isReduced: Bool, repeats: Int, _ number: UInt32, into index: Int
    ) -> Bool {
        var memory: [UInt8] = []
        swap(&memory, &sealed[index].memory)
        sealed[index].isFresh = seal(place, isReduced, repeats: repeats, into: &memory)
        swap(&memory, &sealed[index].memory)
        return sealed[index].isFresh
    }

    private func seal(
        _ place: Int, _ isReduced: Bool, repeats: Int, extra: SoundDatagram.Flags = [], into memory: inout [UInt8]
    ) -> Bool {
        guard opus(place, isReduced) != nil else { return false }
        let first = repeated(place, isReduced, repeats).lowerBound
        do throws(SealingError) {
            try sealer.seal(.sound, in: &memory) { bytes in
                SoundDatagram.appendHead(
                    number: packets[place].number, time: packets[place].sound.time, to: &bytes)
                for index in (first...place).reversed() {
                    var flags = extra
                    if packets[index].sound.begins { flags.insert(.begins) }
                    if packets[index].sound.ends { flags.insert(.ends) }
                    if isReduced { flags.insert(.reduced) }
                    SoundDatagram.append(opus(index, isReduced) ?? [], flags, to: &bytes)
                }
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: Demand

    /// What viewers want has changed, or may have. True if `demand` has changed.
    mutating func want(_ wanted: SoundDemand, now: MediaTime) -> Bool {
        self.wanted = wanted
        let next = demand.union(wanted)
        if next == wanted {
            deadline = nil
        } else if deadline == nil {
            deadline = now + Self.linger
        }
        defer { demand = next }
        return next != demand
    }

    /// True if `demand` has changed.
    mutating func deadlineReached(now: MediaTime) -> Bool {
        guard let deadline, deadline <= now else { return false }
        self.deadline = nil
        defer { demand = wanted }
        return demand != wanted
    }
}
