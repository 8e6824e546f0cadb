/// How a version 2 viewer comes in, on one connection: greeting, then pairing where one of the two doesn't know the other, then joining.
struct SecurePairing: Sendable {
    private enum State: Sendable {
        /// The hello is out. `hasJoined`: and so is the wish to join, because the host is known.
        case greeting(hasJoined: Bool)
        case joining
        case provingCode(CPaceViewer, PairingContext)
        case confirmingCode(CPaceViewer.Confirmed)
        case committed(ComparisonViewer)
        /// The person at the host is being asked.
        case comparing
    }

    enum Action: Sendable {
        case none
        case send(SecureMessage)
        /// Both ends show these digits; the person at the host compares.
        case compare(SecureMessage, PairingCode)
        /// The host wants its code, and none is at hand.
        case needCode
        case wrongCode
        /// The host looks at no code for so long.
        case wait(milliseconds: UInt32)
        /// The host has proved that it is the one whose code was typed, or that the person there has accepted. Join.
        case paired(isRemembered: Bool)
        case joined(SecureMessage.Session)
        case refused(SecureMessage.Refusal, String)
        /// The host speaks nonsense, or isn't the one that it should be.
        case violated(String)
    }

    let host: DeviceKey
    let own: DeviceKey
    private let ownName: String
    private let code: PairingCode?
    /// The host was paired before.
    private let isKnown: Bool
    private(set) var hostName = ""
    private var state: State

    init(own: DeviceKey, name: String, host: DeviceKey, isKnown: Bool, code: PairingCode?) {
        self.own = own
        ownName = name
        self.host = host
        self.isKnown = isKnown
        self.code = code
        state = .greeting(hasJoined: isKnown)
    }

    /// What is said first.
    func opening(instance: UInt64, features: SecureMessage.Hello.Features) -> [SecureMessage] {
        let hello = SecureMessage.hello(
            SecureMessage.Hello(features: features, instance: instance, name: ownName))
        return isKnown ? [hello, .join] : [hello]
    }

    mutating func handle(_ message: SecureMessage, random: inout some RandomNumberGenerator) -> Action {
        switch (state, message) {
        case (_, .refused(let refusal, let reason)):
            return refusal == .wrongCode ? .wrongCode : .refused(refusal, reason)
        case (_, .unknown), (_, .ping), (_, .pong), (_, .broadcast), (_, .mediaPort), (_, .mediaKey):
            return .none
        case (_, .bye(let reason)):
            return .violated(reason)
        case (.greeting(let hasJoined), .welcome(let welcome)):
            return welcomed(welcome, hasJoined: hasJoined, random: &random)
        case (.joining, .session(let session)), (.greeting(true), .session(let session)):
            return .joined(session)
        case (.provingCode, .codeWait(let milliseconds)):
            return .wait(milliseconds: milliseconds)
        case (.provingCode(let pace, _), .codeShare(let share)):
            do {
                let confirmed = try pace.confirm(hostShare: share)
                state = .confirmingCode(confirmed)
                return .send(.codeConfirm(confirmed.confirmation))
            } catch {
                return .violated("\(error)")
            }
        case (.confirmingCode(let confirmed), .codeConfirm(let tag)):
            // The host proves that it knows the code too, and the same two keys.
            guard confirmed.verify(tag) else { return .violated("it doesn't know its own code") }
            state = .joining
            return .none
        case (.joining, .paired(let isRemembered)):
            return .paired(isRemembered: isRemembered)
        case (.committed(let comparison), .compareNonce(let nonce)):
            do {
                let (reveal, digits) = try comparison.reveal(hostNonce: nonce)
                state = .comparing
                return .compare(.compareReveal(reveal), digits)
            } catch {
                return .violated("\(error)")
            }
        case (.comparing, .paired(let isRemembered)):
            state = .joining
            return .paired(isRemembered: isRemembered)
        default:
            return .violated("it sent a message out of turn")
        }
    }

    private mutating func welcomed(
        _ welcome: SecureMessage.Welcome, hasJoined: Bool, random: inout some RandomNumberGenerator
    ) -> Action {
        guard welcome.version >= SecureMessage.Hello.version else { return .violated("it is too old") }
        hostName = welcome.name
        if hasJoined, welcome.isTrusted {
            state = .joining
            return .none
        }
        let context = PairingContext(
            viewer: own, host: host, nonce: welcome.nonce, viewerName: ownName, hostName: welcome.name)
        if code == nil, welcome.methods.contains(.compare) { return compare(context, random: &random) }
        if code == nil, welcome.methods.contains(.open) {
            state = .joining
            return hasJoined ? .none : .send(.join)
        }
        guard welcome.methods.contains(.code) else {
            if welcome.methods.contains(.compare) { return compare(context, random: &random) }
            guard code != nil, welcome.methods.contains(.open) else {
                return .refused(.notTrusted, "it lets nobody new in")
            }
            // Who brings a code wants to know whom it talks to, and an open host proves nothing.
            return .refused(
                .notTrusted, "it takes no code, and lets everybody in. Leave the code out to watch it all the same")
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

    private mutating func compare(_ context: PairingContext, random: inout some RandomNumberGenerator) -> Action {
        let comparison = ComparisonViewer(context: context, random: &random)
        state = .committed(comparison)
        return .send(.compareCommit(comparison.commitment))
    }
}
