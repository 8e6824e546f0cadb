import BeamMedia
import BeamWire

/// An admitted viewer, as the door knows it. It stays without a control connection as long as hellos arrive on the
/// media plane.
struct Member: Sendable {
    /// How the viewer is identified, by its version.
    enum Peer: Sendable {
        /// By its address and the code that it showed.
        case version1(PairingCode)
        /// By its key; `instance` tells several runs on one device apart.
        case version2(device: DeviceKey, instance: UInt64, name: String)
        /// By its connection; `kind` is what browser it is.
        case browser(kind: String)

        var isVersion1: Bool {
            if case .version1 = self { true } else { false }
        }

        var isBrowser: Bool {
            if case .browser = self { true } else { false }
        }

        var device: DeviceKey? {
            if case .version2(let device, _, _) = self { device } else { nil }
        }

        var instance: UInt64? {
            if case .version2(_, let instance, _) = self { instance } else { nil }
        }

        var name: String? {
            switch self {
            case .version1: nil
            case .version2(_, _, let name): name
            case .browser(let kind): kind
            }
        }
    }

    let id: ViewerID
    /// The session's ID at both ends.
    let session: SessionID
    /// The address of its control connection.
    var address: IPAddress
    var peer: Peer
    let admitted: MediaTime
    var control: ConnectionID?
    /// When its control connection was lost; nil while it has one.
    var controlLost: MediaTime?
    /// Version 2: what its program can do, and the largest pictures that it takes (nil: it doesn't say).
    var features: SecureMessage.Hello.Features = []
    var bounds: PictureBounds?
    /// Version 2: the key that its datagrams are sealed with.
    var key: SealingKey?
    /// When something came from it on a control connection last.
    var lastHeard: MediaTime

    /// For finding the viewer that has been without a connection for longest.
    var disconnectedSince: MediaTime { controlLost ?? admitted }
}

/// A session's ID: a version 4 UUID (RFC 9562, 5.4).
struct SessionID: Hashable, Sendable {
    let bytes: [UInt8]

    init(random: inout some RandomNumberGenerator) {
        let high = random.next() & ~0xF000 | 0x4000
        let low = random.next() & ~(0b11 << 62) | 0b10 << 62
        bytes = [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
    }

    /// From 16 bytes.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count == 16)
        self.bytes = bytes
    }
}

extension SessionID: CustomStringConvertible {
    /// Upper case, in groups of 8, 4, 4, 4 and 12 digits.
    var description: String {
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
        var rest = digits[...]
        return [8, 4, 4, 4, 12].map { count in
            defer { rest = rest.dropFirst(count) }
            return String(rest.prefix(count))
        }.joined(separator: "-")
    }
}
