import BeamMedia
import Crypto

/// What a member says about who belongs to a room of equals, signed with its identity key: passed on from member to
/// member, it still proves who has said it.
struct MembershipStatement: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        /// The room begins. Its ID is made from the founder's key and the nonce (16 bytes), so nobody else can have
        /// founded it.
        case founded(nonce: [UInt8], room: String, name: String)
        /// The author has let this device in, by its code or by comparison.
        case admitted(publicKey: [UInt8], name: String, era: UInt8)
        /// The author has put the device out: its stays up to `era` are over. Of what it has said as a member only the
        /// statements in `kept` still count.
        case putOut(DeviceKey, era: UInt8, kept: [ID])
    }

    /// The first 16 bytes of the SHA-256 of what is signed. (Not of the signature: ECDSA has several for one text.)
    struct ID: Hashable, Sendable {
        static let length = 16
        var bytes: [UInt8]
    }

    /// Of the author.
    var publicKey: [UInt8]
    /// Which stay of the author in the room this belongs to: a device that was put out and let in again has another one.
    var era: UInt8
    /// Milliseconds since the room began, by its author's clock.
    var milliseconds: UInt64
    var content: Content
    var signature: [UInt8]

    static let nonceLength = 16

    init(
        _ content: Content, era: UInt8, milliseconds: UInt64, room: [UInt8], signing: RoomSigning
    ) {
        publicKey = signing.publicKey
        self.era = era
        self.milliseconds = milliseconds
        self.content = content
        signature = []
        signature = signing.sign(signed(room: room))
    }

    var isFounding: Bool {
        if case .founded = content { true } else { false }
    }

    /// The ID of the room that this device founds with the nonce.
    static func room(founder: DeviceKey, nonce: [UInt8]) -> [UInt8] {
        Array(
            SHA256.hash(data: Array("BeamRoom 2 room".utf8) + [0] + founder.bytes + nonce).prefix(RoomMessage.idLength))
    }

    /// What is signed.
    func signed(room: [UInt8]) -> [UInt8] { Array("BeamRoom 2 member".utf8) + [0] + room + publicKey + fields }

    func id(room: [UInt8]) -> ID { ID(bytes: Array(SHA256.hash(data: signed(room: room)).prefix(ID.length))) }

    // MARK: Bytes

    private enum Kind: UInt8 {
        case founded = 1
        case admitted = 2
        case putOut = 3
    }

    /// u8 kind, u8 era, u64 milliseconds, then what the kind has.
    private var fields: [UInt8] {
        var bytes: [UInt8] = []
        func begin(_ kind: Kind) {
            bytes.append(kind.rawValue)
            bytes.append(era)
            bytes.append(bigEndian: milliseconds)
        }
        switch content {
        case .founded(let nonce, let room, let name):
            begin(.founded)
            bytes += nonce
            bytes.append(UInt8(clamping: room.utf8.count))
            bytes += room.utf8
            bytes.append(UInt8(clamping: name.utf8.count))
            bytes += name.utf8
        case .admitted(let key, let name, let era):
            begin(.admitted)
            bytes += key
            bytes.append(era)
            bytes.append(UInt8(clamping: name.utf8.count))
            bytes += name.utf8
        case .putOut(let device, let era, let kept):
            begin(.putOut)
            bytes += device.bytes
            bytes.append(era)
            bytes.append(UInt8(clamping: kept.count))
            for id in kept { bytes += id.bytes }
        }
        return bytes
    }

    /// As it is sent.
    var bytes: [UInt8] { SignedFields.bytes(publicKey: publicKey, signature: signature, fields: fields) }

    /// Reads one statement; nil if the bytes aren't one. Its signature isn't checked.
    init?(_ reader: inout BigEndianReader) {
        guard let signed = SignedFields.read(&reader) else { return nil }
        var fields = signed.fields
        guard let kind: UInt8 = fields.integer(), let era: UInt8 = fields.integer(),
            let milliseconds: UInt64 = fields.integer(), let content = Self.content(Kind(rawValue: kind), &fields),
            fields.rest.isEmpty
        else { return nil }
        publicKey = signed.publicKey
        signature = signed.signature
        self.era = era
        self.milliseconds = milliseconds
        self.content = content
    }

    private static func content(_ kind: Kind?, _ reader: inout BigEndianReader) -> Content? {
        switch kind {
        case .founded:
            guard let nonce = reader.bytes(nonceLength), let room = name(&reader), let name = name(&reader) else {
                return nil
            }
            return .founded(nonce: Array(nonce), room: room, name: name)
        case .admitted:
            guard let key = reader.bytes(RoomSigning.keyLength), let era: UInt8 = reader.integer(),
                let name = name(&reader)
            else { return nil }
            return .admitted(publicKey: Array(key), name: name, era: era)
        case .putOut:
            guard let device = reader.bytes(DeviceKey.length).flatMap({ DeviceKey(Array($0)) }),
                let era: UInt8 = reader.integer(), let count: UInt8 = reader.integer(),
                count <= MeshLimits.statementsPerAuthor
            else { return nil }
            var kept: [ID] = []
            for _ in 0..<count {
                guard let id = reader.bytes(ID.length) else { return nil }
                kept.append(ID(bytes: Array(id)))
            }
            return .putOut(device, era: era, kept: kept)
        case nil: return nil
        }
    }

    /// Cleaned and cut as it is shown, so that it means the same everywhere; nil if the bytes aren't such a name.
    private static func name(_ reader: inout BigEndianReader) -> String? {
        guard let text = reader.counted(by: UInt8.self).flatMap({ String(validating: $0, as: UTF8.self) }),
            text == PeerText.name(text)
        else { return nil }
        return text
    }
}
