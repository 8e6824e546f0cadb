/// A JSON value (RFC 8259) without a type of its own, for the programs' events. Other values are `Codable`.
///
/// Encoded and decoded by Foundation's coders. Input of unauthenticated peers is never decoded into this type; the
/// protocol's `JSONScanner` reads it.
public enum JSONValue: Codable, Equatable, Sendable {
    case null
    case bool(Bool)
    /// Whole numbers are exact up to 2⁵³ and encoded without a fraction.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public static func integer(_ value: Int) -> JSONValue { .number(Double(value)) }

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

/// Typed access; nil if the value has another type.
extension JSONValue {
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var number: Double? { if case .number(let value) = self { value } else { nil } }
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }
    /// An object's member.
    public subscript(key: String) -> JSONValue? { object?[key] }
}
