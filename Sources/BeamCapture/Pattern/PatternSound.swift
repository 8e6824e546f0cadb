import BeamClock
import BeamMedia

/// The sound of the test pattern: once a second of the pattern's clock a burst (`PatternTone`) with the number of the
/// frame that is due when it begins, and silence after it. Nothing is delivered between.
final class PatternSound: SoundSource {
    /// How long before its time a block is delivered, as that of a recording.
    private static let lead = RecordedSoundPlayer.lead

    /// Silence that is delivered after a burst, in samples: 0.25 s. Without it nobody could tell a sound that has ended from
    /// one whose packets are late.
    private static let silence = SoundBlock.sampleRate / 4

    private let options: PatternOptions
    private let schedule = SoundSchedule()

    init(_ options: PatternOptions) { self.options = options }

    func run(deliver: (SoundBlock) -> Void) {
        while let position = schedule.waitForPosition() {
            let now = MediaTime.now + Self.lead
            let frame = Self.frame(from: now - position.start, options)
            let start = options.time(of: frame) + position.offset
            let blocks = Self.blocks(UInt32(truncatingIfNeeded: frame), at: start)
            for block in blocks {
                guard schedule.wait(until: block.time - Self.lead, from: position) else { break }
                deliver(block)
            }
        }
    }

    func setActive(_ isActive: Bool) { schedule.setActive(isActive) }

    func stop() { schedule.stop() }

    /// Called by the pictures' thread: `start` is when frame 0 is due or would have been; nil while they pause.
    func follow(_ start: MediaTime?) {
        schedule.publish(
            start.map { PicturePosition(loop: 0, offset: $0 - .zero, start: $0, limit: .distantFuture) })
    }

    /// The first frame with a burst at `time` of the pattern's clock or later: the first one that is shown of each
    /// second.
    static func frame(from time: Duration, _ options: PatternOptions) -> Int {
        let step = options.framesPerChange
        var second = max(0, Int(clamping: time.inSeconds.rounded(.down)))
        while true {
            let frame = Int((Double(second) * options.frameRate / Double(step)).rounded(.up)) * step
            if options.time(of: frame) - .zero >= time { return frame }
            second += 1
        }
    }

    /// A burst in both channels, which begins at `time`, and the silence after it.
    private static func blocks(_ number: UInt32, at time: MediaTime) -> [SoundBlock] {
        let burst = PatternTone.burst(number) + [Float](repeating: 0, count: silence)
        return stride(from: 0, to: burst.count, by: SoundBlock.length).map { first in
            var samples = [Float](repeating: 0, count: SoundBlock.length * SoundBlock.channelCount)
            for (index, sample) in burst[first..<min(first + SoundBlock.length, burst.count)].enumerated() {
                for channel in 0..<SoundBlock.channelCount {
                    samples[index * SoundBlock.channelCount + channel] = sample
                }
            }
            return SoundBlock(samples: samples, time: time + SoundBlock.time(ofSamples: first))
        }
    }
}
