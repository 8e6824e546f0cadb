import BeamMedia

/// Joins pieces of sound of any length to blocks, without a gap or an overlap where the pieces have none.
struct SoundAssembler {
    /// A gap up to this (100 ms) is filled with silence. After a longer one the blocks begin anew.
    private static let longestFilled: Int64 = 4800

    /// What isn't delivered yet: left and right in turn.
    private var samples: [Float] = []
    /// The blocks' times are counted in samples from here; nil before the first piece.
    private var anchor: MediaTime?
    /// Samples in each channel since then, up to the first of `samples`.
    private var delivered: Int64 = 0

    var isEmpty: Bool { samples.isEmpty }

    private var count: Int64 { Int64(samples.count / SoundBlock.channelCount) }

    /// When the next block begins; nil before the first piece.
    var start: MediaTime? { anchor.map { $0 + Self.duration(delivered) } }

    /// Where the next piece belongs if it follows the last one without a gap.
    var end: MediaTime? { anchor.map { $0 + Self.duration(delivered + count) } }

    var hasBlock: Bool { samples.count >= SoundBlock.length * SoundBlock.channelCount }

    /// Appends a piece that begins at `time`: only what is heard after what is there already, and in `window`.
    ///
    /// - Returns: false if a long gap is before it, and something is left: pad and deliver that first.
    mutating func append(_ piece: [Float], at time: MediaTime, in window: Range<MediaTime>) -> Bool {
        let whole = Int64(piece.count / SoundBlock.channelCount)
        var from = max(0, Self.samples(window.lowerBound - time))
        let to = min(whole, max(0, Self.samples(window.upperBound - time)))
        guard from < to else { return true }
        if let end {
            let gap = Self.samples(time + Self.duration(from) - end)
            if gap > Self.longestFilled {
                guard isEmpty else { return false }
                anchor = nil
            } else if gap > 1 {
                samples.append(contentsOf: repeatElement(0, count: Int(gap) * SoundBlock.channelCount))
            } else if gap < -1 {
                // By at most the piece's length.
                from = gap < from - to ? to : from - gap
                guard from < to else { return true }
            }
        }
        if anchor == nil {
            anchor = time + Self.duration(from)
            delivered = 0
        }
        samples.append(contentsOf: piece[Int(from) * SoundBlock.channelCount..<Int(to) * SoundBlock.channelCount])
        return true
    }

    /// Completes the last block with silence.
    mutating func pad() {
        let block = SoundBlock.length * SoundBlock.channelCount
        samples.append(contentsOf: repeatElement(0, count: (block - samples.count % block) % block))
    }

    /// Moves everything that isn't delivered yet.
    mutating func shift(by interval: Duration) { anchor = anchor.map { $0 + interval } }

    mutating func removeAll() {
        samples.removeAll(keepingCapacity: true)
        anchor = nil
    }

    /// The next block, if it is complete.
    mutating func take() -> SoundBlock? {
        guard hasBlock, let start else { return nil }
        let length = SoundBlock.length * SoundBlock.channelCount
        let block = SoundBlock(samples: Array(samples[..<length]), time: start)
        samples.removeFirst(length)
        delivered += Int64(SoundBlock.length)
        return block
    }

    private static func duration(_ samples: Int64) -> Duration {
        SoundBlock.time(ofSamples: Int(clamping: min(samples, .max / 1_000_000_000)))
    }

    /// In whole samples, to the nearest.
    private static func samples(_ duration: Duration) -> Int64 {
        Int64(clamping: (Double(duration.inNanoseconds) * Double(SoundBlock.sampleRate) / 1e9).rounded())
    }
}
