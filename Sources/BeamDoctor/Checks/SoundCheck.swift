import BeamSound

/// Whether what this machine plays can be shared.
enum SoundCheck {
    static func finding() -> Finding {
        do throws(SoundError) {
            let outputs = try SoundDevices.list().filter { $0.kind == .monitor }
            guard let output = outputs.first(where: \.isDefault) ?? outputs.first else {
                return Finding(
                    "sound", .improvable,
                    "The sound server has no output, so there is nothing to hear, and nothing to share. Plug in loudspeakers or "
                        + "headphones, or choose a profile with an output in the settings for sound.")
            }
            return Finding("sound", .good, "What is played to “\(output.description)” can be shared.")
        } catch {
            return Finding("sound", .broken, "\(error)")
        }
    }
}
