import ArgumentParser
import BeamTerminal
import BeamWeb
import BeamWire

/// `beamroom web-page`.
struct WebPageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web-page",
        abstract: "Prints the page by which browsers watch at a gateway, for any web server.",
        discussion:
            "Put it on a web server, and behind its address what `w` shows at the host: who opens that link watches until the share ends."
    )

    @Option(
        help: ArgumentHelp("The gateway, as in share --web-gateway.", valueName: "wss://gateway"),
        transform: GatewayAddress.reading)
    var gateway: GatewayAddress
    @Option(
        help: ArgumentHelp(
            "Where browsers without a link are told to go: the address that the host shows, as in http://192.0.2.7:52347.",
            valueName: "address"))
    var host: String?

    func validate() throws {
        guard let host else { return }
        let isAddress = (host.hasPrefix("http://") || host.hasPrefix("https://")) && host.utf8.count <= 300
        guard isAddress, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ValidationError("--host takes the address that the host shows, as in http://192.0.2.7:52347.")
        }
    }

    func run() throws { print(WebPage.alone(gateway: gateway, host: host), terminator: "") }
}
