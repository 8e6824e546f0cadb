/// A request to Janus, in JSON, as one text message of its WebSocket API. Everything in it is this host's own.
public enum JanusRequest: Sendable, Hashable {
    case createSession
    case attach(session: Int)
    /// Makes the mountpoint. `isLocal`: the gateway takes its packets from this machine only.
    case create(Handle, GatewayMountpoint, GatewayKey, hasSound: Bool, isLocal: Bool)
    /// How many watch, and that it is still there.
    case info(Handle, GatewayMountpoint)
    case destroy(Handle, GatewayMountpoint)
    case destroySession(session: Int)

    /// The streaming plugin, in a session.
    public struct Handle: Sendable, Hashable {
        public var session: Int
        public var handle: Int

        public init(session: Int, handle: Int) {
            self.session = session
            self.handle = handle
        }
    }

    public static let plugin = "janus.plugin.streaming"
    /// The subprotocol of the WebSocket.
    public static let subprotocol = "janus-protocol"

    /// - Parameters:
    ///   - transaction: comes back in the answer.
    ///   - token: for a gateway that asks for one.
    ///   - adminKey: the streaming plugin's, which it may want before it makes a mountpoint.
    public func text(transaction: String, token: String?, adminKey: String?) -> String {
        var members: [(String, JSONText)]
        switch self {
        case .createSession: members = [("janus", .string("create"))]
        case .attach(let session):
            members = [
                ("janus", .string("attach")), ("session_id", .integer(session)), ("plugin", .string(Self.plugin)),
            ]
        case .destroySession(let session):
            members = [("janus", .string("destroy")), ("session_id", .integer(session))]
        case .create(let handle, let point, let key, let hasSound, let isLocal):
            members = Self.message(
                handle, Self.creation(point, key, hasSound: hasSound, isLocal: isLocal, adminKey: adminKey))
        case .info(let handle, let point): members = Self.message(handle, Self.body("info", point))
        case .destroy(let handle, let point): members = Self.message(handle, Self.body("destroy", point))
        }
        members.append(("transaction", .string(transaction)))
        if let token { members.append(("token", .string(token))) }
        return JSONText.object(members).text
    }

    private static func message(_ handle: Handle, _ body: [(String, JSONText)]) -> [(String, JSONText)] {
        [
            ("janus", .string("message")), ("session_id", .integer(handle.session)),
            ("handle_id", .integer(handle.handle)), ("body", .object(body)),
        ]
    }

    private static func body(_ request: String, _ point: GatewayMountpoint) -> [(String, JSONText)] {
        [("request", .string(request)), ("id", .integer(point.id)), ("secret", .string(point.secret))]
    }

    private static func creation(
        _ point: GatewayMountpoint, _ key: GatewayKey, hasSound: Bool, isLocal: Bool, adminKey: String?
    ) -> [(String, JSONText)] {
        let place: [(String, JSONText)] =
            [("port", .integer(0)), ("rtcpport", .integer(0))] + (isLocal ? [("iface", .string("127.0.0.1"))] : [])
        var media: [JSONText] = [
            .object(
                [
                    ("type", .string("video")), ("mid", .string("v")), ("codec", .string("h264")),
                    ("pt", .integer(Int(BrowserSources.videoType))), ("fmtp", .string(SessionOffer.videoFormat)),
                ] + place)
        ]
        if hasSound {
            media.append(
                .object(
                    [
                        ("type", .string("audio")), ("mid", .string("a")), ("codec", .string("opus")),
                        ("pt", .integer(Int(BrowserSources.soundType))),
                    ] + place))
        }
        // Nothing of the host's name: whoever knows the number reads this.
        let all: [(String, JSONText)] =
            body("create", point) + [
                ("type", .string("rtp")), ("description", .string("BeamRoom")), ("is_private", .bool(true)),
                ("permanent", .bool(false)), ("pin", .string(point.pin)), ("srtpsuite", .integer(80)),
                ("srtpcrypto", .string(JSONText.base64(key.bytes))), ("playoutdelay_ext", .bool(true)),
                ("media", .array(media)),
            ]
        return all + (adminKey.map { [("admin_key", .string($0))] } ?? [])
    }
}

/// JSON that this program writes (RFC 8259), in the order in which it is given.
enum JSONText {
    case integer(Int)
    case bool(Bool)
    case string(String)
    case array([JSONText])
    case object([(String, JSONText)])

    var text: String {
        switch self {
        case .integer(let value): String(value)
        case .bool(let value): value ? "true" : "false"
        case .string(let value): Self.quoted(value)
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0) + ":" + $1.text }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                quoted += "\\"
                quoted.unicodeScalars.append(scalar)
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// RFC 4648, 4.
    static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".unicodeScalars)
        var text = String.UnicodeScalarView()
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
            for index in 0..<4 {
                text.append(index <= group.count ? alphabet[bits >> (18 - 6 * index) & 63] : "=")
            }
        }
        return String(text)
    }
}
