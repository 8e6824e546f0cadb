import BeamClock
import BeamMedia
import BeamProtocol

/// What one viewer has got in the last second, for `stats` and for the terminal.
struct ViewerRate {
    private let viewer: ViewerFigures
    private let framesPerSecond: Double
    private let bitsPerSecond: Double

    init(_ viewer: ViewerFigures, since previous: ViewerFigures?, seconds: Double) {
        self.viewer = viewer
        framesPerSecond = Double(viewer.frames - (previous?.frames ?? 0)) / seconds
        bitsPerSecond = Double(viewer.bytes - (previous?.bytes ?? 0)) * 8 / seconds
    }

    var fields: EventWriter.Value {
        let fields: [String: EventWriter.Value?] = [
            "name": viewer.name.map { .string($0) }, "address": .string("\(viewer.address)"),
            "session": .string(viewer.session), "encrypted": .bool(viewer.isEncrypted),
            "watching": .bool(viewer.isWatching), "layer": .integer(viewer.isReduced ? 1 : 0),
            "fps": .milliseconds(framesPerSecond), "kbps": .milliseconds(bitsPerSecond / 1000),
            "loss": viewer.loss.map { .milliseconds($0) },
            "rttMs": viewer.roundTrip.map { .milliseconds($0.inMilliseconds) },
            "pathKbps": viewer.pathRate.map { .milliseconds(Double($0) / 1000) },
            "skipped": .count(viewer.skipped), "retransmitted": .count(viewer.retransmissions),
            "seconds": .milliseconds((MediaTime.now - viewer.since).inSeconds),
        ]
        return .object(fields.compactMapValues { $0 })
    }

    /// `“sofa”: 60 frames/s, 2 ms, 0.5 % lost, smaller stream`.
    var words: String {
        let name = viewer.name.map { "“\($0)”" } ?? "\(viewer.address)"
        var words = "\(name): \(Int(clamping: framesPerSecond.rounded())) frames/s"
        if let trip = viewer.roundTrip { words += ", \(Int(clamping: trip.inMilliseconds.rounded())) ms" }
        if let loss = viewer.loss, loss >= 0.001 {
            words += ", \(Double(Int(clamping: loss * 1000)) / 10) % lost"
        }
        return words + (viewer.isReduced ? ", smaller stream" : "")
    }

    /// The one that gets the fewest frames; nil where nobody watches.
    static func worst(of rates: [ViewerRate]) -> ViewerRate? {
        rates.filter(\.viewer.isWatching).min { $0.framesPerSecond < $1.framesPerSecond }
    }
}
