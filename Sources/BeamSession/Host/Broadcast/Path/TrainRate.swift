import BeamMedia

/// Estimates the path's capacity from how far the datagrams of one frame are spread on arrival.
///
/// A frame leaves as a packet train, faster than the stream's rate. If it arrives slower than it left, it arrives at
/// the path's capacity (packet-train dispersion: Dovrolis, Ramanathan and Moore 2004); if not, the capacity is at least
/// that. Frames serve as probes, so no padding is sent, as GCC's implementations do. Jitter spreads a train, which
/// makes the result too small but hardly ever too large; loss and other traffic disturb single trains, so the median of
/// five is used.
struct TrainRate: Sendable {
    private struct Train: Sendable {
        var number: UInt32?
        var rate = 0.0
        /// The train arrived slower than it left.
        var isStretched = false
    }

    /// Bytes of a full datagram.
    private static let datagramBytes = 1200
    /// An upper bound in bits a second: more is never needed, and the clocks aren't precise enough to measure it.
    private static let highest = 2e9

    /// The newest train, if it arrives far slower than it left: its rate in bits a second, and how long it has been
    /// arriving.
    private(set) var slowTrain: (rate: Double, seconds: Double)?
    private var trains = Ring<Train>(capacity: 5, filler: Train())
    /// The median of the last trains, in bits a second; nil before the first.
    private(set) var rate: Double?
    /// Most of the last trains arrived slower than they left: `rate` is the path's capacity, not just a lower bound.
    private(set) var isStretched = false
    /// When the last train since `restart` was added; nil if there was none.
    private var newest: MediaTime?
    /// How long a train counts as recent. Small frames are no trains, so an estimate can become outdated while frames
    /// keep arriving.
    private static let memory = Duration.seconds(2)

    /// A train was added since `restart`, within `memory`.
    func isFresh(now: MediaTime) -> Bool { newest.map { now - $0 < Self.memory } ?? false }

    /// `isOver`: nothing more of the frame is in flight; `current`: the allowed rate in bits a second; `jitter`: in
    /// seconds.
    mutating func add(
        _ frame: PathControl.FrameArrival, isOver: Bool, current: Double, jitter: Double, now: MediaTime
    ) {
        let bytes = frame.bytes - Self.datagramBytes
        let spread = Self.seconds(frame.firstArrived, frame.lastArrived)
        slowTrain = nil
        guard bytes > 0, spread >= 0 else { return }
        guard bytes >= 4 * Self.datagramBytes || (bytes >= Self.datagramBytes && Double(bytes * 8) >= 0.008 * current)
        else {
            return
        }
        let sendSpread = max(0, Self.seconds(frame.firstSent, frame.lastSent))
        let rate = min(Self.highest, Double(bytes * 8) / max(spread, 1e-6))
        let isStretched: Bool
        if isOver {
            isStretched = spread > 1.15 * sendSpread + 0.001
        } else {
            // The rest of the frame may still arrive, so only a train far slower than it left counts as stretched.
            let sentRate = Double(max(0, frame.sentBytes - Self.datagramBytes) * 8) / max(sendSpread, 1e-6)
            isStretched = rate < 0.6 * sentRate && spread > 0.005
        }
        // A nearly complete frame may have waited for a retransmission.
        if isStretched, !isOver, frame.bytes < frame.sentBytes * 3 / 4 { slowTrain = (rate, spread) }
        var train = Train(number: frame.number, rate: rate, isStretched: isStretched)
        if let back = (0..<trains.count).first(where: { trains[back: $0].number == frame.number }) {
            // Its first part arrived faster than the whole: the host paused within the frame.
            if !isStretched, !trains[back: back].isStretched { train.rate = max(rate, trains[back: back].rate) }
            trains[back: back] = train
        } else {
            trains.append(train)
            newest = now
        }
        summarise(jitter: jitter)
    }

    /// Discards the trains and assumes `rate`, in bits a second.
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
        // Trains that weren't stretched are lower bounds, so the second highest is taken. But jitter can push datagrams
        // closer together than the path's capacity allows, so beyond 8 ms of it the median is taken.
        rate = isStretched || count < 2 || jitter > 0.008 ? ranked((count - 1) / 2) : ranked(count - 2)
    }

    /// The rate at that rank in ascending order, found without sorting a copy.
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
