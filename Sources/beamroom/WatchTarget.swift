import ArgumentParser
import BeamNetwork
import BeamProtocol
import Glibc

/// Who to watch: `192.0.2.7`, `192.0.2.7:52345`, `[2001:db8::7]:52345`, `2001:db8::7`, `desk.local:52345`, or a name as
/// discovery shows it. What looks like an address must be one; otherwise a mistyped address would be sought for ever.
struct WatchTarget: Sendable {
    enum Kind: Equatable, Sendable {
        case endpoint(Endpoint)
        case name(String)
    }

    static let defaultPort: UInt16 = 52345
    /// In bytes of UTF-8: a DNS name has at most 253, and one of discovery 63.
    private static let longest = 255

    let kind: Kind
    /// As it was typed.
    let text: String

    init(parsing text: String) throws(WatchTargetError) {
        self.text = text
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= Self.longest else { throw .tooLong }
        if let scheme = text.range(of: "://") { throw .isURL(String(text[scheme.upperBound...])) }
        let (host, port) = try Self.split(text)
        if let port {
            kind = .endpoint(Endpoint(host: try Self.checked(host), port: port))
        } else if Self.looksLikeV6(host) || Self.looksLikeV4(host) || Self.isHostName(host) {
            kind = .endpoint(Endpoint(host: try Self.checked(host), port: Self.defaultPort))
        } else {
            kind = .name(text)
        }
    }

    /// Whether both are certainly the same host. (One host may have several addresses and names.)
    func isSame(as other: WatchTarget) -> Bool {
        switch (kind, other.kind) {
        case (.endpoint(let one), .endpoint(let another)):
            one.host.lowercased() == another.host.lowercased() && one.port == another.port
        case (.name(let one), .name(let another)): DeviceNames.areSame(one, another)
        default: false
        }
    }

    /// Separates the port, if there is one.
    private static func split(_ text: String) throws(WatchTargetError) -> (host: String, port: UInt16?) {
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { throw .openBracket(text) }
            let host = String(text[text.index(after: text.startIndex)..<close])
            let rest = text[text.index(after: close)...]
            guard looksLikeV6(host) else { throw .notV6(host) }
            guard rest.isEmpty || rest.first == ":" else { throw .port(String(rest)) }
            return (host, rest.isEmpty ? defaultPort : try port(rest.dropFirst()))
        }
        guard !looksLikeV6(text), let colon = text.lastIndex(of: ":") else { return (text, nil) }
        let (host, rest) = (String(text[..<colon]), text[text.index(after: colon)...])
        guard !host.isEmpty else { throw .noHost(text) }
        // A name from discovery may have a colon in it: `Anna: office`.
        guard !host.contains(where: \.isWhitespace), !rest.contains(where: \.isWhitespace) else { return (text, nil) }
        return (host, try port(rest))
    }

    private static func port(_ text: Substring) throws(WatchTargetError) -> UInt16 {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(text), port != 0 else {
            throw .port(String(text))
        }
        return port
    }

    /// Two colons or more, and nothing but hexadecimal digits, dots and a zone.
    private static func looksLikeV6(_ text: String) -> Bool {
        let address = text.prefix { $0 != "%" }
        return address.filter { $0 == ":" }.count >= 2
            && address.allSatisfy { $0 == ":" || $0 == "." || $0.isHexDigit }
    }

    /// Nothing but digits and dots, at least one of each.
    private static func looksLikeV4(_ text: String) -> Bool {
        text.contains(".") && text.contains(where: \.isNumber)
            && text.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }

    /// A name for the system's resolver.
    private static func isHostName(_ text: String) -> Bool {
        text == "localhost" || text.contains(".") && !text.contains(where: \.isWhitespace)
    }

    /// The host, if it isn't a malformed address.
    private static func checked(_ host: String) throws(WatchTargetError) -> String {
        if looksLikeV6(host) {
            let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
            var address = in6_addr()
            guard inet_pton(AF_INET6, String(parts[0]), &address) == 1 else { throw .notV6(host) }
            let isLinkLocal = withUnsafeBytes(of: &address) { $0[0] == 0xFE && $0[1] & 0xC0 == 0x80 }
            guard !isLinkLocal || parts.count == 2 && !parts[1].isEmpty else { throw .noZone(host) }
        } else if looksLikeV4(host) {
            var address = in_addr()
            guard inet_pton(AF_INET, host, &address) == 1 else { throw .notV4(host) }
        } else if host.contains(where: { $0.isWhitespace || $0 == "/" }) {
            throw .notAHost(host)
        }
        return host
    }
}

/// Why a text names no host, and what to write.
enum WatchTargetError: Error, CustomStringConvertible {
    case empty
    case tooLong
    /// The text without its scheme.
    case isURL(String)
    case openBracket(String)
    case noHost(String)
    case port(String)
    case notV4(String)
    case notV6(String)
    case noZone(String)
    case notAHost(String)

    var description: String {
        switch self {
        case .empty: "Name a host: its name, or its address, as in 192.0.2.7."
        case .tooLong: "A host's name or address has at most 255 bytes."
        case .isURL(let rest): "Give the host alone, without the scheme: `beamroom watch \(rest)`."
        case .openBracket(let text): "\(text) lacks a closing bracket. Write [2001:db8::7]:52345."
        case .noHost(let text): "\(text) names no host before the colon. Write 192.0.2.7:52345."
        case .port(let port): "“\(port)” isn't a port. Write a number from 1 to 65535 after the colon, or leave it out."
        case .notV4(let host): "\(host) isn't an IPv4 address: it takes four numbers from 0 to 255, as in 192.0.2.7."
        case .notV6(let host): "\(host) isn't an IPv6 address, as 2001:db8::7 is."
        case .noZone(let host):
            "\(host) is valid on one network only. Name the interface to it: \(host)%eth0 (`ip link` lists them)."
        case .notAHost(let host): "“\(host)” isn't an address or a host name."
        }
    }
}
