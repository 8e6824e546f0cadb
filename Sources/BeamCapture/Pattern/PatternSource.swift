import BeamClock
import BeamMedia
import Synchronization

/// The test pattern as a source: frame n is due n / frame rate after the start.
///
/// Frames that can't be delivered in time are skipped and counted. Their numbers are missing, as are those of frames
/// identical to the one before. The clock pauses while nobody watches, and with it the sound.
public final class PatternSource: PictureSource {
    public let info: SourceInfo
    private let options: PatternOptions
    private let control = SourceControl()
    private let skippedFrames = Atomic<UInt64>(0)
    private let patternSound: PatternSound

    /// A burst once a second, which carries the number of the frame that is due when it begins (`PatternSoundReader`).
    /// To be run on a thread of its own, beside `run`. It delivers blocks while somebody listens and the pictures
    /// play, 30 ms before their time.
    public var sound: (any SoundSource)? { patternSound }

    /// - Throws: `unusablePattern`.
    public init(_ options: PatternOptions) throws(CaptureError) {
        try options.validate()
        self.options = options
        patternSound = PatternSound(options)
        info = SourceInfo(
            description: options.content.description, size: options.size, frameRate: options.frameRate)
    }

    /// Frames skipped because an earlier one was still being delivered.
    public var skipped: UInt64 { skippedFrames.load(ordering: .relaxed) }

    public func run(deliver: (Picture) -> Void) throws(CaptureError) {
        let renderer = try PatternRenderer(options)
        var number = 0
        defer { patternSound.follow(nil) }
        while let activation = control.waitUntilActive() {
            let schedule = PatternSchedule(options, frame: number, at: .now)
            patternSound.follow(schedule.time(of: 0))
            var isFirst = true
            repeat {
                var picture = renderer.picture(number, time: .now)
                if isFirst { picture.damage = DamageRegion(PixelRect(options.size)) }
                isFirst = false
                deliver(picture)
                let next = schedule.next(after: number, at: .now)
                skippedFrames.wrappingAdd(UInt64((next - number) / options.framesPerChange - 1), ordering: .relaxed)
                number = next
            } while control.wait(until: schedule.time(of: number), in: activation)
            patternSound.follow(nil)
        }
    }

    public func setActive(_ active: Bool) { control.setActive(active) }

    public func stop() { control.stop() }
}

/// The frames' due times within one activation.
struct PatternSchedule {
    private let options: PatternOptions
    private let start: MediaTime

    /// Frame `frame` is due at `time`.
    init(_ options: PatternOptions, frame: Int, at time: MediaTime) {
        self.options = options
        start = MediaTime(nanoseconds: time.nanoseconds - options.time(of: frame).nanoseconds)
    }

    func time(of number: Int) -> MediaTime {
        MediaTime(nanoseconds: start.nanoseconds + options.time(of: number).nanoseconds)
    }

    /// The frame after `number` to show at `now`: the next distinct one, or the latest that is already due.
    func next(after number: Int, at now: MediaTime) -> Int {
        let step = options.framesPerChange
        let following = number / step + 1
        let elapsed = Double((now - start).inNanoseconds)
        var next = max(following, Int(elapsed * options.frameRate / 1_000_000_000 / Double(step)))
        // The floating-point estimate may be one frame too high.
        while next > following, time(of: next * step) > now { next -= 1 }
        return next * step
    }
}
