import Crypto

/// The beginning of a WebSocket as its client has it (RFC 6455, 4.1).
struct WebSocketRequest {
    let key: String
    let text: String

    /// The longest answer, in bytes.
    static let longestAnswer = 16 << 10

    init(host: String, path: String, subprotocol: String, random: inout some RandomNumberGenerator) {
        key = Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
        text =
            "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: \(subprotocol)\r\n\r\n"
    }

    enum Reading: Equatable {
        case needsMore
        /// `length`: of the answer, in bytes; the WebSocket's first frame may follow.
        case accepted(length: Int)
        /// The end of a sentence.
        case refused(String)
    }

    func read(_ bytes: some Collection<UInt8>) -> Reading {
        let bytes = Array(bytes.prefix(Self.longestAnswer))
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            let isHTTP = zip(bytes, "HTTP/1.1 ".utf8).allSatisfy { $0 == $1 }
            guard isHTTP else { return .refused("it doesn't speak HTTP") }
            return bytes.count < Self.longestAnswer ? .needsMore : .refused("its answer is too long")
        }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let first = lines.first, first.hasPrefix("HTTP/1.1 ") else { return .refused("it doesn't speak HTTP") }
        let status = first.dropFirst(9).prefix(3)
        guard status == "101" else {
            let isNumber = status.utf8.count == 3 && status.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return .refused("it answers \(isNumber ? "with status \(status)" : "strangely") and opens no WebSocket")
        }
        var accepts: [String] = []
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "sec-websocket-accept" else { continue }
            accepts.append(parts[1].trimmingSpaces)
        }
        guard accepts == [WebRouter.accept(key)] else { return .refused("it doesn't speak WebSocket") }
        return .accepted(length: end.upperBound)
    }
}
