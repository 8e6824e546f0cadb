/// Why sound can't be captured, encoded or played. Each description is a person-facing sentence.
public enum SoundError: Error, Hashable, CustomStringConvertible {
    /// A library isn't installed, or is too old.
    case noLibrary(package: String, reason: String)
    /// No sound server answers.
    case noServer(reason: String)
    /// No sound device can be used.
    case noOutput(reason: String)
    /// The sound server has no device of this name; it has these.
    case noDevice(name: String, available: [SoundDevice])
    /// Opus refuses to encode or to decode.
    case noCodec(reason: String)
    case noMemory

    public var description: String {
        switch self {
        case .noLibrary(let package, let reason):
            "There can be no sound, because a library can't be loaded (\(reason)). Install the package \(package)."
        case .noServer(let reason):
            "No sound server (PulseAudio or PipeWire) answers: \(reason). Start one, or set PULSE_SERVER."
        case .noOutput(let reason): "Sound can't be played on this machine: \(reason)."
        case .noDevice(let name, let available) where available.isEmpty:
            "There is no sound device “\(name)”: the sound server has none. Leave --audio out, or share without sound "
                + "(--audio off)."
        case .noDevice(let name, let available):
            "There is no sound device “\(name)”. Choose one of these with --audio, or auto, mic or off: "
                + available.map {
                    "\($0.name) (\($0.description), \($0.kind == .monitor ? "what it plays" : "an input"))"
                }.joined(separator: "; ") + "."
        case .noCodec(let reason): "Sound can't be encoded or decoded: Opus doesn't start (\(reason))."
        case .noMemory: "There can be no sound, because there isn't enough memory."
        }
    }
}
