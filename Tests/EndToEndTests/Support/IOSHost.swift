import BeamMedia
import Foundation

/// A host that behaves like BeamRoom on iOS, in version 1, and plays a recorded stream in a loop. It shares no code
/// with the program. `behaviour` can be changed while it runs.
final class IOSHost: Sendable {
    enum Decision: Sendable {
        case accept
        case decline(String)
        /// The person at the host never decides.
        case silence
    }

    struct Behaviour: Sendable {
        var decision = Decision.accept
        /// Otherwise it ignores what it doesn't understand.
        var hangsUpOnTLS = true
        var isBroadcasting = true
        /// Frames aren't sent, but their numbers continue.
        var isMuted = false
        /// Connections are accepted and closed at once.
        var refusesConnections = false
        var framesPerSecond = 30.0
    }

    struct State: Sendable {
        var behaviour: Behaviour
        var lines: [String] = []
        var connections = 0
        /// Connections that began with TLS.
        var secureAttempts = 0
        var helloes = 0
        var codes: [String] = []
        var viewer: Endpoint?
        var viewerHeardAt = 0.0
        var framesSent = 0
        var stops = false
        var controls: [Socket] = []
        var pairedControls: [Socket] = []
    }

    let controlPort: UInt16
    let mediaPort: UInt16
    let state: Monitor<State>
    private let listener: Socket
    private let media: Socket

    init(
        _ stream: RecordedStream, port: UInt16 = 0, on address: String = "127.0.0.1", behaviour: Behaviour = Behaviour()
    ) throws {
        listener = try Socket.listen(at: Endpoint(port, on: address))
        media = try Socket.datagrams(on: Endpoint(0, on: address))
        controlPort = listener.localEndpoint.port
        mediaPort = media.localEndpoint.port
        state = Monitor(State(behaviour: behaviour))
        let (state, listener, media, mediaPort) = (state, listener, media, mediaPort)
        Thread.detachNewThread { Self.acceptConnections(listener, mediaPort, state) }
        Thread.detachNewThread { Self.play(stream, media, state) }
    }

    deinit { stop() }

    var current: State { state.current }

    /// Ends like a killed program: every socket closes without a message.
    func stop() {
        let controls = state.withLock { state in
            state.stops = true
            defer { state.controls = [] }
            return state.controls
        }
        listener.shut()
        for control in controls { control.shut() }
    }

    func change(_ body: @Sendable (inout Behaviour) -> Void) {
        let paired = state.withLock { state in
            body(&state.behaviour)
            return state.pairedControls
        }
        let line = #"{"on":\#(state.current.behaviour.isBroadcasting)}"# + "\n"
        for control in paired { control.send(line) }
    }

    /// Closes every control connection; the media continue.
    func dropControl() {
        let controls = state.withLock { state in
            defer {
                state.controls = []
                state.pairedControls = []
            }
            return state.controls
        }
        for control in controls { control.shut() }
    }

    // MARK: - Control

    private static func acceptConnections(_ listener: Socket, _ mediaPort: UInt16, _ state: Monitor<State>) {
        while !state.current.stops {
            guard let control = listener.accept(timeout: 0.2) else { continue }
            let refuses = state.withLock { state in
                state.connections += 1
                if !state.behaviour.refusesConnections { state.controls.append(control) }
                return state.behaviour.refusesConnections
            }
            if !refuses { Thread.detachNewThread { serve(control, mediaPort, state) } }
        }
    }

