import BeamClock
import BeamMedia

/// Keeps a device open, on a thread of its own.
final class OutputReopener: @unchecked Sendable {
    // Sendable: the variables are read and written under `changed`'s lock only; the rest is immutable.

    /// How often it is checked whether the device is still there.
    private static let checkInterval = Duration.milliseconds(250)
    /// How long a device must have lasted for the pauses to start over.
    private static let lasting = Duration.seconds(5)

    private let feed: OutputFeed
    private let device: String?
    private let onState: @Sendable (SoundOutputState) -> Void

    private let changed = MonotonicCondition()
    private var thread: StageThread?
    private var isStopped = false
    private var state: SoundOutputState?
    /// What `stop` has to wake.
    private var loop: PulseLoop?

    init(_ feed: OutputFeed, device: String?, onState: @escaping @Sendable (SoundOutputState) -> Void) {
        self.feed = feed
        self.device = device
        self.onState = onState
    }

    func start() {
        changed.withLock {
            guard thread == nil, !isStopped else { return }
            thread = StageThread("beam-sound-out") { [self] in
                ThreadPriority.raiseForSound()
                run()
            }
        }
    }

    func stop(timeout: Duration) {
        let thread = changed.withLock {
            isStopped = true
            changed.broadcast()
            loop?.wake()
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
        feed.begin()
        let ending = SDLAudio.isPulseWanted ? playOnServer() : .noServer
        let hasPlayed = ending == .noServer ? playThroughSDL() : ending == .played
        if hasPlayed, wait(until: .distantPast) { report(.lost) }
        return hasPlayed
    }

    private func playOnServer() -> PulsePlayer.Ending {
        guard (try? Pulse.load()) != nil, let loop = PulseLoop() else { return .noServer }
        changed.withLock { self.loop = loop }
        defer { changed.withLock { self.loop = nil } }
        let player = PulsePlayer(
            feed: feed, device: device, loop: loop, isStopped: { [self] in changed.withLock { isStopped } },
            sleep: { [self] in wait(until: $0) }, report: { [self] in report($0) })
        return player.play()
    }

    private func playThroughSDL() -> Bool {
        do throws(SoundError) {
            // It chooses its driver when it starts, so it has to start anew after a loss.
            try SDLAudio.begin()
            defer { SDLAudio.end() }
            if let device, case let names = SDLAudio.names, !names.contains(device) {
                report(.noSuchDevice(name: device, names: names))
                return false
            }
            if SDLAudio.driver == "dummy" {
                report(.playing(name: device))
                SilentDevice.play(feed) { wait(until: $0) }
                return true
            }
            let player = try SDLPlayer(feed, device: device)
            report(.playing(name: device))
            while wait(until: .now + Self.checkInterval), player.isPlaying {}
            player.close()
            return true
        } catch {
            if case .noOutput(let reason) = error { report(.noOutput(reason: reason)) }
            return false
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
