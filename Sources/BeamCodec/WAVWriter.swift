import BeamMedia
import Glibc

/// Writes sound to a WAV file (`.wav`): 48 kHz, two channels, 16-bit PCM.
///
/// Samples are rounded without dither: the noise of the codec that they come from is above that of rounding, and
/// silence stays digital silence. A gap in the times becomes silence, and a slow drift of the sound's clock is
/// followed by stretching. The header is kept up to date each second, so that a crash leaves a file that plays. A file
/// holds 4 GiB; the next is `NAME-2.wav`. A path of `-` is standard output; there, and in a pipe, the header states no
/// length. Used by one thread.
public final class WAVWriter: OutputWriter {
    struct Piece {
        /// Left and right in turn.
        var samples: [Float]
        var time: MediaTime
        /// When it came, on this machine's clock.
        var arrival: MediaTime
    }

    /// The ending of the files' names.
    private static let ending = "wav"
    private static let headerLength = 44
    private static let bytesPerFrame = 4
    /// The sizes in the header have 32 bits.
    private static let mostBytes = (Int(UInt32.max) - headerLength) & ~3
    private static let mostPending = 1 << 16
    /// In bytes: a second.
    private static let betweenUpdates = SoundBlock.sampleRate * bytesPerFrame
    /// Frames (samples of both channels): a difference of 5 ms in time is a gap or an overlap.
    private static let tolerance: Int64 = 240
    /// Silence for a gap, and the most that may be made up for: 60 s.
    private static let longestSilence = Int64(60 * SoundBlock.sampleRate)
    /// Frames of sound for each that has passed on this machine's clock, because two machines' clocks differ.
    private static let pace = 1.01
    /// Sound that is more than 2 s early has another clock, as after a restart of the host.
    private static let longestOverlap = Int64(2 * SoundBlock.sampleRate)

    private let path: String
    private let capacity: Int
    /// -1 once it is closed.
    private var file: CInt
    /// False for a pipe, whose header can't be changed later.
    private let canSeek: Bool
    private var pending: [UInt8] = []
    /// Bytes of sound in the present file, of which `pending` aren't written yet, and what its header says.
    private var length = 0
    private var statedLength = 0
    private var part = 1
    private var hasBegun = false
    /// Where the next piece belongs; nil before the first one.
    private var end: MediaTime?
    /// How far the pieces' times were ahead of `end` lately, in frames.
    private var drift = 0.0
    /// Frames of silence that may be written: no more than time has passed, so that times from a peer can't fill the
    /// disk.
    private var silenceCredit = Int64(2 * SoundBlock.sampleRate)
    /// Frames of sound that may be written: also no more than time has passed, so that many short packets can't fill it.
    /// At the beginning it is what may have waited for the disk (10 s), and 2 s.
    private var soundCredit = Int64(12 * SoundBlock.sampleRate)
    private var lastArrival: MediaTime?
    /// The path of the file being written.
    public private(set) var currentPath: String

    /// Creates the file, which must not exist, or opens a pipe.
    ///
    /// - Throws: `unknownFileEnding`, `fileExists` or `cannotCreateFile`.
    public convenience init(path: String) throws(CodecError) { try self.init(path: path, capacity: Self.mostBytes) }

    /// A file takes `capacity` bytes of sound.
    init(path: String, capacity: Int) throws(CodecError) {
        guard path == "-" || OutputFile.ending(path) == Self.ending || OutputFile.isSpecial(path) else {
            throw .unknownFileEnding(path: path, known: [".\(Self.ending)"])
        }
        self.path = path
        self.capacity = capacity
        currentPath = path
        file = try OutputFile.open(path)
        canSeek = lseek(file, 0, SEEK_CUR) >= 0
        pending.reserveCapacity(Self.mostPending + 4096)
    }

    deinit { discard() }

    /// Appends samples, left and right in turn from -1 to 1, of which the first is heard at `time` on any one clock.
    ///
    /// What was written before is left out, and a gap becomes silence: at most 60 s, and no more than has passed on
    /// this machine's clock, on which the samples came at `arrival`. Of samples, no more are written than that and 12 s.
    ///
    /// - Throws: `cannotWriteFile`, `fileExists` or `cannotCreateFile` (for a next part).
    public func write(_ samples: [Float], at time: MediaTime, arrival: MediaTime) throws(CodecError) {
        if let lastArrival {
            let passed = Self.frames(max(.zero, arrival - lastArrival))
            silenceCredit = min(Self.longestSilence, silenceCredit + passed)
            soundCredit = min(Self.longestSilence, soundCredit + Int64(clamping: Double(passed) * Self.pace))
        }
        lastArrival = arrival
        var samples = samples[..<(samples.count & ~1)]
        if let end {
            let gap = Self.frames(time - end)
            if gap >= Self.tolerance {
                let silent = min(gap, silenceCredit)
                silenceCredit -= silent
                try silence(silent)
                self.end = time
                drift = 0
            } else if gap < -Self.longestOverlap {
                self.end = time
                drift = 0
            } else if gap <= -Self.tolerance {
                samples = samples.dropFirst(Int(-gap) * SoundBlock.channelCount)
            } else {
                samples = follow(gap, samples)
            }
        } else {
            end = time
        }
        samples = samples.prefix(Int(soundCredit) * SoundBlock.channelCount)
        soundCredit -= Int64(samples.count / SoundBlock.channelCount)
        try put(samples)
    }

