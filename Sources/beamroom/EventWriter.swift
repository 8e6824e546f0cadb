import BeamClock
import BeamMedia
import BeamProtocol
import Foundation
import Glibc

/// One JSON object a line on standard output, each with `event` and `t` (seconds since the start).
///
/// `write` doesn't wait for the reader (see `QueuedOutput`). If the reader falls behind by more than `limit`, the oldest events are
/// replaced by an event `dropped` with their `count`.
final class EventWriter: Sendable {
    typealias Value = JSONValue

    private let start: MediaTime
    /// Nil: nothing is written.
    private let output: QueuedOutput?
    /// In every event.
    private let common: [String: Value]

    /// Limit of the queued events in bytes: hours of statistics, or some hundred messages of the greatest length.
    private static let limit = 32 << 20

    /// Writes nothing unless `isEnabled`.
    init(isEnabled: Bool, start: MediaTime) {
        self.start = start
        common = [:]
        output =
            isEnabled
            ? QueuedOutput(STDOUT_FILENO, limit: Self.limit) { count in
                Self.line("dropped", ["count": .integer(count)], start)
            } : nil
    }

    /// Writes the events of one of several hosts to the same reader, each with `host`, and with `from` if there is a
    /// `device`.
    init(_ all: EventWriter, host: String, device: DeviceKey? = nil) {
        start = all.start
        output = all.output
        common = ["host": .string(host), "from": device.map { .string($0.hex) }].compactMapValues { $0 }
    }

    /// `texts` are more members, whose values are JSON texts of one line each; they stand first, as they are.
    func write(_ event: String, _ fields: [String: Value?] = [:], texts: [String: [UInt8]] = [:]) {
        guard let output else { return }
        var line = Self.line(event, fields.merging(common) { $1 }, start)
        for (name, text) in texts where !line.isEmpty {
            line.replaceSubrange(0..<1, with: Array("{\"\(name)\":".utf8) + text + [UInt8(ascii: ",")])
        }
        output.add(line)
    }

    /// Waits a bounded time until the events are written. Later ones are dropped.
    func close() { output?.close() }

    private static func line(_ event: String, _ fields: [String: Value?], _ start: MediaTime) -> [UInt8] {
        var object = fields.compactMapValues { $0 }
        object["event"] = .string(event)
        object["t"] = .rounded((MediaTime.now - start).inMilliseconds / 1000)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Every number is finite and every key a string: encoding cannot fail.
        guard let line = try? encoder.encode(object) else { return [] }
        return Array(line) + [UInt8(ascii: "\n")]
    }

    /// Milliseconds since the start, for `first-frame`.
    var millisecondsSinceStart: Double { (MediaTime.now - start).inMilliseconds }
}

extension JSONValue {
    /// Rounded to three decimals, which is enough for every measured value.
    static func rounded(_ value: Double) -> Self { .number((value * 1000).rounded() / 1000) }

    static func count(_ value: UInt64) -> Self { .number(Double(value)) }

    /// Each stage's median, 95th percentile and maximum in milliseconds; nil where no stage has any.
    static func latencies(_ stages: [String: LatencyHistogram.Summary?]) -> Self? {
        let known = stages.compactMapValues { $0 }
        guard !known.isEmpty else { return nil }
        return .object(
            known.mapValues {
                .object([
                    "median": .rounded($0.median), "p95": .rounded($0.p95), "max": .rounded($0.max),
                ])
            })
    }
}
