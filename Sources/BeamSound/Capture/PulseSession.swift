import BeamMedia

/// Keeps a capture connected and recording from what its target is. Used on its loop's thread only.
final class PulseSession {
    /// How long a server may take until it counts as missing: it may hang.
    private static let connectTimeout = Duration.seconds(5)
    /// How long a connection or a stream must have lasted for the pauses to start over.
    private static let lasting = Duration.seconds(5)
    /// Between two requests for the list of devices: a volume that is being changed is a change of a device, too.
    private static let askInterval = Duration.milliseconds(100)

    private let loop: PulseLoop
    private let target: SoundTarget
    private let server: String?
    private let onState: (SoundCaptureState) -> Void
    private var state: SoundCaptureState?

    private var connection: PulseConnection?
    /// When the connection was begun, or became ready.
    private var connectionSince = MediaTime.zero
    private var isReady = false
    private var connectionPause = GrowingPause(first: .milliseconds(250), longest: .seconds(5))
    private var nextConnection = MediaTime.distantPast
    private var nextAsking = MediaTime.distantPast

    private var recording: PulseRecording?
    private var recordingSince = MediaTime.zero
    private var recordingPause = GrowingPause(first: .milliseconds(250), longest: .seconds(5))
    private var nextRecording = MediaTime.distantPast

    init(
        _ loop: PulseLoop, target: SoundTarget, server: String?, onState: @escaping (SoundCaptureState) -> Void
    ) {
        self.loop = loop
        self.target = target
        self.server = server
        self.onState = onState
    }

    func takeBlocks(_ deliver: (SoundBlock) -> Void) {
        for block in recording?.take() ?? [] { deliver(block) }
    }

    /// Waits for something to do until `deadline`, and does it.
    ///
    /// - Parameter sleep: waits until a time, or until somebody changes what is to be done.
    func turn(until deadline: MediaTime, sleep: (MediaTime) -> Void) {
        guard let recording, case let next = recording.nextBlock, next > .now else {
            recording?.begin(waiting: true)
            return loop.turn(until: deadline)
        }
        recording.begin(waiting: false)
        sleep(min(next, deadline))
        loop.turn()
    }

    /// Does what is due. Returns when to be called again if nothing happens before.
    func settle(isActive: Bool, now: MediaTime) -> MediaTime {
        guard let connection = connect(now) else { return nextConnection }
        switch connection.state {
        case .connecting:
            let end = connectionSince + Self.connectTimeout
            guard now < end else { return lose("it doesn't answer", now) }
            return end
        case .failed(let reason): return lose(reason, now)
        case .ready: break
        }
        if !isReady {
            isReady = true
            connectionSince = now
            connection.subscribe()
        }
        if connection.hasChanges, !connection.isAsking, now >= nextAsking {
            nextAsking = now + Self.askInterval
            connection.askDevices()
        }
        var deadline = connection.hasChanges && !connection.isAsking ? nextAsking : .distantFuture
        guard let devices = connection.devices else { return deadline }
        switch target.choice(in: devices) {
        case .source(let name, let description):
            deadline = min(deadline, record(isActive ? name : nil, connection, now))
            report(nextRecording > now && recording == nil && isActive ? .lost : .capturing(name: description))
        case .none(let reason):
            recording = nil
            report(reason)
        }
        return deadline
    }

    /// The connection, begun if there is none and its time has come.
    private func connect(_ now: MediaTime) -> PulseConnection? {
        if connection == nil, now >= nextConnection {
            connection = PulseConnection(loop, server: server)
            connectionSince = now
            if connection == nil { _ = lose("there is not enough memory", now) }
        }
        return connection
    }

    private func lose(_ reason: String, _ now: MediaTime) -> MediaTime {
        report(isReady ? .lost : .noServer(reason: reason))
        if isReady, now - connectionSince >= Self.lasting { connectionPause.reset() }
        recording = nil
        connection = nil
        isReady = false
        nextAsking = .distantPast
        nextConnection = now + connectionPause.next()
        return nextConnection
    }

    /// Records from `source`, from nothing if nil. Returns when to be called again.
    private func record(_ source: String?, _ connection: PulseConnection, _ now: MediaTime) -> MediaTime {
        if let recording, recording.hasEnded {
            // Its source has gone, and the list of devices is about to change; or the server doesn't let us record.
            if now - recordingSince >= Self.lasting { recordingPause.reset() }
            nextRecording = now + recordingPause.next()
            connection.hasChanges = true
            self.recording = nil
        } else if let recording, recording.source != source {
            self.recording = nil
            nextRecording = .distantPast
        }
        guard let source, recording == nil else { return .distantFuture }
        guard now >= nextRecording else { return min(nextRecording, nextAsking) }
        recording = PulseRecording(connection, source: source)
        recordingSince = now
        if recording != nil { return .distantFuture }
        nextRecording = now + recordingPause.next()
        return nextRecording
    }

    private func report(_ state: SoundCaptureState) {
        guard state != self.state else { return }
        self.state = state
        onState(state)
    }
}
