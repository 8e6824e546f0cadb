import BeamMedia

/// Puts the packets of sound in order for a file, whether or not they are played. What is missing is waited for as long
/// as a retransmission may take, and then reported.
///
/// Bounded in memory and in the work of a call, whatever numbers and times the host chooses.
public struct SoundOrder: Sendable {
    public enum Entry: Sendable, Equatable {
        case packet(ReceivedSound)
        /// Packets that didn't come.
        ///
        /// - `number`: of the first one.
        /// - `time`: when it was heard at the host, as far as the packet before it tells: on the host's monotonic clock.
        /// - `count`: how many there are in a row. A silence that began or ended among them can't be told.
        case missing(number: UInt32, time: MediaTime, count: Int)
    }

    public static let usualPatience = Duration.milliseconds(300)
    /// Packets that wait, and packets that can be missing in a row. More is another numbering.
    private static let capacity = 100
    /// After so many packets in a row that come too late, and none in time, their numbers are believed.
    private static let mostStrays = 10

    private let patience: Duration
    /// By number, each number once. What is at the front is due when its turn has come.
    private var waiting: [ReceivedSound] = []
    private var next: UInt32?
    private var last: MediaTime?
    private var strays = 0
    /// Packets that came when they had been reported as missing.
    public private(set) var late: UInt64 = 0
    /// Packets reported as missing.
    public private(set) var missing: UInt64 = 0

    /// `patience`: how long a missing packet is waited for, counted from the arrival of a later one.
    public init(patience: Duration = usualPatience) {
        self.patience = patience
        waiting.reserveCapacity(Self.capacity + 1)
    }

    /// When to call `take`; nil while nothing waits.
    public var deadline: MediaTime? {
        guard let first = waiting.first else { return nil }
        return isInTurn(first) || waiting.count >= Self.capacity ? .distantPast : patienceEnds
    }

    /// When the packet that arrived first has waited long enough.
    private var patienceEnds: MediaTime {
        waiting.reduce(.distantFuture) { min($0, $1.arrival) } + patience
    }

    /// Adds a packet, in any order. Duplicates, and what comes after its turn, are left out.
    public mutating func put(_ sound: ReceivedSound) {
        guard sound.opus.count <= SoundWindow.longestPacket else { return }
        if let next, SoundWindow.distance(from: next, to: sound.number) < 0 {
            late &+= 1
            strays += 1
            guard strays >= Self.mostStrays else { return }
            self.next = nil
            last = nil
            // They aren't to be mixed with packets of the old numbers. This is the host's doing, and rare.
            waiting.removeAll(keepingCapacity: true)
        }
        strays = 0
        var place = waiting.count
        while place > 0 {
            let distance = SoundWindow.distance(from: waiting[place - 1].number, to: sound.number)
            if distance == 0 { return }
            if distance > 0 { break }
            place -= 1
        }
        // Nothing in the queue is taken for long: the caller is late. The newest packet gives way.
        guard waiting.count < 2 * Self.capacity else { return }
        waiting.insert(sound, at: place)
    }

    /// The next packet, or what is known to be missing before it; nil if there is nothing to be told yet.
    /// `.distantFuture` gives everything, at the end.
    public mutating func take(now: MediaTime) -> Entry? {
        guard let first = waiting.first else { return nil }
        let isOver = waiting.count >= Self.capacity || patienceEnds <= now
        guard isInTurn(first) || isOver else { return nil }
        if let next, let last, next != first.number {
            let count = SoundWindow.distance(from: next, to: first.number)
            if count <= Self.capacity {
                let time = last + SoundBlock.duration
                self.next = first.number
                self.last = time + SoundBlock.duration * (count - 1)
                missing &+= UInt64(clamping: count)
                return .missing(number: next, time: time, count: count)
            }
        }
        waiting.removeFirst()
        next = first.number &+ 1
        last = first.time
        return .packet(first)
    }

    /// The first packet of all waits, too: an earlier one may be under way.
    private func isInTurn(_ sound: ReceivedSound) -> Bool { next == sound.number }
}
