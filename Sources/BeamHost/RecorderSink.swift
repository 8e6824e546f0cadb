import BeamClock
import BeamCodec
import BeamMedia

/// Records simulcast layer 0 into a file, whether or not there are viewers.
final class RecorderSink: FrameSink {
    struct Handlers: Sendable {
        /// A file begins: the first, or another after a change of size. On the recorder's thread.
        var onFile: @Sendable (_ path: String) -> Void
        /// The disk is too slow, and frames are dropped. Once for each recording, on the encoder's thread.
        var onGap: @Sendable () -> Void
        /// Layer 0 is recorded from now on, or isn't any more. On any thread.
        var onRecording: @Sendable (_ isRecording: Bool) -> Void = { _ in }
        /// The recording has ended; what was written is kept. On the recorder's thread.
        var onFailure: @Sendable (CodecError) -> Void
    }

    private let recorder: BackgroundRecorder
    private let consumer: EncoderDemand.Consumer
    private let onRecording: @Sendable (Bool) -> Void

    /// Creates the file, which must not exist. `queue` holds the frames that wait for the disk.
    ///
    /// - Parameter clock: of the frames' capture times; see `BackgroundRecorder.init`.
    /// - Throws: what `StreamRecorder.init` does.
    init(
        path: String, captions: Bool = false, sound: Bool = false, consumer: EncoderDemand.Consumer,
        queue: BoundedQueue<BackgroundRecorder.Entry>? = nil, clock: (@Sendable () -> MediaTime)? = { .now },
        handlers: Handlers
    ) throws(CodecError) {
        self.consumer = consumer
        onRecording = handlers.onRecording
        recorder = try BackgroundRecorder(
            path: path, captions: captions, sound: sound ? .present : .none, queue: queue,
            clock: clock,
            handlers: BackgroundRecorder.Handlers(
                onFile: { path, _ in handlers.onFile(path) }, onGap: handlers.onGap,
                onKeyframeNeeded: { consumer.requestKeyframe(layer: 0) },
                onFailure: { _, error in
                    consumer.set(StreamDemand(), layer: 0)
                    handlers.onRecording(false)
                    handlers.onFailure(error)
                }))
    }

    var report: BackgroundRecorder.Report { recorder.report }

    func open() {
        recorder.start()
        onRecording(true)
        consumer.set(StreamDemand(isWatched: true, isWhole: true), layer: 0)
        consumer.requestKeyframe(layer: 0)
    }

    /// Adds a line to the subtitle track; `time` is when it was said.
    func addCaption(_ line: TranscriptLine, at time: MediaTime) {
        recorder.addCaption(line.subtitle, at: time, for: TranscriptLine.readingTime(of: line.text))
    }

    func push(_ frame: EncodedFrame) {
        if frame.layer == 0 { recorder.push(frame.unit, at: frame.captureTime) }
    }

    func push(_ sound: EncodedSound) {
        if let opus = sound.full { recorder.addSound(opus, at: sound.time) }
    }

    /// The recording lasts until now, however long the network takes to end.
    func markEnd() { recorder.markEnd() }

    func close() { recorder.stop() }
}
