import CBeamSound

/// Plays sound a little faster or slower, so that it keeps pace with another machine's clock. Stereo, left and right in
/// turn. Used by one thread.
///
/// The ratio may change with every call by any amount below about 0.1 %, without a click: the position from which samples
/// are read moves on evenly, and the filter is the same for all ratios.
public final class SoundResampler {
    /// Input samples for each output sample.
    public static let ratios = BEAM_RESAMPLER_LEAST_RATIO...BEAM_RESAMPLER_MOST_RATIO
    /// How many samples the output is later than the input, in each channel (0.5 ms).
    public static let latency = beam_resampler_latency

    private let handle: OpaquePointer

    /// - Throws: `noMemory`.
    public init() throws(SoundError) {
        guard let handle = beam_resampler_new() else { throw .noMemory }
        self.handle = handle
    }

    deinit { beam_resampler_free(handle) }

    /// Reads `input` until it is used up or `output` is full. What is read and isn't needed yet is kept, so with an empty
    /// `input` the rest comes out.
    ///
    /// - Parameters:
    ///   - input: `inputCount` samples in each channel.
    ///   - output: room for `capacity` samples in each channel.
    ///   - ratio: input samples for each output sample, in the range `ratios`; another value is brought into it.
    /// - Returns: how many samples in each channel were read and written.
    public func process(
        _ input: UnsafePointer<Float>, _ inputCount: Int, _ output: UnsafeMutablePointer<Float>, capacity: Int,
        ratio: Double
    ) -> (read: Int, written: Int) {
        var read = 0
        let written = beam_resampler_process(handle, input, max(0, inputCount), &read, output, max(0, capacity), ratio)
        return (read, written)
    }

    /// Forgets what came before.
    public func reset() { beam_resampler_reset(handle) }
}
