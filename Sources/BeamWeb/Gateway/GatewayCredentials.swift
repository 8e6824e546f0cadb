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

    /// Tokens end: a page has to be given another one from time to time.
    var renewsTokens: Bool { tokenSecret != nil }

    /// Nil: the gateway wants none.
    ///
    /// - Parameters:
    ///   - date: seconds since 1970.
    ///   - time: in seconds; it has no effect on a token that the gateway knows.
    func token(at date: Int, lasting time: Int) -> String? {
        guard let tokenSecret else { return token }
        // src/auth.c of Janus: expiry, realm, plugins; and HMAC-SHA1 of that.
        let data = "\(date + time),janus,janus.plugin.streaming"
        let hash = HMAC<Insecure.SHA1>.authenticationCode(
            for: Array(data.utf8), using: SymmetricKey(data: Array(tokenSecret.utf8)))
        return data + ":" + Base64.encode(hash)
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
            default:
                throw Failure(
                    description:
                        "it may name token_auth_secret, token and admin_key. (api_secret can't be used: each browser "
                        + "would have to know it.)")
            }
        }
        guard tokenSecret == nil || token == nil else {
            throw Failure(description: "it has token_auth_secret and token; a gateway takes one of them.")
        }
    }
}
