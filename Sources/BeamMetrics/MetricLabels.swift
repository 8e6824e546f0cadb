/// A series' labels, as they are written between the braces; empty without labels.
///
/// Values can come from peers: they are escaped, cut to a length, and have no control characters.
struct MetricLabels: Hashable, Sendable {
    /// A label's longest value in bytes before it is escaped: more than `PeerText` lets a name have.
    static let longestValue = 256
    /// Labels of a series at most; further ones are left out.
    static let most = 8

    let text: String

    init(_ dimensions: [(String, String)]) {
        text = dimensions.prefix(Self.most).map { "\(Self.name($0))=\"\(Self.escaped($1))\"" }
            .joined(separator: ",")
    }

    /// With one more label, whose value needs no escaping.
    func adding(_ name: String, _ value: String) -> String {
        (text.isEmpty ? "" : text + ",") + "\(name)=\"\(value)\""
    }

    private static func name(_ label: String) -> String {
        let name = String(
            label.unicodeScalars.prefix(64).map { scalar in
                scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                    ? Character(scalar) : "_"
            })
        // Two underscores at the beginning are Prometheus' own.
        let rest = name.drop { $0 == "_" }
        return rest.isEmpty ? "label" : rest.first?.isNumber == true ? "_" + rest : String(rest)
    }

    /// In a label's value a backslash, a quotation mark and a line feed are escaped (text format 0.0.4).
    private static func escaped(_ value: String) -> String {
        var (result, bytes) = ("", 0)
        for scalar in value.unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= longestValue else { break }
            switch scalar {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default:
                let isControl = scalar.properties.generalCategory == .control
                result.unicodeScalars.append(isControl ? "\u{FFFD}" : scalar)
            }
        }
        return result
    }
}
