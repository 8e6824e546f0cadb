import ArgumentParser
import BeamHost
import BeamWeb
import BeamWire

/// Gateways by which browsers watch.
struct GatewayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Let browsers watch by a gateway, too: Janus, which carries thousands. Can be given several times.",
            valueName: "wss://gateway"), transform: GatewayAddress.reading)
    var webGateway: [GatewayAddress] = []
    @Option(
        help: ArgumentHelp(
            "A file with what the gateways ask for: lines such as token_auth_secret = …, token = …, admin_key = …. Only you may be able to read it.",
            valueName: "file"))
    var webGatewayTokenFile: String?
    @Option(
        help: ArgumentHelp(
            "The certificates that gateways are trusted by, instead of the system's (PEM).", valueName: "file"))
    var webGatewayCertificate: String?

    private static let most = 8

    func validate() throws {
        guard !webGateway.isEmpty || webGatewayTokenFile == nil && webGatewayCertificate == nil else {
            throw ValidationError(
                "--web-gateway-token-file and --web-gateway-certificate are for --web-gateway: add that, or leave them out."
            )
        }
        guard webGateway.count <= Self.most else {
            throw ValidationError("--web-gateway can be given \(Self.most) times at most.")
        }
        guard Set(webGateway).count == webGateway.count else {
            throw ValidationError("--web-gateway was given twice with the same address.")
        }
    }

    /// Nil: there are none.
    func gateways() throws -> HostGateways? {
        guard !webGateway.isEmpty else { return nil }
        return HostGateways(
            addresses: webGateway,
            credentials: try webGatewayTokenFile.map { try GatewayCredentials(file: $0) } ?? GatewayCredentials(),
            certificate: webGatewayCertificate)
    }
}

extension GatewayAddress {
    static func reading(_ text: String) throws -> GatewayAddress {
        let address: GatewayAddress
        do throws(Failure) {
            address = try GatewayAddress(text)
        } catch {
            throw ValidationError("“\(text)” isn't a gateway's address: \(error.description).")
        }
        // The page's content policy names the gateway, and can't name IPv6 addresses (CSP 3, 2.3.1, host-char).
        guard !address.host.contains(":") else {
            throw ValidationError(
                "“\(text)” can't be used: browsers don't let the page connect to a gateway that is named by an IPv6 "
                    + "address. Give its name.")
        }
        return address
    }
}
