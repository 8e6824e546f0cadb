import BeamMedia
import BeamWire

/// How an unknown host is to be paired, as the person here has said so far.
enum PairingChoice: Sendable {
    /// Nothing was said: by a code if the person can type one, otherwise as the host offers.
    case any
    /// By the code or not at all, so that the host proves that it knows it. Nil: it was used or was wrong, so that
    /// another one is needed.
    case code(PairingCode?)
    /// The person at the host is to be asked.
    case person

    /// The code that was given isn't used again.
    mutating func forgetCode() { if case .code = self { self = .code(nil) } }

    /// The person at the host isn't asked on the next connection.
    mutating func forgetPerson() { if case .person = self { self = .any } }
}

/// A version 2 viewer's way into a session on one connection: hello, then pairing if either side doesn't know the
/// other, then join.
struct SecurePairing: Sendable {
    private enum State: Sendable {
        /// The hello was sent. `hasJoined`: so was the join, because the host is known.
        case greeting(hasJoined: Bool)
        /// `mayBePaired`: the code was proved, so the host says next whether it remembers this viewer.
        case joining(mayBePaired: Bool)
        case provingCode(CPaceViewer)
        /// `next`: for the host's second share, if this proof was compared with its code of a moment ago.
        case confirmingCode(CPaceViewer.Confirmed, next: CPaceViewer?)
        /// The host's person is asked whether to compare digits.
        case committed(ComparisonViewer)
        /// Both sides show the digits; the host's person compares them.
        case comparing
    }

    /// What is lost if the connection ends now.
    enum Stake: Sendable {
        case nothing
        /// The code's confirmation tag was sent and no answer has arrived. Whoever is there may have tested one guess
        /// with it, so the code isn't sent again without the person. `mayAsk`: the host offers to compare digits, too.
        case code(mayAsk: Bool)
        /// The person at the host was asked, who isn't asked again without the person here. The host takes a code, too.
        case question
    }

    enum Action: Sendable {
        case none
        case send(SecureMessage)
        /// Send this; the host's person is asked to compare digits.
        case requestComparison(SecureMessage)
        /// Send this; both sides show these digits, and the host's person compares them.
        case compare(SecureMessage, PairingCode)
        /// The host wants its code. Nil: none was given.
        case needCode(CodeQuestion.Problem?)
        /// A code was given, and the host takes none.
        case noCodeTaken
        /// It is a host, and a receiver is sought, or the other way round.
        case otherPurpose
        /// Too many wrong codes: the host takes none for this long.
        case wait(Duration)
        /// Pairing has succeeded, by the code or by the person at the host. Join.
        case paired(isRemembered: Bool)
        case joined(SecureMessage.Session)
        case refused(SecureMessage.Refusal, String)
        /// The host has ended its share, with this reason.
        case hostEnded(String)
        /// The host broke the protocol, or couldn't prove that it knows the code.
        case violated(String)
    }

    /// In case the host says 0 ms.
    private static let shortestWait = Duration.milliseconds(500)
    /// Longer than our own hosts ever ask for (60 s).
    private static let longestWait = Duration.seconds(600)

    let host: DeviceKey
    let own: DeviceKey
    private let ownName: String
    private let choice: PairingChoice
    /// A receiver is sought: nothing is proved to another machine.
    private let seeksReceiver: Bool
    private let isKnown: Bool
    /// A person here chooses between typing the code and asking the person at the host, and hasn't yet.
    private let letsPersonChoose: Bool
    private(set) var hostName = ""
    /// How the host takes new viewers.
    private(set) var methods: SecureMessage.Welcome.Methods = []
    private(set) var features: SecureMessage.Welcome.Features = []
    private var state: State

    init(
        own: DeviceKey, name: String, host: DeviceKey, isKnown: Bool, choice: PairingChoice,
        letsPersonChoose: Bool = false, seeksReceiver: Bool = false
    ) {
        self.seeksReceiver = seeksReceiver
        self.own = own
        ownName = name
        self.host = host
        self.isKnown = isKnown
        self.choice = choice
        self.letsPersonChoose = letsPersonChoose
        state = .greeting(hasJoined: isKnown)
    }

    /// The host compares digits.
    var mayAsk: Bool { methods.contains(.compare) }

    var isCodeSpent: Bool { if case .code = stake { true } else { false } }

    var stake: Stake {
        switch state {
        case .confirmingCode, .joining(mayBePaired: true): .code(mayAsk: mayAsk)
        case .committed, .comparing: methods.contains(.code) ? .question : .nothing
        case .greeting, .joining, .provingCode: .nothing
        }
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
            case .wrongCode: .needCode(.wrong)
            case .replacedCode: .needCode(.replaced)
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
            return .wait(min(max(.milliseconds(Int64(milliseconds) + 50), Self.shortestWait), Self.longestWait))
        case (.provingCode(let pace), .codeShare(let share)):
            return confirm(pace, share, next: pace)
        case (.confirmingCode(_, let pace?), .codeShare(let share)):
            // The host had another code a moment ago, which wasn't typed. Now it is about the present one. Only once: each
            // proof is a guess for a false host.
            return confirm(pace, share, next: nil)
        case (.confirmingCode, .codeWait):
            // Too many wrong codes were typed before this one was looked at.
            return .needCode(.unchecked)
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

    private mutating func confirm(_ pace: CPaceViewer, _ share: [UInt8], next: CPaceViewer?) -> Action {
        do {
            let confirmed = try pace.confirm(hostShare: share)
            state = .confirmingCode(confirmed, next: next)
            return .send(.codeConfirm(confirmed.confirmation))
        } catch {
            return .violated("\(error)")
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
        guard features.contains(.receiver) == seeksReceiver else { return .otherPurpose }
        if hasJoined, welcome.isTrusted {
            state = .joining(mayBePaired: false)
            return .none
        }
        let context = PairingContext(
            viewer: own, host: host, nonce: welcome.nonce, viewerName: ownName, hostName: welcome.name)
        if case .code = choice {
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
        guard case .code(let code?) = choice else { return .needCode(nil) }
        do {
            let pace = try CPaceViewer(code: code, context: context)
            state = .provingCode(pace)
            return .send(.codeShare(pace.share))
        } catch {
            return .violated("\(error)")
        }
    }
}
