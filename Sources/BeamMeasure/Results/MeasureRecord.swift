/// One repetition of one cell: a line of `results.jsonl`.
public struct MeasureRecord: Codable, Equatable, Sendable {
    /// The version of the line format.
    public static let currentFormat = 1

    /// What was streamed, and how.
    public struct Conditions: Codable, Equatable, Sendable {
        /// In pixels, as received by the viewer.
        public var width: Int
        public var height: Int
        /// The source's maximum frames per second; nil if unknown.
        public var framesPerSecond: Double?
        /// The test pattern's content, or the recording's name; nil if unknown.
        public var content: String?
        /// The requested bits per second; nil: the host's choice.
        public var bitRate: Int?
        /// The duration of the measurement.
        public var seconds: Double
        public var encoder: String?
        /// Nil: on this machine.
        public var host: String?
        public var hasWindow: Bool
    }

    /// The machine that ran the measurement.
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

    /// The latency from capture on, as far as it could be measured.
    public struct Total: Codable, Equatable, Sendable {
        public var median: Double
        public var p95: Double?
        public var max: Double?
        /// The entry of `latencyMs` that it is; several joined by `+`: the sum of their medians.
        public var from: String
    }

    public struct Delivery: Codable, Equatable, Sendable {
        /// Decoded pictures per second, and the source's rate if known.
        public var framesPerSecond: Double
        public var expectedFramesPerSecond: Double?
        public var frames: Int
        public var sentFrames: Int?
        /// Pictures that were replaced by newer ones before they were encoded.
        public var replaced: Int?
        /// Frames that could not be reassembled or decoded.
        public var dropped: Int
        public var datagrams: Int
        public var lostDatagrams: Int
        public var kilobitsPerSecond: Double
        /// Freezes of at least half a second.
        public var stalls: Int
    }

    /// Luma compared with the original. PSNR in dB with a peak of 255, 100 for identical pictures; SSIM after Wang et
    /// al. (2004), uniform windows of 8 × 8.
    public struct Quality: Codable, Equatable, Sendable {
        public struct Figures: Codable, Equatable, Sendable {
            /// For PSNR: computed from the mean of the pictures' squared errors. For SSIM: the mean of the pictures'
            /// values.
            public var mean: Double
            public var median: Double
            public var min: Double
        }

        public var psnr: Figures
        public var ssim: Figures
        /// The numbers of compared and received pictures.
        public var compared: Int
        public var delivered: Int
    }

    /// The sound, which the viewer plays without a loudspeaker.
    public struct Sound: Codable, Equatable, Sendable {
        /// The sound's step with the picture in a recording of the test pattern, found by the numbers that both carry.
        public struct Recorded: Codable, Equatable, Sendable {
            /// The bursts that should be in the recording, those that were found, and those of them whose frame was found,
            /// too.
            public var expectedBursts: Int
            public var foundBursts: Int
            public var comparedBursts: Int
            /// In milliseconds: when a burst begins less when its frame is shown, the median. Positive: the sound is late.
            /// Nil if nothing could be compared.
            public var medianSkewMs: Double?
            /// Of the skews' magnitudes.
            public var p95SkewMs: Double?
            public var maxSkewMs: Double?
        }

        /// From when the sound is heard at the host until it would be heard at the viewer; the seconds' values. The pattern's
        /// sound is known 30 ms in advance. Nil if unknown.
        public var latencyMs: Times?
        /// The sound's latency less that of the picture in the window; nil without a window.
        public var skewMs: Double?
        /// How long packets wait before they are decoded.
        public var bufferMs: Double?
        /// The share of the time in which sound was made up, because packets hadn't come, 0 to 1.
        public var concealed: Double
        /// Packets of 10 ms that came, and that never came.
        public var packets: Int
        public var lostPackets: Int
        /// Nil if what is streamed isn't the test pattern.
        public var recorded: Recorded?
    }

    /// A process's resource usage.
    public struct Usage: Codable, Equatable, Sendable {
        /// Of one core.
        public var processorPercent: Double
        /// Peak resident memory.
        public var peakMemoryMB: Double
    }

    public var format = Self.currentFormat
    /// Size, rate, content and bit rate. Results are comparable only if these are equal.
    public var cell: String
    public var repetition: Int
    /// ISO 8601.
    public var date: String
    public var conditions: Conditions
    public var machine: Machine
    /// All stages known to host and viewer, by name.
    public var latencyMs: [String: Times]
    /// The number of seconds that `latencyMs` summarises, one report per second, without the start. 0: the whole run,
    /// including its start.
    public var latencySeconds: Int
    public var totalMs: Total?
    /// The maximum error of the clock offset between the two machines; nil if host and viewer share a clock.
    public var clockErrorMs: Double?
    /// From the viewer's start to its first picture.
    public var firstFrameMs: Double
    public var delivery: Delivery
    public var quality: Quality?
    /// Nil: no sound came.
    public var sound: Sound?
    public var host: Usage?
    public var viewer: Usage
    /// CPU time that other programs on this machine used meanwhile, in percent of one core.
    public var othersPercent: Double?
}

extension MeasureRecord {
    /// Why the record is invalid (a number out of range or not finite, or a bad cell name); nil if it is valid.
    var problem: String? {
        var named: [(String, Double?)] = [
            ("clockErrorMs", clockErrorMs), ("firstFrameMs", firstFrameMs), ("totalMs", totalMs?.median),
            ("totalMs", totalMs?.p95), ("totalMs", totalMs?.max), ("framesPerSecond", delivery.framesPerSecond),
            ("kilobitsPerSecond", delivery.kilobitsPerSecond), ("host", host?.processorPercent),
            ("host", host?.peakMemoryMB), ("viewer", viewer.processorPercent), ("viewer", viewer.peakMemoryMB),
            ("psnr", quality?.psnr.mean), ("ssim", quality?.ssim.mean), ("skewMs", sound?.skewMs),
            ("bufferMs", sound?.bufferMs), ("concealed", sound?.concealed), ("sound", sound?.latencyMs?.median),
            ("sound", sound?.latencyMs?.p95), ("sound", sound?.latencyMs?.max),
            ("medianSkewMs", sound?.recorded?.medianSkewMs), ("p95SkewMs", sound?.recorded?.p95SkewMs),
            ("maxSkewMs", sound?.recorded?.maxSkewMs),
        ]
        for (name, times) in latencyMs {
            named += [(name, times.median), (name, times.p95), (name, times.max)]
        }
        for case (let name, let value?) in named where !(value.isFinite && abs(value) < 1e9) {
            return "“\(name)” is \(value), which can't be a measurement"
        }
        guard !cell.isEmpty, cell.utf8.count <= 300 else { return "its “cell” is empty or too long" }
        return nil
    }
}
