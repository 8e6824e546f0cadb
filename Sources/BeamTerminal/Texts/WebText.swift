import BeamDisplay
import BeamHost
import BeamNetwork
import BeamSession
import BeamWire

/// Where browsers come, in words for the person who shares.
struct WebText: Sendable {
    var web: HostDescription.Web
    /// The address that this program listens on; nil: on all.
    var bindAddress: String?
    /// By http browsers are sent on to https.
    var isHTTPSOnly: Bool
    /// Nobody vouches for it.
    var hasOwnCertificate: Bool

    /// The addresses of the page, the likeliest first; empty: this machine has none on a network.
    func addresses(_ all: [LocalAddress] = LocalAddresses.reachable()) -> [String] {
        let text = AddressText(purpose: "", command: "", bindAddress: bindAddress, port: web.port)
        let reachable = text.listened(all).filter { !$0.isLinkLocalV6 }
        let scheme = isHTTPSOnly || web.packetsUnavailable != nil ? "https" : "http"
        return reachable.map { "\(scheme)://\(Endpoint(host: $0.text, port: web.port))" }
    }

    /// - Parameter code: that browsers' persons type; nil: none is shown.
    func sentence(_ addresses: [String]) -> String {
        guard let first = addresses.first else {
            return "This machine has no address on a network at present, so no browser can reach it."
        }
        let others = addresses.dropFirst()
        let rest = others.isEmpty ? "" : " (or \(others.joined(separator: " or ")))"
        return "To watch in a browser, open \(first)\(rest)."
    }

    static func code(_ code: PairingCode, _ what: String, servesOne: Bool) -> String {
        "\(what) to type in a browser: \(code.spaced) (serves \(servesOne ? "one browser" : "everybody"))"
    }

    /// What a phone's camera reads: the address, with the code where no server sees it.
    static func link(_ address: String, _ code: PairingCode?) -> String {
        address + "/" + (code.map { "#\($0)" } ?? "")
    }

    /// What a window shows.
    func shown(_ code: PairingCode?) -> WindowCode {
        let addresses = addresses()
        guard let first = addresses.first else {
            return WindowCode(modules: nil, headline: "No browser can reach this machine", detail: sentence([]))
        }
        // In one piece: digits that are read out aren't broken between two lines.
        let digits = code.map { ", and type\u{A0}\($0.spaced.replacing(" ", with: "\u{A0}"))" } ?? ""
        return WindowCode(
            modules: QRCode.modules(Self.link(first, code)), headline: first,
            detail: "Open this address in a browser\(digits)"
                + (code == nil ? "." : ", or point a phone's camera at the code."))
    }

    /// By which a person can tell that nobody is in between.
    var certificate: String {
        let warning = hasOwnCertificate ? ", which browsers warn of," : ""
        return "By https its certificate\(warning) has the SHA-256 fingerprint \(fingerprint)."
    }

    /// Of the certificate that https shows, in groups of two digits.
    var fingerprint: String {
        web.fingerprint.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }
}
