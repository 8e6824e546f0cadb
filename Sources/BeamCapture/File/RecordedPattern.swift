import BeamLibAV
import BeamMedia

/// What a recording of the test pattern contains: numbers and times of its pictures (`PatternCode`) and of the bursts of its
/// sound (`PatternTone`).
public struct RecordedPattern: Sendable {
    /// A picture or a burst.
    public struct Mark: Hashable, Sendable {
        /// Of a picture: all of it. Of a burst: its low 24 bits.
        public var number: UInt32
        /// On the file's own time base. When the picture is shown, or the burst begins.
        public var time: Duration

        public init(number: UInt32, time: Duration) {
            self.number = number
            self.time = time
        }
    }

    /// In the file's order. A picture that was sent again, in better quality, counts once; those without a code don't count.
    public var pictures: [Mark]
    public var bursts: [Mark]

    public init(pictures: [Mark], bursts: [Mark]) {
        self.pictures = pictures
        self.bursts = bursts
    }

    /// Decodes the whole file. Without a sound track there are no bursts.
    ///
    /// - Throws: `unreadableFile`.
    public init(path: String) throws(CaptureError) {
        pictures = try Self.pictures(path)
        bursts = try Self.bursts(path)
    }

    private static func pictures(_ path: String) throws(CaptureError) -> [Mark] {
        let reader = try RecordingReader(path: path, control: SourceControl())
        guard let frame = FrameHandle() else {
            throw .unreadableFile(path: path, reason: "there is not enough memory")
        }
        let pictures = RecordedPictures()
        var marks: [Mark] = []
        while reader.next(into: frame) == .frame {
            guard let time = reader.timestamp(frame), let (buffer, _) = try? pictures.picture(takingFrom: frame),
                let code = PatternCode.read(Picture(buffer: buffer, time: .zero)), code.number != marks.last?.number
            else { continue }
            marks.append(Mark(number: code.number, time: .nanoseconds(time)))
        }
        return marks
    }

    private static func bursts(_ path: String) throws(CaptureError) -> [Mark] {
        guard let reader = try RecordedSoundReader(path: path, control: SourceControl()) else { return [] }
        var bursts = PatternSoundReader(channels: SoundBlock.channelCount)
        var marks: [Mark] = []
        /// Where pieces begin, as samples of one channel, and when; those that a burst may still begin in.
        var pieces: [(start: Int, time: Int64)] = []
        var count = 0
        while reader.next() == .piece {
            pieces.append((count, reader.time))
            count += reader.samples.count / SoundBlock.channelCount
            for burst in bursts.add(reader.samples) {
                // Gaps are between pieces.
                while pieces.count > 1, pieces[1].start <= burst.onset { pieces.removeFirst() }
                let offset = SoundBlock.time(ofSamples: burst.onset - pieces[0].start)
                marks.append(Mark(number: burst.number, time: .nanoseconds(pieces[0].time) + offset))
            }
        }
        return marks
    }
}

extension RecordedPattern {
    /// A burst that should be there.
    public struct Step: Hashable, Sendable {
        /// Of the frame that is due when the burst begins.
        public var number: UInt32
        public var hasBurst: Bool
        /// When the burst begins less when the frame is shown; nil if one of both is missing. Positive: the sound is late.
        public var skew: Duration?

        public init(number: UInt32, hasBurst: Bool, skew: Duration? = nil) {
            self.number = number
            self.hasBurst = hasBurst
            self.skew = skew
        }
    }

    /// Sound is expected so long after the first picture: the host makes it as soon as it knows that it is wanted.
    private static let beginning = Duration.milliseconds(500)
    /// Bursts that begin so shortly before the last picture may be incomplete: one takes 185 ms.
    private static let end = Duration.milliseconds(300)
    /// A day of the pattern. The sender of the pictures chooses their numbers.
    private static let mostSeconds = 24 * 3600.0

    /// The bursts that a recording of the pattern with `options` should have, in order, and how well they are in step.
    public func steps(_ options: PatternOptions) -> [Step] {
        guard (try? options.validate()) != nil, let first = pictures.first, let last = pictures.last,
            last.number > first.number, Double(last.number - first.number) / options.frameRate < Self.mostSeconds
        else { return [] }
        let shown = Dictionary(pictures.map { ($0.number, $0.time) }, uniquingKeysWith: { first, _ in first })
        let heard = Dictionary(bursts.map { ($0.number, $0.time) }, uniquingKeysWith: { first, _ in first })
        func due(_ frame: Int) -> Duration { .nanoseconds(options.time(of: frame).nanoseconds) }
        let limit = due(Int(last.number)) - Self.end
        var time = due(Int(first.number)) + Self.beginning
        var steps: [Step] = []
        while true {
            let frame = PatternSound.frame(from: time, options)
            guard due(frame) <= limit else { return steps }
            let number = UInt32(clamping: frame)
            let (picture, burst) = (shown[number], heard[number % PatternTone.modulus])
            var step = Step(number: number, hasBurst: burst != nil)
            if let picture, let burst { step.skew = burst - picture }
            steps.append(step)
            time = due(frame) + .milliseconds(1)
        }
    }
}
