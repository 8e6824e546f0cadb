import ArgumentParser
import BeamHost
import BeamPlayout
import BeamSound
import BeamTerminal

/// Which sound is shared: of `share` and `room`.
struct SoundOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The sound to share: auto (what this machine plays, or the video file's own), off, mic (the microphone), or a device of --list-audio.",
            valueName: "auto|off|mic|name"))
    var audio = "auto"
    @Option(
        help: ArgumentHelp("Bits a second of the sound, 16k to 256k.", valueName: "rate"),
        transform: SoundRate.reading(OptionText.soundRate))
    var audioBitRate = SoundRate.usual
    @Flag(help: "List the sound devices that --audio can name, and do nothing else.")
    var listAudio = false

    func validate() throws {
        if audio.isEmpty { throw ValidationError("--audio takes auto, off, mic, or a device of --list-audio.") }
    }

    /// A named device may be an output's monitor.
    var isPlayedHere: Bool { sound != .off && sound != .microphone }

    var sound: HostOptions.Sound {
        switch audio {
        case "auto": .automatic
        case "off": .off
        case "mic": .microphone
        default: .named(audio)
        }
    }

    /// `--list-audio`.
    func printList(_ context: CommandContext) throws {
        do {
            for line in try SoundList.lines() { Console.list(line) }
        } catch {
            try context.conclude(.failed(error.description))
        }
    }
}

/// Bits a second of sound: `128k`.
struct SoundRate: ExpressibleByArgument {
    static let usual = SoundRate(bitsPerSecond: 128_000)

    var bitsPerSecond: Int

    private init(bitsPerSecond: Int) { self.bitsPerSecond = bitsPerSecond }

    init?(argument: String) {
        guard let rate = BitRate(argument: argument)?.bitsPerSecond, SoundEncoder.bitRates.contains(rate) else {
            return nil
        }
        bitsPerSecond = rate
    }

    var defaultValueDescription: String { "128k" }
}

extension SoundSync.Mode: ExpressibleByArgument {}

/// `--list-audio`: what `--audio` can name.
enum SoundList {
    /// A line for each device.
    static func lines() throws(SoundError) -> [String] {
        let devices = try SoundDevices.list()
        guard !devices.isEmpty else { return ["The sound server has no devices."] }
        return devices.map { device in
            let kind =
                switch device.kind {
                case .monitor: "what it plays"
                case .input: "input"
                }
            return "\(device.name)\n    \(device.description), \(kind)\(device.isDefault ? ", the default" : "")"
        }
    }
}
