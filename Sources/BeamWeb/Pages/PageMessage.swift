import BeamSession
import BeamWire

/// What a page sends: JSON in text messages of the WebSocket.
enum PageMessage: Equatable {
    /// `forms`: how it can show the stream, what it prefers first.
    case hello(code: PairingCode?, forms: [StreamForm])
    /// It comes again after its socket was lost.
    case resume(token: String)
    case answer(sdp: String)
    /// The newest unit that it has drawn, or decoded.
    case drawn(UInt32)
    /// The person has turned the sound on or off. By packets only: a page that gets units holds its pictures itself.
    case sound(isOn: Bool)
    /// It shows the picture that comes by a gateway, or doesn't any more.
    case watching(isOn: Bool)
    case pong

    /// How a browser gets the stream.
    enum StreamForm: String, Equatable {
        /// WebRTC: RTP packets over DTLS-SRTP.
        case packets = "webrtc"
        /// WebCodecs: whole access units in the WebSocket.
        case units = "codecs"
    }

    /// Why a message is refused; ends the connection.
    enum Refusal: String, Error {
        case notJSON = "a message isn't a JSON object"
        case unknownType = "a message has an unknown type"
        case version = "the page is of another version; load it again"
        case badField = "a message's field is missing or has an unusable value"
    }

    static let version = 1
    /// In bytes: of a message, and of a session description (its parser has limits of its own).
    static let mostBytes = 16 << 10
    private static let mostForms = 8

    /// Unknown fields are ignored.
    static func read(_ text: ArraySlice<UInt8>) throws(Refusal) -> PageMessage {
        guard let members = (try? JSONScanner.object(text)) ?? nil, case .string(let type) = members["t"] else {
            throw .notJSON
        }
        switch type {
        case "hello": return try hello(members, text)
        case "resume":
            guard case .string(let token) = members["token"], token.utf8.count <= 64 else { throw .badField }
            return .resume(token: token)
        case "answer":
            guard case .string(let sdp) = members["sdp"] else { throw .badField }
            return .answer(sdp: sdp)
        case "drawn":
            guard case .number(let number?) = members["n"], let unit = UInt32(exactly: number) else { throw .badField }
            return .drawn(unit)
        case "sound":
            guard case .bool(let isOn) = members["on"] else { throw .badField }
            return .sound(isOn: isOn)
        case "watching":
            guard case .bool(let isOn) = members["on"] else { throw .badField }
            return .watching(isOn: isOn)
        case "pong": return .pong
        default: throw .unknownType
        }
    }

    private static func hello(
        _ members: [String: JSONScanner.Member], _ text: ArraySlice<UInt8>
    ) throws(Refusal) -> PageMessage {
        guard members["v"] == .number(version) else { throw .version }
        var code: PairingCode?
        switch members["code"] {
        case nil, .null: break
        case .string(let typed):
            guard let digits = PairingCode(typed) else { throw .badField }
            code = digits
        default: throw .badField
        }
        let texts = (try? JSONScanner.texts(text)) ?? nil
        let names = texts?["can"].flatMap { (try? JSONScanner.strings($0, atMost: mostForms)) ?? nil }
        guard let names else { throw .badField }
        return .hello(code: code, forms: names.compactMap { StreamForm(rawValue: $0) })
    }
}
