import BeamClock
import BeamMedia
import BeamProtocol

/// One viewer's frame rate and bit rate in the last second, for `stats` and for the terminal.
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
            "fps": .rounded(framesPerSecond), "kbps": .rounded(bitsPerSecond / 1000),
            "loss": viewer.loss.map { .rounded($0) },
            "rttMs": viewer.roundTrip.map { .rounded($0.inMilliseconds) },
            "pathKbps": viewer.pathRate.map { .rounded(Double($0) / 1000) },
            "skipped": .count(viewer.skipped), "retransmitted": .count(viewer.retransmissions),
            "seconds": .rounded((MediaTime.now - viewer.since).inSeconds),
        ]
        return .object(fields.compactMapValues { $0 })
    }

    var row: ViewerTable.Row {
        ViewerTable.Row(
            name: viewer.name.map { "“\(PeerText.name($0, columns: ViewerTable.nameColumns))”" } ?? "\(viewer.address)",
            framesPerSecond: framesPerSecond,
            bitsPerSecond: bitsPerSecond, loss: viewer.loss, roundTrip: viewer.roundTrip, isReduced: viewer.isReduced,
            isWatching: viewer.isWatching, time: MediaTime.now - viewer.since)
    }
}
