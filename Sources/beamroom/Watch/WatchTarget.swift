import ArgumentParser
import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire
import Glibc

/// Who to watch: an IP address with or without a port (`192.0.2.7`, `192.0.2.7:52345`, `[2001:db8::7]:52345`,
/// `2001:db8::7`), or a name. A name is sought among the hosts that discovery shows and those that are paired before it
/// is taken for a host name of the network: `desk.v2` and `room:3` may be both.
///
/// What is clearly meant to be an IP address must be one; otherwise a mistyped address would be sought for ever.
struct WatchTarget: Sendable {
    enum Kind: Equatable, Sendable {
        case endpoint(Endpoint)
        /// `address`: where it may be, if no host has this name; nil: the text can't be a host name of a network.
        case name(String, address: Endpoint?)
    }

    static let defaultPort = AddressText.usualPort
    /// In bytes of UTF-8: a DNS name has at most 253, and one of discovery 63.
    private static let longest = 255

    let kind: Kind
    /// As it was typed.
    let text: String
    /// Why the text is no address although it resembles one: a sentence. It is sought as a name.
    let doubt: String?

    init(parsing text: String) throws(WatchTargetError) { try self.init(parsing: text, defaultPort: Self.defaultPort) }

    /// - Parameter defaultPort: where the text names none.
    init(parsing text: String, defaultPort: UInt16) throws(WatchTargetError) {
        self.text = text
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= Self.longest else { throw .tooLong }
        if let rest = Self.withoutScheme(text) { throw .isURL(rest) }
        (kind, doubt) = try Self.parse(text, defaultPort)
    }

    var target: ViewerOptions.Target {
        switch kind {
        case .endpoint(let endpoint): .endpoint(endpoint)
        case .name(let name, let address): .name(name, address: address)
        }
    }

    /// What a text means that is typed in the window.
    static func reading(_ text: String) -> ViewerOptions.AddressReading {
        do throws(WatchTargetError) {
            let target = try WatchTarget(parsing: text)
            return .target(target.target, doubt: target.doubt)
        } catch {
            return .refused(error.windowWords)
        }
    }

    /// Where it may be by what was typed alone; nil: it can only be found by its name.
    var address: Endpoint? {
        switch kind {
        case .endpoint(let endpoint): endpoint
        case .name(_, let address): address
        }
    }

    /// Whether both are certainly the same host. (One host may have several addresses and names.)
    func isSame(as other: WatchTarget) -> Bool {
        if case (.name(let one, _), .name(let another, _)) = (kind, other.kind), DeviceNames.areSame(one, another) {
            return true
        }
        guard let one = address, let another = other.address else { return false }
        return one.host.lowercased() == another.host.lowercased() && one.port == another.port
    }

    private static func parse(
        _ text: String, _ defaultPort: UInt16
    ) throws(WatchTargetError) -> (Kind, doubt: String?) {
        if let bracketed = try bracketed(text, defaultPort) { return (.endpoint(bracketed), nil) }
        if looksLikeV6(text) { return (.endpoint(Endpoint(host: try checked(text), port: defaultPort)), nil) }
        guard let colon = text.lastIndex(of: ":") else {
            if looksLikeV4(text) { return (.endpoint(Endpoint(host: try checked(text), port: defaultPort)), nil) }
            if isNumeric(text), text.contains(".") { return (.name(text, address: nil), doubt(about: text, .notV4)) }
            return (kind(text, host: text, port: defaultPort), nil)
        }
        let (host, rest) = (String(text[..<colon]), text[text.index(after: colon)...])
        let isNumber = !rest.isEmpty && rest.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard !host.isEmpty || !isNumber else { throw .noHost(text) }
        if looksLikeV4(host) { return (.endpoint(Endpoint(host: try checked(host), port: try port(rest))), nil) }
        if isHexadecimal(text), host.contains(":") { return (.name(text, address: nil), doubt(about: text, .notV6)) }
        guard isNumber, isHostName(host) else { return (.name(text, address: nil), nil) }
        guard let port = UInt16(rest), port != 0 else {
            return (.name(text, address: nil), doubt(about: String(rest), .notAPort, in: text))
        }
        return (kind(text, host: host, port: port), nil)
    }

    private static func kind(_ text: String, host: String, port: UInt16) -> Kind {
        let endpoint = isHostName(host) ? Endpoint(host: host, port: port) : nil
        // This machine, whatever others are called.
        if let endpoint, host.lowercased() == "localhost" { return .endpoint(endpoint) }
        return .name(text, address: endpoint)
    }

