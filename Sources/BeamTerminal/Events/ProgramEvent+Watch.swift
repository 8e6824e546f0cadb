import BeamDisplay
import BeamMedia
import BeamSession
import BeamSound
import BeamViewer
import BeamWire

extension ProgramEvent {
    /// A host or a member's screen that is watched, and the files that are written of it. (`device-paired` is in
    /// `Pairing`.)
    public enum Watch: Sendable {
        case searching(name: String?)
        case connecting(attempt: Int)
        case connection(ConnectionState)
        case asking(name: String)
        case codeNeeded(CodeQuestion)
        case refused(ViewerRefusal)
        case letIn(session: String, name: String?, isNew: Bool, isEncrypted: Bool)
        case firstFrame(milliseconds: Double, PixelSize)
        /// Nil: the host sends the whole picture again.
        case pictureLimited(PixelSize?)
        case quality(QualityWish, isTaken: Bool)
        case sourceVisible(SourceVisibility)
        case broadcast(Bool)
        case stalled(Duration, StallCause)
        case resumed
        case retrying(after: Duration, reason: String)
        case mediaReconnecting
        case controlLost(reason: String)
        case controlRestored
        case hostEnded(reason: String?)
        case sound(SoundOutputState)
        /// The host is this machine, so that its sound isn't played.
        case soundIsOwn
        /// In the window.
        case screenshot(ScreenshotOutcome)
        case writing(OutputPath)
        case fileBehind(OutputPath)
        case fileCaughtUp(OutputPath, leftOut: Int)
        case fileFailed(OutputPath, reason: String)
        case stats(ViewerReport)
        case summary(ViewerReport)

        var record: Record {
            switch self {
            case .searching(let name): Record("searching", ["name": name])
            case .connecting(let attempt): Record("connecting", ["attempt": attempt])
            case .connection(let state): Record("connection", ["state": state.rawValue])
            case .asking(let name): Record("asking", ["name": name])
            case .codeNeeded(let question):
                Record(
                    "code-needed",
                    [
                        "name": question.host, "wasWrong": question.problem == .wrong,
                        "wasReplaced": question.problem == .replaced, "mayAsk": question.mayAsk,
                    ])
            case .refused(let refusal):
                Record("refused", ["reason": refusal.reason, "by": refusal.isByHost ? "host" : "viewer"])
            case .letIn(let session, let name, let isNew, let isEncrypted):
                Record("paired", ["session": session, "name": name, "isNew": isNew, "encrypted": isEncrypted])
            case .firstFrame(let milliseconds, let size):
                Record("first-frame", ["ms": milliseconds, "width": size.width, "height": size.height])
            case .pictureLimited(let full):
                Record(
                    "picture-limited",
                    ["limited": full != nil, "fullWidth": full?.width, "fullHeight": full?.height])
            case .quality(let wish, let isTaken):
                Record(
                    "quality",
                    ["taken": isTaken, "maxSize": wish.maxSize, "bitRate": wish.bitRate, "maxFps": wish.frameRate])
            case .sourceVisible(let visibility): Record(visibility)
            case .broadcast(let isOn): Record("broadcast", ["on": isOn])
            case .stalled(let duration, let cause):
                Record("stall", ["seconds": duration.inSeconds, "cause": cause.word])
            case .resumed: Record("resumed")
            case .retrying(let delay, let reason): Record("retry", ["after": delay.inSeconds, "reason": reason])
            case .mediaReconnecting: Record("reconnect", ["what": "media"])
            case .controlLost(let reason): Record("reconnect", ["what": "control", "reason": reason])
            case .controlRestored: Record("restored")
            case .hostEnded(let reason): Record("host-ended", ["reason": reason.map { PeerText.sentence($0) }])
            case .sound(let state): Record("sound", state.fields)
            case .soundIsOwn: Record("sound", ["state": "own"])
            case .screenshot(.written(let path, let size)):
                Record("screenshot", ["file": path, "width": size.width, "height": size.height])
            case .screenshot(.failed(let reason)): Record("screenshot-failed", ["reason": reason])
            case .writing(let file): Record(file.kind.rawValue, ["file": file.path])
            case .fileBehind(let file): Record("\(file.kind.rawValue)-behind", ["file": file.path])
            case .fileCaughtUp(let file, let leftOut):
                Record("\(file.kind.rawValue)-caught-up", ["file": file.path, "leftOut": leftOut])
            case .fileFailed(let file, let reason):
                Record("\(file.kind.rawValue)-failed", ["file": file.path, "reason": reason])
            case .stats(let report): Record("stats", report.fields)
            case .summary(let report): Record("summary", report.fields)
            }
        }
    }
}

extension SoundOutputState {
    fileprivate var fields: [String: any EventField] {
        switch self {
        case .playing(let name): ["state": "playing", "device": name]
        case .noSuchDevice(let name, let names): ["state": "no-such-device", "device": name, "devices": names]
        case .noOutput(let reason): ["state": "no-output", "reason": reason]
        case .lost: ["state": "lost"]
        }
    }
}

extension ViewerReport {
    fileprivate var fields: [String: any EventField] {
        [
            "fps": framesPerSecond, "kbps": bitsPerSecond / 1000, "frames": decoded, "bytes": session.bytes,
            "keyframes": session.keyframes, "shown": shown, "replaced": replaced, "datagrams": session.datagrams,
            "lost": session.lost, "malformed": session.malformed, "dropped": session.dropped,
            "skipped": session.skipped, "missed": session.missed, "retransmitted": session.recovered,
            "repaired": session.reconstructed, "keyframesRequested": session.keyframesRequested,
            "estimatedKbps": StreamRate.kilobits(session.estimatedRate),
            "usedKbps": StreamRate.kilobits(session.usedRate), "bufferMs": session.buffer.inMilliseconds,
            "patches": patches, "exact": exactness?.share, "exactVerified": exactness?.isVerified,
            "exactWrongRows": exactness?.wrongRows, "decoder": decoder, "width": size?.width, "height": size?.height,
            "latencyMs": JSONValue.latencies(Dictionary(uniqueKeysWithValues: times.map { ($0.rawValue, $1) })),
            "rttMs": session.roundTrip?.inMilliseconds, "sound": sound?.fields(session.sound),
            "clockErrorMs": session.clockError?.inMilliseconds,
        ]
    }
}

extension SoundFigures {
    /// What is unknown is left out.
    fileprivate func fields(_ arrivals: SoundArrivals) -> [String: any EventField] {
        let concealed = Double(statistics.concealedSamples) / Double(SoundBlock.sampleRate)
        return [
            "packets": arrivals.packets, "missed": Int(arrivals.missed), "recovered": arrivals.recovered,
            "lost": Int(arrivals.lost), "played": statistics.played, "concealedMs": concealed * 1000,
            "concealed": JSONValue.number(statistics.concealedShare), "underruns": statistics.underruns,
            "bufferMs": statistics.buffer.inMilliseconds, "driftPpm": statistics.driftPPM,
            "latencyMs": statistics.latency?.inMilliseconds, "skewMs": skew?.inMilliseconds,
            "pictureHoldMs": hold.inMilliseconds, "volume": volume, "muted": isMuted, "device": device,
        ]
    }
}
