import BeamWire
import Crypto

/// The page for browsers: one file with its script and style, from the sources in `Page/`, which are built in.
public struct WebPage: Sendable {
    let response: HTTPResponse
    let icon: HTTPResponse

    /// Joins the parts. Their hashes are the only script and style that the browser runs.
    ///
    /// - Parameters:
    ///   - hostName: shown to whoever opens the page.
    ///   - asksPerson: without a code the person at the host can be asked.
    ///   - hasPackets: WebRTC can be offered.
    ///   - hasOwnCertificate: browsers warn of the one that https shows.
    ///   - gateways: the origins of gateways, with which the page may speak.
    init(
        hostName: String, asksPerson: Bool, code: WebServer.Code, hasPackets: Bool, hasOwnCertificate: Bool = true,
        gateways: [String] = []
    ) {
        let (style, script) = (Self.style, Self.script)
        let host = Self.escaped(PeerText.name(hostName))
        let values: [String: String] = [
            "{asks}": asksPerson ? "yes" : "no", "{code}": code.rawValue, "{packets}": hasPackets ? "yes" : "no",
            "{certificate}": hasOwnCertificate ? "own" : "given", "{host}": host, "{title}": "\(host) · BeamRoom",
            "{alone}": gateways.isEmpty ? "" : " data-gateways=\"yes\"", "{policy}": "",
            "{icon}": "<link rel=\"icon\" href=\"/favicon\" type=\"image/svg+xml\">\n",
        ]
        let html = Self.filled(
            Self.text(PackageResources.page_html), values.merging(["{style}": style, "{script}": script]) { $1 })
        let policy = Self.policy(script, style, connects: ["'self'"] + gateways, "frame-ancestors 'none'")
        response = HTTPResponse(
            .ok, type: "text/html; charset=utf-8", body: Array(html.utf8),
            headers: [
                ("Content-Security-Policy", policy), ("Cross-Origin-Opener-Policy", "same-origin"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
                ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), display-capture=()"),
            ])
        icon = HTTPResponse(.ok, type: "image/svg+xml", body: Array(Self.text(PackageResources.icon_svg).utf8))
    }

    /// A page by itself, for any web server: who has a link with what a host's gateway wants to know watches there. Its policy
    /// is a part of it; what only a header can say (`frame-ancestors`) is the server's.
    ///
    /// - Parameter host: where browsers come that have no link; nil: they are told to ask for one.
    public static func alone(gateway: GatewayAddress, host: String?) -> String {
        let policy = policy(script, style, connects: [gateway.origin])
        let attributes = [("data-gateway", gateway.description)] + (host.map { [("data-host", $0)] } ?? [])
        let alone = attributes.map { " \($0)=\"\(escaped($1))\"" }.joined()
        return filled(
            text(PackageResources.page_html),
            [
                "{asks}": "no", "{code}": WebServer.Code.no.rawValue, "{packets}": "yes", "{certificate}": "given",
                "{host}": "BeamRoom", "{title}": "BeamRoom", "{icon}": "", "{alone}": alone, "{style}": style,
                "{script}": script,
                "{policy}": "<meta http-equiv=\"Content-Security-Policy\" content=\"\(policy)\">\n",
            ])
    }

    private static var style: String { text(PackageResources.page_css) }

    private static var script: String {
        let parts = [
            PackageResources.words_js, PackageResources.screen_js, PackageResources.packets_js,
            PackageResources.gateway_js, PackageResources.atgateway_js, PackageResources.units_js,
            PackageResources.sound_js, PackageResources.statistics_js, PackageResources.page_js,
        ].map(text).joined(separator: "\n")
        return "(() => {\n" + parts + "\n})();\n"
    }

    /// - Parameter connects: with whom the page may speak.
    private static func policy(_ script: String, _ style: String, connects: [String], _ others: String...) -> String {
        ([
            "default-src 'none'", "script-src '\(hash(script))'", "style-src '\(hash(style))'",
            "connect-src \(connects.joined(separator: " "))", "img-src 'self'", "media-src 'self'", "base-uri 'none'",
            "form-action 'none'",
        ] + others).joined(separator: "; ")
    }

    /// Replaces the names in braces, but not in what they are replaced by.
    private static func filled(_ text: String, _ values: [String: String]) -> String {
        var rest = text[...]
        var filled = ""
        while let brace = rest.firstIndex(of: "{") {
            filled += rest[..<brace]
            rest = rest[brace...]
            let end = rest.firstIndex(of: "}").map { rest.index(after: $0) } ?? rest.endIndex
            let name = String(rest[..<end])
            filled += values[name] ?? name
            rest = rest[end...]
        }
        return filled + rest
    }

    /// For HTML's text and attributes.
    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
    }

    /// As content policies name a script or a style (CSP 3, 8.2).
    private static func hash(_ text: String) -> String {
        "sha256-" + Base64.encode(SHA256.hash(data: Array(text.utf8)))
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
