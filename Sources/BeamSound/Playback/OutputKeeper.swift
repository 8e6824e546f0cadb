import BeamClock
import BeamMedia
import CSDL2
import Glibc
import Synchronization

/// Keeps a device open, on a thread of its own.
final class OutputKeeper: @unchecked Sendable {
    // Sendable: the variables are read and written under `changed`'s lock only; the rest is immutable.

    /// How often it is checked whether the device is still there.
    private static let checkInterval = Duration.milliseconds(250)
    /// How often the server is asked for the latency: seldom, once it is known.
    private static let askInterval = Duration.seconds(1)
    private static let firstReports = 4
    private static let askTimeout = Duration.milliseconds(200)
    /// How long a device must have lasted for the pauses to start over.
    private static let lasting = Duration.seconds(5)
    /// PulseAudio's, until it has told its latency: that of a null sink.
    private static let pulseLatency = Duration.milliseconds(4)
    /// pipewire-pulse doesn't tell its latency. With `PulseProperties`, from a callback to a recorder of a null sink's
    /// monitor, 10.6 or 13.3 ms were measured, of which the recorder takes a little.
    private static let pipeWireLatency = Duration.milliseconds(11)
    /// ALSA and the like: SDL keeps two blocks in the device.
    private static let deviceLatency = Duration.milliseconds(11)

    private let feed: OutputFeed
    private let device: String?
    private let onState: @Sendable (SoundOutputState) -> Void

    private let changed = MonotonicCondition()
    private var thread: StageThread?
    private var isStopped = false
    private var state: SoundOutputState?

    init(_ feed: OutputFeed, device: String?, onState: @escaping @Sendable (SoundOutputState) -> Void) {
        self.feed = feed
        self.device = device
        self.onState = onState
    }

    func start() {
        changed.withLock {
            guard thread == nil, !isStopped else { return }
            thread = StageThread("beam-sound-out") { [self] in run() }
        }
    }

    func stop(timeout: Duration) {
        let thread = changed.withLock {
            isStopped = true
            changed.broadcast()
            return self.thread
        }
        _ = thread?.join(until: .now + timeout)
    }

    private func run() {
        var pause = GrowingPause(first: .milliseconds(250), longest: .seconds(5))
        while wait(until: .distantPast) {
            let begin = MediaTime.now
            if play(), MediaTime.now - begin >= Self.lasting { pause.reset() }
            guard wait(until: .now + pause.next()) else { return }
        }
    }

    /// Plays until the device is lost, or stopped. False if there was none.
    private func play() -> Bool {
        // SDL chooses between PulseAudio and ALSA when it starts, so it has to start anew after a loss.
        do throws(SoundError) { try SDLAudio.begin() } catch {
            report(.noOutput(reason: SDLAudio.error))
            return false
        }
        defer { SDLAudio.end() }
        if let device, case let names = SDLAudio.names, !names.contains(device) {
            report(.noSuchDevice(name: device, names: names))
            return false
        }
        if SDLAudio.driver == "dummy" {
            feed.begin(OutputClock(usual: SilentDevice.latency))
            report(.playing(name: device))
            SilentDevice.play(feed) { wait(until: $0) }
            return true
        }
        let isPulse = SDLAudio.driver == "pulseaudio"
        feed.begin(OutputClock(usual: isPulse ? Self.pulseLatency : Self.deviceLatency))
        guard let identifier = open() else { return false }
        report(.playing(name: device))
        watch(identifier, latency: isPulse ? PulseLatency() : nil)
        // Waits for the audio thread.
        SDL_CloseAudioDevice(identifier)
        if wait(until: .distantPast) { report(.lost) }
        return true
    }

    /// Opens the device and lets it play.
    private func open() -> SDL_AudioDeviceID? {
        var wanted = SDL_AudioSpec()
        wanted.freq = CInt(SoundBlock.sampleRate)
        wanted.format = SDL_AudioFormat(AUDIO_F32SYS)
        wanted.channels = UInt8(SoundBlock.channelCount)
        wanted.samples = UInt16(SoundOutput.step)
        // Kept alive by this thread, which closes the device before it ends.
        wanted.userdata = Unmanaged.passUnretained(feed).toOpaque()
        wanted.callback = { userdata, bytes, count in
            guard let userdata, let bytes else { return }
            let length = Int(count) / MemoryLayout<Float>.size
            bytes.withMemoryRebound(to: Float.self, capacity: length) {
                Unmanaged<OutputFeed>.fromOpaque(userdata).takeUnretainedValue()
                    .play(UnsafeMutableBufferPointer(start: $0, count: length))
            }
        }
        let identifier = SDL_OpenAudioDevice(device, 0, &wanted, nil, 0)
        guard identifier > 0 else {
            report(.noOutput(reason: SDLAudio.error))
            return nil
        }
        SDL_PauseAudioDevice(identifier, 0)
        return identifier
    }

    /// Returns when the device is lost, or stopped.
    private func watch(_ identifier: SDL_AudioDeviceID, latency: PulseLatency?) {
        var reports = 0
        var nextAsking = MediaTime.now
        while wait(until: .now + Self.checkInterval), SDL_GetAudioDeviceStatus(identifier) == SDL_AUDIO_PLAYING {
            guard let latency, MediaTime.now >= nextAsking else { continue }
            guard wait(until: feed.withClock { $0.timeToAsk(after: .now) }) else { return }
            let report = latency.ask(timeout: Self.askTimeout)
            let isOfUse = feed.withClock { clock in
                guard let report else {
                    clock.assume(Self.pipeWireLatency)
                    return true
                }
                return clock.report(queued: report.queued, at: report.time)
            }
            if isOfUse { reports += 1 }
            nextAsking = .now + (reports < Self.firstReports ? .zero : Self.askInterval)
        }
    }

    /// Waits until `time`. False once stopped.
    private func wait(until time: MediaTime) -> Bool {
        changed.withLock {
            while !isStopped, MediaTime.now < time { _ = changed.wait(until: time) }
            return !isStopped
        }
    }

    private func report(_ state: SoundOutputState) {
        let isNew = changed.withLock {
            guard !isStopped, state != self.state else { return false }
            self.state = state
            return true
        }
        if isNew { onState(state) }
    }
}
