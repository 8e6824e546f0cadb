import BeamMedia
import Synchronization

/// What other threads ask of the encode stage, and what it tells them.
final class EncodeState: Sendable {
    struct Shared {
        var lanes = (0..<StreamDemand.laneCount).map { _ in Lane() }
        var encoded: UInt64 = 0
        var leftOut: UInt64 = 0
        /// At full quality.
        var size: PixelSize
        var capture = LatencyTrack()
        var encode = LatencyTrack()
    }

    struct Lane {
        var demand = StreamDemand()
        var needsKeyframe = false
        var report = HostReport.Lane()
    }

    let shared: Mutex<Shared>

    init(size: PixelSize) { shared = Mutex(Shared(size: size)) }
}
