import BeamLibAV
import BeamMedia
import CAVCodec

/// Decodes a file's sound to the format of `SoundBlock`, piece by piece. Used by one thread at a time.
final class RecordedSoundReader {
    /// Timestamps are rounded, in Matroska to milliseconds, so time is counted in samples. If they differ by more than
    /// this (20 ms), there is a gap.
    private static let tolerance: Int64 = 20_000_000

    private let reader: RecordingReader
    private let frame: FrameHandle
    private let converter = SoundConverter()
    /// The present piece: left and right in turn.
    private(set) var samples: [Float] = []
    /// When its first sample is heard, in nanoseconds on the file's own time base.
    private(set) var time: Int64 = 0
    /// Of the first frame in the file.
    private var first: Int64?
    /// The frame is decoded already.
    private var hasFrame = true
    /// Since the start or the last gap: its time, and the samples in and out since then, in each channel.
    private var anchor: Int64?
    private var taken: Int64 = 0
    private var given: Int64 = 0

    /// Opens the file and decodes the first frame of its best sound track. Nil if there is none.
    ///
    /// - Throws: `unreadableFile`, if it can't be decoded.
    init?(path: String, control: SourceControl) throws(CaptureError) {
        do throws(CaptureError) {
            reader = try RecordingReader(path: path, kind: .sound, control: control)
        } catch {
            if error == .unreadableFile(path: path, reason: RecordingReader.Kind.sound.absence) { return nil }
            throw error
        }
        guard let frame = FrameHandle() else {
            throw .unreadableFile(path: path, reason: "there is not enough memory")
        }
        self.frame = frame
        guard reader.next(into: frame) == .frame, converter.convert(frame, into: &samples) else {
            throw .unreadableFile(path: path, reason: "its sound can't be decoded")
        }
        first = reader.timestamp(frame)
        samples.removeAll(keepingCapacity: true)
        converter.reset()
    }

    enum Step { case piece, end, stopped }

    /// Makes the next piece. What can't be decoded is left out.
    func next() -> Step {
        samples.removeAll(keepingCapacity: true)
        while true {
            let step = hasFrame ? .frame : reader.next(into: frame)
            hasFrame = false
            switch step {
            case .stopped: return .stopped
            case .end:
                time = position
                converter.finish(into: &samples)
                given += Int64(samples.count / SoundBlock.channelCount)
                return samples.isEmpty ? .end : .piece
            case .frame:
                if convert() { return .piece }
            }
        }
    }

    /// Goes back to the beginning. False if the file can't be read any more.
    func rewind() -> Bool {
        restart()
        do throws(CaptureError) {
            hasFrame = try reader.rewind(to: first, into: frame) == .frame
        } catch {
            return false
        }
        return hasFrame
    }

    /// Goes on at or before `time`, in nanoseconds on the file's own time base, if the file can be searched.
    func seek(to time: Int64) {
        guard reader.seek(toTime: time) else { return }
        restart()
        hasFrame = false
    }

    /// When the next sample is heard, in nanoseconds on the file's own time base.
    var position: Int64 {
        // By far less than 2⁶³ samples.
        (anchor ?? first ?? 0) &+ Self.nanoseconds(given, rate: Int64(SoundBlock.sampleRate))
    }

    private func restart() {
        converter.reset()
        anchor = nil
        (taken, given) = (0, 0)
    }

    /// Converts the decoded frame. False if that gives nothing.
    private func convert() -> Bool {
        let (rate, count) = (Int64(frame.pointer.pointee.sample_rate), Int64(frame.pointer.pointee.nb_samples))
        guard rate > 0, count > 0 else { return false }
        let stamp = reader.timestamp(frame)
        let expected = anchor.map { $0 &+ Self.nanoseconds(taken, rate: rate) }
        var isNext = converter.continues(with: frame)
        if isNext, let stamp, let expected {
            let (difference, overflow) = stamp.subtractingReportingOverflow(expected)
            isNext = !overflow && difference > -Self.tolerance && difference < Self.tolerance
        }
        if anchor == nil || !isNext {
            converter.reset()
            anchor = stamp ?? expected ?? first ?? 0
            (taken, given) = (0, 0)
        }
        time = position
        guard converter.convert(frame, into: &samples) else { return false }
        taken += count
        given += Int64(samples.count / SoundBlock.channelCount)
        return !samples.isEmpty
    }

    private static func nanoseconds(_ samples: Int64, rate: Int64) -> Int64 {
        av_rescale_q(samples, AVRational(num: 1, den: CInt(clamping: rate)), AVRational(num: 1, den: 1_000_000_000))
    }
}
