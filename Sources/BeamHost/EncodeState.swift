import BeamMedia
import Synchronization

/// The encode stage's figures for other threads.
final class EncodeState: Sendable {
    struct Shared {
        var layers = Array(repeating: HostReport.Layer(), count: StreamDemand.layerCount)
        var encoded: UInt64 = 0
        var leftOut: UInt64 = 0
        /// The sent size at full quality.
        var size: PixelSize
        var capture = LatencyTrack()
        var encode = LatencyTrack()
    }

    let shared: Mutex<Shared>

    init(size: PixelSize) { shared = Mutex(Shared(size: size)) }
}
