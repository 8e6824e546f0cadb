import Foundation

/// A line of a program's `--json`.
struct ProgramEvent: Sendable, Equatable {
    var name: String
    /// Seconds since the program's start.
    var time: Double
    private var fields: [String: JSONValue]

    /// Nil unless the line is an object with `event` and `t`.
    init?(line: String) {
        guard let fields = try? JSONDecoder().decode([String: JSONValue].self, from: Data(line.utf8)),
            case .string(let name)? = fields["event"], case .number(let time)? = fields["t"]
        else { return nil }
        self.name = name
        self.time = time
        self.fields = fields
    }

    func number(_ key: String) -> Double? {
        guard case .number(let value)? = fields[key] else { return nil }
        return value
    }

    func count(_ key: String) -> Int? { number(key).flatMap { Int(exactly: $0.rounded()) } }

    func string(_ key: String) -> String? {
        guard case .string(let value)? = fields[key] else { return nil }
        return value
    }

    /// Every stage of `latencyMs`, whatever stages there are.
    var latencies: [String: MeasureRecord.Times] {
        guard case .object(let stages)? = fields["latencyMs"] else { return [:] }
        return stages.compactMapValues { value in
            guard case .object(let times) = value, case .number(let median)? = times["median"] else { return nil }
            func number(_ key: String) -> Double? {
                guard case .number(let value)? = times[key] else { return nil }
                return value
            }
            return MeasureRecord.Times(median: median, p95: number("p95"), max: number("max"))
        }
    }
}

/// Any JSON value (RFC 8259).
public enum JSONValue: Codable, Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public init(from decoder: any Decoder) throws {
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

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
