import BeamClock
import BeamMedia
import Synchronization

/// Captures what the machine plays, or a microphone, from PulseAudio or PipeWire.
///
/// The server may be missing, end and come back, and devices may come and go: what the target names is captured whenever
/// it is there, and `onState` tells. While the source is inactive no stream is open; the connection is kept, so that the
/// state is known and the first block comes soon (some milliseconds after `setActive`).
public final class PulseCapture: SoundSource {
    private let target: SoundTarget
    private let server: String?
    private let control = SoundControl()
    private let handler = Mutex<@Sendable (SoundCaptureState) -> Void>({ _ in })

    /// - Parameter server: the server's address; nil: where libpulse looks for it (PULSE_SERVER, the session's, …).
    public init(_ target: SoundTarget = .automatic, server: String? = nil) {
        self.target = target
        self.server = server
    }

    /// `handler` is called on `run`'s thread with the first state and whenever it changes. Set it before `run`.
    public func onState(_ handler: @escaping @Sendable (SoundCaptureState) -> Void) {
        self.handler.withLock { $0 = handler }
    }

    public func run(deliver: (SoundBlock) -> Void) {
        let onState = handler.withLock { $0 }
        do throws(SoundError) {
            try Pulse.load()
            guard let loop = PulseLoop() else { throw .noMemory }
            control.wake(loop)
            defer { control.wake(nil) }
            let session = PulseSession(loop, target: target, server: server, onState: onState)
            while !control.isStopped {
                let deadline = session.settle(isActive: control.isActive, now: .now)
                session.turn(until: deadline, sleep: control.sleep)
                session.takeBlocks(deliver)
            }
        } catch {
            onState(.noServer(reason: error.description))
            control.waitUntilStopped()
        }
    }

    public func setActive(_ isActive: Bool) { control.setActive(isActive) }

    public func stop() { control.stop() }
}
