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
}

enum JSONValue: Sendable, Equatable, Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init?(_ text: String) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) else { return nil }
        self = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    var number: Double? { if case .number(let value) = self { value } else { nil } }
    var string: String? { if case .string(let value) = self { value } else { nil } }
    var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }
    subscript(key: String) -> JSONValue? { object?[key] }
}
