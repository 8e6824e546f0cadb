import Crypto

extension PairingContext {
    /// The draft's CI: binds the generator to this protocol and the two device keys.
    package var channel: [UInt8] {
        CPace.concatenated(Array("BeamRoom 2".utf8), viewer.bytes, host.bytes)
    }

    /// The draft's sid: the first 16 bytes of the host's nonce.
    package var session: [UInt8] { Array(nonce.prefix(16)) }

    /// The draft's generator for this connection.
    fileprivate func generator(_ code: PairingCode) throws(PairingFailure) -> SecretBytes {
        try CPace.generator(password: SecretBytes(code.description.utf8), channel: channel, session: session)
    }

    /// The viewer's share and name.
    fileprivate func initiator(_ share: [UInt8]) -> CPace.Share {
        CPace.Share(element: share, data: Array(viewerName.utf8))
    }

    /// The host's share and name.
    fileprivate func responder(_ share: [UInt8]) -> CPace.Share {
        CPace.Share(element: share, data: Array(hostName.utf8))
    }

    /// The key of both sides' confirmation tags.
    fileprivate func confirmationKey(
        _ secret: SecretBytes, _ initiator: CPace.Share, _ responder: CPace.Share
    ) throws(PairingFailure) -> SymmetricKey {
        try CPace.confirmationKey(
            session: session,
            sessionKey: CPace.sessionKey(session: session, secret: secret, initiator: initiator, responder: responder))
    }
}

/// The viewer's side of CPace: the initiator.
package struct CPaceViewer: Sendable {
    /// The state after both shares are known: the viewer's tag, and the check of the host's.
    package struct Confirmed: Sendable {
        /// The viewer's tag, which proves to the host that the code was typed.
        package let confirmation: [UInt8]
        fileprivate let key: SymmetricKey
        fileprivate let context: PairingContext
        fileprivate let hostShare: [UInt8]

        /// Whether the host's tag proves that it knows the code and has seen the same two keys. Compares in constant
        /// time.
        package func verify(_ tag: [UInt8]) -> Bool {
            CPace.isValid(tag, of: context.responder(hostShare), key)
        }
    }

    private let context: PairingContext
    private let scalar: SecretBytes
    /// Ya.
    package let share: [UInt8]

    package init(code: PairingCode, context: PairingContext) throws(PairingFailure) {
        try self.init(code: code, context: context, scalar: .randomScalar())
    }

    /// With a given scalar, for tests.
    package init(code: PairingCode, context: PairingContext, scalar: SecretBytes) throws(PairingFailure) {
        self.context = context
        self.scalar = scalar
        share = try CPace.share(scalar, context.generator(code))
    }

    package func confirm(hostShare: [UInt8]) throws(PairingFailure) -> Confirmed {
        let secret = try CPace.secret(scalar, with: hostShare)
        // A reflected share proves nothing.
        guard hostShare != share else { throw .share }
        let initiator = context.initiator(share)
        let key = try context.confirmationKey(secret, initiator, context.responder(hostShare))
        return Confirmed(
            confirmation: CPace.tag(initiator, key), key: key, context: context, hostShare: hostShare)
    }
}

/// The host's side of CPace: the responder.
package struct CPaceHost: Sendable {
    /// Yb.
    package let share: [UInt8]
    /// Ya.
    package let viewerShare: [UInt8]
    private let key: SymmetricKey
    private let context: PairingContext

    package init(code: PairingCode, context: PairingContext, viewerShare: [UInt8]) throws(PairingFailure) {
        try self.init(code: code, context: context, viewerShare: viewerShare, scalar: .randomScalar())
    }

    /// With a given scalar, for tests.
    package init(
        code: PairingCode, context: PairingContext, viewerShare: [UInt8], scalar: SecretBytes
    ) throws(PairingFailure) {
        self.context = context
        self.viewerShare = viewerShare
        let secret = try CPace.secret(scalar, with: viewerShare)
        share = try CPace.share(scalar, context.generator(code))
        guard viewerShare != share else { throw .share }
        key = try context.confirmationKey(secret, context.initiator(viewerShare), context.responder(share))
    }

    /// The host's tag, if the viewer's is valid; nil if another code was typed or somebody is in between. Compares in
    /// constant time.
    package func answer(to confirmation: [UInt8]) -> [UInt8]? {
        guard CPace.isValid(confirmation, of: context.initiator(viewerShare), key) else { return nil }
        return CPace.tag(context.responder(share), key)
    }
}
