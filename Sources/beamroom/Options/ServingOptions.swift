import ArgumentParser
import BeamSession
import BeamTerminal

/// Where viewers connect, and how many: of `share` and `relay`.
struct ServingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Listen on this address only. (default: all)", valueName: "address"))
    var bind: String?
    @Option(
        help: "The TCP port that viewers connect to. (default: 52345)", transform: UInt16.reading(OptionText.port))
    var port = AddressText.usualPort
    @Option(
        help: "The UDP port of the pictures. If it is in use, another one is taken. (default: 52346)",
        transform: UInt16.reading(OptionText.port))
    var mediaPort: UInt16 = 52346
    @Option(
        help: ArgumentHelp(
            "Maximum number of viewers at a time. (default: \(Door.Configuration.defaultViewers))", valueName: "number"),
        transform: Int.reading(OptionText.viewers))
    var maxViewers = Door.Configuration.defaultViewers

    func validate() throws {
        guard (1...Door.Configuration.mostViewersPossible).contains(maxViewers) else {
            throw ValidationError("--max-viewers takes \(OptionText.viewers).")
        }
    }
}
