/// A metric's name, type and description.
public struct MetricFamily: Sendable, Hashable {
    public enum Kind: String, Sendable {
        case counter, gauge, summary
    }

    public let name: String
    public let kind: Kind
    /// What it counts or measures; a sentence.
    public let help: String

    public init(_ name: String, _ kind: Kind, _ help: String) {
        (self.name, self.kind, self.help) = (name, kind, help)
    }

    /// A family that nobody has described. Its name is `label`, made a valid one; a counter's ends with `_total`.
    init(undescribed label: String, _ kind: Kind) {
        var name = String(
            label.unicodeScalars.prefix(Self.longestName).map { scalar in
                Self.isNameScalar(scalar) ? Character(scalar) : "_"
            })
        if name.isEmpty || name.first?.isNumber == true { name = "_" + name }
        if kind == .counter, !name.hasSuffix("_total") { name += "_total" }
        self.init(name, kind, "Recorded without a description.")
    }

    private static let longestName = 128

    /// https://prometheus.io/docs/concepts/data_model: letters, digits, `_` and `:`.
    private static func isNameScalar(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", ":": true
        default: false
        }
    }
}
