import NIOCore
import NIOHTTP1

/// What a request gets. A value without I/O.
struct MetricsAnswer: Equatable {
    enum Body: Equatable {
        /// The metrics, made when they are asked for.
        case metrics
        case sentence(String)
        case page
    }

    var status: HTTPResponseStatus
    var body: Body
    /// Only the headers are sent (RFC 9110, 9.3.2).
    var isHead = false
    /// The methods that there are.
    var allows: String?

    private init(_ status: HTTPResponseStatus, _ body: Body) { (self.status, self.body) = (status, body) }

    /// For what isn't a request that is answered, too long or too slow.
    static func refusal(_ status: HTTPResponseStatus, _ sentence: String) -> Self { Self(status, .sentence(sentence)) }

    /// - Parameter isLoopback: only this machine's programs are served.
    init(_ request: HTTPRequestHead, isLoopback: Bool) {
        self = Self.answer(request, isLoopback: isLoopback)
        isHead = request.method == .HEAD
    }

    private static func answer(_ request: HTTPRequestHead, isLoopback: Bool) -> Self {
        let hosts = request.headers["host"]
        guard hosts.count <= 1, hosts.count == 1 || request.version == .http1_0 else {
            return refusal(.badRequest, "A request has one Host header.")
        }
        // A page of another site can have its name lead to 127.0.0.1 (DNS rebinding). For a browser on this machine, what
        // is served here would then be of that page's origin, which could read it. The browser still sends that name as
        // Host. At another address this protects nothing: whoever reaches that may read the metrics anyway.
        guard !isLoopback || hosts.first.map(isOwn) ?? false else {
            return refusal(.misdirectedRequest, "Here only localhost, 127.0.0.1 and [::1] are known as names.")
        }
        guard request.method == .GET || request.method == .HEAD else {
            var answer = refusal(.methodNotAllowed, "There are only GET and HEAD.")
            answer.allows = "GET, HEAD"
            return answer
        }
        return switch request.uri.prefix(while: { $0 != "?" }) {
        case "/metrics": Self(.ok, .metrics)
        case "/": Self(.ok, .page)
        default: refusal(.notFound, "There is only /metrics.")
        }
    }

    /// Whether the value of a Host header (RFC 9110, 7.2) names the loopback address. The port isn't looked at: it may be
    /// forwarded.
    private static func isOwn(_ host: String) -> Bool {
        guard host.utf8.count <= 64 else { return false }
        let name: Substring
        let rest: Substring
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            name = host[host.index(after: host.startIndex)..<end]
            rest = host[host.index(after: end)...]
        } else {
            name = host.prefix { $0 != ":" }
            rest = host[name.endIndex...]
        }
        let isPort =
            rest.isEmpty || rest.first == ":" && rest.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isPort && (name.lowercased() == "localhost" || MetricsAddress.isLoopback(String(name)))
    }

    static let page = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <title>BeamRoom: metrics</title>
        <p>BeamRoom's figures for Prometheus are at <a href="/metrics">/metrics</a>.
        </html>

        """

    func head(type: String, length: Int) -> HTTPResponseHead {
        var headers = HTTPHeaders([
            ("Content-Type", type), ("Content-Length", String(length)), ("Connection", "close"),
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Content-Security-Policy", "default-src 'none'"),
        ])
        if let allows { headers.add(name: "Allow", value: allows) }
        return HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    }
}
