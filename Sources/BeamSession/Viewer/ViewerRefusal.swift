import BeamWire

/// Why a viewer doesn't watch a host. `BeamViewer` has the sentences for the person.
public enum ViewerRefusal: Sendable, Equatable {
    // MARK: The host has refused

    /// The person at the host has declined.
    case declined
    /// The host lets in nobody new. Its words, not cleaned; they may be empty.
    case notTrusted(says: String)
    /// The host has forgotten this device, or sent it away. Its words, not cleaned; they may be empty.
    case forgotten(says: String)
    /// The person at the host has sent this device away, and no code lets it in at present. The host's words, not cleaned;
    /// they may be empty.
    case sentAway(says: String)
    /// The host's code was used, and it has no new one.
    case usedCode
    /// Another reason, in the host's words, not cleaned; they may be empty.
    case other(says: String)

    // MARK: This viewer has refused

    /// The host wants its code, and nobody can type it here.
    case codeNeeded
    /// The given code is wrong, and nobody can type another one.
    case wrongCode
    /// The given code was replaced at the host a moment ago, and nobody can type another one.
    case replacedCode
    /// The connection ended after the code was sent, so it may not be sent again.
    case uncheckedCode
    /// A code was given, but the host takes none, so it can't prove its identity.
    case noCodeTaken
    /// The host shows another key than the expected one.
    case otherKey(OtherKey)
    /// What answers under a paired host's name doesn't encrypt.
    case unencryptedImpostor
    /// The host doesn't encrypt, and that isn't allowed.
    case notEncrypted
    /// The host was removed from this machine's list of paired devices.
    case forgottenHere
    /// Only paired hosts are watched, and this one doesn't know this viewer.
    case unknownThere
    /// Only paired hosts are watched, and this one isn't.
    case notPaired
    /// It is no receiver, so that nothing can be shown there.
    case noReceiver
    /// It is a receiver, which has nothing to watch.
    case onlyReceiver
    /// The host can't prove who it is. The reason is a clause.
    case unproven(reason: String)

    public struct OtherKey: Sendable, Equatable {
        public var key: DeviceKey
        /// The names of the hosts that were expected.
        public var expected: [String]
        public var place: Place

        public init(key: DeviceKey, expected: [String], place: Place) {
            self.key = key
            self.expected = expected
            self.place = place
        }
    }

    /// How the host was expected.
    public enum Place: Sendable, Equatable {
        /// It was paired under the name that it was chosen by.
        case name
        /// It was at this address the last time.
        case address(String)
        /// It was watched a moment ago.
        case here
    }

    /// Who has refused.
    public var isByHost: Bool {
        switch self {
        case .declined, .forgotten, .sentAway, .notTrusted, .usedCode, .other: true
        default: false
        }
    }

    /// A clause about the host, for logs and other programs.
    public var reason: String {
        switch self {
        case .declined: "the person there has declined"
        case .forgotten(let says), .sentAway(let says), .notTrusted(let says), .other(let says): PeerText.reason(says)
        case .usedCode: "its code was used, and it has no new one"
        case .codeNeeded: "its code is needed"
        case .wrongCode: "that isn't its code"
        case .replacedCode: "it has replaced its code a moment ago"
        case .uncheckedCode: "the connection ended before the code was checked"
        case .noCodeTaken: "it takes no code at the moment, so it can't prove its identity"
        case .otherKey(let other): "it shows another key (\(other.key)) than expected"
        case .unencryptedImpostor: "it was paired before and encrypts, but what answers under its name now doesn't"
        case .notEncrypted: "it doesn't encrypt what it shows"
        case .forgottenHere: "it was forgotten here"
        case .unknownThere: "it doesn't know this viewer any more"
        case .notPaired: "it wasn't paired with this machine"
        case .noReceiver: "it is no receiver, which `beamroom watch --wait` makes of a machine"
        case .onlyReceiver: "it is a receiver, which shows what `beamroom share --to` sends and can't be watched"
        case .unproven(let reason): reason
        }
    }
}

/// The question for a host's code.
public struct CodeQuestion: Sendable, Equatable {
    /// What was wrong with the last try.
    public enum Problem: Sendable, Equatable {
        /// The code was wrong.
        case wrong
        /// The code was replaced at the host a moment ago.
        case replaced
        /// The connection ended after the code was sent. Whoever is there may have tested one guess with it.
        case unchecked
        /// Nobody at the host has answered.
        case unanswered
        /// Another reason, as a clause.
        case other(String)
    }

    /// The host's name.
    public var host: String
    public var problem: Problem?
    /// The person at the host can be asked instead.
    public var mayAsk: Bool

    public init(host: String, problem: Problem? = nil, mayAsk: Bool = false) {
        self.host = host
        self.problem = problem
        self.mayAsk = mayAsk
    }
}

extension ViewerRefusal {
    /// What a host's refusal means; `says` are its words.
    init(_ refusal: SecureMessage.Refusal, says: String) {
        self =
            switch refusal {
            case .declined: .declined
            case .notTrusted: .notTrusted(says: says)
            case .usedCode: .usedCode
            case .forgotten: .forgotten(says: says)
            case .sentAway: .sentAway(says: says)
            case .other, .wrongCode, .replacedCode, .busy, .unanswered, .otherVersion: .other(says: says)
            }
    }

    /// The code is needed and there is no person to ask.
    init(_ problem: CodeQuestion.Problem?) {
        self =
            switch problem {
            case .wrong: .wrongCode
            case .replaced: .replacedCode
            case .unchecked: .uncheckedCode
            case .unanswered, .other, nil: .codeNeeded
            }
    }
}
