import BeamMedia

/// The delay that each of the last packets needed in order not to be late, and the delay that most of them need.
///
/// A packet counts by when it came, in whatever way: by itself, repeated or retransmitted. So the delay covers the time
/// that repairs take if enough packets need them. The distribution is exact over its window, as in NetEQ's histogram
/// (webrtc.org, `delay_manager.cc`), but without its exponential forgetting: what happened once is forgotten at a known
/// time.
struct SoundLateness: Sendable {
    /// 24 s of sound.
    private static let window = 2400
    /// The width of a bucket in seconds.
    private static let bucketWidth = 0.00025
    /// Half a second: more than the longest delay. Values are stored modulo this, because clocks drift.
    private static let bucketCount = 2048
    /// After so many values in a row that are too high, what was learnt is void.
    private static let mostStrays = 100
    /// The wanted delay is found anew after so many packets. It grows at once.
    private static let interval = 16

    private var counts = [UInt16](repeating: 0, count: bucketCount)
    /// The buckets of the packets in the window. A ring.
    private var recent = [Int](repeating: 0, count: window)
    private var next = 0
    private(set) var count = 0
    private var lowest = 0
    private var highest = 0
    private var untilUpdate = 0
    /// Values in a row that are too high to be stored.
    private var strays = 0
    /// The delay that all packets but the tolerated share need, in seconds.
    private(set) var wanted = 0.0

    var isEmpty: Bool { count == 0 }
    /// What the fastest packet needed, in seconds.
    var least: Double { Double(lowest) * Self.bucketWidth }

    /// The share of packets that may be late at a delay in seconds. Each of them is concealed once, but everybody waits
    /// for the delay all the time, so long delays tolerate more: 0.1 % up to 40 ms, 1 % at 100, 2 % at 200. (Late by
    /// 10 ms for a repeat are 1 % of the packets at a loss of 1 %; two losses in a row are 0.25 % at 5 %.)
    private static func tolerated(at delay: Double) -> Double {
        if delay <= 0.04 { return 0.001 }
        if delay <= 0.1 { return 0.001 + (delay - 0.04) * 0.15 }
        return 0.01 + (delay - 0.1) * 0.1
    }

    /// A packet needed this delay, in seconds.
    mutating func add(_ delay: Double) {
        let value = Int(clamping: (min(max(delay, -1e6), 1e6) / Self.bucketWidth).rounded(.down))
        if count > 0 {
            // Too late to be waited for, unless all are: then the path or its clock is another one now.
            let isStray = value >= lowest + Self.bucketCount
            strays = isStray ? strays + 1 : 0
            if isStray, strays < Self.mostStrays { return }
            if isStray || value <= highest - Self.bucketCount { removeAll() }
        }
        if count == Self.window { remove(recent[next]) }
        if count == 0 {
            lowest = value
            highest = value
        }
        lowest = min(lowest, value)
        highest = max(highest, value)
        counts[Self.place(value)] += 1
        count += 1
        recent[next] = value
        next = next + 1 == Self.window ? 0 : next + 1
        untilUpdate -= 1
        if untilUpdate <= 0 || Double(value) * Self.bucketWidth >= wanted { update() }
    }

    private static func place(_ value: Int) -> Int { value & (bucketCount - 1) }

    /// Forgets everything.
    mutating func removeAll() {
        for index in counts.indices { counts[index] = 0 }
        count = 0
        next = 0
        strays = 0
        untilUpdate = 0
    }

    private mutating func remove(_ value: Int) {
        counts[Self.place(value)] -= 1
        count -= 1
        guard count > 0 else { return }
        while counts[Self.place(lowest)] == 0 { lowest += 1 }
        while counts[Self.place(highest)] == 0 { highest -= 1 }
    }

    private mutating func update() {
        untilUpdate = Self.interval
        var later = 0
        var value = highest
        while value > lowest {
            later += Int(counts[Self.place(value)])
            let delay = Double(value - lowest) * Self.bucketWidth
            if Double(later) > Self.tolerated(at: delay) * Double(count) { break }
            value -= 1
        }
        wanted = Double(value + 1) * Self.bucketWidth
    }
}
