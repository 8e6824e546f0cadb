/// One repetition of one cell: a line of `results.jsonl`.
public struct MeasureRecord: Codable, Equatable, Sendable {
    /// The version of this form of lines.
    public static let currentFormat = 1

    /// What was streamed, and how.
    public struct Conditions: Codable, Equatable, Sendable {
        /// In pixels, as it came to the viewer.
        public var width: Int
        public var height: Int
        /// Pictures a second that the source makes at most; nil: not known.
        public var framesPerSecond: Double?
        /// The test pattern's content, or the recording's name; nil: not known.
        public var content: String?
        /// Bits a second that were asked for; nil: the host's choice.
        public var bitRate: Int?
        /// How long the measurement took.
        public var seconds: Double
        public var encoder: String?
        /// Nil: on this machine.
        public var host: String?
        public var hasWindow: Bool
    }

    /// Where it was measured.
    public struct Machine: Codable, Equatable, Sendable {
        public var processor: String
        public var cores: Int
        public var memoryMB: Int
        public var system: String
        public var kernel: String
        public var beamroom: String
    }

    /// In milliseconds.
    public struct Times: Codable, Equatable, Sendable {
        public var median: Double
        public var p95: Double?
        public var max: Double?
    }

    /// The whole way, as far as it could be measured.
    public struct Total: Codable, Equatable, Sendable {
        public var median: Double
        public var p95: Double?
        public var max: Double?
        /// Which of `latencyMs` it is; several joined by `+`: the sum of their medians.
        public var from: String
    }

    public struct Delivery: Codable, Equatable, Sendable {
        /// Decoded pictures a second, and what the source makes if it is known.
        public var framesPerSecond: Double
        public var expectedFramesPerSecond: Double?
        public var frames: Int
        public var sentFrames: Int?
        /// Pictures that newer ones replaced before they were encoded.
        public var replaced: Int?
        /// Frames that could not be put together or decoded.
        public var dropped: Int
        public var datagrams: Int
        public var lostDatagrams: Int
        public var kilobitsPerSecond: Double
        /// Of the quality pass too: freezes, at least half a second each.
        public var stalls: Int
    }

    /// Luma against the reference. Peak signal-to-noise ratio in dB with a peak of 255, 100 for equal pictures; structural
    /// similarity after Wang et al. (2004), uniform windows of 8 × 8.
    public struct Quality: Codable, Equatable, Sendable {
        public struct Figures: Codable, Equatable, Sendable {
            /// Of the pictures' mean squared error, for the ratio; of the pictures' own figures, for the similarity.
            public var mean: Double
            public var median: Double
            public var min: Double
        }

        public var psnr: Figures
        public var ssim: Figures
        /// Pictures compared, and pictures that came.
        public var compared: Int
        public var delivered: Int
    }

    /// What a process took.
    public struct Usage: Codable, Equatable, Sendable {
        /// Of one core.
        public var processorPercent: Double
        /// The most that was resident.
        public var peakMemoryMB: Double
    }

    public var format = Self.currentFormat
    /// Size, rate, content and bit rate: what two results must have in common to be compared.
    public var cell: String
    public var repetition: Int
    /// ISO 8601.
    public var date: String
    public var conditions: Conditions
    public var machine: Machine
    /// Every stage that host and viewer know, by its name.
    public var latencyMs: [String: Times]
    /// How many seconds after the start those are the medians of, each second's figures being one; 0: they are of the whole
    /// run, its start included.
    public var latencySeconds: Int
    public var totalMs: Total?
    /// How far the two machines' clocks may be apart; nil: they are one.
    public var clockErrorMs: Double?
    /// From the viewer's start to its first picture.
    public var firstFrameMs: Double
    public var delivery: Delivery
    public var quality: Quality?
    public var host: Usage?
    public var viewer: Usage
    /// What everything else on this machine took meanwhile, of one core.
    public var othersPercent: Double?
}

extension MeasureRecord {
    /// Every number in it that is no measurement: not finite, or beyond all bounds. Nil: all are.
    var objection: String? {
        var named: [(String, Double?)] = [
            ("clockErrorMs", clockErrorMs), ("firstFrameMs", firstFrameMs), ("totalMs", totalMs?.median),
            ("totalMs", totalMs?.p95), ("totalMs", totalMs?.max), ("framesPerSecond", delivery.framesPerSecond),
            ("kilobitsPerSecond", delivery.kilobitsPerSecond), ("host", host?.processorPercent),
            ("host", host?.peakMemoryMB), ("viewer", viewer.processorPercent), ("viewer", viewer.peakMemoryMB),
            ("psnr", quality?.psnr.mean), ("ssim", quality?.ssim.mean),
        ]
        for (name, times) in latencyMs {
            named += [(name, times.median), (name, times.p95), (name, times.max)]
        }
        for case (let name, let value?) in named where !(value.isFinite && abs(value) < 1e9) {
            return "“\(name)” is \(value), which nothing measures"
        }
        guard !cell.isEmpty, cell.utf8.count <= 300 else { return "its “cell” is empty or too long" }
        return nil
    }
}
