import Crypto

/// What a request gets. A value without I/O.
struct WebRouter: Sendable {
    enum Answer: Equatable {
        case response(HTTPResponse)
        /// The response has to be sent, then the connection is a WebSocket; `agent` is the browser's *User-Agent*.
        case webSocket(HTTPResponse, agent: String)
    }

    var page: WebPage
    let names: OwnNames
    let isHTTPSOnly: Bool

    func answer(_ request: HTTPRequest, isSecure: Bool) -> Answer {
        guard let host = request.value("host"), names.accept(host) else {
            return .response(HTTPResponse(.misdirected, sentence: Self.misdirected))
        }
        guard isSecure || !isHTTPSOnly else { return .response(redirect(request, host)) }
        guard request.method == "GET" else { return .response(Self.notFound) }
        switch request.target.prefix(while: { $0 != "?" }) {
        case "/": return .response(page.response)
        case "/favicon", "/favicon.ico": return .response(page.icon)
        case "/ws": return webSocket(request, host, isSecure: isSecure)
        default: return .response(Self.notFound)
        }
    }

    private static let misdirected =
        "This machine isn't known by that name. Open the address that BeamRoom shows at the host."
    private static let notFound = HTTPResponse(.notFound, sentence: "There is only the page at /.")

    /// Only the page: whatever else was asked for is at the other address, too.
    private func redirect(_ request: HTTPRequest, _ host: String) -> HTTPResponse {
        HTTPResponse(
            .temporaryRedirect, sentence: "Here it goes on by https only.",
            headers: [("Location", "https://\(host)/")])
    }

    /// RFC 6455, 4.2.1.
    private func webSocket(_ request: HTTPRequest, _ host: String, isSecure: Bool) -> Answer {
        guard request.list("upgrade", contains: "websocket"), request.list("connection", contains: "upgrade"),
            let key = request.value("sec-websocket-key"), Self.isKey(key)
        else { return .response(HTTPResponse(.badRequest, sentence: "Here a WebSocket begins.")) }
        guard request.value("sec-websocket-version") == "13" else {
            return .response(
                HTTPResponse(
                    .upgradeRequired, sentence: "This is for WebSocket's version 13.",
                    headers: [("Sec-WebSocket-Version", "13")]))
        }
        // A page of another site could open it otherwise: WebSockets know no same-origin policy.
        let scheme = isSecure ? "https" : "http"
        guard let origin = request.value("origin"), origin.lowercased() == "\(scheme)://\(host)".lowercased() else {
            return .response(HTTPResponse(.forbidden, sentence: "Only this host's own page may connect."))
        }
        return .webSocket(
            HTTPResponse(acceptingWebSocket: Self.accept(key)), agent: request.value("user-agent") ?? "")
    }

    /// 16 bytes in base64.
    private static func isKey(_ key: String) -> Bool {
        key.utf8.count == 24 && key.hasSuffix("==") && Base64.decode(key)?.count == 16
    }

    static func accept(_ key: String) -> String {
        Base64.encode(Insecure.SHA1.hash(data: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }
}
