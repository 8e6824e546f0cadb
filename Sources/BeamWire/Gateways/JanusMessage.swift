/// What Janus sends: an answer to a request, or an event. A gateway isn't trusted more than any other peer: everything is
/// bounded, and what isn't needed is dropped.
public struct JanusMessage: Sendable, Hashable {
    public enum Content: Sendable, Hashable {
        /// A session or a handle was made.
        case made(id: Int)
        /// Of the streaming plugin.
        case created(GatewayPorts)
        case info(viewers: Int)
        case destroyed
        /// Refused by Janus itself, or by the plugin. `reason` is cleaned; it may be empty.
        case refused(Refusal)
        /// The session has ended at the gateway.
        case sessionOver
        /// What this host doesn't wait for.
        case other
    }

    public struct Refusal: Sendable, Hashable {
        public var isPlugin: Bool
        public var code: Int
        public var reason: String

        public init(isPlugin: Bool, code: Int, reason: String) {
            self.isPlugin = isPlugin
            self.code = code
            self.reason = reason
        }

        /// Janus' own codes, and the streaming plugin's (of version 1.1.2).
        public static let unauthorised = 403
        public static let unauthorisedPlugin = 405
        public static let noSession = 458
        public static let noHandle = 459
        public static let noPlugin = 460
        public static let missingElement = 453
        public static let noMountpoint = 455
        public static let wrongKey = 457
    }

    /// Why a message can't be read; it ends the connection.
    public struct Malformed: Error, Hashable, Sendable {}

    public var transaction: String?
    public var content: Content

    /// Longer messages aren't read, in bytes.
    public static let longest = 64 << 10
    /// More viewers than that nobody has.
    static let mostViewers = 1_000_000
    private static let mostMedia = 8

    public init(_ text: ArraySlice<UInt8>) throws(Malformed) {
        guard text.count <= Self.longest, let members = (try? JSONScanner.object(text)) ?? nil,
            let texts = (try? JSONScanner.texts(text)) ?? nil, case .string(let kind) = members["janus"]
        else { throw Malformed() }
        if case .string(let own) = members["transaction"], own.utf8.count <= 64 { transaction = own }
        switch kind {
        case "success":
            if let plugin = texts["plugindata"] {
                content = try Self.plugin(plugin)
            } else if let data = texts["data"], let id = try Self.object(data)["id"] {
                content = .made(id: try Self.id(id))
            } else {
                content = .other
            }
        case "error":
            guard let error = texts["error"] else { throw Malformed() }
            let fields = try Self.object(error)
            content = .refused(Self.refusal(fields["code"], fields["reason"], isPlugin: false))
        case "timeout": content = .sessionOver
        default: content = .other
        }
    }

    private static func object(_ text: ArraySlice<UInt8>) throws(Malformed) -> [String: JSONScanner.Member] {
        guard let members = (try? JSONScanner.object(text)) ?? nil else { throw Malformed() }
        return members
    }

    private static func texts(_ text: ArraySlice<UInt8>) throws(Malformed) -> [String: ArraySlice<UInt8>] {
        guard let texts = (try? JSONScanner.texts(text)) ?? nil else { throw Malformed() }
        return texts
    }

    private static func id(_ member: JSONScanner.Member) throws(Malformed) -> Int {
        guard case .number(let id?) = member, id > 0 else { throw Malformed() }
        return id
    }

    private static func refusal(
        _ code: JSONScanner.Member?, _ reason: JSONScanner.Member?, isPlugin: Bool
    ) -> Refusal {
        var refusal = Refusal(isPlugin: isPlugin, code: 0, reason: "")
        if case .number(let number?) = code { refusal.code = min(max(number, 0), 99_999) }
        if case .string(let words) = reason { refusal.reason = PeerText.sentence(words) }
        return refusal
    }

    // MARK: The streaming plugin

    private static func plugin(_ text: ArraySlice<UInt8>) throws(Malformed) -> Content {
        guard let data = try texts(text)["data"] else { throw Malformed() }
        let (members, parts) = (try object(data), try texts(data))
        if members["error_code"] != nil {
            return .refused(refusal(members["error_code"], members["error"], isPlugin: true))
        }
        switch members["streaming"] {
        case .string("created"):
            guard let stream = parts["stream"], let ports = try texts(stream)["ports"] else { throw Malformed() }
            return .created(try Self.ports(ports))
        case .string("info"):
            guard let info = parts["info"] else { throw Malformed() }
            guard case .number(let viewers?) = try object(info)["viewers"] ?? .number(0) else { throw Malformed() }
            return .info(viewers: min(max(viewers, 0), mostViewers))
        case .string("destroyed"): return .destroyed
        default: return .other
        }
    }

    private static func ports(_ text: ArraySlice<UInt8>) throws(Malformed) -> GatewayPorts {
        guard let media = (try? JSONScanner.elements(text, atMost: mostMedia)) ?? nil else { throw Malformed() }
        var found: [String: (UInt16, UInt16)] = [:]
        for one in media {
            let fields = try object(one)
            guard case .string(let kind) = fields["type"], let media = port(fields["port"]),
                let control = port(fields["rtcp_port"]), found.updateValue((media, control), forKey: kind) == nil
            else { throw Malformed() }
        }
        guard let video = found["video"] else { throw Malformed() }
        let sound = found["audio"]
        return GatewayPorts(
            video: video.0, videoControl: video.1, sound: sound?.0, soundControl: sound?.1)
    }

    private static func port(_ member: JSONScanner.Member?) -> UInt16? {
        guard case .number(let number?) = member, let port = UInt16(exactly: number), port > 0 else { return nil }
        return port
    }
}
