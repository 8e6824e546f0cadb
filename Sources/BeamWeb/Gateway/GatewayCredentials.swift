import Crypto
import Foundation

/// What a gateway wants to know before it does anything: the contents of the file of `--web-gateway-token-file`.
public struct GatewayCredentials: Sendable, Equatable {
    /// Janus' `token_auth_secret`: tokens are made with it, for this host and for each browser (signed mode).
    public var tokenSecret: String?
    /// A token that the gateway knows (stored mode): this host's and all browsers'.
    public var token: String?
    /// The streaming plugin's `admin_key`.
    public var adminKey: String?
    /// For browsers that reach the gateway by nothing else; nil: there are none.
    public var relays: TURNRelays?

    public init(tokenSecret: String? = nil, token: String? = nil, adminKey: String? = nil) {
        self.tokenSecret = tokenSecret
        self.token = token
        self.adminKey = adminKey
    }

    public var hasToken: Bool { tokenSecret != nil || token != nil }

    /// For how long tokens are valid.
    struct TokenTimes: Sendable, Equatable {
        /// Of each browser that the host has let in, in seconds. Janus looks at the token of each request and refuses whose
        /// token has ended, so a page gets another one in time; who was sent away gets none.
        var usual = 600
        /// Of the host's own, each made for one request: a gateway whose clock is wrong refuses the host before it refuses
        /// the browsers, so that the host can say so.
        var own: Int { usual / 2 }
        /// Of one in a link for a page that stands by itself, which nobody can give another one: longer than shares last. It
        /// opens nothing without the mountpoint's PIN, and nothing any more when the share has ended.
        var link = 7 * 24 * 3600

        /// How long a page has a token before it gets the next one.
        var renewal: Duration { .milliseconds(usual * 400) }
    }

    var times = TokenTimes()

    /// What a page was given ends: it has to be given more from time to time.
    var renews: Bool { tokenSecret != nil || relays != nil }

    /// Nil: the gateway wants none.
    ///
    /// - Parameters:
    ///   - date: seconds since 1970.
    ///   - time: in seconds; it has no effect on a token that the gateway knows.
    func token(at date: Int, lasting time: Int) -> String? {
        guard let tokenSecret else { return token }
        // src/auth.c of Janus: expiry, realm, plugins; and HMAC-SHA1 of that.
        let data = "\(date + time),janus,janus.plugin.streaming"
        return data + ":" + Self.signature(of: data, by: tokenSecret)
    }

    /// HMAC-SHA1 in Base64, as Janus and TURN servers have it.
    fileprivate static func signature(of text: String, by secret: String) -> String {
        let key = SymmetricKey(data: Array(secret.utf8))
        return Base64.encode(HMAC<Insecure.SHA1>.authenticationCode(for: Array(text.utf8), using: key))
    }

    // MARK: The file

    /// Why a file can't be used, for a person.
    public struct Failure: Error, CustomStringConvertible, Equatable {
        public let description: String
    }

    /// In bytes.
    private static let longestFile = 16 << 10
    private static let longestValue = 256

    /// - Throws: `Failure`, also if others can read the file.
    public init(file path: String) throws(Failure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw Failure(description: "\(path) can't be read: \(String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(description: "\(path) isn't a file.")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw Failure(
                description: "Other users can read \(path). Run `chmod 600 \(path)`, and change the gateway's secrets.")
        }
        var bytes = [UInt8](repeating: 0, count: Self.longestFile + 1)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0, count <= Self.longestFile, let text = String(validating: bytes.prefix(count), as: UTF8.self)
        else { throw Failure(description: "\(path) isn't a short text.") }
        do throws(Failure) {
            try self.init(text)
        } catch {
            throw Failure(description: "\(path) can't be used: \(error.description)")
        }
    }

    /// Lines such as `token_auth_secret = …`, named as in Janus' own configuration.
    init(_ text: String) throws(Failure) {
        self.init()
        var urls: [String] = []
        var turnSecret: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingSpaces
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 2 ? parts[1].trimmingSpaces : ""
            guard !value.isEmpty, value.utf8.count <= Self.longestValue,
                value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw Failure(
                    description: "each line has a name, an equals sign and a value, as in token_auth_secret = abc.")
            }
            switch parts[0].trimmingSpaces {
            case "token_auth_secret": tokenSecret = value
            case "token": token = value
            case "admin_key": adminKey = value
            case "turn_url": urls.append(value)
            case "turn_secret": turnSecret = value
            default:
                throw Failure(
                    description:
                        "it may name token_auth_secret, token, admin_key, turn_url and turn_secret. (api_secret can't be "
                        + "used: each browser would have to know it.)")
            }
        }
        if !urls.isEmpty || turnSecret != nil { relays = try TURNRelays(urls, secret: turnSecret) }
        guard tokenSecret == nil || token == nil else {
            throw Failure(description: "it has token_auth_secret and token; a gateway takes one of them.")
        }
    }
}

/// TURN servers (RFC 8656) that know a secret, by which each browser is given a name and a password of its own: coturn's
/// `static-auth-secret`.
public struct TURNRelays: Sendable, Equatable {
    /// RFC 7065.
    let urls: [String]
    private let secret: String

    private static let mostURLs = 4

    init(_ urls: [String], secret: String?) throws(GatewayCredentials.Failure) {
        guard let secret, !urls.isEmpty else {
            throw GatewayCredentials.Failure(description: "turn_url and turn_secret go together.")
        }
        guard urls.count <= Self.mostURLs, urls.allSatisfy(Self.isUsable) else {
            throw GatewayCredentials.Failure(
                description: "turn_url takes an address such as turns:turn.example:443?transport=tcp; up to "
                    + "\(Self.mostURLs) of them.")
        }
        (self.urls, self.secret) = (urls, secret)
    }

    /// Browsers refuse all others, and then don't connect at all.
    private static func isUsable(_ url: String) -> Bool {
        let form = /turns?:(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:\?transport=(?:udp|tcp))?/
        guard let match = url.wholeMatch(of: form) else { return false }
        guard let port = match.output.1 else { return true }
        return UInt16(port).map { $0 > 0 } ?? false
    }

    /// What one browser needs to use them for so many seconds; what it has begun by then goes on.
    ///
    /// - Parameters:
    ///   - date: seconds since 1970.
    ///   - number: tells browsers apart that come in the same second.
    func entry(
        at date: Int, lasting time: Int, number: UInt64 = .random(in: 0 ... .max)
    ) -> GatewayEntry.Relays {
        // As coturn's documentation has it: when it ends, and a name.
        let name = "\(date + time):\(String(number, radix: 16))"
        return GatewayEntry.Relays(
            urls: urls, username: name, credential: GatewayCredentials.signature(of: name, by: secret))
    }
}
