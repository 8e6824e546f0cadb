import BeamMedia
import BeamWire
import Foundation

/// How browsers get into a host's mountpoint at a gateway.
public struct GatewayDoor: Sendable {
    public let address: GatewayAddress
    private let mountpoint: GatewayMountpoint
    private let credentials: GatewayCredentials

    public init(_ address: GatewayAddress, _ mountpoint: GatewayMountpoint, _ credentials: GatewayCredentials) {
        self.address = address
        self.mountpoint = mountpoint
        self.credentials = credentials
    }

    /// Whether a browser at that address can reach it: a gateway on loopback is there for this machine's own only.
    func isReached(from browser: IPAddress) -> Bool { !address.isLoopback || browser.isLoopback }

    /// What is put behind the address of a page that stands by itself (`beamroom web-page`): who opens that watches, until the
    /// share ends, for a week at most where the gateway asks for tokens.
    public var fragment: String {
        let entry = entry(lasting: credentials.times.link)
        var parts = [("g", String(entry.id)), ("pin", entry.pin)]
        if let token = entry.token { parts.append(("token", token)) }
        if let relays = entry.relays {
            parts += relays.urls.map { ("turn", $0) } + [("user", relays.username), ("key", relays.credential)]
        }
        return "#" + parts.map { "\($0)=\(Self.escaped($1))" }.joined(separator: "&")
    }

    /// RFC 3986, 2.1.
    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }

    /// For a browser that comes now.
    func entry() -> GatewayEntry { entry(lasting: credentials.times.usual) }

    private func entry(lasting time: Int) -> GatewayEntry {
        let date = Int(Date().timeIntervalSince1970)
        return GatewayEntry(
            url: address.description, id: mountpoint.id, pin: mountpoint.pin,
            token: credentials.token(at: date, lasting: time),
            relays: credentials.relays?.entry(at: date, lasting: time))
    }

    /// After which a browser that watches there needs another entry; nil: never.
    var renewal: Duration? { credentials.renews ? credentials.times.renewal : nil }
}

/// What one browser is told. Whoever has it watches, until its token or the share ends.
struct GatewayEntry: Sendable, Hashable {
    var url: String
    var id: Int
    var pin: String
    /// Nil: the gateway wants none.
    var token: String?
    /// By which the browser may reach the gateway.
    var relays: Relays?

    /// An element of `RTCConfiguration.iceServers` (WebRTC 1.0, 4.2.2).
    struct Relays: Sendable, Hashable {
        var urls: [String]
        var username: String
        var credential: String

        var fields: JSONValue {
            .object([
                "urls": .array(urls.map { .string($0) }), "username": .string(username),
                "credential": .string(credential),
            ])
        }
    }
}
