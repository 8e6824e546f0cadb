import BeamWire
import Crypto

/// The page for browsers: one file with its script and style, from the sources in `Page/`, which are built in.
struct WebPage: Sendable {
    let response: HTTPResponse
    let icon: HTTPResponse

    /// Joins the parts. Their hashes are the only script and style that the browser runs.
    ///
    /// - Parameters:
    ///   - hostName: shown to whoever opens the page.
    ///   - asksPerson: without a code the person at the host can be asked; `hasCode`: there is a code.
    ///   - hasPackets: WebRTC can be offered.
    init(hostName: String, asksPerson: Bool, hasCode: Bool, hasPackets: Bool) {
        let style = Self.text(PackageResources.page_css)
        let parts = [
            PackageResources.words_js, PackageResources.screen_js, PackageResources.packets_js,
            PackageResources.units_js, PackageResources.sound_js, PackageResources.statistics_js,
            PackageResources.page_js,
        ].map(Self.text).joined(separator: "\n")
        let script = "(() => {\n" + parts + "\n})();\n"
        let values = [
            "{asks}": asksPerson ? "yes" : "no", "{code}": hasCode ? "yes" : "no",
            "{packets}": hasPackets ? "yes" : "no", "{host}": Self.escaped(PeerText.name(hostName)),
        ]
        let html = Self.filled(
            Self.text(PackageResources.page_html), values.merging(["{style}": style, "{script}": script]) { $1 })
        let policy = [
            "default-src 'none'", "script-src '\(Self.hash(script))'", "style-src '\(Self.hash(style))'",
            "connect-src 'self'", "img-src 'self'", "media-src 'self'", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'",
        ].joined(separator: "; ")
        response = HTTPResponse(
            .ok, type: "text/html; charset=utf-8", body: Array(html.utf8),
            headers: [
                ("Content-Security-Policy", policy), ("Cross-Origin-Opener-Policy", "same-origin"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
                ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), display-capture=()"),
            ])
        icon = HTTPResponse(.ok, type: "image/svg+xml", body: Array(Self.text(PackageResources.icon_svg).utf8))
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
