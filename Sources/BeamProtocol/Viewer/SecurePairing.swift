import BeamMedia

/// A version 2 viewer's way into a session on one connection: hello, then pairing if either side doesn't know the
/// other, then join.
struct SecurePairing: Sendable {
    private enum State: Sendable {
        /// The hello was sent. `hasJoined`: so was the join, because the host is known.
        case greeting(hasJoined: Bool)
        /// `mayBePaired`: the code was proved, so the host says next whether it remembers this viewer.
        case joining(mayBePaired: Bool)
        case provingCode(CPaceViewer, PairingContext)
        /// `next`: for the host's second share, if this proof was compared with its code of a moment ago.
        case confirmingCode(CPaceViewer.Confirmed, next: CPaceViewer?)
        /// The host's person is asked whether to compare digits.
        case committed(ComparisonViewer)
        /// Both sides show the digits; the host's person compares them.
        case comparing
    }

    enum Action: Sendable {
        case none
        case send(SecureMessage)
        /// Send this; the host's person is asked to compare digits.
        case requestComparison(SecureMessage)
        /// Send this; both sides show these digits, and the host's person compares them.
        case compare(SecureMessage, PairingCode)
        /// The host wants its code, and none was given.
        case needCode
        /// A code was given, and the host takes none.
        case noCodeTaken
        case wrongCode
        /// The code was replaced a moment ago.
        case replacedCode
        /// Too many wrong codes were typed before this one was looked at: the person has to type it again.
        case uncheckedCode
        /// Too many wrong codes: the host takes none for this long.
        case wait(milliseconds: UInt32)
        /// Pairing has succeeded, by the code or by the person at the host. Join.
        case paired(isRemembered: Bool)
        case joined(SecureMessage.Session)
        case refused(SecureMessage.Refusal, String)
        /// The host has ended its share, with this reason.
        case hostEnded(String)
        /// The host broke the protocol, or couldn't prove that it knows the code.
        case violated(String)
    }

    let host: DeviceKey
    let own: DeviceKey
    private let ownName: String
    private let code: PairingCode?
    /// The person gave a code at some time: pair by the code or not at all, so that the host proves that it knows it.
    private let wantsCode: Bool
    private let isKnown: Bool
    /// A person here chooses between typing the code and asking the person at the host, and hasn't yet.
    private let letsPersonChoose: Bool
    private(set) var hostName = ""
    /// How the host takes new viewers.
    private(set) var methods: SecureMessage.Welcome.Methods = []
    private(set) var features: SecureMessage.Welcome.Features = []
    private var state: State

    /// `wantsCode`: a code was given at some time. `code` is nil if it was used up or was wrong.
    init(
        own: DeviceKey, name: String, host: DeviceKey, isKnown: Bool, code: PairingCode?, wantsCode: Bool,
        letsPersonChoose: Bool = false
    ) {
        self.own = own
        ownName = name
        self.host = host
        self.isKnown = isKnown
        self.code = code
        self.wantsCode = wantsCode
        self.letsPersonChoose = letsPersonChoose
        state = .greeting(hasJoined: isKnown)
    }

    /// The host's person is asked, and there are no digits yet.
    var isAskingPerson: Bool {
        if case .committed = state { true } else { false }
    }

    /// The host owes its session, and nothing else.
    var isJoining: Bool {
        if case .joining(mayBePaired: false) = state { true } else { false }
    }

    /// Both sides show digits.
    var isComparing: Bool {
        if case .comparing = state { true } else { false }
    }

    /// The first messages of the connection.
    func opening(
        instance: UInt64, features: SecureMessage.Hello.Features, bounds: PictureBounds? = nil
    ) -> [SecureMessage] {
        let hello = SecureMessage.hello(
            SecureMessage.Hello(features: features, instance: instance, name: ownName, bounds: bounds))
        return isKnown ? [hello, .join] : [hello]
    }

