import BeamMedia
import BeamSession
import Foundation

/// What a host tells all pages.
public enum PageNotice: Sendable, Hashable {
    /// Nothing is shared at present; or something is, whose first picture follows.
    case idle
    case shared
    case paused
    case resumed
    /// Whether what is shared can be seen.
    case sourceVisibility(SourceVisibility)
    /// Only pages on https get it: a WebSocket on http can be read. Empty: the last caption is over.
    case caption(String)
    /// The same. `sender` is nil for the host's person.
    case note(sender: String?, String)
}

/// What a host sends to a page: JSON in text messages of the WebSocket.
enum HostMessage {
    /// That wasn't the code. The page may send another one after the pause.
    case no(pause: Duration?)
    /// The person is being asked.
    case wait
    /// It may watch. `token`: by which the page can come again when its socket is lost; on https only.
    case admitted(token: String?)
    case offer(sdp: String)
    /// The page gets the stream by a gateway. The host's WebSocket stays: by it the page keeps its place.
    case gateway(GatewayEntry)
    /// Another token for the gateway, and the relays on the way there, before the last ones end.
    case gatewayRenewed(GatewayEntry)
    /// Units follow, of which the first is a keyframe. `description`: an AVCDecoderConfigurationRecord (ISO/IEC 14496-15,
    /// 5.3.3.1).
    case stream(codec: String, description: [UInt8], PixelSize, sound: Bool)
    /// The page has come again by its token: what it shows goes on.
    case resumed
    /// Its token is unknown by now.
    case expired
    /// The browser can't show the stream in a way that this host has for it.
    case unusable
    /// The stream has broken off; the page may begin anew. A sentence without a full stop.
    case failed(reason: String)
    /// The size of the pictures; what a browser shows may be one column or row larger.
    case size(PixelSize)
    case notice(PageNotice)
    case refused(BrowserRefusal, reason: String)
    case ping

    var bytes: [UInt8] {
        var fields: [String: JSONValue] = [:]
        let type: String
        switch self {
        case .no(let pause):
            type = "no"
            fields["pause"] = pause.map { .integer(Int(clamping: ($0.inSeconds).rounded(.up))) }
        case .wait: type = "wait"
        case .admitted(let token):
            type = "in"
            fields["token"] = token.map { .string($0) }
        case .offer(let sdp):
            type = "offer"
            fields["sdp"] = .string(sdp)
        case .gateway(let entry):
            type = "gateway"
            fields = [
                "url": .string(entry.url), "id": .integer(entry.id), "pin": .string(entry.pin),
                "token": entry.token.map { .string($0) } ?? .null, "relays": entry.relays?.fields ?? .null,
            ]
        case .gatewayRenewed(let entry):
            type = "renewed"
            fields = ["token": entry.token.map { .string($0) } ?? .null, "relays": entry.relays?.fields ?? .null]
        case .stream(let codec, let description, let size, let sound):
            type = "stream"
            fields = [
                "codec": .string(codec), "description": .string(Base64.encode(description)),
                "w": .integer(size.width), "h": .integer(size.height), "sound": .bool(sound),
            ]
        case .resumed: type = "again"
        case .expired: type = "expired"
        case .unusable: type = "unusable"
        case .failed(let reason):
            type = "failed"
            fields["reason"] = .string(reason)
        case .size(let size):
            type = "size"
            fields = ["w": .integer(size.width), "h": .integer(size.height)]
        case .notice(let notice): (type, fields) = Self.fields(of: notice)
        case .refused(let why, let reason):
            switch why {
            case .sentAway: type = "kicked"
            case .ended: type = "ended"
            case .declined, .unanswered, .closed, .busy, .manyHere, .away, .violation: type = "refused"
            }
            fields = ["why": .string(why.rawValue), "reason": .string(reason)]
        case .ping: type = "ping"
        }
        fields["t"] = .string(type)
        return Self.encoded(.object(fields))
    }

    private static func fields(of notice: PageNotice) -> (String, [String: JSONValue]) {
        switch notice {
        case .idle: ("idle", [:])
        case .shared: ("shared", [:])
        case .paused: ("paused", [:])
        case .resumed: ("resumed", [:])
        case .sourceVisibility(let visibility): ("visibility", ["what": .string("\(visibility)")])
        case .caption(let text): ("caption", ["text": .string(text)])
        case .note(let sender, let text):
            ("note", ["from": sender.map { .string($0) } ?? .null, "text": .string(text)])
        }
    }

    private static func encoded(_ value: JSONValue) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and whole numbers can always be encoded.
        return (try? encoder.encode(value)).map(Array.init) ?? []
    }
}
