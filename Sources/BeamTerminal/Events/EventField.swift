import BeamLog
import BeamMedia
import BeamWire

/// The value of an event's field.
protocol EventField {
    /// Nil: the field is left out.
    var json: JSONValue? { get }
}

extension JSONValue: EventField {
    var json: JSONValue? { self }

    /// Each stage's median, 95th percentile and maximum in milliseconds; nil where no stage has any.
    static func latencies(_ stages: [String: LatencyHistogram.Summary?]) -> Self? {
        let known = stages.compactMapValues { $0 }
        return known.isEmpty
            ? nil
            : .object(
                known.mapValues {
                    .object(["median": $0.median, "p95": $0.p95, "max": $0.max].compactMapValues(\.json))
                })
    }
}

extension String: EventField {
    var json: JSONValue? { .string(self) }
}

extension Bool: EventField {
    var json: JSONValue? { .bool(self) }
}

extension Int: EventField {
    var json: JSONValue? { .integer(self) }
}

extension UInt64: EventField {
    var json: JSONValue? { .number(Double(self)) }
}

/// Rounded to three decimals, which is enough for every measured value.
extension Double: EventField {
    var json: JSONValue? { .number((self * 1000).rounded() / 1000) }
}

/// All its digits.
extension DeviceKey: EventField {
    var json: JSONValue? { .string(hex) }
}

extension Optional: EventField where Wrapped: EventField {
    var json: JSONValue? { self?.json }
}

extension Array: EventField where Element: EventField {
    var json: JSONValue? { .array(compactMap(\.json)) }
}

extension [String: any EventField]: EventField {
    var json: JSONValue? { .object(compactMapValues(\.json)) }
}

extension Visitor {
    /// With `more`, the fields of an event about it.
    func fields(_ more: [String: any EventField] = [:]) -> [String: any EventField] {
        more.merging(["address": "\(address)", "name": name]) { $1 }
    }
}
