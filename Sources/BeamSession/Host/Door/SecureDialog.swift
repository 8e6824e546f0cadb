import BeamMedia
import BeamWire

/// The messages of a version 2 connection before admission, in order: hello, pairing if needed, join.
struct SecureDialog: Sendable {
    private enum State: Sendable {
        case connected
        case greeted
        case provingCode(CodeProof)
        /// The viewer has committed to its nonce; the person is being asked whether to compare digits.
        case requesting(commitment: [UInt8])
        /// The person has agreed; the viewer has to reveal its nonce.
        case comparing(ComparisonHost)
        /// Both screens show the digits; the person at the host compares them.
        case deciding
        /// The device was paired on this connection.
        case paired
    }

    enum Action: Sendable {
        case none
        case greet(SecureMessage.Hello)
        /// The viewer begins to prove that it knows the code, with CPace's first message.
        case beginCode(share: [UInt8])
        /// The viewer's proof is to be checked with `codeProof`.
        case checkCode(confirmation: [UInt8])
        /// The viewer asks to compare digits.
        case requestComparison
        /// The digits that both ends show.
        case compare(PairingCode)
        case join
        case bye
        case refuse(reason: String)
    }

    /// What the viewer's proof of a code is compared with.
    struct CodeProof: Sendable {
        let pace: CPaceHost
        /// It is the code that was replaced a moment ago.
        let isPrevious: Bool
    }

    /// The state of a comparison of digits.
    enum Comparing: Sendable {
        case notYet
        /// The person hasn't agreed yet, so there are no digits.
        case requested
        /// At least one side knows the digits, so the comparison counts as a try.
        case begun
    }

    /// The key of the connection's certificate.
    let device: DeviceKey
    /// A fresh nonce for this connection, which the pairing is bound to.
    let nonce: [UInt8]
    private(set) var name = ""
    private(set) var instance: UInt64 = 0
    private(set) var features: SecureMessage.Hello.Features = []
    private(set) var bounds: PictureBounds?
    private var messages = 0
    private var state = State.connected

    init(device: DeviceKey, random: inout some RandomNumberGenerator) {
        self.device = device
        nonce = (0..<PairingContext.nonceLength).map { _ in .random(in: 0...255, using: &random) }
    }

    /// Nil: the viewer isn't proving a code.
    var codeProof: CodeProof? {
        if case .provingCode(let proof) = state { proof } else { nil }
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

    /// What a pairing on this connection is bound to.
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
            bounds = hello.bounds
            state = .greeted
            return .greet(hello)
        case (.greeted, .codeShare(let share)):
            return .beginCode(share: share)
        case (.provingCode, .codeConfirm(let confirmation)):
            return .checkCode(confirmation: confirmation)
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

    // MARK: Decisions of the host

    /// The host answers the viewer's CPace share.
    mutating func provesCode(_ proof: CodeProof) { state = .provingCode(proof) }

    /// The person has agreed to compare. Returns the message that the host sends now; nil if the viewer hasn't asked
    /// for it.
    mutating func compare(
        host: DeviceKey, name: String, _ length: PairingCode.Length, random: inout some RandomNumberGenerator
    ) throws(PairingFailure) -> SecureMessage? {
        guard case .requesting(let commitment) = state else { return nil }
        let comparison = try ComparisonHost(
            context: context(host: host, name: name), commitment: commitment, length, random: &random)
        state = .comparing(comparison)
        return .compareNonce(comparison.nonce, digits: UInt8(length.rawValue))
    }

    /// The viewer has proved the code, or the person has found that both screens show the same digits.
    mutating func accepted() { state = .paired }
}
