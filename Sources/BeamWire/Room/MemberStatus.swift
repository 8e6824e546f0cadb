import BeamMedia

/// What a member says of itself at the moment: with whom it has a link, what it shares, which messages it has. Signed, and
/// passed on from member to member; the newest replaces the one before (link-state routing, as OSPF has it, RFC 2328).
package struct MemberStatus: Hashable, Sendable {
    package struct Flags: OptionSet, Hashable, Sendable {
        package var rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let isSharing = Flags(rawValue: 1 << 0)
        package static let isPaused = Flags(rawValue: 1 << 1)
        /// The program ends: the member isn't here any more.
        package static let isLeaving = Flags(rawValue: 1 << 2)
        /// It knows the room's code, and can keep it. (Members before 2026-11-25 have a code each.)
        package static let keepsCode = Flags(rawValue: 1 << 3)
        /// Somebody is asked there about newcomers. (Members before 2026-11-26 don't say it.)
        package static let asksPerson = Flags(rawValue: 1 << 4)
    }

    /// Of the member.
    package var publicKey: [UInt8]
    /// Of its program, as in its log.
    package var run: UInt64
    /// Greater in each later status, also of a later run: it begins with the room's age in milliseconds.
    package var counter: UInt64
    package var flags: Flags
    /// To which others seal messages that are for this member only: a P-256 public key (SEC 1, uncompressed point).
    package var sealingKey: [UInt8]
    /// Where its control port can be reached.
    package var addresses: [NetworkAddress]
    /// The members with which it has a link.
    package var links: [DeviceKey]
    /// The newest entry that it has of those who have sent messages lately.
    package var received: [LogAuthor: UInt32]
    /// What it calls itself; empty: it doesn't say. It counts before the names under which others have let it in.
    package var name = ""
    package var signature: [UInt8] = []

    static let sealingKeyLength = 65

    /// What is signed.
    package func signed(room: [UInt8]) -> [UInt8] { Array("BeamRoom 2 status".utf8) + [0] + room + publicKey + fields }

    private var fields: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: run)
        bytes.append(bigEndian: counter)
        bytes.append(flags.rawValue)
        bytes += sealingKey
        bytes.append(UInt8(clamping: addresses.count))
        for address in addresses {
            switch address.ip {
            case .v4(let bits):
                bytes.append(4)
                bytes.append(bigEndian: bits)
            case .v6(let high, let low, _):
                bytes.append(6)
                bytes.append(bigEndian: high)
                bytes.append(bigEndian: low)
            }
            bytes.append(bigEndian: address.port)
        }
        bytes.append(UInt8(clamping: links.count))
        for link in links { bytes += link.bytes }
        bytes.append(UInt8(clamping: received.count))
        for (author, number) in received.sorted(by: { Self.precedes($0.key, $1.key) }) {
            bytes += author.device.bytes
            bytes.append(bigEndian: author.run)
            bytes.append(bigEndian: number)
        }
        bytes.append(UInt8(clamping: name.utf8.count))
        bytes += name.utf8
        return bytes
    }

    /// One order everywhere, because the bytes are signed.
    private static func precedes(_ one: LogAuthor, _ other: LogAuthor) -> Bool {
        one.run == other.run
            ? one.device.bytes.lexicographicallyPrecedes(other.device.bytes) : one.run < other.run
    }

    /// As it is sent.
    package var bytes: [UInt8] { SignedFields.bytes(publicKey: publicKey, signature: signature, fields: fields) }

    /// Reads one status; nil if the bytes aren't one. Its signature isn't checked.
    package init?(_ reader: inout BigEndianReader) {
        guard let signed = SignedFields.read(&reader) else { return nil }
        var fields = signed.fields
        guard let run: UInt64 = fields.integer(), let counter: UInt64 = fields.integer(),
            let flags: UInt8 = fields.integer(), let sealingKey = fields.bytes(Self.sealingKeyLength),
            let addresses = Self.addresses(&fields), let links = Self.links(&fields),
            let received = Self.received(&fields), let name = Self.name(&fields), fields.rest.isEmpty
        else { return nil }
        publicKey = signed.publicKey
        signature = signed.signature
        self.run = run
        self.counter = counter
        self.flags = Flags(rawValue: flags)
        self.sealingKey = Array(sealingKey)
        self.addresses = addresses
        self.links = links
        self.received = received
        self.name = name
    }

    /// Cleaned and cut as it is shown, or empty; nil if the bytes aren't that.
    private static func name(_ reader: inout BigEndianReader) -> String? {
        guard let text = reader.counted(by: UInt8.self).flatMap({ String(validating: $0, as: UTF8.self) }),
            text.isEmpty || text == PeerText.name(text)
        else { return nil }
        return text
    }

    private static func addresses(_ reader: inout BigEndianReader) -> [NetworkAddress]? {
        guard let count: UInt8 = reader.integer(), count <= MeshLimits.statusAddresses else { return nil }
        var addresses: [NetworkAddress] = []
        for _ in 0..<count {
            guard let family: UInt8 = reader.integer() else { return nil }
            let ip: IPAddress
            switch family {
            case 4:
                guard let bits: UInt32 = reader.integer() else { return nil }
                ip = .v4(bits)
            case 6:
                guard let bytes = reader.bytes(16) else { return nil }
                // The scope is a number of the other machine.
                ip = IPAddress(v6Bytes: Array(bytes), scope: 0)
            default: return nil
            }
            guard let port: UInt16 = reader.integer(), port != 0 else { return nil }
            addresses.append(NetworkAddress(ip: ip, port: port))
        }
        return addresses
    }

    private static func links(_ reader: inout BigEndianReader) -> [DeviceKey]? {
        guard let count: UInt8 = reader.integer(), count <= MeshLimits.statusLinks else { return nil }
        var links: [DeviceKey] = []
        for _ in 0..<count {
            guard let device = reader.bytes(DeviceKey.length).flatMap({ DeviceKey(Array($0)) }) else { return nil }
            links.append(device)
        }
        return links
    }

    private static func received(_ reader: inout BigEndianReader) -> [LogAuthor: UInt32]? {
        guard let count: UInt8 = reader.integer(), count <= MeshLimits.statusAuthors else { return nil }
        var received: [LogAuthor: UInt32] = [:]
        for _ in 0..<count {
            guard let device = reader.bytes(DeviceKey.length).flatMap({ DeviceKey(Array($0)) }),
                let run: UInt64 = reader.integer(), let number: UInt32 = reader.integer()
            else { return nil }
            received[LogAuthor(device: device, run: run)] = number
        }
        return received
    }
}

extension MemberStatus {
    package init(
        run: UInt64, counter: UInt64, flags: Flags, sealingKey: [UInt8], addresses: [NetworkAddress],
        links: [DeviceKey], received: [LogAuthor: UInt32], name: String = "", room: [UInt8], signing: LogSigning
    ) {
        publicKey = signing.publicKey
        self.run = run
        self.counter = counter
        self.flags = flags
        self.sealingKey = sealingKey
        self.addresses = addresses
        self.links = links
        self.received = received
        self.name = name
        signature = signing.sign(signed(room: room))
    }
}
