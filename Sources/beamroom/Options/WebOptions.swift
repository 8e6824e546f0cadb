import ArgumentParser
import BeamHost
import BeamIdentity
import BeamLog
import BeamNetwork
import BeamSession
import BeamTerminal
import BeamTrust
import BeamWeb
import BeamWire

/// Browsers that watch.
struct WebOptions: ParsableArguments {
    @Flag(help: "Let browsers watch, too: they open an address, and type a code of their own.")
    var web = false
    @Option(
        help: ArgumentHelp(
            "The TCP port of the page, by http and https. If it is in use, one of the next is taken. (default: 52347)",
            valueName: "port"), transform: UInt16.reading(OptionText.port))
    var webPort: UInt16?
    @Option(
        help: ArgumentHelp(
            "The UDP port of the pictures for browsers. If it is in use, one of the next is taken. (default: 52348)",
            valueName: "port"), transform: UInt16.reading(OptionText.port))
    var webMediaPort: UInt16?
    @Option(
        help: ArgumentHelp(
            "A file with the six-digit code for browsers. Only you may be able to read it. It serves any number of browsers; without it each code that is shown serves one.",
            valueName: "file"))
    var webCodeFile: String?
    @Flag(help: "Send browsers on to https, which they warn of unless the certificate is one that they trust.")
    var webHttpsOnly = false
    @Option(
        help: ArgumentHelp("The certificate for https, with those that vouch for it (PEM).", valueName: "file"))
    var webCertificate: String?
    @Option(help: ArgumentHelp("The certificate's key (PEM, without a passphrase).", valueName: "file"))
    var webKey: String?
    @Flag(help: "Show the address for browsers as a QR code at the start.")
    var webQr = false

    func validate() throws {
        let isAny =
            webPort != nil || webMediaPort != nil || webCodeFile != nil || webHttpsOnly || webCertificate != nil
            || webKey != nil || webQr
        guard web || !isAny else {
            throw ValidationError("Options that begin with --web- are for --web: add that, or leave them out.")
        }
        guard (webCertificate == nil) == (webKey == nil) else {
            throw ValidationError("Use --web-certificate and --web-key together.")
        }
    }

    /// How browsers are let in; nil: none are.
    ///
    /// - Parameter isTerminal: a code can be shown.
    func invitation(isTerminal: Bool) -> DoorReporter.Invitation.Web? {
        guard web else { return nil }
        return DoorReporter.Invitation.Web(
            showsCode: isTerminal, servesOne: webCodeFile == nil, codeFile: webCodeFile, isHTTPSOnly: webHttpsOnly,
            showsQRCode: webQr, hasOwnCertificate: webCertificate == nil)
    }

    /// The code at the start. Without a terminal or a file there is none: the person can be asked, or all are let in.
    func code(isTerminal: Bool, while isWanted: () -> Bool) throws(CodeFileError) -> HostCode? {
        guard web else { return nil }
        if let webCodeFile { return HostCode(given: try CodeFile(path: webCodeFile).read(while: isWanted)) }
        return isTerminal ? .random(servesOne: true) : HostCode.none
    }

    /// - Parameters:
    ///   - bind: the address to listen on; nil: all.
    ///   - asks: browsers without the code can ask: the person is asked, or all are let in.
    func server(bind: String?, name: String, store: TrustStore, asks: Bool, hasCode: Bool) throws -> WebServer.Options?
    {
        guard web else { return nil }
        let machine = MachineName.current
        let certificate: WebServer.Certificate
        if let webCertificate, let webKey {
            certificate = .files(certificate: webCertificate, key: webKey)
        } else {
            certificate = .lasting(
                try store.webIdentity(
                    names: [machine, machine.prefix { $0 != "." } + ".local"], addresses: OwnAddresses.all()))
        }
        return WebServer.Options(
            bindAddress: bind, port: webPort ?? 52347, mediaPort: webMediaPort ?? 52348, isHTTPSOnly: webHttpsOnly,
            certificate: certificate, hostName: machine, shownName: name,
            // The host knows the rest.
            stream: BrowserStream.Configuration(bitRate: 0, usesFullChroma: false, hasSound: false), asksPerson: asks,
            code: !hasCode ? .no : webCodeFile == nil ? .one : .any)
    }
}
