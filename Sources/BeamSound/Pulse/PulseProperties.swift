import Glibc

/// What PipeWire's server for PulseAudio's programs reads of a program to decide in which steps it works. PulseAudio doesn't
/// know these.
///
/// Without them it (0.3.65) asks players for 256 samples at least, and works in steps of 256. From SDL's callback to a
/// recorder of a null sink that makes 27 ms, although SDL's buffer is small. With them these are 11 to 13 ms, and what is
/// recorded comes 5 ms sooner.
enum PulseProperties {
    static let all = [
        (name: "pulse.min.req", value: "64/48000"), (name: "pulse.min.frag", value: "128/48000"),
        (name: "pulse.min.quantum", value: "128/48000"),
    ]

    /// Hands them to libpulse where others use it, as SDL does. What the person has set there counts more.
    static func export() {
        let own = all.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
        let others = getenv("PULSE_PROP").map { String(cString: $0) } ?? ""
        guard !others.hasPrefix(own) else { return }
        setenv("PULSE_PROP", others.isEmpty ? own : "\(own) \(others)", 1)
    }
}
