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

    init(_ subject: String, _ verdict: Verdict, _ text: String) {
        self.subject = subject
        self.verdict = verdict
        self.text = text
    }
}
