import BeamClock
import BeamMedia

/// Writes decoded sound into a WAV file or pipe on a thread of its own, so that neither the decoder nor playback waits
/// for it.
///
/// Sound waits in a bounded queue. What finds no room is left out and counted in pieces, and is silent in the file.
public final class BackgroundSoundFile: Sendable {
    /// Another file begins when one is full.
    public typealias Handlers = BackgroundHandlers

    /// 10 s of samples in two channels, in pieces of 2.5 ms or longer.
    public static let mostSamples = 10 * SoundBlock.sampleRate * SoundBlock.channelCount
    public static let mostPieces = 4000

    private let writer: BackgroundWriter<WAVWriter>

    /// Creates the file, which must not exist, or opens the pipe. `path` is that of `WAVWriter`.
    ///
    /// - Throws: what `WAVWriter.init` does.
    public convenience init(path: String, handlers: Handlers) throws(CodecError) {
        try self.init(path: path, patience: .seconds(5), handlers: handlers)
    }

    init(path: String, patience: Duration, handlers: Handlers) throws(CodecError) {
        writer = BackgroundWriter(
            try WAVWriter(path: path),
            queue: BoundedQueue(
                capacity: Self.mostPieces, weighing: { $0.samples.count }, atMost: Self.mostSamples),
            patience: patience, handlers: handlers)
    }

    public func start() { writer.start("beam-sound-file") }

    /// Queues samples at 48 kHz, left and right in turn from -1 to 1, of which the first is heard at `time` on any one
    /// clock; or leaves them out. Never waits.
    public func push(_ samples: [Float], at time: MediaTime) {
        writer.push(WAVWriter.Piece(samples: samples, time: time, arrival: .now))
    }

    /// Completes the file. If it takes nothing for some seconds, what waits is given up, and reported as a failure.
    public func stop() { writer.stop() }
}
