/// One line of version 1's control plane: a JSON object, told apart by its keys.
package enum ControlMessage: Hashable, Sendable {
    /// A viewer's first line. The host checks the values, not the parser.
    package struct Handshake: Hashable, Sendable {
        package static let app = "beamroom"
        package static let version = 1
        package static let viewerRole = "viewer"

        package var app: String
        package var version: Int?
        package var role: String?
        package var code: String?

        package init(app: String, version: Int?, role: String?, code: String?) {
            self.app = app
            self.version = version
            self.role = role
            self.code = code
        }

        package init(code: PairingCode) {
            self.init(app: Self.app, version: Self.version, role: Self.viewerRole, code: code.description)
        }
    }

    package struct Reply: Hashable, Sendable {
        package var isAccepted: Bool
        package var session: String?
        package var mediaPort: UInt16?
        package var message: String?
        /// The host's name. BeamRoom's own addition to version 1.
        package var deviceName: String?

        package init(
            isAccepted: Bool, session: String? = nil, mediaPort: UInt16? = nil, message: String? = nil,
            deviceName: String? = nil
        ) {
            self.isAccepted = isAccepted
            self.session = session
            self.mediaPort = mediaPort
            self.message = message
            self.deviceName = deviceName
        }
    }

    case handshake(Handshake)
    case reply(Reply)
    case mediaPort(UInt16)
    case broadcast(Bool)
    case heartbeat
    /// The local port of a viewer's media socket, so that the host knows whose hello is whose. BeamRoom's own addition
    /// to version 1.
    case mediaSource(UInt16)
    /// A line of a later version: ignored.
    case unknown
}

// MARK: - To bytes

extension ControlMessage {
    /// The line with its `\n`; keys in the order of the protocol's description.
    package var line: [UInt8] {
        let text =
            switch self {
            case .handshake(let handshake): Self.text(handshake)
            case .reply(let reply): Self.text(reply)
            case .mediaPort(let port): #"{"udpPort":\#(port)}"#
            case .broadcast(let isOn): #"{"on":\#(isOn)}"#
            case .heartbeat: #"{"hb":1}"#
            case .mediaSource(let port): #"{"mediaSource":\#(port)}"#
            case .unknown: "{}"
            }
        return Array(text.utf8) + [0x0A]
    }

    private static func text(_ handshake: Handshake) -> String {
        var fields = [#""app":"# + quoted(handshake.app)]
        if let version = handshake.version { fields.append(#""ver":\#(version)"#) }
        if let role = handshake.role { fields.append(#""role":"# + quoted(role)) }
        if let code = handshake.code { fields.append(#""code":"# + quoted(code)) }
        return "{" + fields.joined(separator: ",") + "}"
    }

    private static func text(_ reply: Reply) -> String {
        var fields = [#""ok":\#(reply.isAccepted)"#]
        if let session = reply.session { fields.append(#""sessionID":"# + quoted(session)) }
        if let port = reply.mediaPort { fields.append(#""udpPort":\#(port)"#) }
        if let message = reply.message {
            fields.append(#""message":"# + quoted(message))
        } else if reply.isAccepted {
            fields.append(#""message":null"#)
        }
        if let name = reply.deviceName { fields.append(#""deviceName":"# + quoted(name)) }
        return "{" + fields.joined(separator: ",") + "}"
    }

    /// A JSON string (RFC 8259, 7).
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
