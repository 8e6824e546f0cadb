import BeamMedia

/// The code by which newcomers enter a room of equals: one for the whole room. It travels only between members, inside
/// their connections.
package struct MeshCode: Hashable, Sendable {
    package enum Service: UInt8, Sendable {
        case everybody = 0
        case always = 1
        case one = 2
    }

    /// Why it took the place of the one before.
    package enum Why: UInt8, Sendable {
        case time = 1
        case asked = 2
        case wrongTries = 3
    }

    /// For people: nothing follows from it, because a member may say what it likes.
    package struct Cause: Hashable, Sendable {
        package var why: Why
        /// The member that has asked for it, or at whose door the last wrong code was typed.
        package var member: DeviceKey

        package init(why: Why, member: DeviceKey) {
            self.why = why
            self.member = member
        }
    }

    /// By which statements somebody was out of the room when it was made (`Membership.endingsDigest`): those who are named
    /// there don't know it.
    package var era: UInt64
    /// Greater in each later code of an era.
    package var number: UInt64
    /// Nil: it was used, and there is none until another is given.
    package var digits: PairingCode?
    package var service: Service
    /// Milliseconds until it is replaced by itself, when it was sent.
    package var left: UInt32 = 0
    /// Wrong tries against it.
    package var wrongTries: UInt8 = 0
    /// What the keeper counts of wrong tries, and the milliseconds of its pause when this was sent.
    package var countedTries: UInt8 = 0
    package var pause: UInt32 = 0
    /// Nil: it isn't known. Members of older versions don't say it.
    package var cause: Cause?

    package init(
        era: UInt64, number: UInt64, digits: PairingCode? = nil, service: Service, left: UInt32 = 0,
        wrongTries: UInt8 = 0, countedTries: UInt8 = 0, pause: UInt32 = 0, cause: Cause? = nil
    ) {
        self.era = era
        self.number = number
        self.digits = digits
        self.service = service
        self.left = left
        self.wrongTries = wrongTries
        self.countedTries = countedTries
        self.pause = pause
        self.cause = cause
    }

    /// Which of two codes counts, at every member alike.
    package func yields(to other: MeshCode) -> Bool {
        (era, number, digits?.description ?? "") < (other.era, other.number, other.digits?.description ?? "")
    }

    package func isSame(as other: MeshCode) -> Bool {
        era == other.era && number == other.number && digits == other.digits
    }
}

/// What a member and the keeper of the code tell each other, through others if there is no link between them.
package struct CodeErrand: Hashable, Sendable {
    package enum What: UInt8, Sendable {
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

    package var from: DeviceKey
    package var to: DeviceKey
    /// Members that may still pass it on.
    package var hops: UInt8 = CodeErrand.mostHops
    /// Chosen by the member: which newcomer it is about.
    package var number: UInt64
    package var what: What
    package var value: UInt32 = 0

    package init(
        from: DeviceKey, to: DeviceKey, hops: UInt8 = CodeErrand.mostHops, number: UInt64, what: What, value: UInt32 = 0
    ) {
        self.from = from
        self.to = to
        self.hops = hops
        self.number = number
        self.what = what
        self.value = value
    }

    package static let mostHops: UInt8 = 8
}

extension MeshMessage {
    package static func write(_ code: MeshCode, to bytes: inout [UInt8]) {
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

    package static func write(_ errand: CodeErrand, to bytes: inout [UInt8]) {
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
