import BeamMedia

/// A question of a newcomer, and what came of it.
package struct QuestionErrand: Hashable, Sendable {
    package enum What: UInt8, Sendable {
        /// From the door: a newcomer asks (`name`, `address`).
        case asked = 0
        /// From the door, to who has agreed: the digits (`name`).
        case digits = 1
        /// From the door: the newcomer is gone.
        case withdrawn = 2
        /// From the door: the member called `name` has answered.
        case taken = 3
        /// To the door.
        case yes = 4
        case no = 5
    }

    package var from: DeviceKey
    package var to: DeviceKey
    /// Members that may still pass it on.
    package var hops: UInt8 = CodeErrand.mostHops
    /// Chosen by the door.
    package var number: UInt64
    package var what: What
    package var isNamesake = false
    package var name = ""
    package var address: IPAddress?

    package init(
        from: DeviceKey, to: DeviceKey, hops: UInt8 = CodeErrand.mostHops, number: UInt64, what: What,
        isNamesake: Bool = false, name: String = "", address: IPAddress? = nil
    ) {
        self.from = from
        self.to = to
        self.hops = hops
        self.number = number
        self.what = what
        self.isNamesake = isNamesake
        self.name = name
        self.address = address
    }

    /// The longest text in bytes.
    package static let longestText = 128
}

extension MeshMessage {
    package static func write(_ errand: QuestionErrand, to bytes: inout [UInt8]) {
        bytes += errand.from.bytes
        bytes += errand.to.bytes
        bytes.append(errand.hops)
        bytes.append(bigEndian: errand.number)
        bytes.append(errand.what.rawValue)
        bytes.append(errand.isNamesake ? 1 : 0)
        let name = Array(errand.name.prefix(utf8: QuestionErrand.longestText).utf8)
        bytes.append(UInt8(clamping: name.count))
        bytes += name
        switch errand.address {
        case nil: bytes.append(0)
        case .v4(let bits):
            bytes.append(4)
            bytes.append(bigEndian: bits)
        case .v6(let high, let low, _):
            bytes.append(6)
            bytes.append(bigEndian: high)
            bytes.append(bigEndian: low)
        }
    }
}

extension LogReader {
    mutating func question(_ kind: SecureMessage.Kind) throws(SecureMessageError) -> QuestionErrand {
        let (from, to) = (try device(), try device())
        let (hops, number): (UInt8, UInt64) = (try integer(), try integer())
        guard let what = QuestionErrand.What(rawValue: try integer()) else {
            throw .value(kind: kind.rawValue, field: "question")
        }
        let isNamesake: UInt8 = try integer()
        let count: UInt8 = try integer()
        guard count <= QuestionErrand.longestText, let name = String(validating: try raw(Int(count)), as: UTF8.self)
        else { throw .value(kind: kind.rawValue, field: "name") }
        let address: IPAddress?
        switch try integer() as UInt8 {
        case 0: address = nil
        case 4: address = .v4(try integer())
        // The scope is a number of the other machine.
        case 6: address = IPAddress(v6Bytes: try raw(16), scope: 0)
        default: throw .value(kind: kind.rawValue, field: "address")
        }
        return QuestionErrand(
            from: from, to: to, hops: min(hops, CodeErrand.mostHops), number: number, what: what,
            isNamesake: isNamesake != 0, name: name, address: address)
    }
}
