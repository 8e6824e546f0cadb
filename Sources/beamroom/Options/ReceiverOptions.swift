import ArgumentParser
import BeamTerminal
import BeamViewer
import BeamWire

/// How this machine is a receiver: of `watch --wait`.
struct ReceiverOptions: ParsableArguments {
    @Flag(help: "Be a receiver: wait, full screen, for others to show their screens here with `beamroom share --to`.")
    var wait = false
    @Option(
        defaultAsFlag: .on,
        help: ArgumentHelp(
            "With --wait: have systemd start the receiver in each of your graphical sessions, with the other options that are given; off: not any more. Nothing else is done.",
            valueName: "on|off"))
    var atLogin: Switch?
    @Flag(help: "With --wait: open a window, and don't fill the screen.")
    var windowed = false
    @Option(
        help: "With --wait: the TCP port that senders connect to. (default: 52349)",
        transform: UInt16.reading(OptionText.port))
    var port: UInt16?
    @Option(
        help: ArgumentHelp("With --wait: listen on this address only. (default: all)", valueName: "address"))
    var bind: String?
    @Flag(help: "With --wait: don't announce the receiver on the network.")
    var noDiscovery = false

    func validate() throws {
        guard !wait else { return }
        let needsWait: [(option: String, isUsed: Bool)] = [
            ("--at-login", atLogin != nil), ("--windowed", windowed), ("--port", port != nil), ("--bind", bind != nil),
            ("--no-discovery", noDiscovery),
        ]
        if let bad = needsWait.first(where: \.isUsed) {
            throw ValidationError("\(bad.option) is for a receiver: add --wait, or leave \(bad.option) out.")
        }
    }
}

/// Where a screen is shown, besides at those who watch it: of `share`.
struct SendingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Show the screen at this receiver, a machine that runs `beamroom watch --wait`, and end with that. Others may watch as always.",
            valueName: "receiver"), transform: Self.target)
    var to: WatchTarget?
    @Option(
        help: ArgumentHelp(
            "A file with the six-digit code that the receiver shows, instead of typing it. Only you may be able to read it.",
            valueName: "file"))
    var toCodeFile: String?

    func validate() throws {
        guard to != nil || toCodeFile == nil else {
            throw ValidationError("--to-code-file has a receiver's code: name that with --to.")
        }
    }

    private static func target(_ text: String) throws -> WatchTarget {
        do {
            return try WatchTarget(parsing: text, defaultPort: StationWindow.usualPort)
        } catch WatchTargetError.isURL(let rest) {
            throw OptionError("Give the receiver alone, without the scheme: `beamroom share --to \(rest)`.")
        } catch WatchTargetError.empty {
            throw OptionError("It takes a receiver's name, or its address, as in 192.0.2.7.")
        }
    }
}
