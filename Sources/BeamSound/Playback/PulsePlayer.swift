import BeamClock
import BeamMedia
import CPulse

/// Plays on a sound server, PulseAudio or PipeWire. Used on one thread.
///
/// SDL could do it, too, but it asks for blocks of 256 samples, and for each as soon as it has handed on the one before. The
/// server needs the last of them only 5 ms later. And SDL doesn't know when they are heard.
struct PulsePlayer {
    enum Ending: Equatable {
        /// There is no server, so something else may be tried.
        case noServer
        /// It has never played. What is the reason was reported.
        case refused
        /// It has played, until the device was lost or it was stopped.
        case played
    }

    /// A server that takes longer counts as missing: it may hang.
    private static let timeout = Duration.seconds(5)
    private static let noAnswer = "the sound server doesn't answer"
    /// pipewire-pulse (0.3.65) tells how long what is played waits with it, but not how long after that it is heard. To a
    /// recorder of a null sink's monitor that are 4 ms, as long as one and a half of its steps of 128 samples.
    private static let pipeWireLatency = Duration.milliseconds(4)

    let feed: OutputFeed
    /// The sink's description or name; nil: the default one.
    let device: String?
    let loop: PulseLoop
    let isStopped: () -> Bool
    /// Waits until a time, or until it is stopped.
    let sleep: (MediaTime) -> Bool
    let report: (SoundOutputState) -> Void

    /// Plays until the device is lost, or until it is stopped and the loop woken.
    func play() -> Ending {
        guard let connection = PulseConnection(loop, server: nil) else { return refuse("there is not enough memory") }
        let deadline = MediaTime.now + Self.timeout
        guard wait(until: deadline, { connection.state != .connecting }) else { return refuse(Self.noAnswer) }
        guard connection.state == .ready else { return .noServer }
        connection.askDevices()
        let hasAnswer = wait(until: deadline) { connection.devices != nil || connection.state != .ready }
        guard hasAnswer, let devices = connection.devices else { return refuse(Self.noAnswer) }
        let sink = device.flatMap { devices.sink(called: $0) }
        if let device, sink == nil {
            report(.noSuchDevice(name: device, names: devices.sinks.map(\.description)))
            return .refused
        }
        let hidden = devices.isPipeWire ? Self.pipeWireLatency : .zero
        guard let playback = PulsePlayback(connection, sink: sink?.name, hiddenLatency: hidden, feed: feed),
            wait(until: deadline, { playback.isReady || playback.hasEnded }), playback.isReady
        else { return refuse(Pulse.message(pa_context_errno(connection.context))) }
        report(.playing(name: device))
        while !isStopped(), connection.state == .ready, !playback.hasEnded {
            let next = playback.write()
            if playback.isAsking {
                loop.turn(until: next)
            } else {
                // Sends what was written. What the server says until the next time, mostly that it has read something, waits.
                loop.turn()
                _ = sleep(next)
            }
        }
        return .played
    }

    /// Waits for something; false if it doesn't come in time, or if the player is stopped.
    private func wait(until deadline: MediaTime, _ isThere: () -> Bool) -> Bool {
        while !isThere() {
            guard !isStopped(), MediaTime.now < deadline else { return false }
            loop.turn(until: deadline)
        }
        return true
    }

    private func refuse(_ reason: String) -> Ending {
        report(.noOutput(reason: reason))
        return .refused
    }
}
