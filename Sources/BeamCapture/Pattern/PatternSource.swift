import BeamClock
import BeamMedia
import Synchronization

/// The test pattern as a source: frame n at n / frame rate after the start.
///
/// Frames that it is too late for are skipped and counted; their numbers are missing, as are those of frames that look
/// like the one before. While nobody watches, its clock stands still.
public final class PatternSource: PictureSource {
    public let info: SourceInfo
    private let options: PatternOptions
    private let control = SourceControl()
    private let skippedFrames = Atomic<UInt64>(0)

    /// - Throws: `unusablePattern`.
    public init(_ options: PatternOptions) throws(CaptureError) {
        try options.validate()
        self.options = options
        info = SourceInfo(
            description: options.content.description, size: options.size, frameRate: options.frameRate)
    }

    /// Frames that were due while an earlier one was still being handed on.
    public var skipped: UInt64 { skippedFrames.load(ordering: .relaxed) }

    public func run(deliver: (Picture) -> Void) throws(CaptureError) {
        let renderer = try PatternRenderer(options)
        var number = 0
        while let activation = control.waitUntilActive() {
            let schedule = PatternSchedule(options, frame: number, at: .now)
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
        }
    }

    public func setActive(_ active: Bool) { control.setActive(active) }

    public func stop() { control.stop() }
}

/// When which frame is due, from one activation to the next.
struct PatternSchedule {
    private let options: PatternOptions
    private let start: MediaTime

    /// `frame` is due at `time`.
    init(_ options: PatternOptions, frame: Int, at time: MediaTime) {
        self.options = options
        start = MediaTime(nanoseconds: time.nanoseconds - options.time(of: frame).nanoseconds)
    }

    func time(of number: Int) -> MediaTime {
        MediaTime(nanoseconds: start.nanoseconds + options.time(of: number).nanoseconds)
    }

    /// The frame to show after `number`: the following one that differs, or, when others were due already, the latest of
    /// them.
    func next(after number: Int, at now: MediaTime) -> Int {
        let step = options.framesPerChange
        let following = number / step + 1
        let elapsed = Double((now - start).inNanoseconds)
        var next = max(following, Int(elapsed * options.frameRate / 1_000_000_000 / Double(step)))
        // Rounding may be one frame off.
        while next > following, time(of: next * step) > now { next -= 1 }
        return next * step
    }
}
