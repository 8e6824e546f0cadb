import BeamClock
import BeamMedia

/// A device that nobody hears, for measurements: it asks for blocks by the monotonic clock, and plays each while it asks for
/// the next one.
///
/// It takes the place of SDL's own (`SDL_AUDIODRIVER=dummy`), whose clock is useless: that asks for 256 samples every 5.12 ms
/// (measured, SDL 2.26), 4 % too fast.
enum SilentDevice {
    /// From a call to its first sample: a block.
    private static let latency = SoundBlock.time(ofSamples: SoundOutput.step)
    /// If it is later than this, it leaves out what it missed, as a device does that stood still.
    private static let longestLag = Duration.milliseconds(100)

    /// Plays what `feed` gives until `wait` returns false.
    ///
    /// - Parameter wait: waits until a time; false if the device is to end.
    static func play(_ feed: OutputFeed, wait: (MediaTime) -> Bool) {
        let count = SoundOutput.step * SoundBlock.channelCount
        let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: count)
        samples.initialize(repeating: 0)
        defer { samples.deallocate() }
        var clock = OutputClock(latency: latency)
        var begin = MediaTime.now
        var played = 0
        while wait(begin + SoundBlock.time(ofSamples: played)) {
            let now = MediaTime.now
            if now - begin - SoundBlock.time(ofSamples: played) > longestLag { (begin, played) = (now, 0) }
            let latency = clock.asked(for: SoundOutput.step, now: now)
            feed.play(samples, OutputDemand(now: now, latency: latency, isWhole: true))
            played += SoundOutput.step
        }
    }
}
