import BeamMedia
import BeamPixels
import Glibc
import Synchronization

/// Compares pictures with their originals on a thread with the lowest priority, so that it delays nothing. Pictures
/// that it has no time for are skipped and counted.
final class QualityMeter: Sendable {
    private struct State {
        var delivered = 0
        var compared = 0
        /// Pictures without a known original.
        var unmatched = 0
        var errors: [Double] = []
        var similarities: [Double] = []
        var found: PatternSearch.Finding?
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private let shared = Shared()
    private let queue = BoundedQueue<Picture>(capacity: 4)
    private let comparing: StageThread
    private let reading: StageThread
    private let path: String

    /// Pictures from this time at the start aren't compared, because the encoder's rate control hasn't settled yet.
    static let settling = Duration.milliseconds(500)

    /// Creates a named pipe at `path` for the viewer to write its pictures to.
    ///
    init(pipe path: String, reference: sending any PictureReference) throws(MeasureError) {
        let shared = shared
        let queue = queue
        self.path = path
        let readers = Parcel(try FrameReader(makingPipeAt: path))
        let references = Parcel(reference)
        comparing = StageThread("beam-compare") {
            guard var reference = references.take() else { return }
            // On Linux, 0 means the calling thread. 19 is the lowest priority.
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
            while let picture = queue.take() { Self.compare(picture, with: &reference, shared) }
        }
        reading = StageThread("beam-frames") {
            guard let reader = readers.take() else { return }
            Self.read(reader, queue, shared)
            queue.close()
        }
    }

    private static func read(_ reader: FrameReader, _ queue: BoundedQueue<Picture>, _ shared: Shared) {
        let clock = ContinuousClock()
        var start: ContinuousClock.Instant?
        while let buffer = reader.next() {
            let begin = start ?? clock.now
            start = begin
            shared.state.withLock { $0.delivered += 1 }
            guard clock.now - begin >= settling else { continue }
            _ = queue.put(Picture(buffer: buffer, time: .zero))
        }
    }

    private static func compare(_ picture: Picture, with reference: inout any PictureReference, _ shared: Shared) {
        guard picture.format == .i420, let original = reference.picture(for: picture), original.size == picture.size
        else {
            shared.state.withLock { $0.unmatched += 1 }
            return
        }
        let ratio = PictureQuality.psnr(picture.buffer, original)
        let similarity = PictureQuality.ssim(picture.buffer, original)
        let finding = (reference as? PatternSearch)?.finding
        shared.state.withLock { state in
            state.compared += 1
            state.errors.append(ratio.isFinite ? 255 * 255 / pow(10, ratio / 10) : 0)
            state.similarities.append(similarity)
            state.found = finding
        }
    }

    /// Waits until everything that the viewer wrote has been compared. Must be called when the viewer has ended or is
    /// ending.
    func finish() -> Outcome {
        FrameReader.release(path)
        reading.join()
        comparing.join()
        return shared.state.withLock { state in
            Outcome(
                quality: Self.quality(state), delivered: state.delivered, unmatched: state.unmatched, found: state.found
            )
        }
    }

    struct Outcome: Sendable {
        /// Nil if nothing could be compared.
        var quality: MeasureRecord.Quality?
        var delivered: Int
        var unmatched: Int
        /// The options derived for a remote host's test pattern.
        var found: PatternSearch.Finding?
    }

    private static func quality(_ state: State) -> MeasureRecord.Quality? {
        let ratios = state.errors.map(decibels)
        guard let ratio = Spread(ratios), let similarity = Spread(state.similarities) else { return nil }
        let count = Double(state.compared)
        return MeasureRecord.Quality(
            psnr: .init(
                mean: decibels(state.errors.reduce(0, +) / count), median: ratio.median, min: ratio.min),
            ssim: .init(
                mean: state.similarities.reduce(0, +) / count, median: similarity.median, min: similarity.min),
            compared: state.compared, delivered: state.delivered)
    }

    /// Equal pictures have infinite PSNR; 100 dB is used for them, as in other tools.
    private static func decibels(_ error: Double) -> Double {
        error > 0 ? min(100, 10 * log10(255 * 255 / error)) : 100
    }
}
