import BeamMedia

/// The code by which newcomers enter a room of equals: one for the whole room. It travels only between members, inside
/// their connections.
struct MeshCode: Hashable, Sendable {
    enum Service: UInt8, Sendable {
        case everybody = 0
        case always = 1
        case one = 2
    }

    /// Why it took the place of the one before.
    enum Why: UInt8, Sendable {
        case time = 1
        case asked = 2
        case wrongTries = 3
    }

    /// For people: nothing follows from it, because a member may say what it likes.
    struct Cause: Hashable, Sendable {
        var why: Why
        /// The member that has asked for it, or at whose door the last wrong code was typed.
        var member: DeviceKey
    }

    /// By which statements somebody was out of the room when it was made (`Membership.endingsDigest`): those who are named
    /// there don't know it.
    var era: UInt64
    /// Greater in each later code of an era.
    var number: UInt64
    /// Nil: it was used, and there is none until another is given.
    var digits: PairingCode?
    var service: Service
    /// Milliseconds until it is replaced by itself, when it was sent.
    var left: UInt32 = 0
    /// Wrong tries against it.
    var wrongTries: UInt8 = 0
    /// What the keeper counts of wrong tries, and the milliseconds of its pause when this was sent.
    var countedTries: UInt8 = 0
    var pause: UInt32 = 0
    /// Nil: it isn't known. Members of older versions don't say it.
    var cause: Cause?

    /// One more wrong try replaces it.
    var isBeforeLastTry: Bool { service == .everybody && Int(wrongTries) + 1 >= HostCode.mostWrongTries }

    /// Which of two codes counts, at every member alike.
    func yields(to other: MeshCode) -> Bool {
        (era, number, digits?.description ?? "") < (other.era, other.number, other.digits?.description ?? "")
    }

    func isSame(as other: MeshCode) -> Bool { era == other.era && number == other.number && digits == other.digits }
}

/// What a member and the keeper of the code tell each other, through others if there is no link between them.
struct CodeErrand: Hashable, Sendable {
    enum What: UInt8, Sendable {
        /// To the keeper: may this member check a newcomer's proof?
        case mayCheck = 0
        /// From the keeper: yes. It waits for the result before it allows another.
        case check = 1
        /// From the keeper: not for so many milliseconds (`value`).
        case wait = 2
        /// To the keeper: the proof was right, was wrong, wasn't checked.
        case right = 3
        case wrong = 4
        case unchecked = 5
        /// To the keeper: a person wants another code.
        case renew = 6
    }

    var from: DeviceKey
    var to: DeviceKey
    /// Members that may still pass it on.
    var hops: UInt8 = CodeErrand.mostHops
    /// Chosen by the member: which newcomer it is about.
    var number: UInt64
    var what: What
    var value: UInt32 = 0

    static let mostHops: UInt8 = 8
}

/// The room's code as it is now, for a member's door.
public struct MeshCodeState: Hashable, Sendable {
    /// Nil: there is none.
    public var code: PairingCode?
    public var service: HostCode.Service
    /// Why it is another code than before; nil: it is the same.
    public var reason: CodeChange.Reason?
    /// The member that has asked for it, or at whose door the last wrong code was typed; nil: it isn't known.
    public var member: DeviceKey?
    /// Until it is replaced by itself; nil: it isn't.
    public var left: Duration?
    /// What is counted of wrong tries, and how long no further one is allowed.
    var wrongTries: Int
    var pause: Duration?
    /// One more wrong try replaces it.
    var isBeforeLastTry = false
}

extension MeshMessage {
    static func write(_ code: MeshCode, to bytes: inout [UInt8]) {
        bytes.append(bigEndian: code.era)
        bytes.append(bigEndian: code.number)
        bytes.append(code.service.rawValue)
        bytes.append(bigEndian: code.left)
        bytes.append(code.wrongTries)
        bytes.append(code.countedTries)
        bytes.append(bigEndian: code.pause)
        let digits = Array((code.digits?.description ?? "").utf8)
        bytes.append(UInt8(clamping: digits.count))
        bytes += digits
        guard let cause = code.cause else { return }
        bytes.append(cause.why.rawValue)
        bytes += cause.member.bytes
    }

    static func write(_ errand: CodeErrand, to bytes: inout [UInt8]) {
        bytes += errand.from.bytes
        bytes += errand.to.bytes
        bytes.append(errand.hops)
        bytes.append(bigEndian: errand.number)
        bytes.append(errand.what.rawValue)
        bytes.append(bigEndian: errand.value)
    }
}

extension LogReader {
    mutating func code(_ kind: SecureMessage.Kind) throws(SecureMessageError) -> MeshCode {
        let (era, number): (UInt64, UInt64) = (try integer(), try integer())
        guard let service = MeshCode.Service(rawValue: try integer()) else {
            throw .value(kind: kind.rawValue, field: "service")
        }
        var code = MeshCode(era: era, number: number, digits: nil, service: service)
        code.left = try integer()
        code.wrongTries = try integer()
        code.countedTries = try integer()
        code.pause = try integer()
        let count: UInt8 = try integer()
        if count > 0 {
            guard count == 6, let digits = PairingCode(String(decoding: try raw(6), as: UTF8.self)) else {
                throw .value(kind: kind.rawValue, field: "digits")
            }
            code.digits = digits
        }
        guard !isAtEnd else { return code }
        let why: UInt8 = try integer()
        let member = try device()
        code.cause = MeshCode.Why(rawValue: why).map { MeshCode.Cause(why: $0, member: member) }
        return code
    }

    mutating func errand(_ kind: SecureMessage.Kind) throws(SecureMessageError) -> CodeErrand {
        let (from, to) = (try device(), try device())
        let (hops, number): (UInt8, UInt64) = (try integer(), try integer())
        guard let what = CodeErrand.What(rawValue: try integer()) else {
            throw .value(kind: kind.rawValue, field: "errand")
        }
        return CodeErrand(
            from: from, to: to, hops: min(hops, CodeErrand.mostHops), number: number, what: what, value: try integer())
    }
}
