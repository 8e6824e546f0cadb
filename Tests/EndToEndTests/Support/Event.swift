import BeamMedia
import Foundation

/// A line of `--json`.
struct Event: Sendable, Equatable, CustomStringConvertible {
    var name: String
    /// Seconds since the program's start.
    var time: Double
    var fields: [String: JSONValue]
    var description: String

    /// Nil unless the line is a JSON object with `event` and `t`.
    init?(line: String) {
        guard case .object(let fields)? = JSONValue(line), let name = fields["event"]?.string,
            let time = fields["t"]?.number
        else { return nil }
        self.name = name
        self.time = time
        self.fields = fields
        description = line
    }

    func number(_ key: String) -> Double? { fields[key]?.number }
    func string(_ key: String) -> String? { fields[key]?.string }
    func bool(_ key: String) -> Bool? { fields[key]?.bool }
    func object(_ key: String) -> [String: JSONValue]? { fields[key]?.object }
}

extension JSONValue {
    init?(_ text: String) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) else { return nil }
        self = value
    }
}
