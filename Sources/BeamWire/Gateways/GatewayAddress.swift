/// Where a gateway's WebSocket API is: `wss://HOST[:PORT][/PATH]`, or `ws://` for this machine itself.
public struct GatewayAddress: Sendable, Hashable, CustomStringConvertible {
    /// Why a text isn't one, for a person: the end of a sentence.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    public let isSecure: Bool
    /// A name, or an address without brackets.
    public let host: String
    public let port: UInt16
    /// Begins with a slash.
    public let path: String

    /// In bytes, of the whole address.
    static let longest = 512

    /// - Throws: `Failure`.
    public init(_ text: String) throws(Failure) {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Failure(description: "it is too long, or has characters that no address has")
        }
        let lower = text.lowercased()
        isSecure = lower.hasPrefix("wss://")
        guard isSecure || lower.hasPrefix("ws://") else {
            throw Failure(description: "it has to begin with wss://")
        }
        let rest = text.dropFirst(isSecure ? 6 : 5)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let tail = rest[authority.endIndex...]
        // It becomes a part of a request, and of the page's content policy.
        guard tail.isEmpty || tail.first == "/", tail.utf8.allSatisfy(Self.isPathByte) else {
            throw Failure(description: "its path has characters that don't belong there")
        }
        path = tail.isEmpty ? "/" : String(tail)
        (host, port) = try Self.read(authority, usualPort: isSecure ? 443 : 80)
        guard isSecure || isLoopback else {
            throw Failure(
                description:
                    "without encryption (ws://) only this machine itself is reached, as 127.0.0.1 or localhost; "
                    + "use wss://")
        }
    }

    private static func read(_ authority: Substring, usualPort: UInt16) throws(Failure) -> (String, UInt16) {
        var host = authority
        var rest = authority[authority.endIndex...]
        if authority.first == "[" {
            host = authority.dropFirst().prefix { $0 != "]" }
            guard authority[host.endIndex...].first == "]", host.contains(":"),
                host.allSatisfy({ ":.".contains($0) || $0.isHexDigit })
            else { throw Failure(description: "what is in brackets isn't an IPv6 address") }
            rest = authority[host.endIndex...].dropFirst()
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            rest = authority[colon...]
        }
        let isName = authority.first == "[" || host.utf8.allSatisfy(isNameByte)
        guard !host.isEmpty, host.utf8.count <= 253, isName else {
            throw Failure(description: "it has no name or address of a machine")
        }
        guard !rest.isEmpty else { return (String(host), usualPort) }
        guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else {
            throw Failure(description: "its port isn't a number from 1 to 65535")
        }
        return (String(host), port)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
    }

    private static func isPathByte(_ byte: UInt8) -> Bool { isNameByte(byte) || "/_~%+=".utf8.contains(byte) }

    /// It is this machine.
    public var isLoopback: Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isV4 = parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        return isV4 || host == "::1" || host.lowercased() == "localhost"
    }

    /// As *Host* of a request, and in a content policy.
    public var authority: String {
        let isV6 = host.contains(":")
        let usual = isSecure ? 443 : 80
        return (isV6 ? "[\(host)]" : host) + (Int(port) == usual ? "" : ":\(port)")
    }

    /// Scheme, host and port: what a page's content policy allows.
    public var origin: String { (isSecure ? "wss://" : "ws://") + authority }

    public var description: String { origin + (path == "/" ? "" : path) }
}
