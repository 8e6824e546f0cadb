import BeamMedia

/// How many bytes arrive in what time, by the viewer's clock: so neither the reports' own delays nor their loss matter.
///
/// BBR (draft-cheng-iccrg-delivery-rate-estimation) takes a sample with each acknowledgement and keeps the highest, as most are
/// taken while the sender has nothing to send; here it is asked for while a queue stands, when all of them are what the path
/// carries, or where loss is to be explained.
struct DeliveredRate: Sendable {
    private struct Point: Sendable {
        /// Seconds on the viewer's clock.
        var time = 0.0
        var total: Int64 = 0
    }

    /// The path was idle after that long: time without arrivals tells nothing.
    static let pause = 0.08
    private static let datagram: Int64 = 1200
    private static let few = 8 * datagram

    private var points = Ring<Point>(capacity: 96, filler: Point())
    private var total: Int64 = 0

    /// `bytes` arrived, the first of them at `first` at the earliest, the last of them at `last`.
    mutating func add(_ bytes: Int, first: MediaTime, last: MediaTime) {
        let last = Double(last.nanoseconds) / 1e9
        let first = min(Double(first.nanoseconds) / 1e9, last)
        if points.isEmpty || first - points[back: 0].time > Self.pause {
            points.removeAll()
            points.append(Point(time: first, total: total + min(Int64(bytes), Self.datagram)))
        }
        total += Int64(bytes)
        if last > points[back: 0].time {
            points.append(Point(time: last, total: total))
        } else {
            points[back: 0].total = total
        }
    }

    /// Bits a second over the last `window` seconds, or over a third of it if there is no more. `isPatient`: on a slow path, where
    /// that is a few datagrams, and a moment without any makes much of it, over up to three times as long.
    func rate(over window: Double, isPatient: Bool = false) -> Double? {
        guard points.count >= 2 else { return nil }
        let newest = points[back: 0]
        var back = 1
        while back + 1 < points.count {
            let isFew = isPatient && newest.total - points[back: back].total < Self.few
            guard newest.time - points[back: back + 1].time <= (isFew ? 3 * window : window) else { break }
            back += 1
        }
        let oldest = points[back: back]
        let time = newest.time - oldest.time
        guard time >= window / 3 else { return nil }
        return Double(newest.total - oldest.total) * 8 / time
    }

    mutating func forget() { points.removeAll() }
}
