import BeamClock
import BeamMedia
import BeamWire
import Foundation
import Glibc
import Logging

/// One JSON object a line on standard output, each with `event` and `t` (seconds since the start).
///
/// `write` doesn't wait for the reader (see `QueuedOutput`). If the reader falls behind by more than `limit`, the oldest events are
/// replaced by an event `dropped` with their `count`.
public final class EventWriter: Sendable {
    private let start: MediaTime
    /// Nil: nothing is written.
    private let output: QueuedOutput?
    /// In every event.
    private let common: [String: JSONValue]
    /// Nil: nothing is run.
    private let hooks: Hooks?
    /// Nil: no metrics are served.
    private let figures: FigureMetrics?
    /// Gets the events, too, as far as it wants them (`ProgramEvent.logLevel`). Nil: there is none.
    private let log: Logger?
    /// Of which of several hosts the events are.
    private let part: FigureMetrics.Part?

    /// Limit of the queued events in bytes: hours of statistics, or some hundred messages of the greatest length.
    private static let limit = 32 << 20

    /// Writes nothing unless `isEnabled`. `hooks` and `figures` get in any case what they are for.
    public init(
        isEnabled: Bool, start: MediaTime, hooks: Hooks? = nil, figures: FigureMetrics? = nil, log: Logger? = nil
    ) {
        self.start = start
        self.hooks = hooks
        self.figures = figures
        self.log = log
        part = nil
        common = [:]
        output =
            isEnabled
            ? QueuedOutput(STDOUT_FILENO, limit: Self.limit) { count in
                Self.line(.dropped(count), [:], start)
            } : nil
    }

    /// Writes the events of one of several hosts to the same reader, each with `host`, and with `from` if there is a
    /// `device`. None of them is a moment of the person's commands.
    public init(_ all: EventWriter, host: String, device: DeviceKey? = nil) {
        start = all.start
        output = all.output
        hooks = nil
        (figures, log) = (all.figures, all.log)
        part = FigureMetrics.Part(name: PeerText.name(host), id: device?.hex ?? host)
        common = ["host": .string(host), "from": device.map { .string($0.hex) }].compactMapValues { $0 }
    }

    public func write(_ event: ProgramEvent) {
        output?.add(Self.line(event, common, start))
        figures?.note(event, of: part)
        if let hooks, let moment = event.moment, hooks.wants(moment) {
            hooks.add(moment, event: Self.line(event, common, start))
        }
        // Nothing is put together for a level that isn't wanted.
        if let log, let level = event.logLevel, log.logLevel <= level {
            log.log(level: level, "\(String(decoding: Self.line(event, common, start).dropLast(), as: UTF8.self))")
        }
    }

    /// Waits a bounded time until the person's commands have ended and the events are written. Later ones are dropped.
    public func close() {
        hooks?.close()
        output?.close()
    }

    /// The event as a line, with its newline.
    func line(_ event: ProgramEvent) -> [UInt8] { Self.line(event, common, start) }

    private static func line(
        _ event: ProgramEvent, _ common: [String: JSONValue], _ start: MediaTime
    ) -> [UInt8] {
        let record = event.record
        var object = record.fields.merging(common) { $1 }
        object["event"] = .string(record.name)
        object["t"] = ((MediaTime.now - start).inMilliseconds / 1000).json
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Every number is finite and every key a string: encoding cannot fail.
        guard var line = (try? encoder.encode(object)).map(Array.init) else { return [] }
        if let (name, json) = record.text {
            line.replaceSubrange(0..<1, with: Array("{\"\(name)\":".utf8) + json + [UInt8(ascii: ",")])
        }
        return line + [UInt8(ascii: "\n")]
    }

    /// Milliseconds since the start, for `first-frame`.
    public var millisecondsSinceStart: Double { (MediaTime.now - start).inMilliseconds }
}
