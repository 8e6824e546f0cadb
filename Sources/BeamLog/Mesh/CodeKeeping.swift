import BeamMedia
import BeamWire

/// What a member keeps of the room's code.
struct CodeKeeping: Sendable {
    /// A newcomer's proof that is to be checked at a member.
    struct Request: Hashable, Sendable {
        var member: DeviceKey
        var number: UInt64
    }

    /// What this device makes if the room has no code.
    let own: HostCode
    /// The first code is the one that this device was given: it has made the room, or was in it before. Who enters was given
    /// the code of the member that lets it in.
    var usesOwn = false
    private(set) var hasMade = false
    /// The code before is void, because somebody who knew it was put out.
    var isVoid = false
    var code: MeshCode?
    /// When the code is replaced by itself; nil: it isn't.
    var expiry: MediaTime?
    /// When this device makes a code, if none has come by then.
    var makeAt: MediaTime?
    var guardian = CodeGuard()
    /// At the keeper: proofs that wait, and the one that is being checked.
    var waiting: [Request] = []
    var checking: (request: Request, since: MediaTime)?
    /// At any member: newcomers here whose proofs the keeper hasn't allowed yet, and until when that is waited for.
    var asked: [UInt64: MediaTime] = [:]
    var lastRenewal: MediaTime?

    init(_ own: HostCode) { self.own = own }

    /// This device can make a code: it shows one, or was given one.
    var canMake: Bool { own.current != nil }

    /// A code that this device makes: the first time perhaps the one that it was given, later a random one.
    mutating func make(random: inout some RandomNumberGenerator) -> (PairingCode, MeshCode.Service) {
        defer { hasMade = true }
        if usesOwn, !hasMade, !isVoid, let given = own.current { return (given, MeshCode.Service(own.service)) }
        let service = MeshCode.Service(own.service)
        return (.random(using: &random), service == .always ? .everybody : service)
    }
}

extension MeshCode.Why {
    /// Nil: other members aren't told why.
    package init?(_ reason: CodeChange.Reason) {
        switch reason {
        case .time: self = .time
        case .asked, .byMember: self = .asked
        case .wrongTries: self = .wrongTries
        case .used, .typed, .given, .roomsJoined, .memberPutOut: return nil
        }
    }

    /// At another member.
    package var reason: CodeChange.Reason {
        switch self {
        case .time: .time
        case .asked: .byMember
        case .wrongTries: .wrongTries
        }
    }
}

extension MeshCode.Service {
    package init(_ service: HostCode.Service) {
        self =
            switch service {
            case .everybody, .room: .everybody
            case .always: .always
            case .one: .one
            }
    }

    package var service: HostCode.Service {
        switch self {
        case .everybody: .everybody
        case .always: .always
        case .one: .one(isRenewed: true)
        }
    }
}
