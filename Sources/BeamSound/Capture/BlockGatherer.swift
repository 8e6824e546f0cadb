import BeamMedia
import CBeamSound

/// Makes blocks of the fragments of a stream, of any size. A block is complete with its last sample.
struct BlockGatherer {
    private static let size = SoundBlock.length * SoundBlock.channelCount

    private var samples: [Float] = []
    /// Samples in each channel since the stream's beginning, complete blocks and the incomplete one.
    private(set) var position: Int64 = 0

    /// Adds samples, left and right in turn. `fragment` nil: a hole of so many, which becomes silence.
    mutating func add(
        _ fragment: UnsafePointer<Float>?, count: Int, clock: SampleClock, emit: (SoundBlock) -> Void
    ) {
        var taken = 0
        while taken < count {
            if samples.isEmpty { samples.reserveCapacity(Self.size) }
            let part = min(Self.size - samples.count, count - taken)
            if let fragment {
                samples.append(contentsOf: UnsafeBufferPointer(start: fragment + taken, count: part))
            } else {
                samples.append(contentsOf: repeatElement(0, count: part))
            }
            taken += part
            guard samples.count == Self.size else { break }
            let first = position
            position += Int64(SoundBlock.length)
            defer { samples = [] }
            guard let time = clock.time(of: first) else { continue }
            samples.withUnsafeMutableBufferPointer { beam_sound_clip($0.baseAddress, $0.count) }
            emit(SoundBlock(samples: samples, time: time))
        }
    }

    /// The next sample to be added.
    var end: Int64 { position + Int64(samples.count / SoundBlock.channelCount) }

    /// Samples in each channel that the incomplete block needs.
    var missing: Int { SoundBlock.length - samples.count / SoundBlock.channelCount }

    /// Drops the incomplete block, because there is a gap behind it: at most 10 ms, of what has ended. Silence in place of
    /// the rest could be added only after it has become clear that nothing comes, which is too late to be played in step.
    mutating func drop() {
        position = end
        samples = []
    }
}
