import BeamMedia
import CBeamSound
import Synchronization

/// What the device's thread calls. Outlives the device, whose closing may take long.
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

    /// A device was opened, or is about to be: it begins with silence.
    func begin() { source.withLock { $0.gain = 0 } }

    /// After this returns, `fill` isn't called any more.
    func end() { source.withLock { $0.fill = nil } }

    /// Gives a device what it asks for. Returns how many samples, in each channel: at least one. See `SoundOutput.Fill`.
    @discardableResult
    func play(_ samples: UnsafeMutableBufferPointer<Float>, _ demand: OutputDemand) -> Int {
        source.withLock { source in
            let room = samples.count / SoundBlock.channelCount
            guard let fill = source.fill else {
                samples.update(repeating: 0)
                return room
            }
            let given = fill(samples, demand)
            let frames = demand.isWhole ? room : min(max(1, given), room)
            let target = isMuted ? 0 : volume
            source.gain = beam_sound_ramp(samples.baseAddress, frames, source.gain, target, Self.rampStep)
            beam_sound_clip(samples.baseAddress, frames * SoundBlock.channelCount)
            return frames
        }
    }
}
