import BeamMedia
import BeamProtocol
import BeamSound
import BeamViewer

/// What is said of the sound, to people and to programs.
enum SoundText {
    /// The event `sound` of a host.
    static func fields(_ state: SoundCaptureState) -> [String: EventWriter.Value?] {
        switch state {
        case .capturing(let name): ["state": .string("capturing"), "device": .string(name)]
        case .noServer(let reason): ["state": .string("no-server"), "reason": .string(reason)]
        case .noDevice(let name): ["state": .string("no-device"), "device": name.map { .string($0) }]
        case .onlyMonitor(let name): ["state": .string("no-microphone"), "device": .string(name)]
        case .lost: ["state": .string("lost")]
        }
    }

    /// The event `sound` of a viewer.
    static func fields(_ state: SoundOutputState) -> [String: EventWriter.Value?] {
        switch state {
        case .playing(let name): ["state": .string("playing"), "device": name.map { .string($0) }]
        case .noSuchDevice(let name, let names):
            ["state": .string("no-such-device"), "device": .string(name), "devices": .array(names.map { .string($0) })]
        case .noOutput(let reason): ["state": .string("no-output"), "reason": .string(reason)]
        case .lost: ["state": .string("lost")]
        }
    }

    /// Nil: nothing to tell a person.
    static func sentence(_ state: SoundOutputState) -> String? {
        if case .playing = state { nil } else { state.description }
    }

    /// The object `sound` in `stats` and `summary` of a viewer. What is unknown is left out.
    static func fields(_ sound: SoundFigures, _ arrivals: SoundArrivals) -> EventWriter.Value {
        let statistics = sound.statistics
        let concealed = Double(statistics.concealedSamples) / Double(SoundBlock.sampleRate)
        let fields: [String: EventWriter.Value?] = [
            "packets": .count(arrivals.packets), "missed": .integer(Int(arrivals.missed)),
            "recovered": .count(arrivals.recovered), "lost": .integer(Int(arrivals.lost)),
            "played": .count(statistics.played), "concealedMs": .rounded(concealed * 1000),
            "concealed": .number(statistics.concealedShare), "underruns": .count(statistics.underruns),
            "bufferMs": .rounded(statistics.buffer.inMilliseconds), "driftPpm": .rounded(statistics.driftPPM),
            "latencyMs": statistics.latency.map { .rounded($0.inMilliseconds) },
            "skewMs": sound.skew.map { .rounded($0.inMilliseconds) },
            "pictureHoldMs": .rounded(sound.hold.inMilliseconds), "volume": .rounded(sound.volume),
            "muted": .bool(sound.isMuted), "device": sound.device.map { .string($0) },
        ]
        return .object(fields.compactMapValues { $0 })
    }
}
