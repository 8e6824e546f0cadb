/// The last event of `watch`. *Measured* frames are those captured between `begin` and `end`.
struct CrowdResult: Encodable {
    struct Keyframe: Encodable {
        /// When it was captured, in seconds after the start.
        var at: Double
        var layer: UInt8
        var number: UInt32
        var bytes: Int
    }

    struct Viewer: Encodable {
        var number: Int
        var group: String
        /// When it began to connect, in seconds after the start.
        var joined: Double
        /// From then to admission, and to the first complete keyframe.
        var pairedMs: Double?
        var firstPictureMs: Double?
        /// `frames` and `lost`: measured frames that it got, and that it didn't get.
        var frames: Int
        var fps: Double
        var longestGapMs: Double
        var lost: Int
        var keyframes: Int
        var keyframeBytes: Int
        /// Bytes of frames, without headers.
        var bytes: Int
        var layers: [UInt8]
        /// From the capture to the arrival of the last datagram.
        var latencyMs: Summary?
        /// Mean rank: 0 always the first viewer to have a frame, 1 always the last.
        var order: Double?
        /// Since it joined.
        var datagrams: UInt64
        var resent: UInt64
        var repaired: UInt64
        var keyframesRequested: UInt64
        /// Why it ended by itself.
        var ended: String?
        var troubles: [String]
    }

    var event = "result"
    var seconds: Double
    /// Measured frames of the layer with the most.
    var frames: Int
    /// Simulcast layers that were sent.
    var layers: Int
    /// All keyframes that any viewer got since the start.
    var keyframes: [Keyframe]
    /// Time from when the first viewer had a frame until the last one had it.
    var spreadMs: Summary?
    var viewers: [Viewer]
}

struct Summary: Encodable {
    var median: Double
    var p95: Double
    var max: Double

    /// Nil if there are no values.
    init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let last = sorted.last else { return nil }
        median = sorted[(sorted.count - 1) / 2]
        p95 = sorted[(sorted.count - 1) * 95 / 100]
        max = last
    }
}