    func write(_ piece: Piece) throws(CodecError) { try write(piece.samples, at: piece.time, arrival: piece.arrival) }

    /// Completes the file. Nothing can be written afterwards. Without sound the empty file is removed.
    ///
    /// - Throws: `cannotWriteFile`.
    public func finish() throws(CodecError) {
        guard file >= 0 else { return }
        guard hasBegun else { return discard() }
        defer { file = -1 }
        do throws(CodecError) {
            try writePending()
            try updateHeader()
        } catch {
            close(file)
            throw error
        }
        guard close(file) == 0 else { throw failure(errno) }
    }

    /// Closes a file that isn't complete.
    private func discard() {
        guard file >= 0 else { return }
        // Standard output belongs to whoever started the program.
        if path == "-" { close(file) } else { OutputFile.discard(file, currentPath) }
        file = -1
    }

    /// Follows the drift of the sound's clock, by one frame for a piece: it is stretched, without a step in the sound.
    /// Jitter of the times averages out.
    private func follow(_ gap: Int64, _ samples: ArraySlice<Float>) -> ArraySlice<Float> {
        drift += (Double(gap) - drift) / 32
        let count = samples.count / SoundBlock.channelCount
        guard abs(drift) > 24, count > 2 else { return samples }
        let longer = drift > 0 ? 1 : -1
        drift -= Double(longer)
        var stretched: [Float] = []
        stretched.reserveCapacity(samples.count + SoundBlock.channelCount)
        let first = samples.startIndex
        for frame in 0..<count + longer {
            let place = Double(frame) * Double(count - 1) / Double(count + longer - 1)
            let before = min(Int(place), count - 2)
            let share = Float(place - Double(before))
            for channel in 0..<SoundBlock.channelCount {
                let index = first + before * SoundBlock.channelCount + channel
                stretched.append(samples[index] * (1 - share) + samples[index + SoundBlock.channelCount] * share)
            }
        }
        return stretched[...]
    }

    private func silence(_ count: Int64) throws(CodecError) {
        let zeros = [Float](repeating: 0, count: SoundBlock.length * SoundBlock.channelCount)
        var rest = Int(count)
        while rest > 0 {
            let frames = min(rest, SoundBlock.length)
            try put(zeros[..<(frames * SoundBlock.channelCount)])
            rest -= frames
        }
    }

    private func put(_ samples: ArraySlice<Float>) throws(CodecError) {
        guard file >= 0 else { throw .cannotWriteFile(path: currentPath, reason: "it is closed already") }
        guard !samples.isEmpty else { return }
        if length + samples.count * 2 > capacity, canSeek { try startNextPart() }
        if !hasBegun {
            hasBegun = true
            pending += header(length: canSeek ? 0 : Self.mostBytes)
        }
        for sample in samples {
            let value = Int16(clamping: (Double(sample) * 32768).rounded())
            pending.append(UInt8(truncatingIfNeeded: value))
            pending.append(UInt8(truncatingIfNeeded: value >> 8))
        }
        length += samples.count * 2
        end = end.map { $0 + SoundBlock.time(ofSamples: samples.count / SoundBlock.channelCount) }
        if pending.count >= Self.mostPending || length - statedLength >= Self.betweenUpdates {
            try writePending()
            if length - statedLength >= Self.betweenUpdates { try updateHeader() }
        }
    }

    private func startNextPart() throws(CodecError) {
        let next = try OutputFile.next(
            path, after: part, reason: "there are \(OutputFile.mostParts) full files already")
        try finish()
        file = try OutputFile.open(next)
        part += 1
        currentPath = next
        (length, statedLength) = (0, 0)
        hasBegun = false
    }

    private func header(length: Int) -> [UInt8] {
        func number(_ value: Int, _ bytes: Int) -> [UInt8] {
            (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let rate = SoundBlock.sampleRate
        return Array("RIFF".utf8) + number(length + Self.headerLength - 8, 4) + Array("WAVEfmt ".utf8)
            // The rest's length, PCM, the channels, frames and bytes a second, bytes of a frame, bits of a sample.
            + number(16, 4) + number(1, 2) + number(SoundBlock.channelCount, 2) + number(rate, 4)
            + number(rate * Self.bytesPerFrame, 4) + number(Self.bytesPerFrame, 2) + number(16, 2)
            + Array("data".utf8) + number(length, 4)
    }

    /// States the length of what is written.
    private func updateHeader() throws(CodecError) {
        statedLength = length
        guard canSeek else { return }
        let header = header(length: length)
        let written = header.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
        guard written == header.count else { throw failure(written < 0 ? errno : EIO) }
    }

    private func writePending() throws(CodecError) {
        defer { pending.removeAll(keepingCapacity: true) }
        guard let code = pending.withUnsafeBytes({ OutputFile.write($0, to: file) }) else { return }
        throw failure(code)
    }

    private func failure(_ code: CInt) -> CodecError {
        .cannotWriteFile(path: currentPath, reason: OutputFile.systemMessage(code))
    }

    /// In whole frames, to the nearest.
    private static func frames(_ duration: Duration) -> Int64 {
        Int64(clamping: (Double(duration.inNanoseconds) * Double(SoundBlock.sampleRate) / 1e9).rounded())
    }
}
