import BeamMedia

/// What the path carries, from how far the datagrams of one frame were spread by it.
///
/// A frame leaves as a train, faster than the stream's rate. If it arrives slower than it left, then it arrives as fast as the
/// path carries (packet-train dispersion: Dovrolis, Ramanathan and Moore 2004); if not, then the path carries at least that.
/// Such probes cost nothing, unlike the padding that GCC's implementations probe with. Jitter makes the spread longer and the
/// result too small, never too large by much; loss and other traffic disturb single trains: the median of five counts.
struct TrainRate: Sendable {
    private struct Train: Sendable {
        var number: UInt32?
        var rate = 0.0
        /// It arrived slower than it left.
        var isStretched = false
    }

    private static let datagram = 1200
    /// Above that it doesn't matter, and clocks aren't good enough.
    private static let highest = 2e9

    /// The newest one, if it is arriving far slower than it left, for so many seconds already.
    private(set) var slowTrain: (rate: Double, seconds: Double)?
    private var trains = Ring<Train>(capacity: 5, filler: Train())
    /// The median of the last trains, in bits a second; nil before the first.
    private(set) var rate: Double?
    /// Most of the last trains arrived slower than they left: `rate` is what the path carries, not just a bound below it.
    private(set) var isStretched = false
    /// When there was the last one since `restart`; nil: none.
    private var newest: MediaTime?
    /// Frames of a datagram or two are no trains: what earlier ones told is outdated then.
    private static let memory = Duration.seconds(2)

    /// There has been one since `restart`, and not long ago.
    func isFresh(now: MediaTime) -> Bool { newest.map { now - $0 < Self.memory } ?? false }

    /// `isOver` says that nothing more of it is on its way; `current` is the rate of the stream; `jitter` in seconds.
    mutating func add(
        _ frame: PathControl.FrameArrival, isOver: Bool, current: Double, jitter: Double, now: MediaTime
    ) {
        let bytes = frame.bytes - Self.datagram
        let spread = Self.seconds(frame.firstArrived, frame.lastArrived)
        slowTrain = nil
        guard bytes > 0, spread >= 0 else { return }
        guard bytes >= 4 * Self.datagram || (bytes >= Self.datagram && Double(bytes * 8) >= 0.008 * current) else {
            return
        }
        let sendSpread = max(0, Self.seconds(frame.firstSent, frame.lastSent))
        let rate = min(Self.highest, Double(bytes * 8) / max(spread, 1e-6))
        let isStretched: Bool
        if isOver {
            isStretched = spread > 1.15 * sendSpread + 0.001
        } else {
            // The rest may still come: only what is far slower than it left is certainly held up.
            let sentRate = Double(max(0, frame.sentBytes - Self.datagram) * 8) / max(sendSpread, 1e-6)
            isStretched = rate < 0.6 * sentRate && spread > 0.005
        }
        // What is nearly complete may have waited for something that was sent again.
        if isStretched, !isOver, frame.bytes < frame.sentBytes * 3 / 4 { slowTrain = (rate, spread) }
        var train = Train(number: frame.number, rate: rate, isStretched: isStretched)
        if let back = (0..<trains.count).first(where: { trains[back: $0].number == frame.number }) {
            // Its beginning came faster than all of it: there was a pause at the host.
            if !isStretched, !trains[back: back].isStretched { train.rate = max(rate, trains[back: back].rate) }
            trains[back: back] = train
        } else {
            trains.append(train)
            newest = now
        }
        summarise(jitter: jitter)
    }

    /// What was seen before says nothing about now; the path carries about `rate`.
    mutating func restart(at rate: Double) {
        trains.removeAll()
        trains.append(Train(rate: rate, isStretched: true))
        newest = nil
        summarise(jitter: 0)
    }

    private mutating func summarise(jitter: Double) {
        let count = trains.count
        let stretched = (0..<count).count { trains[back: $0].isStretched }
        isStretched = stretched * 2 > count
        // Those that arrived as they left are bounds from below: the second highest is believed, but where jitter packs some
        // datagrams closer than the path could.
        rate = isStretched || count < 2 || jitter > 0.008 ? ranked((count - 1) / 2) : ranked(count - 2)
    }

    /// The rate that has `rank` others below it; without sorting a copy.
    private func ranked(_ rank: Int) -> Double? {
        for candidate in 0..<trains.count {
            let rate = trains[back: candidate].rate
            let below = (0..<trains.count).count { trains[back: $0].rate < rate }
            let equal = (0..<trains.count).count { trains[back: $0].rate == rate }
            if below <= rank, rank < below + equal { return rate }
        }
        return nil
    }

    private static func seconds(_ first: MediaTime, _ last: MediaTime) -> Double { (last - first).inSeconds }
}
