import BeamClock
import BeamMedia
import CBeamSound
import Synchronization

/// What SDL's audio thread calls. Outlives the device, whose closing may take long.
final class OutputFeed: Sendable {
    /// A change of the volume takes 10 ms from silence to full, so that it doesn't click.
    private static let rampStep = 1 / Float(SoundBlock.length)

    private struct Source {
        /// Nil once nothing may be asked any more.
        var fill: SoundOutput.Fill?
        /// What the last sample was multiplied by.
        var gain: Float
    }

    /// Held while `fill` runs: then `end` waits for it.
    private let source: Mutex<Source>
    private let clock = Mutex(OutputClock(usual: .zero))
    /// The bits of a `Float`.
    private let volumeBits: Atomic<UInt32>
    private let muted = Atomic<Bool>(false)

    init(_ fill: @escaping SoundOutput.Fill) {
        source = Mutex(Source(fill: fill, gain: 0))
        volumeBits = Atomic(Float(1).bitPattern)
    }

    var volume: Float {
        get { Float(bitPattern: volumeBits.load(ordering: .relaxed)) }
        set { volumeBits.store(newValue.bitPattern, ordering: .relaxed) }
    }

    var isMuted: Bool {
        get { muted.load(ordering: .relaxed) }
        set { muted.store(newValue, ordering: .relaxed) }
    }

    /// A device was opened, or is about to be. It begins with silence, and its times have nothing to do with those before.
    func begin(_ clock: OutputClock) {
        self.clock.withLock { $0 = clock }
        source.withLock { $0.gain = 0 }
    }

    func withClock<Result: Sendable>(_ change: (inout OutputClock) -> Result) -> Result {
        clock.withLock { change(&$0) }
    }

    /// After this returns, `fill` isn't called any more.
    func end() { source.withLock { $0.fill = nil } }

    /// Gives SDL what it asks for.
    func play(_ samples: UnsafeMutableBufferPointer<Float>) {
        let frames = samples.count / SoundBlock.channelCount
        let now = MediaTime.now
        let latency = clock.withLock { $0.asked(for: frames, now: now) }
        source.withLock { source in
            guard let fill = source.fill else { return samples.update(repeating: 0) }
            fill(samples, now, latency)
            let target = isMuted ? 0 : volume
            source.gain = beam_sound_ramp(samples.baseAddress, frames, source.gain, target, Self.rampStep)
            beam_sound_clip(samples.baseAddress, samples.count)
        }
    }
}
