import BeamCapture
import BeamMedia

/// What is streamed in one cell of the measurement's matrix.
public struct MeasureCell: Equatable, Sendable {
    public enum Source: Equatable, Sendable {
        case pattern(PatternOptions)
        /// A `.y4m` file, in a loop.
        case recording(path: String, size: PixelSize, frameRate: Double?)
        /// A host that is already running, with whatever it shares.
        case host(String)
    }

    public var source: Source
    /// Bits per second; nil: the host's choice.
    public var bitRate: Int?
    public var hasWindow: Bool

    public init(source: Source, bitRate: Int?, hasWindow: Bool = false) {
        self.source = source
        self.bitRate = bitRate
        self.hasWindow = hasWindow
    }

    /// The name shown to people, which also identifies the cell in other results: `1920x1080@60 scroll 10M`.
    public var name: String {
        let rate = bitRate.map { " " + Self.bits($0) } ?? ""
        let window = hasWindow ? " window" : ""
        switch source {
        case .pattern(let options):
            return "\(options.size)@\(Self.number(options.frameRate)) \(options.content.rawValue)\(rate)\(window)"
        case .recording(let path, let size, let frameRate):
            let name = path.split(separator: "/").last.map(String.init) ?? path
            return "\(size)\(frameRate.map { "@" + Self.number($0) } ?? "") \(name.prefix(100))\(rate)\(window)"
        case .host(let address): return "host \(address)\(window)"
        }
    }

    var isHere: Bool {
        if case .host = source { false } else { true }
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : String((value * 100).rounded() / 100)
    }

    private static func bits(_ value: Int) -> String {
        value % 1_000_000 == 0 ? "\(value / 1_000_000)M" : "\(value / 1000)k"
    }

    /// A cell for every combination of size, rate and content.
    public static func matrix(
        sizes: [PixelSize], frameRates: [Double], contents: [PatternContent], bitRate: Int?, hasWindow: Bool
    ) -> [MeasureCell] {
        sizes.flatMap { size in
            frameRates.flatMap { rate in
                contents.map { content in
                    MeasureCell(
                        source: .pattern(PatternOptions(size: size, frameRate: rate, content: content)),
                        bitRate: bitRate, hasWindow: hasWindow)
                }
            }
        }
    }
}

/// What is measured, how often and for how long.
public struct MeasurePlan: Sendable {
    public var cells: [MeasureCell]
    public var repetitions: Int
    /// The duration of each latency pass, in seconds.
    public var seconds: Double
    /// The duration of each quality pass in seconds, without the settling time.
    public var qualitySeconds: Double
    /// The duration of each sound pass in seconds. The test pattern has a burst a second.
    public var soundSeconds: Double
    /// A host encoder's name; nil: the host's choice.
    public var encoder: String?
    /// A viewer decoder's name, as for `watch`; nil: the viewer's choice.
    public var decoder: String?
    /// A file with the pairing code of a remote host.
    public var codeFile: String?
    /// The program to measure, and its version.
    public var program: String
    public var version: String
    /// An existing directory for named pipes and the processes' keys. Other users must not be able to read it.
    public var scratch: String

    public init(
        cells: [MeasureCell], repetitions: Int, seconds: Double, qualitySeconds: Double = 2,
        soundSeconds: Double = 6, encoder: String? = nil,
        decoder: String? = nil, codeFile: String? = nil, program: String, version: String, scratch: String
    ) {
        self.cells = cells
        self.repetitions = repetitions
        self.seconds = seconds
        self.qualitySeconds = qualitySeconds
        self.soundSeconds = soundSeconds
        self.encoder = encoder
        self.decoder = decoder
        self.codeFile = codeFile
        self.program = program
        self.version = version
        self.scratch = scratch
    }
}
