/// What a version 2 connection may say before it was let in: greeting, then pairing where that is needed, then joining.
struct SecureDialog: Sendable {
    private enum State: Sendable {
        case connected
        case greeted
        case provingCode(CPaceHost)
        /// It has committed, and the person at the host is being asked whether to compare digits with it.
        case requesting(commitment: [UInt8])
        /// The person has agreed, and it is to reveal its nonce.
        case comparing(ComparisonHost)
        /// Both screens show the digits; the person at the host compares them.
        case deciding
        /// It was paired on this connection.
        case paired
    }

    enum Action: Sendable {
        case none
        case greet(SecureMessage.Hello)
        /// It begins to prove that it knows the code: CPace's first message.
        case beginCode(share: [UInt8])
        /// It knows the code; that is the host's own proof.
        case provedCode(confirmation: [UInt8])
        case wrongCode
        /// It asks to compare digits.
        case requestComparison
        /// The digits that both ends show.
        case compare(PairingCode)
        case join
        case bye
        case refuse(reason: String)
    }

    /// How far a comparison has come.
    enum Comparing: Sendable {
        case notYet
        /// The person hasn't agreed to it: there are no digits.
        case requested
        /// There are digits, on one side at least: somebody who leaves now has had a chance.
        case begun
    }

    /// As the connection's certificate proves.
    let device: DeviceKey
    /// Fresh for this connection: what a pairing binds.
    let nonce: [UInt8]
    private(set) var name = ""
    private(set) var instance: UInt64 = 0
    private(set) var features: SecureMessage.Hello.Features = []
    private var messages = 0
    private var state = State.connected

    init(device: DeviceKey, random: inout some RandomNumberGenerator) {
        self.device = device
        nonce = (0..<PairingContext.nonceLength).map { _ in .random(in: 0...255, using: &random) }
    }

    var isProvingCode: Bool {
        if case .provingCode = state { true } else { false }
    }

    var isRevealing: Bool {
        if case .comparing = state { true } else { false }
    }

    var comparing: Comparing {
        switch state {
        case .requesting: .requested
        case .comparing, .deciding: .begun
        default: .notYet
        }
    }

    /// What a pairing on this connection binds.
    func context(host: DeviceKey, name hostName: String) -> PairingContext {
        PairingContext(viewer: device, host: host, nonce: nonce, viewerName: name, hostName: hostName)
    }

    mutating func message(_ bytes: [UInt8]) -> Action {
        messages += 1
        guard messages <= HostLimits.messagesBeforeAdmission else {
            return .refuse(reason: "it sent \(HostLimits.messagesBeforeAdmission) messages before it was let in")
        }
        do {
            return try handle(SecureMessage(bytes))
        } catch {
            return .refuse(reason: "it sent \(error)")
        }
    }

    private mutating func handle(_ message: SecureMessage) -> Action {
        switch (state, message) {
        case (_, .unknown), (_, .ping), (_, .pong):
            return .none
        case (_, .bye):
            return .bye
        case (.connected, .hello(let hello)):
            name = hello.name
            instance = hello.instance
            features = hello.features
            state = .greeted
            return .greet(hello)
        case (.greeted, .codeShare(let share)):
            return .beginCode(share: share)
        case (.provingCode(let pace), .codeConfirm(let confirmation)):
            guard let answer = pace.answer(to: confirmation) else { return .wrongCode }
            state = .paired
            return .provedCode(confirmation: answer)
        case (.greeted, .compareCommit(let commitment)):
            state = .requesting(commitment: commitment)
            return .requestComparison
        case (.comparing(let comparison), .compareReveal(let nonce)):
            do {
                let digits = try comparison.digits(revealed: nonce)
                state = .deciding
                return .compare(digits)
            } catch {
                return .refuse(reason: "\(error)")
            }
        case (.greeted, .join), (.paired, .join):
            return .join
        default:
            return .refuse(reason: "it sent a message out of turn")
        }
    }

    // MARK: What the host has decided

    /// Answers the viewer's share with the host's.
    mutating func provesCode(_ pace: CPaceHost) { state = .provingCode(pace) }

    /// The person has agreed to compare: what the host sends now. Nil if nobody has asked for that.
    mutating func compare(
        host: DeviceKey, name: String, _ length: PairingCode.Length, random: inout some RandomNumberGenerator
    ) throws(PairingFailure) -> SecureMessage? {
        guard case .requesting(let commitment) = state else { return nil }
        let comparison = try ComparisonHost(
            context: context(host: host, name: name), commitment: commitment, length, random: &random)
        state = .comparing(comparison)
        return .compareNonce(comparison.nonce, digits: UInt8(length.rawValue))
    }

    /// The person has found that both screens show the same digits.
    mutating func accepted() { state = .paired }
}
