/// The statuses that this server answers with (RFC 9110, 15).
enum HTTPStatus: String, Equatable {
    case switchingProtocols = "101 Switching Protocols"
    case ok = "200 OK"
    case temporaryRedirect = "307 Temporary Redirect"
    case badRequest = "400 Bad Request"
    case forbidden = "403 Forbidden"
    case notFound = "404 Not Found"
    case requestTimeout = "408 Request Timeout"
    case misdirected = "421 Misdirected Request"
    case upgradeRequired = "426 Upgrade Required"
    case headersTooLarge = "431 Request Header Fields Too Large"
    case unavailable = "503 Service Unavailable"
}

/// An answer. Each ends its connection, but for 101: nothing has to be found out about where the next request begins.
struct HTTPResponse: Equatable {
    var status: HTTPStatus
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []

    static func == (a: HTTPResponse, b: HTTPResponse) -> Bool {
        a.status == b.status && a.body == b.body && a.headers.elementsEqual(b.headers, by: ==)
    }

    /// A sentence in a line.
    init(_ status: HTTPStatus, sentence: String, headers: [(name: String, value: String)] = []) {
        self.init(status, type: "text/plain; charset=utf-8", body: Array((sentence + "\n").utf8), headers: headers)
    }

    init(
        _ status: HTTPStatus, type: String, body: [UInt8], headers: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.body = body
        self.headers =
            [
                ("Content-Type", type), ("Content-Length", String(body.count)), ("Connection", "close"),
                ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"),
            ] + headers
    }

    /// Begins a WebSocket (RFC 6455, 4.2.2).
    init(acceptingWebSocket accept: String) {
        status = .switchingProtocols
        headers = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)]
    }

    /// Everything that is sent.
    var bytes: [UInt8] {
        let head =
            "HTTP/1.1 \(status.rawValue)\r\n" + headers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
        return Array(head.utf8) + body
    }
}
