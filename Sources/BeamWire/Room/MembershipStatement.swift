import BeamMedia
import Crypto

/// What a member says about who belongs to a room of equals, signed with its identity key: passed on from member to
/// member, it still proves who has said it.
package struct MembershipStatement: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// The room begins. Its ID is made from the founder's key and the nonce (16 bytes), so nobody else can have
        /// founded it.
        case founded(nonce: [UInt8], room: String, name: String)
        /// The author has let this device in, by its code or by comparison. This begins a stay of the device in the room.
        case admitted(publicKey: [UInt8], name: String)
        /// The author has ended these stays: 1 to `mostEndings`.
        case putOut([Ending])
    }

    /// A stay that is over, and what its device had written by then, as far as the author of the statement knew.
    package struct Ending: Hashable, Sendable {
        package var stay: ID
        /// The newest entry's number of each run of that device's log; at most `mostRuns`.
        package var last: [UInt64: UInt32] = [:]

        package init(stay: ID, last: [UInt64: UInt32] = [:]) {
            self.stay = stay
            self.last = last
        }
    }

    /// The first 16 bytes of the SHA-256 of what is signed. (Not of the signature: ECDSA has several for one text.)
    package struct ID: Hashable, Comparable, Sendable {
        package static let length = 16
        /// Stands for the founder's stay, which no admission begins.
        package static let founder = ID(bytes: [UInt8](repeating: 0, count: length))
        package var bytes: [UInt8]

        package static func < (one: ID, other: ID) -> Bool { one.bytes.lexicographicallyPrecedes(other.bytes) }
    }

    /// Of the author.
    package var publicKey: [UInt8]
    /// The author's stay in the room, named by the admission that began it: a device that was put out and let in again
    /// has another one.
    package var stay: ID
    /// Milliseconds since the room began, by its author's clock.
    package var milliseconds: UInt64
    package var content: Content
    package var signature: [UInt8]

    package static let nonceLength = 16
    /// The stays that one statement ends, and the runs that it names for one of them and for all.
    package static let mostEndings = 8
    package static let mostRuns = 8
    package static let mostRunsInAll = 16
    /// The longest statement in bytes, as it is sent. With names of the greatest length and all runs it is shorter.
    package static let longest = 512

    package init(
        _ content: Content, stay: ID, milliseconds: UInt64, room: [UInt8], signing: LogSigning
    ) {
        publicKey = signing.publicKey
        self.stay = stay
        self.milliseconds = milliseconds
        self.content = content
        signature = []
        signature = signing.sign(signed(room: room))
    }

    package var isFounding: Bool {
        if case .founded = content { true } else { false }
    }

    /// The ID of the room that this device founds with the nonce.
    package static func room(founder: DeviceKey, nonce: [UInt8]) -> [UInt8] {
        Array(
            SHA256.hash(data: Array("BeamRoom 2 room".utf8) + [0] + founder.bytes + nonce).prefix(LogMessage.idLength))
    }

    /// What is signed.
    package func signed(room: [UInt8]) -> [UInt8] {
        Array("BeamRoom 2 member, second form".utf8) + [0] + room + publicKey + fields
    }

    package func id(room: [UInt8]) -> ID { ID(bytes: Array(SHA256.hash(data: signed(room: room)).prefix(ID.length))) }

    // MARK: Bytes

    private enum Kind: UInt8 {
        // 1 to 3 were those of the first form, which names stays by a number.
        case founded = 4
        case admitted = 5
        case putOut = 6
    }

    /// u8 kind, the author's stay, u64 milliseconds, then what the kind has.
    private var fields: [UInt8] {
        var bytes: [UInt8] = []
        func begin(_ kind: Kind) {
            bytes.append(kind.rawValue)
            bytes += stay.bytes
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
        case .admitted(let key, let name):
            begin(.admitted)
            bytes += key
            bytes.append(UInt8(clamping: name.utf8.count))
            bytes += name.utf8
        case .putOut(let endings):
            begin(.putOut)
            bytes.append(UInt8(clamping: endings.count))
            for ending in endings {
                bytes += ending.stay.bytes
                bytes.append(UInt8(clamping: ending.last.count))
                for (run, number) in ending.last.sorted(by: { $0.key < $1.key }) {
                    bytes.append(bigEndian: run)
                    bytes.append(bigEndian: number)
                }
            }
        }
        return bytes
    }

    /// As it is sent.
    package var bytes: [UInt8] { SignedFields.bytes(publicKey: publicKey, signature: signature, fields: fields) }

    /// Reads one statement; nil if the bytes aren't one. Its signature isn't checked.
    package init?(_ reader: inout BigEndianReader) {
        guard let signed = SignedFields.read(&reader) else { return nil }
        var fields = signed.fields
        guard let kind: UInt8 = fields.integer(), let stay = Self.id(&fields),
            let milliseconds: UInt64 = fields.integer(),
            let content = Self.content(Kind(rawValue: kind), &fields), fields.rest.isEmpty
        else { return nil }
        publicKey = signed.publicKey
        signature = signed.signature
        self.stay = stay
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
            guard let key = reader.bytes(LogSigning.keyLength), let name = name(&reader) else { return nil }
            return .admitted(publicKey: Array(key), name: name)
        case .putOut: return endings(&reader).map { .putOut($0) }
        case nil: return nil
        }
    }

    /// Nil too if a stay is named twice, or the runs aren't in order: there is one form of each statement.
    private static func endings(_ reader: inout BigEndianReader) -> [Ending]? {
        guard let count: UInt8 = reader.integer(), (1...mostEndings).contains(Int(count)) else { return nil }
        var endings: [Ending] = []
        var runs = 0
        for _ in 0..<count {
            guard let stay = id(&reader), !endings.contains(where: { $0.stay == stay }),
                let count: UInt8 = reader.integer(), count <= mostRuns
            else { return nil }
            runs += Int(count)
            guard runs <= mostRunsInAll else { return nil }
            var ending = Ending(stay: stay)
            var before: UInt64?
            for _ in 0..<count {
                guard let run: UInt64 = reader.integer(), let number: UInt32 = reader.integer(),
                    before.map({ $0 < run }) ?? true
                else { return nil }
                ending.last[run] = number
                before = run
            }
            endings.append(ending)
        }
        return endings
    }

    private static func id(_ reader: inout BigEndianReader) -> ID? {
        reader.bytes(ID.length).map { ID(bytes: Array($0)) }
    }

    /// Cleaned and cut as it is shown, so that it means the same everywhere; nil if the bytes aren't such a name.
    private static func name(_ reader: inout BigEndianReader) -> String? {
        guard let text = reader.counted(by: UInt8.self).flatMap({ String(validating: $0, as: UTF8.self) }),
            text == PeerText.name(text)
        else { return nil }
        return text
    }
}
