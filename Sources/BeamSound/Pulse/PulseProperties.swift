import CLateLibraries
import CPulse
import Glibc

/// What PipeWire's server for PulseAudio's programs reads of a program to decide in which steps it works. PulseAudio doesn't
/// know these.
///
/// Without them it (0.3.65) works in steps of 256 samples. What the person has set in PULSE_PROP counts more.
enum PulseProperties {
    private static let all = [
        (name: "pulse.min.frag", value: "128/48000"), (name: "pulse.min.quantum", value: "128/48000"),
    ]

    /// Adds them to those of a connection. libpulse adds the person's later, but only those that aren't there.
    static func add(to properties: OpaquePointer) {
        let chosen = getenv("PULSE_PROP").flatMap { pa_proplist_from_string($0) }
        defer { if let chosen { pa_proplist_free(chosen) } }
        for (name, value) in all where chosen.map({ pa_proplist_contains($0, name) == 0 }) ?? true {
            _ = pa_proplist_sets(properties, name, value)
        }
    }
}
