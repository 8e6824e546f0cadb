import BeamClock
import BeamHost
import BeamMedia
import BeamMetrics
import BeamSession
import BeamWeb

/// What is shared, and each of its viewers. Not to be used by two threads at a time.
final class HostMetrics {
    /// Viewers that have metrics of their own at most; of further ones only the number is told.
    static let mostListed = 256

    private struct Listed {
        var set: MetricSet
        var name: String
        var number: Int
    }

    private let registry: MetricsRegistry
    private let all: MetricSet
    /// By session.
    private var viewers: [String: Listed] = [:]

    init(_ registry: MetricsRegistry) {
        self.registry = registry
        all = MetricSet(registry)
    }

    func note(_ report: HostReport) {
        noteFrames(report)
        noteState(report)
        for (number, layer) in report.layers.enumerated() { note(layer, number: number) }
        all.add("beamroom_host_stage_seconds", report.capture, [("stage", "capture")])
        all.add("beamroom_host_stage_seconds", report.encode, [("stage", "encode")])
        note(report.gateways)
        note(report.viewers)
    }

    /// Nothing is shared any more.
    func end() {
        all.end()
        for viewer in viewers.values { viewer.set.end() }
        viewers = [:]
    }

    private func noteFrames(_ report: HostReport) {
        let session = report.session
        if !report.isPassedOn {
            all.count("beamroom_host_captured_frames_total", report.captured)
            all.count("beamroom_host_encoded_frames_total", report.encoded)
            all.count("beamroom_host_replaced_frames_total", report.replaced)
        }
        all.count("beamroom_host_sent_frames_total", session.frames)
        all.count("beamroom_host_sent_keyframes_total", session.keyframes)
        all.count("beamroom_host_dropped_frames_total", session.dropped)
        all.count("beamroom_host_sent_datagrams_total", session.datagrams)
        all.count("beamroom_host_sent_bytes_total", session.bytes)
        all.count("beamroom_host_retransmitted_datagrams_total", session.retransmissions)
        all.count("beamroom_host_parity_datagrams_total", session.parity)
        all.count("beamroom_host_refused_datagrams_total", session.refusedDatagrams)
        all.count("beamroom_host_keyframe_requests_total", session.keyframeRequests)
        all.count("beamroom_host_recorded_frames_total", report.recording.map { UInt64(clamping: $0.frames) })
        all.count("beamroom_host_unrecorded_frames_total", report.recording.map { UInt64(clamping: $0.dropped) })
        guard report.soundPackets != nil else { return }
        all.count("beamroom_host_sound_packets_total", report.soundPackets)
        all.count("beamroom_host_sent_sound_packets_total", session.soundPackets)
        all.count("beamroom_host_retransmitted_sound_packets_total", session.soundRetransmissions)
    }

    private func noteState(_ report: HostReport) {
        all.set("beamroom_host_viewers", Double(report.session.viewers))
        all.set("beamroom_host_watching_viewers", Double(report.session.watching))
        all.set("beamroom_host_path_bytes_per_second", report.session.pathRate.map { Double($0) / 8 })
        all.set("beamroom_host_picture_width_pixels", Double(report.size.width))
        all.set("beamroom_host_picture_height_pixels", Double(report.size.height))
        all.set(
            "beamroom_host_shedding_level", Shedding.allCases.firstIndex(of: report.session.sheds).map(Double.init))
    }

    /// A layer that nobody watches has no limits.
    private func note(_ layer: HostReport.Layer, number: Int) {
        let label = [("layer", String(number))]
        let watched = layer.isWatched ? layer : nil
        all.set("beamroom_host_layer_limit_bytes_per_second", watched.map { Double($0.bitRateLimit) / 8 }, label)
        all.set("beamroom_host_layer_limit_frames_per_second", watched?.frameRateLimit, label)
        all.set("beamroom_host_layer_quantiser", watched?.quantiser.map(Double.init), label)
    }

    /// By host and port: a gateway's path may have a token in it. In the person's own options: few, and they stay.
    private func note(_ gateways: [GatewayFigures]) {
        var numbers: [String: Int] = [:]
        for gateway in gateways {
            let number = numbers[gateway.authority, default: 0] + 1
            numbers[gateway.authority] = number
            all.set(
                "beamroom_host_gateway_viewers", Double(gateway.viewers),
                [("gateway", gateway.authority), ("number", String(number))])
        }
    }

    // MARK: Viewers

    private func note(_ all: [ViewerFigures]) {
        // Of those at gateways nothing is known that would be worth one of the places.
        let figures = all.filter { $0.gateway == nil }
        let present = Set(figures.map(\.session))
        for (session, viewer) in viewers where !present.contains(session) {
            viewer.set.end()
            viewers[session] = nil
        }
        for figures in figures {
            if let viewer = viewers[figures.session] ?? newViewer(figures) { viewer.set.note(figures) }
        }
        self.all.set("beamroom_host_unlisted_viewers", Double(all.count - viewers.count))
    }

    /// Nil: there are too many.
    private func newViewer(_ figures: ViewerFigures) -> Listed? {
        guard viewers.count < Self.mostListed else { return nil }
        // Version 1 has no names.
        let name = figures.name ?? "unnamed"
        let number = TwinNumber.free(Set(viewers.values.filter { $0.name == name }.map(\.number)))
        let set = MetricSet(registry, labels: [("viewer", name), ("number", String(number))])
        let viewer = Listed(set: set, name: name, number: number)
        viewers[figures.session] = viewer
        return viewer
    }
}

extension MetricSet {
    fileprivate func note(_ viewer: ViewerFigures) {
        set("beamroom_viewer_watching", viewer.isWatching ? 1 : 0)
        set("beamroom_viewer_encrypted", viewer.isEncrypted ? 1 : 0)
        set("beamroom_viewer_browser", viewer.isBrowser ? 1 : 0)
        set("beamroom_viewer_reduced", viewer.isReduced ? 1 : 0)
        set("beamroom_viewer_connected_seconds", (MediaTime.now - viewer.since).inSeconds)
        set("beamroom_viewer_loss_ratio", viewer.loss)
        set("beamroom_viewer_round_trip_seconds", viewer.roundTrip?.inSeconds)
        set("beamroom_viewer_path_bytes_per_second", viewer.pathRate.map { Double($0) / 8 })
        count("beamroom_viewer_sent_frames_total", viewer.frames)
        count("beamroom_viewer_sent_keyframes_total", viewer.keyframes)
        count("beamroom_viewer_skipped_frames_total", viewer.skipped)
        count("beamroom_viewer_sent_datagrams_total", viewer.datagrams)
        count("beamroom_viewer_sent_bytes_total", viewer.bytes)
        count("beamroom_viewer_retransmitted_datagrams_total", viewer.retransmissions)
    }

    /// The last second's latencies.
    func add(_ family: String, _ summary: LatencyHistogram.Summary?, _ labels: [(String, String)]) {
        add(
            family, count: UInt64(clamping: summary?.count ?? 0), sum: (summary?.sum ?? 0) / 1000,
            quantiles: summary.map {
                [
                    MetricQuantile(0.5, $0.median / 1000), MetricQuantile(0.95, $0.p95 / 1000),
                    MetricQuantile(1, $0.max / 1000),
                ]
            } ?? [], labels)
    }
}
