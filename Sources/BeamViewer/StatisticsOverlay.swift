import BeamMedia
import BeamSession
import BeamWire

/// The figures that the overlay shows.
enum StatisticsOverlay {
    /// - Parameter sharer: whose picture it is; nil: there is one host.
    static func lines(
        of sharer: String? = nil, _ report: ViewerReport?, isEncrypted: Bool, connection: ConnectionState,
        renderer: String
    ) -> [String] {
        let whose = sharer.map { ["Screen of\t“\(PeerText.name($0))”"] } ?? []
        guard let report, let size = report.size else { return whose + ["No picture yet"] }
        let session = report.session
        let expected = session.datagrams + session.lost
        let loss = expected == 0 ? 0 : Double(session.lost) * 100 / Double(expected)
        return whose + [
            "Picture\t\(size.width) × \(size.height)\(exact(report.exactness)), \(renderer)",
            "Stream\t\(isEncrypted ? "encrypted" : "not encrypted")\(words(connection))",
            "Rate\t\(rounded(report.framesPerSecond, 1)) frames/s, \(rounded(report.bitsPerSecond / 1_000_000, 2)) Mbit/s",
            "Lost\t\(session.lost) of \(expected) datagrams (\(rounded(loss, 2)) %), "
                + "\(session.dropped) \(session.dropped == 1 ? "frame" : "frames")"
                + (session.skipped > 0 ? ", \(session.skipped) skipped" : ""),
        ] + network(session) + sound(report.sound) + [
            "Stages\t\(stages(report))",
            "Arrival to window\t\(times(report.times[.arrivalToWindow]))",
        ] + glass(report)
    }

    /// How much of the picture is exactly what the host's screen shows.
    private static func exact(_ exactness: Exactness?) -> String {
        guard let exactness else { return "" }
        if exactness.isVerified { return ", exact, verified" }
        return exactness.share >= 1 ? ", exact" : ", \(Int(clamping: exactness.share * 100)) % exact"
    }

    private static func words(_ connection: ConnectionState) -> String {
        switch connection {
        case .connecting: ", connecting"
        case .stable: ", connection stable"
        case .unstable: ", connection unstable"
        }
    }

    /// Loss, recovery and the path's rate, if the host reports them (version 2).
    private static func network(_ session: ViewerStatistics) -> [String] {
        guard let estimated = session.estimatedRate, let used = session.usedRate else { return [] }
        let trip = session.roundTrip.map { "\(rounded($0.inMilliseconds, 1)) ms" } ?? "–"
        return [
            "Recovery\t\(session.missed) missed, \(session.recovered) retransmitted, \(session.reconstructed) by parity, "
                + "\(session.keyframesRequested) \(session.keyframesRequested == 1 ? "keyframe" : "keyframes")",
            "Path\t\(megabits(used)) of \(megabits(estimated)) Mbit/s, round trip \(trip), "
                + "buffer \(rounded(session.buffer.inMilliseconds, 1)) ms",
        ]
    }

    /// How the sound is played, if any has come.
    private static func sound(_ sound: SoundFigures?) -> [String] {
        guard let sound, sound.statistics.played > 0 else { return [] }
        let statistics = sound.statistics
        let skew = sound.skew.map { ", \(signed($0.inMilliseconds)) ms to the picture" } ?? ""
        let latency = statistics.latency.map { "\(rounded($0.inMilliseconds, 1)) ms" } ?? "–"
        return [
            "Sound\t\(latency)\(skew), buffer \(rounded(statistics.buffer.inMilliseconds, 1)) ms, "
                + "\(rounded(statistics.concealedShare * 100, 2)) % concealed, drift \(signed(statistics.driftPPM)) ppm"
                + (sound.isMuted ? ", off" : "")
        ]
    }

    private static func signed(_ value: Double) -> String {
        value < 0 ? "−" + rounded(-value, 1) : "+" + rounded(value, 1)
    }

    private static func megabits(_ rate: Int) -> String { String(rounded(Double(rate) / 1_000_000, 2)) }

    /// Latency from screen to window, if the host reports capture times.
    private static func glass(_ report: ViewerReport) -> [String] {
        guard let times = report.times[.captureToWindow], let error = report.session.clockError else { return [] }
        return ["Screen to window\t\(Self.times(times)), ± \(rounded(error.inMilliseconds, 1)) ms"]
    }

    /// The known spans, one by one.
    private static func stages(_ report: ViewerReport) -> String {
        let parts = [FrameSpan.capture, .encode, .network, .reassembly, .decode, .present].compactMap { span in
            report.times[span].map { "\(span.rawValue) \(rounded($0.median, 1))" }
        }
        return parts.isEmpty ? "–" : parts.joined(separator: ", ") + " ms"
    }

    private static func times(_ summary: LatencyHistogram.Summary?) -> String {
        guard let summary else { return "–" }
        return "\(rounded(summary.median, 1)) ms, 95 %: \(rounded(summary.p95, 1)) ms"
    }

    private static func rounded(_ value: Double, _ digits: Int) -> String {
        let scale = digits == 1 ? 10.0 : 100.0
        return String((value * scale).rounded() / scale)
    }
}
