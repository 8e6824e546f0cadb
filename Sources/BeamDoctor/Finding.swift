import BeamMedia

/// What a check has found.
public struct Finding: Sendable, Hashable {
    /// The worst of several counts.
    public enum Verdict: String, Sendable, Hashable, CaseIterable, Comparable {
        case good
        /// Sharing and watching work, but slower, or not for everybody.
        case improvable = "could-be-better"
        case broken = "does-not-work"

        private var rank: Int {
            switch self {
            case .good: 0
            case .improvable: 1
            case .broken: 2
            }
        }

        public static func < (one: Verdict, other: Verdict) -> Bool { one.rank < other.rank }
    }

    /// What was looked at, in lower case: "screen".
    public var subject: String
    public var verdict: Verdict
    /// Person-facing sentences: what is so, and what to do unless it is good.
    public var text: String
    /// Of the path to another machine.
    public var figures = PathFigures()

    init(_ subject: String, _ verdict: Verdict, _ text: String, _ figures: PathFigures = PathFigures()) {
        self.subject = subject
        self.verdict = verdict
        self.text = text
        self.figures = figures
    }
}

/// What was measured of the path to another machine; each finding has those that it is about.
public struct PathFigures: Sendable, Hashable {
    /// Of the other machine, numeric.
    public var address: String?
    /// This machine's, towards the other one.
    public var interface: String?
    /// The median round trip, and its 95th percentile, in milliseconds.
    public var rttMs: Double?
    public var rttP95Ms: Double?
    /// The round trip's 95th percentile less its median, in milliseconds.
    public var jitterMs: Double?
    /// The share of echoes that didn't come back: 0 to 1.
    public var loss: Double?
    /// What the path carries, an estimate in Mbit/s.
    public var mbit: Double?
    /// The path carries at least `mbit`.
    public var isAtLeast: Bool?
    /// The largest IP packet that passes, in bytes; measured up to 1500.
    public var mtu: Int?

    public init() {}

    init(_ fill: (inout PathFigures) -> Void) { fill(&self) }

    /// By the names that they have in `--json`; what isn't known is left out.
    public var fields: [String: JSONValue] {
        let texts = ["address": address, "interface": interface].compactMapValues { $0.map { JSONValue.string($0) } }
        let numbers = ["rttMs": rttMs, "rttP95Ms": rttP95Ms, "jitterMs": jitterMs, "loss": loss, "mbit": mbit]
            .compactMapValues { $0.map { JSONValue.number(($0 * 1000).rounded() / 1000) } }
        var fields = texts.merging(numbers) { $1 }
        if let isAtLeast { fields["atLeast"] = .bool(isAtLeast) }
        if let mtu { fields["mtu"] = .integer(mtu) }
        return fields
    }
}