    private static func serve(_ control: Socket, _ mediaPort: UInt16, _ state: Monitor<State>) {
        var splitter = LineSplitter()
        var nextHeartbeat = Double.infinity
        while !state.current.stops {
            if secondsNow() > nextHeartbeat {
                control.send(#"{"hb":1}"# + "\n")
                nextHeartbeat = secondsNow() + 5
            }
            switch control.receive(timeout: 0.1) {
            case .nothing: continue
            case .ended: return
            case .bytes(let bytes) where bytes.first == 0x16:
                // A TLS record, which it doesn't understand.
                state.withLock { $0.secureAttempts += 1 }
                if state.current.behaviour.hangsUpOnTLS { return control.shut() }
            case .bytes(let bytes):
                for line in splitter.append(bytes) {
                    state.withLock { $0.lines.append(line) }
                    guard let message = JSONValue(line), message["app"] != nil else { continue }
                    if answer(message, control, mediaPort, state) { nextHeartbeat = secondsNow() + 2 }
                }
            }
        }
    }

    /// Answers a handshake; true if it was accepted.
    private static func answer(
        _ handshake: JSONValue, _ control: Socket, _ mediaPort: UInt16, _ state: Monitor<State>
    ) -> Bool {
        let behaviour = state.withLock { state in
            if let code = handshake["code"]?.string { state.codes.append(code) }
            return state.behaviour
        }
        switch behaviour.decision {
        case .silence:
            return false
        case .decline(let reason):
            control.send(#"{"ok":false,"message":"\#(reason)"}"# + "\n")
            return false
        case .accept:
            control.send(#"{"ok":true,"sessionID":"\#(UUID().uuidString)"}"# + "\n")
            control.send(#"{"udpPort":\#(mediaPort)}"# + "\n")
            control.send(#"{"on":\#(behaviour.isBroadcasting)}"# + "\n")
            state.withLock { $0.pairedControls.append(control) }
            return true
        }
    }

    // MARK: - Media

    private static func play(_ stream: RecordedStream, _ media: Socket, _ state: Monitor<State>) {
        var sequence: UInt32 = 0
        var due = secondsNow()
        while true {
            while let datagram = media.receiveWaitingDatagram() {
                guard datagram.bytes == Array("BRHI!".utf8) else { continue }
                state.withLock { state in
                    state.helloes += 1
                    state.viewer = datagram.from
                    state.viewerHeardAt = secondsNow()
                }
            }
            let current = state.current
            if current.stops { return }
            let now = secondsNow()
            if now >= due {
                due = max(due + 1 / current.behaviour.framesPerSecond, now - 0.2)
                let frame = stream.frames[Int(sequence) % stream.frames.count]
                let isWatched = now - current.viewerHeardAt < 20 && current.behaviour.isBroadcasting
                if let viewer = current.viewer, isWatched, !current.behaviour.isMuted {
                    for part in datagrams(frame, sequence, stream) { media.send(part, to: viewer) }
                    state.withLock { $0.framesSent += 1 }
                }
                sequence &+= 1
            }
            _ = media.isReadable(timeout: min(0.01, max(0.001, due - secondsNow())))
        }
    }

    /// The frame in datagrams of at most 1200 bytes.
    private static func datagrams(_ frame: WireFrame, _ sequence: UInt32, _ stream: RecordedStream) -> [[UInt8]] {
        func short(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xff), UInt8(value & 0xff)] }
        var config: [UInt8] = []
        if frame.isKeyframe {
            let spsCount = frame.parameterSets.count { H264.type($0) == H264.sps }
            config = [UInt8(spsCount), UInt8(frame.parameterSets.count - spsCount)]
            for set in frame.parameterSets { config += short(set.count) + set }
        }
        let content = H264.avcc(frame.units)
        var cuts = [0]
        while let last = cuts.last, last < content.count {
            cuts.append(min(content.count, last + 1180 - (cuts.count == 1 ? config.count : 0)))
        }
        return zip(cuts, cuts.dropFirst()).enumerated().map { part, cut in
            let own = part == 0 ? config : []
            let header =
                Array("BMRV".utf8) + short(Int(sequence >> 16)) + short(Int(sequence & 0xffff)) + short(part)
                + short(cuts.count - 1) + short(frame.isKeyframe ? 3 : 0) + short(stream.width) + short(stream.height)
                + short(own.count)
            return header + own + content[cut.0..<cut.1]
        }
    }
}

/// An H.264 stream made by x264, and its pictures, decoded by ffmpeg.
struct RecordedStream: Sendable {
    var frames: [WireFrame]
    var width: Int
    var height: Int
    /// The decoded pictures, in a YUV4MPEG2 file.
    var decoded: String

    static let isAvailable = Tool.exists("ffmpeg") && Tool.exists("ffprobe")

    /// Main profile, 30 pictures a second, a keyframe each second, from one of ffmpeg's sources.
    init(width: Int, height: Int, seconds: Int, source: String = "testsrc2", in directory: ScratchDirectory) throws {
        let stream = directory.file("recorded-\(width)x\(height).h264")
        decoded = directory.file("recorded-\(width)x\(height).y4m")
        try Tool.run(
            "ffmpeg",
            [
                "-v", "error", "-y", "-f", "lavfi", "-i",
                "\(source)\(source.contains("=") ? ":" : "=")size=\(width)x\(height):rate=30", "-t",
                "\(seconds)",
                "-pix_fmt", "yuv420p", "-c:v", "libx264", "-profile:v", "main", "-preset", "superfast", "-bf", "0",
                "-x264-params", "keyint=30:scenecut=0:open-gop=0", "-f", "h264", stream,
            ])
        try Tool.run("ffmpeg", ["-v", "error", "-y", "-i", stream, "-pix_fmt", "yuv420p", decoded])
        self.width = width
        self.height = height
        frames = []
        var sets: [[UInt8]] = []
        var extras: [[UInt8]] = []
        for unit in H264.units(inAnnexB: [UInt8](try Data(contentsOf: URL(fileURLWithPath: stream)))) {
            switch H264.type(unit) {
            case H264.sps, H264.pps: sets.append(unit)
            case H264.slice, H264.keySlice:
                // `first_mb_in_slice` is 0 if its Exp-Golomb code is the single bit 1: a new picture.
                if unit[1] & 0x80 != 0 {
                    let isKeyframe = H264.type(unit) == H264.keySlice
                    frames.append(
                        WireFrame(isKeyframe: isKeyframe, parameterSets: isKeyframe ? sets : [], units: extras + [unit])
                    )
                    (sets, extras) = ([], [])
                } else {
                    frames[frames.count - 1].units.append(unit)
                }
            case H264.delimiter: break
            default: extras.append(unit)
            }
        }
        guard frames.count == seconds * 30, frames[0].isKeyframe else {
            throw HarnessError("\(stream) holds \(frames.count) pictures instead of \(seconds * 30)")
        }
    }
}
