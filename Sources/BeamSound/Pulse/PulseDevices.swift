import BeamMedia
import CPulse
import Glibc

/// The devices of a sound server. What the server says of them is bounded here.
struct PulseDevices: Equatable {
    /// Of each kind; further ones are left out.
    static let most = 256

    struct Sink: Equatable {
        var name: String
        var description: String
        /// The name of the source that has what it plays.
        var monitor: String?
    }

    struct Source: Equatable {
        var name: String
        var description: String
        /// The name of the sink whose monitor it is.
        var monitoredSink: String?
    }

    /// The server is pipewire-pulse.
    var isPipeWire = false
    var defaultSink: String?
    var defaultSource: String?
    var sinks: [Sink] = []
    var sources: [Source] = []

    /// The sink with this name or description.
    func sink(called name: String) -> Sink? {
        sinks.first { $0.name == name } ?? sinks.first { $0.description == name }
    }

    mutating func add(_ info: pa_sink_info) {
        guard sinks.count < Self.most, let name = PulseText.name(info.name) else { return }
        sinks.append(
            Sink(
                name: name, description: PulseText.shown(info.description) ?? name,
                monitor: PulseText.name(info.monitor_source_name)))
    }

    mutating func add(_ info: pa_source_info) {
        guard sources.count < Self.most, let name = PulseText.name(info.name) else { return }
        sources.append(
            Source(
                name: name, description: PulseText.shown(info.description) ?? name,
                monitoredSink: info.monitor_of_sink == beam_pulse_no_index
                    ? nil : PulseText.name(info.monitor_of_sink_name) ?? ""))
    }
}

/// Text of a server.
enum PulseText {
    /// libpulse's own limit for names of devices is 128 bytes, PipeWire's is higher.
    private static let longestName = 512
    private static let longestDescription = 160

    /// A name as it is, for requests; nil without one, or if it is absurd.
    static func name(_ text: UnsafePointer<CChar>?) -> String? {
        guard let text, case let length = strnlen(text, longestName + 1), (1...longestName).contains(length) else {
            return nil
        }
        return String(cString: text)
    }

    /// A text that may be shown to a person; nil without one.
    static func shown(_ text: UnsafePointer<CChar>?) -> String? {
        guard let text else { return nil }
        let bytes = UnsafeRawBufferPointer(start: text, count: strnlen(text, longestDescription))
        let line = ShownText.line(String(decoding: bytes, as: UTF8.self))
        return line.isEmpty ? nil : line
    }
}