    /// `[2001:db8::7]`, `[2001:db8::7]:52345`; nil: it isn't in brackets, or what is there is no address.
    private static func bracketed(_ text: String, _ defaultPort: UInt16) throws(WatchTargetError) -> Endpoint? {
        guard text.hasPrefix("[") else { return nil }
        guard let close = text.firstIndex(of: "]") else {
            guard looksLikeV6(String(text.dropFirst())) else { return nil }
            throw .openBracket(text)
        }
        let host = String(text[text.index(after: text.startIndex)..<close])
        let rest = text[text.index(after: close)...]
        guard looksLikeV6(host) else { return nil }
        guard rest.isEmpty || rest.first == ":" else { throw .port(String(rest)) }
        return Endpoint(host: try checked(host), port: rest.isEmpty ? defaultPort : try port(rest.dropFirst()))
    }

    /// The rest of a URL; nil: it isn't one.
    private static func withoutScheme(_ text: String) -> String? {
        guard let mark = text.range(of: "://"), text.first?.isLetter == true,
            text[..<mark.lowerBound].utf8.allSatisfy({
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF)
                    || [UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "-")].contains($0)
            })
        else { return nil }
        return String(text[mark.upperBound...])
    }

    private static func port(_ text: Substring) throws(WatchTargetError) -> UInt16 {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(text), port != 0 else {
            throw .port(String(text))
        }
        return port
    }

    // MARK: What a text resembles

    /// Nothing but hexadecimal digits, colons, dots and a zone.
    private static func isHexadecimal(_ text: String) -> Bool {
        text.prefix { $0 != "%" }.allSatisfy { $0 == ":" || $0 == "." || $0.isASCII && $0.isHexDigit }
    }

    /// The same, with the colons of a whole IPv6 address: two together, or six and more.
    private static func looksLikeV6(_ text: String) -> Bool {
        let address = text.prefix { $0 != "%" }
        return isHexadecimal(text) && (address.contains("::") || address.count { $0 == ":" } >= 6)
    }

    /// Nothing but dots and digits, of which there are some.
    private static func isNumeric(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) } && text.contains { $0 != "." }
    }

    /// The same, with four numbers or more. (`2.0` and `1.2.3` are versions of something as well.)
    private static func looksLikeV4(_ text: String) -> Bool {
        isNumeric(text) && text.count { $0 == "." } >= 3
    }

    /// A name that the system's resolver can be asked for. It takes a last label that is a number for an old form of an
    /// IPv4 address (`7` for 0.0.0.7), which nobody means.
    private static func isHostName(_ text: String) -> Bool {
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard name.utf8.count <= 253, let last = labels.last else { return false }
        let isNumber = last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.lowercased().hasPrefix("0x")
        return !isNumber
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
            }
    }

    /// The address, if it isn't a malformed one.
    private static func checked(_ host: String) throws(WatchTargetError) -> String {
        guard host.contains(":") else {
            var address = in_addr()
            guard inet_pton(AF_INET, host, &address) == 1 else { throw .notV4(host) }
            return host
        }
        let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(parts[0]), &address) == 1 else { throw .notV6(host) }
        let isLinkLocal = withUnsafeBytes(of: &address) { $0[0] == 0xFE && $0[1] & 0xC0 == 0x80 }
        guard !isLinkLocal || parts.count == 2 && !parts[1].isEmpty else { throw .noZone(host) }
        return host
    }

    private enum Doubt { case notV4, notV6, notAPort }

    private static func doubt(about part: String, _ doubt: Doubt, in text: String? = nil) -> String {
        let reason =
            switch doubt {
            case .notV4: "isn't an IPv4 address, which takes four numbers, as in 192.0.2.7"
            case .notV6: "isn't an IPv6 address, as 2001:db8::7 is"
            case .notAPort: "isn't a port, which is a number from 1 to 65535"
            }
        return "\(part) \(reason). So a host called “\(PeerText.name(text ?? part))” is looked for."
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

    /// For the window, where no command is typed.
    var windowWords: String {
        if case .isURL(let rest) = self { "Give the host alone, without the scheme: \(rest)" } else { description }
    }

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
            "\(host) is valid on one network only. Name this machine's interface to it: \(host)%eth0 (`ip link` lists them)."
        }
    }
}