    mutating func handle(_ message: SecureMessage, random: inout some RandomNumberGenerator) -> Action {
        switch (state, message) {
        case (_, .refused(let refusal, let reason)):
            return switch refusal {
            case .wrongCode: .wrongCode
            case .replacedCode: .replacedCode
            default: .refused(refusal, reason)
            }
        case (_, .unknown), (_, .ping), (_, .pong), (_, .broadcast), (_, .sourceVisibility), (_, .mediaPort),
            (_, .mediaKey):
            return .none
        case (_, .bye(let reason)):
            return .hostEnded(reason)
        case (.greeting(let hasJoined), .welcome(let welcome)):
            return welcomed(welcome, hasJoined: hasJoined, random: &random)
        case (.joining, .session(let session)), (.greeting(true), .session(let session)):
            return .joined(session)
        case (.provingCode, .codeWait(let milliseconds)):
            return .wait(milliseconds: milliseconds)
        case (.provingCode(let pace, _), .codeShare(let share)):
            do {
                let confirmed = try pace.confirm(hostShare: share)
                state = .confirmingCode(confirmed, next: pace)
                return .send(.codeConfirm(confirmed.confirmation))
            } catch {
                return .violated("\(error)")
            }
        case (.confirmingCode(_, let pace?), .codeShare(let share)):
            // The host had another code a moment ago, which wasn't typed. Now it is about the present one. Only once: each
            // proof is a guess for a false host.
            do {
                let confirmed = try pace.confirm(hostShare: share)
                state = .confirmingCode(confirmed, next: nil)
                return .send(.codeConfirm(confirmed.confirmation))
            } catch {
                return .violated("\(error)")
            }
        case (.confirmingCode, .codeWait):
            return .uncheckedCode
        case (.confirmingCode(let confirmed, _), .codeConfirm(let tag)):
            // The host's tag proves that it knows the code and has seen the same two keys.
            guard confirmed.verify(tag) else { return .violated("it can't prove that it knows the code") }
            state = .joining(mayBePaired: true)
            return .none
        case (.joining(mayBePaired: true), .paired(let isRemembered)):
            state = .joining(mayBePaired: false)
            return .paired(isRemembered: isRemembered)
        case (.committed(let comparison), .compareNonce(let nonce, let count)):
            do {
                let (reveal, digits) = try comparison.reveal(hostNonce: nonce, digitCount: Int(count))
                state = .comparing
                return .compare(.compareReveal(reveal), digits)
            } catch {
                return .violated("\(error)")
            }
        case (.comparing, .paired(let isRemembered)):
            state = .joining(mayBePaired: false)
            return .paired(isRemembered: isRemembered)
        default:
            return .violated("it sent a message out of turn")
        }
    }

    private mutating func welcomed(
        _ welcome: SecureMessage.Welcome, hasJoined: Bool, random: inout some RandomNumberGenerator
    ) -> Action {
        guard welcome.version >= SecureMessage.Hello.version else {
            return .violated("its version of BeamRoom is too old")
        }
        hostName = welcome.name
        methods = welcome.methods
        features = welcome.features
        if hasJoined, welcome.isTrusted {
            state = .joining(mayBePaired: false)
            return .none
        }
        let context = PairingContext(
            viewer: own, host: host, nonce: welcome.nonce, viewerName: ownName, hostName: welcome.name)
        if wantsCode {
            // An impostor would offer another method, which proves nothing.
            guard welcome.methods.contains(.code) else { return .noCodeTaken }
        } else if welcome.methods.contains(.compare), !(letsPersonChoose && welcome.methods.contains(.code)) {
            let comparison = ComparisonViewer(context: context, random: &random)
            state = .committed(comparison)
            return .requestComparison(.compareCommit(comparison.commitment))
        } else if welcome.methods.contains(.open) {
            state = .joining(mayBePaired: false)
            return hasJoined ? .none : .send(.join)
        } else if !welcome.methods.contains(.code) {
            return .refused(.notTrusted, "")
        }
        guard let code else { return .needCode }
        do {
            let pace = try CPaceViewer(code: code, context: context)
            state = .provingCode(pace, context)
            return .send(.codeShare(pace.share))
        } catch {
            return .violated("\(error)")
        }
    }
}
