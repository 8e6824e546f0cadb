import BeamMedia
import BeamPixels
import Glibc
import Synchronization

/// Compares pictures with their references on a thread of its own, which everything else goes before; what it has no time
/// for is passed over and counted, so that comparing holds up nothing.
final class QualityMeter: Sendable {
    private struct State {
        var delivered = 0
        var compared = 0
        /// Pictures for which there is no reference.
        var strange = 0
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

    /// Of what comes in this long at the beginning, the coding isn't settled yet.
    static let settling = Duration.milliseconds(500)

    /// Makes a named pipe at `path`, for the viewer to write its pictures to.
    ///
    /// - Throws: `file`.
    init(pipe path: String, reference: sending any PictureReference) throws(MeasureError) {
        let shared = shared
        let queue = queue
        self.path = path
        let readers = Parcel(try FrameReader(makingPipeAt: path))
        let references = Parcel(reference)
        comparing = StageThread("beam-compare") {
            guard var reference = references.take() else { return }
            // On Linux, 0 is the calling thread alone: it runs when nobody else wants to.
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
            shared.state.withLock { $0.strange += 1 }
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

    /// What the viewer has written has been read and compared; to be called when it has ended, or will.
    func finish() -> Outcome {
        FrameReader.release(path)
        reading.join()
        comparing.join()
        return shared.state.withLock { state in
            Outcome(
                quality: Self.quality(state), delivered: state.delivered, strange: state.strange, found: state.found)
        }
    }

    struct Outcome: Sendable {
        /// Nil where nothing could be compared.
        var quality: MeasureRecord.Quality?
        var delivered: Int
        var strange: Int
        /// What a host far away turned out to show.
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

    /// Equal pictures have no ratio; 100 dB stands for them, as in other tools.
    private static func decibels(_ error: Double) -> Double {
        error > 0 ? min(100, 10 * log10(255 * 255 / error)) : 100
    }
}

/// Carries something from the thread that made it to the one that uses it.
private final class Parcel<Content>: Sendable {
    private let content: Mutex<Content?>
    init(_ content: sending Content) { self.content = Mutex(content) }
    func take() -> sending Content? {
        content.withLock { content in
            let taken = content
            content = nil
            return taken
        }
    }
}
