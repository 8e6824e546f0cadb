import BeamMedia
import Foundation

/// A line of a program's `--json` output.
struct ProgramEvent: Sendable, Equatable {
    var name: String
    /// Seconds since the program's start.
    var time: Double
    private var fields: [String: JSONValue]

    /// Nil unless the line is an object with `event` and `t`.
    init?(line: String) {
        guard let fields = try? JSONDecoder().decode([String: JSONValue].self, from: Data(line.utf8)),
            let name = fields["event"]?.string, let time = fields["t"]?.number
        else { return nil }
        self.name = name
        self.time = time
        self.fields = fields
    }

    func number(_ key: String) -> Double? { fields[key]?.number }
    func count(_ key: String) -> Int? { number(key).flatMap { Int(exactly: $0.rounded()) } }
    func string(_ key: String) -> String? { fields[key]?.string }

    /// A figure of the sound, of a viewer's `stats` or `summary`.
    func sound(_ key: String) -> Double? { fields["sound"]?.object?[key]?.number }

    /// All stages in `latencyMs`, known or not.
    var latencies: [String: MeasureRecord.Times] {
        guard let stages = fields["latencyMs"]?.object else { return [:] }
        return stages.compactMapValues { times in
            times["median"]?.number.map {
                MeasureRecord.Times(median: $0, p95: times["p95"]?.number, max: times["max"]?.number)
            }
        }
    }
}
