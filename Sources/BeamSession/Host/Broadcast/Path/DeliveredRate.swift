import BeamMedia

/// The rate of delivery, measured by the viewer's clock, so that neither delay nor loss of the reports matters.
///
/// BBR (draft-cheng-iccrg-delivery-rate-estimation) takes a sample with each acknowledgement and keeps the highest,
/// because most are taken while the sender has little to send. Here the rate is only used while a queue stands, when it
/// is the path's capacity, or to judge loss.
struct DeliveredRate: Sendable {
    private struct Point: Sendable {
        /// In seconds, by the viewer's clock.
        var time = 0.0
        var total: Int64 = 0
    }

    /// After a gap of this many seconds the path was idle, and the gap isn't counted.
    static let pause = 0.08
    private static let datagramBytes: Int64 = 1200
    /// With fewer bytes than this, `isPatient` measures over a longer time.
    private static let fewBytes = 8 * datagramBytes

    private var points = Ring<Point>(capacity: 96, filler: Point())
    private var total: Int64 = 0

    /// `bytes` have arrived, the first of them not before `first`, the last at `last`.
    mutating func add(_ bytes: Int, first: MediaTime, last: MediaTime) {
        let last = Double(last.nanoseconds) / 1e9
        let first = min(Double(first.nanoseconds) / 1e9, last)
        if points.isEmpty || first - points[back: 0].time > Self.pause {
            points.removeAll()
            points.append(Point(time: first, total: total + min(Int64(bytes), Self.datagramBytes)))
        }
        total += Int64(bytes)
        if last > points[back: 0].time {
            points.append(Point(time: last, total: total))
        } else {
            points[back: 0].total = total
        }
    }

    /// Bits a second over the last `window` seconds, or over at least a third of that if there is no more; nil if there
    /// is less. `isPatient`: if those are only a few datagrams, as on a slow path, up to three times as long, so that a
    /// short gap doesn't distort the rate.
    func rate(over window: Double, isPatient: Bool = false) -> Double? {
        guard points.count >= 2 else { return nil }
        let newest = points[back: 0]
        var back = 1
        while back + 1 < points.count {
            let isFew = isPatient && newest.total - points[back: back].total < Self.fewBytes
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
