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

    /// - Parameter names: by which the metrics may be asked for.
    init(_ request: HTTPRequestHead, names: MetricsNames) {
        self = Self.answer(request, names)
        isHead = request.method == .HEAD
    }

    private static func answer(_ request: HTTPRequestHead, _ names: MetricsNames) -> Self {
        let hosts = request.headers["host"]
        guard hosts.count <= 1, hosts.count == 1 || request.version == .http1_0 else {
            return refusal(.badRequest, "A request has one Host header.")
        }
        guard hosts.first.map(names.accept) ?? false else { return refusal(.misdirectedRequest, names.refusal) }
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
