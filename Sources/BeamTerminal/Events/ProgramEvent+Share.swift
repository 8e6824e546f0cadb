import BeamHost
import BeamMedia
import BeamSession
import BeamSound

extension ProgramEvent {
    /// Why a viewer gets another layer: what its path carries, the size in which it shows or takes the picture, or the most
    /// that it wishes.
    public enum LayerReason: String, Sendable { case path, size, wish }

    /// What is shared from here, and how it is sent: of `share`, and of a room's member that shares.
    public enum Share: Sendable {
        /// `metricsPort`: where metrics are served; nil: none are.
        case ready(HostDescription, metricsPort: UInt16? = nil)
        /// A browser gets the picture, so many milliseconds after it was let in; by that gateway, or by the host.
        case browserStarted(session: String, milliseconds: Double, gateway: String?)
        /// What has become of a gateway; its address.
        case gateway(String, GatewayEvent)
        case paused(Bool)
        case sourceVisible(SourceVisibility)
        case sound(SoundCaptureState)
        case soundFailed(reason: String)
        case layer(session: String, isReduced: Bool, why: LayerReason)
        /// Nil: the viewer gets the whole picture again.
        case viewerLimited(session: String, PictureLimit?)
        case overload(Shedding, viewers: Int)
        case recording(path: String)
        case recordingFailed(reason: String)
        case transcriptFailed(reason: String)
        case stats(HostReport, StreamRate, [ViewerRate])
        case summary(HostReport, StreamRate)

        var record: Record {
            switch self {
            case .ready(let facts, let metricsPort):
                Record(
                    "ready",
                    facts.picture.merging(
                        [
                            "name": facts.name, "port": Int(facts.controlPort),
                            "webPort": facts.web.map { Int($0.port) },
                            "webMediaPort": facts.web.map { Int($0.mediaPort) },
                            "metricsPort": metricsPort.map { Int($0) },
                        ]) { $1 })
            case .browserStarted(let session, let time, let gateway):
                Record("browser-started", ["session": session, "ms": time, "gateway": gateway])
            case .gateway(let name, let event): Record("gateway", ["gateway": name].merging(event.fields) { $1 })
            case .paused(let isPaused): Record("paused", ["on": isPaused])
            case .sourceVisible(let visibility): Record(visibility)
            case .sound(let state): Record("sound", state.fields)
            case .soundFailed(let reason): Record("sound", ["state": "failed", "reason": reason])
            case .layer(let session, let isReduced, let why):
                Record("layer", ["session": session, "reduced": isReduced, "why": why.rawValue])
            case .viewerLimited(let session, let limit):
                Record(
                    "viewer-limited",
                    [
                        "session": session, "limited": limit != nil, "width": limit?.sent.width,
                        "height": limit?.sent.height, "fullWidth": limit?.full.width, "fullHeight": limit?.full.height,
                        "maxWidth": limit?.bounds.sides.width, "maxHeight": limit?.bounds.sides.height,
                        "maxPixels": limit?.bounds.area,
                    ])
            case .overload(let sheds, let viewers): Record("overload", ["sheds": sheds.rawValue, "viewers": viewers])
            case .recording(let path): Record("recording", ["file": path])
            case .recordingFailed(let reason): Record("recording-failed", ["reason": reason])
            case .transcriptFailed(let reason): Record("transcript-failed", ["reason": reason])
            case .stats(let report, let rate, let viewers):
                Record("stats", report.fields(rate).merging(["viewerStats": viewers.map(\.fields)]) { $1 })
            case .summary(let report, let rate): Record("summary", report.fields(rate))
            }
        }
    }
}

extension ProgramEvent.Record {
    /// Of both ends.
    init(_ visibility: SourceVisibility) {
        let why: String? =
            switch visibility {
            case .visible: nil
            case .windowHidden: "window-hidden"
            case .monitorOff: "monitor-off"
            case .regionOutside: "region-outside"
            case .screenLocked: "screen-locked"
            case .consentAwaited: "consent-awaited"
            case .hostLost: "host-lost"
            case .hostEnded: "host-ended"
            }
        self.init("source-visible", ["visible": why == nil, "why": why])
    }
}

extension GatewayEvent {
    fileprivate var fields: [String: any EventField] {
        switch self {
        case .ready: ["state": "ready"]
        case .problem(let problem): ["state": "problem", "reason": GatewayText.reason(problem)]
        case .viewers(let count): ["state": "viewers", "viewers": count]
        }
    }
}

extension HostDescription {
    /// What is shared.
    var picture: [String: any EventField] {
        [
            "source": source, "width": size.width, "height": size.height, "encoder": encoder,
            "mediaPort": Int(mediaPort),
        ]
    }
}

extension SoundCaptureState {
    fileprivate var fields: [String: any EventField] {
        switch self {
        case .capturing(let name): ["state": "capturing", "device": name]
        case .noServer(let reason): ["state": "no-server", "reason": reason]
        case .noDevice(let name): ["state": "no-device", "device": name]
        case .onlyMonitor(let name): ["state": "no-microphone", "device": name]
        case .lost: ["state": "lost"]
        }
    }
}

extension HostReport {
    fileprivate func fields(_ rate: StreamRate) -> [String: any EventField] {
        let layers = layers.enumerated().filter(\.element.isWatched).map { $1.fields(number: $0) }
        return rate.fields.merging([
            "frames": session.frames, "bytes": session.bytes, "viewers": session.viewers,
            "keyframes": session.keyframes, "captured": captured, "encoded": encoded, "replaced": replaced,
            "datagrams": session.datagrams, "dropped": session.dropped, "retransmitted": session.retransmissions,
            "parity": session.parity, "patches": session.patches, "keyframesWanted": session.keyframeRequests,
            "sheds": session.sheds.rawValue,
            "pathKbps": StreamRate.kilobits(session.pathRate), "width": size.width, "height": size.height,
            "soundPackets": soundPackets, "soundSent": soundPackets == nil ? nil : session.soundPackets,
            "soundRetransmitted": soundPackets == nil ? nil : session.soundRetransmissions,
            "recorded": recording?.frames, "recordingDropped": recording?.dropped, "layers": layers,
            "latencyMs": JSONValue.latencies(["capture": capture, "encode": encode]),
        ]) { $1 }
    }
}

extension HostReport.Layer {
    fileprivate func fields(number: Int) -> [String: any EventField] {
        [
            "layer": number, "encoder": encoder, "bitRateLimit": bitRateLimit, "pathBound": isPathBound,
            "frameRateLimit": frameRateLimit, "sentSize": sentSize.description, "quantiser": quantiser,
        ]
    }
}
