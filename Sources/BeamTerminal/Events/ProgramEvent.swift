import BeamMedia
import BeamMetrics
import Logging

/// What a program reads with `--json`, a line each: the schema of these lines. The page *Program events* lists every event
/// with its fields, and a test compares it with this type.
public enum ProgramEvent: Sendable {
    case pairing(Pairing)
    case share(Share)
    case watch(Watch)
    case receiver(Receiver)
    case words(Words)
    case room(Room)
    case list(List)
    case measure(Measure)
    /// The reader of standard output was too slow: so many events are missing here.
    case dropped(Int)
    /// Where metrics are served.
    case metrics(MetricsAddress)

    /// An event's name and fields, as they are written.
    struct Record {
        var name: String
        var fields: [String: JSONValue]
        /// A field whose value is a JSON text of one line. It stands first, as it is.
        var text: (name: String, json: [UInt8])?

        /// A field without a value is left out.
        init(_ name: String, _ fields: [String: any EventField] = [:], text: (name: String, json: [UInt8])? = nil) {
            self.name = name
            self.fields = fields.compactMapValues(\.json)
            self.text = text
        }
    }

    /// At which level a log has the event; nil: at none, because what people write to each other doesn't belong there.
    var logLevel: Logger.Level? {
        switch self {
        case .words: nil
        case .share(.stats), .watch(.stats), .room(.stats): .trace
        case .pairing, .share, .watch, .receiver, .room, .list, .measure, .dropped, .metrics: .debug
        }
    }

    var record: Record {
        switch self {
        case .pairing(let event): event.record
        case .share(let event): event.record
        case .watch(let event): event.record
        case .receiver(let event): event.record
        case .words(let event): event.record
        case .room(let event): event.record
        case .list(let event): event.record
        case .measure(let event): event.record
        case .dropped(let count): Record("dropped", ["count": count])
        case .metrics(let address): Record("metrics", ["address": address.host, "port": Int(address.port)])
        }
    }
}
