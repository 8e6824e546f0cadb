import BeamClock
import BeamMedia
import BeamNetwork
import BeamPlayout
import BeamSound
import Dispatch
import Synchronization

/// Plays a viewer's sound, in step with its picture: network → jitter buffer → decoder → resampler → device.
///
/// The device's thread pulls. The network's thread puts packets into an inbox, and the window's thread says when pictures
/// are shown. Any thread may call the rest.
final class SoundPlayer: ViewerSink {
    struct Handlers: Sendable {
        /// How long pictures are to be held has changed.
        var onHold: @Sendable (Duration) -> Void
        /// Whether sound is to be played has changed.
        var onAudible: @Sendable (Bool) -> Void
        /// Where it is played has changed, or whether it can be.
        var onState: @Sendable (SoundOutputState) -> Void
    }

    /// Packets that wait for the device: half a second. Without a device the oldest go.
    private static let mostWaiting = 50
    /// Steps from silence to the full volume.
    private static let volumeSteps = 20
    /// Changes of the hold that are passed on.
    private static let holdStep = Duration.microseconds(500)
    /// How often the sound's latency is compared with the picture's.
    private static let syncInterval = Duration.milliseconds(100)

    private struct Control {
        /// The viewer is the one that is heard, as far as the window is concerned.
        var isChosen = false
        /// It isn't to be heard whatever the window says.
        var isSilenced = false
        var isMuted = false
        var volume = SoundPlayer.volumeSteps
        var output: SoundOutput?
        var isStopped = false

        var isAudible: Bool { isChosen && !isSilenced && !isMuted }
    }

    private struct Timing {
        var sync: SoundSync
        /// As it was passed on last.
        var hold = Duration.zero
        var statistics = SoundStatistics()
        /// When `sync` was told of the sound last.
        var toldSync = MediaTime.distantPast
    }

    private let outputName: String?
    private let handlers: Handlers
    private let inbox = Mutex<[ReceivedSound]>([])
    private let voice: SoundVoice
    private let timing: Mutex<Timing>
    private let control = Mutex(Control())
    /// Sound has come, so that the device is of use.
    private let hasSound = Atomic<Bool>(false)
    /// Starts and ends devices, which may take a while.
    private let queue = DispatchQueue(label: "beam-sound-device")

    /// - Parameters:
    ///   - output: the device's name; nil: the system's.
    ///   - pictureBuffer: see `SoundSync.init`.
    /// - Throws: what `SoundVoice.init` does.
    init(
        output: String?, mode: SoundSync.Mode, pictureBuffer: Duration, handlers: Handlers
    ) throws(SoundError) {
        outputName = output
        self.handlers = handlers
        voice = try SoundVoice()
        timing = Mutex(Timing(sync: SoundSync(mode: mode, pictureBuffer: pictureBuffer)))
    }

    // MARK: Sound comes and is played

    /// The device is opened with the first sound.
    func open() {}

    func push(_ sound: ReceivedSound) {
        inbox.withLock { inbox in
            if inbox.count >= Self.mostWaiting { inbox.removeFirst() }
            inbox.append(sound)
        }
        // The device isn't opened before there is sound: loading its libraries would delay the first picture.
        guard !hasSound.load(ordering: .relaxed), !hasSound.exchange(true, ordering: .relaxed) else { return }
        queue.async { [self] in control.withLock { $0.output }?.start() }
    }

    /// On the device's thread.
    private func fill(_ output: UnsafeMutableBufferPointer<Float>, _ demand: OutputDemand) -> Int {
        let packets = inbox.withLock { inbox in
            defer { inbox.removeAll(keepingCapacity: true) }
            return inbox
        }
        let least = timing.withLock { $0.sync.leastSoundLatency }
        let (count, statistics) = voice.fill(output, demand, with: packets, leastLatency: least)
        timing.withLock { timing in
            if statistics.played != timing.statistics.played, demand.now - timing.toldSync >= Self.syncInterval {
                timing.toldSync = demand.now
                timing.sync.soundPlayed(
                    latency: statistics.latency, natural: statistics.naturalLatency, now: demand.now)
            }
            timing.statistics = statistics
        }
        return count
    }

    /// A picture is in the window at `time`.
    func pictureShown(_ picture: Picture, at time: MediaTime) {
        let hold = timing.withLock { timing -> Duration? in
            timing.sync.pictureShown(
                latency: picture.captureTime.map { time - $0 }, held: timing.hold, now: time)
            let change = timing.sync.pictureHold - timing.hold
            let isNews = change >= Self.holdStep || change <= .zero - Self.holdStep
            guard isNews || timing.sync.pictureHold == .zero && timing.hold > .zero else { return nil }
            timing.hold = timing.sync.pictureHold
            return timing.hold
        }
        if let hold { handlers.onHold(hold) }
    }

    var figures: SoundFigures {
        let (volume, isMuted) = control.withLock { (Double($0.volume) / Double(Self.volumeSteps), $0.isMuted) }
        return timing.withLock { timing in
            SoundFigures(
                statistics: timing.statistics, skew: timing.sync.skew(now: .now), hold: timing.hold, volume: volume,
                isMuted: isMuted)
        }
    }

    // MARK: What is heard

    /// Whether this viewer is the one that is heard in its window. On the thread that creates the window.
    func setAudible(_ isAudible: Bool) { change { $0.isChosen = isAudible } }

    /// Plays nothing any more. False if that was so already.
    func silence() -> Bool {
        let wasSilenced = control.withLock { $0.isSilenced }
        change { $0.isSilenced = true }
        return !wasSilenced
    }

    /// Returns whether the sound is off now.
    var isMuted: Bool { control.withLock { $0.isMuted } }

    func toggleMute() -> Bool {
        change { $0.isMuted.toggle() }
        return control.withLock { $0.isMuted }
    }

    /// Makes it louder or softer by so many steps of 5 %, and heard if it was off. Returns the volume in percent.
    func changeVolume(by steps: Int) -> Int {
        change { control in
            control.isMuted = false
            control.volume = min(max(0, control.volume + steps), Self.volumeSteps)
        }
        return control.withLock { $0.volume } * 100 / Self.volumeSteps
    }

    private func change(_ body: (inout Control) -> Void) {
        let (before, after) = control.withLock { control in
            let before = control.isAudible
            body(&control)
            return (before, control.isAudible)
        }
        follow()
        guard before != after else { return }
        if after { voice.interrupt() }
        handlers.onAudible(after)
    }

    /// Opens or closes the device, and sets its volume. The device has a thread of its own for what takes long.
    private func follow() {
        let ended = control.withLock { control -> SoundOutput? in
            if control.isChosen, !control.isSilenced, !control.isStopped {
                let output = control.output ?? makeOutput(isStarted: hasSound.load(ordering: .relaxed))
                control.output = output
                let share = Float(control.volume) / Float(Self.volumeSteps)
                // What is heard as evenly louder is the square.
                output.volume = share * share
                output.isMuted = control.isMuted
                return nil
            }
            defer { control.output = nil }
            return control.output
        }
        if let ended { queue.async { ended.stop() } }
    }

    private func makeOutput(isStarted: Bool) -> SoundOutput {
        let output = SoundOutput(device: outputName, onState: handlers.onState) { [weak self] output, demand in
            if let self { return fill(output, demand) }
            output.update(repeating: 0)
            return output.count / SoundBlock.channelCount
        }
        if isStarted { output.start() }
        return output
    }

    /// Returns when nothing is played any more.
    func close() {
        control.withLock { $0.isStopped = true }
        follow()
        queue.sync {}
    }
}
