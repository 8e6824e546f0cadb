import Testing

@testable import BeamProtocol

/// Pairing by a typed code: the draft's vectors, agreement, and everything that has to keep two sides from agreeing.
struct CPaceTests {
    private static let code = PairingCode("482913")!
    private static let nonce = (0..<32).map { UInt8($0) }

    private static func context(
        viewer: DeviceKey = .viewer, host: DeviceKey = .host, nonce: [UInt8] = nonce, viewerName: String = "tablet",
        hostName: String = "desk"
    ) -> PairingContext {
        PairingContext(viewer: viewer, host: host, nonce: nonce, viewerName: viewerName, hostName: hostName)
    }

    // MARK: The draft's vectors

    @Test func theDraftsVectors() throws {
        typealias Vectors = CPaceVectors
        try CPace.prepare()
        let generator = CPace.generator(
            password: Vectors.password, channel: Vectors.channel, session: Vectors.session)
        #expect(generator == Vectors.generator)
        #expect(try CPace.multiply(Vectors.viewerScalar, generator) == Vectors.viewerShare)
        #expect(try CPace.multiply(Vectors.hostScalar, generator) == Vectors.hostShare)
        #expect(try CPace.multiply(Vectors.viewerScalar, Vectors.hostShare) == Vectors.secret)
        #expect(try CPace.multiply(Vectors.hostScalar, Vectors.viewerShare) == Vectors.secret)
        let key = CPace.sessionKey(
            session: Vectors.session, secret: Vectors.secret,
            initiator: CPace.Share(element: Vectors.viewerShare, data: Vectors.viewerData),
            responder: CPace.Share(element: Vectors.hostShare, data: Vectors.hostData))
        #expect(key == Vectors.sessionKey)
    }

    @Test func theDraftsValidAndInvalidElements() throws {
        try CPace.prepare()
        #expect(try CPace.multiply(CPaceVectors.scalar, CPaceVectors.element) == CPaceVectors.product)
        for element in CPaceVectors.invalid {
            #expect(throws: PairingFailure.share) { try CPace.multiply(CPaceVectors.scalar, element) }
        }
    }

    @Test func lengthsAreInLEB128() {
        #expect(CPace.lengthPrefixed([7]) == [1, 7])
        #expect(CPace.lengthPrefixed([UInt8](repeating: 1, count: 127)).prefix(2) == [0x7F, 1])
        #expect(CPace.lengthPrefixed([UInt8](repeating: 1, count: 128)).prefix(3) == [0x80, 0x01, 1])
        #expect(CPace.lengthPrefixed([UInt8](repeating: 1, count: 300)).prefix(3) == [0xAC, 0x02, 1])
    }

    // MARK: Agreement

    private struct Outcome: Equatable {
        var hostBelieves: Bool
        var viewerBelieves: Bool
    }

    /// A whole pairing, each side in its own view of it; `tamper` stands on the wire.
    private static func pair(
        viewerCode: PairingCode = code, hostCode: PairingCode = code, viewer: PairingContext = context(),
        host: PairingContext = context(), tamper: (Int, [UInt8]) -> [UInt8] = { $1 }
    ) throws -> Outcome {
        let initiator = try CPaceViewer(code: viewerCode, context: viewer)
        let responder = try CPaceHost(code: hostCode, context: host, viewerShare: tamper(0, initiator.share))
        let confirmed = try initiator.confirm(hostShare: tamper(1, responder.share))
        guard let answer = responder.answer(to: tamper(2, confirmed.confirmation)) else {
            return Outcome(hostBelieves: false, viewerBelieves: false)
        }
        return Outcome(hostBelieves: true, viewerBelieves: confirmed.verify(tamper(3, answer)))
    }

    @Test func theSameCodeMakesBothBelieve() throws {
        for _ in 0..<10 {
            #expect(try Self.pair() == Outcome(hostBelieves: true, viewerBelieves: true))
        }
    }

    @Test func anotherCodeMakesNobodyBelieve() throws {
        for guess in ["482912", "000000", "382913", "318294"] {
            let outcome = try Self.pair(viewerCode: PairingCode(guess)!)
            #expect(outcome == Outcome(hostBelieves: false, viewerBelieves: false))
        }
    }

    @Test func everythingIsBound() throws {
        var otherNonce = Self.nonce
        otherNonce[0] ^= 1
        let others = [
            Self.context(viewer: .made(1)), Self.context(host: .made(1)),
            Self.context(viewer: .host, host: .viewer), Self.context(nonce: otherNonce),
            Self.context(viewerName: "Tablet"), Self.context(hostName: "desk "),
            // The same bytes, cut elsewhere.
            Self.context(viewerName: "tabletdes", hostName: "k"),
        ]
        for other in others {
            #expect(try Self.pair(viewer: other) == Outcome(hostBelieves: false, viewerBelieves: false))
        }
    }

    @Test func everyBitOfATagCounts() throws {
        for bit in 0..<(8 * CPace.confirmationLength) {
            for message in [2, 3] {
                let outcome = try Self.pair { number, bytes in
                    guard number == message else { return bytes }
                    var bytes = bytes
                    bytes[bit / 8] ^= 1 << (bit % 8)
                    return bytes
                }
                #expect(!outcome.viewerBelieves)
                #expect(outcome.hostBelieves == (message == 3))
            }
        }
    }

    @Test func changedSharesAreRefusedOrUseless() throws {
        for bit in 0..<(8 * CPace.shareLength) {
            for message in [0, 1] {
                do {
                    let outcome = try Self.pair { number, bytes in
                        guard number == message else { return bytes }
                        var bytes = bytes
                        bytes[bit / 8] ^= 1 << (bit % 8)
                        return bytes
                    }
                    #expect(outcome == Outcome(hostBelieves: false, viewerBelieves: false))
                } catch {
                    #expect(error as? PairingFailure == .share)
                }
            }
        }
    }

    @Test func whatIsNoShareIsRefused() throws {
        let viewer = try CPaceViewer(code: Self.code, context: Self.context())
        let wrong = CPaceVectors.invalid + [[UInt8](repeating: 0xFF, count: 32), [], [UInt8](repeating: 1, count: 31)]
        for share in wrong {
            #expect(throws: PairingFailure.self) { try viewer.confirm(hostShare: share) }
            #expect(throws: PairingFailure.self) {
                try CPaceHost(code: Self.code, context: Self.context(), viewerShare: share)
            }
        }
        // Its own share, sent back.
        #expect(throws: PairingFailure.share) { try viewer.confirm(hostShare: viewer.share) }
        let host = try CPaceHost(code: Self.code, context: Self.context(), viewerShare: viewer.share)
        for tag in [[], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0, count: 63)] {
            #expect(host.answer(to: tag) == nil)
        }
    }

    @Test func noTwoRunsAreAlike() throws {
        let shares = try (0..<20).map { _ in try CPaceViewer(code: Self.code, context: Self.context()).share }
        #expect(Set(shares).count == shares.count)
    }

    /// Two TLS connections, one towards each, and every message of the pairing passed on: each side sees the middle's
    /// key in the place of the other's.
    @Test func aManInTheMiddleWhoPassesEverythingOnGetsNothing() throws {
        let middle = DeviceKey.made(0xEE)
        let outcome = try Self.pair(viewer: Self.context(host: middle), host: Self.context(viewer: middle))
        #expect(outcome == Outcome(hostBelieves: false, viewerBelieves: false))
    }
}
