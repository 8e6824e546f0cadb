import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Pairing by a typed code: the draft's test vectors, agreement, and all that must prevent it.
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

    @Test func theDraftsVectorsHold() throws {
        typealias Vectors = CPaceVectors
        let generator = try CPace.generator(
            password: SecretBytes(Vectors.password), channel: Vectors.channel, session: Vectors.session)
        #expect(generator.copy == Vectors.generator)
        let (viewerScalar, hostScalar) = try (SecretBytes(Vectors.viewerScalar), SecretBytes(Vectors.hostScalar))
        #expect(try CPace.share(viewerScalar, generator) == Vectors.viewerShare)
        #expect(try CPace.share(hostScalar, generator) == Vectors.hostShare)
        #expect(try CPace.secret(viewerScalar, with: Vectors.hostShare).copy == Vectors.secret)
        #expect(try CPace.secret(hostScalar, with: Vectors.viewerShare).copy == Vectors.secret)
        let viewer = CPace.Share(element: Vectors.viewerShare, data: Vectors.viewerData)
        let host = CPace.Share(element: Vectors.hostShare, data: Vectors.hostData)
        let key = try CPace.sessionKey(
            session: Vectors.session, secret: SecretBytes(Vectors.secret), initiator: viewer, responder: host)
        #expect(key.copy == Vectors.sessionKey)
        let confirmation = try CPace.confirmationKey(session: Vectors.session, sessionKey: key)
        #expect(CPace.tag(viewer, confirmation) == Vectors.Derived.viewerTag)
        #expect(CPace.tag(host, confirmation) == Vectors.Derived.hostTag)
    }

    @Test func validElementsAreAcceptedAndInvalidOnesRefused() throws {
        let scalar = try SecretBytes(CPaceVectors.scalar)
        #expect(try CPace.secret(scalar, with: CPaceVectors.element).copy == CPaceVectors.product)
        for element in CPaceVectors.invalid + CPaceVectors.undecodable {
            #expect(throws: PairingFailure.share) { try CPace.secret(scalar, with: element) }
        }
    }

    /// RFC 9496 allows one encoding of each element; libsodium 1.0.18 would accept this second one.
    @Test func elementsWithTheHighestBitAreRefused() throws {
        let scalar = try SecretBytes(CPaceVectors.scalar)
        for var share in [CPaceVectors.element, CPaceVectors.viewerShare, CPaceVectors.hostShare] {
            share[31] |= 0x80
            #expect(throws: PairingFailure.share) { try CPace.secret(scalar, with: share) }
        }
    }

    /// A whole pairing in the protocol's bytes.
    @Test func aPairingHasTheGoldenBytes() throws {
        typealias Pairing = CPaceVectors.Pairing
        let code = PairingCode(Pairing.code)!
        let viewer = try CPaceViewer(
            code: code, context: Pairing.context, scalar: SecretBytes(CPaceVectors.viewerScalar))
        #expect(viewer.share == Pairing.viewerShare)
        let host = try CPaceHost(
            code: code, context: Pairing.context, viewerShare: viewer.share,
            scalar: SecretBytes(CPaceVectors.hostScalar))
        #expect(host.share == Pairing.hostShare)
        let confirmed = try viewer.confirm(hostShare: host.share)
        #expect(confirmed.confirmation == Pairing.viewerTag)
        #expect(host.answer(to: confirmed.confirmation) == Pairing.hostTag)
        #expect(confirmed.verify(Pairing.hostTag))
        #expect(!confirmed.verify(Pairing.viewerTag))
    }

    @Test func lengthsAreEncodedInLEB128() {
        #expect(CPace.lengthPrefix(0) == [0])
        #expect(CPace.lengthPrefix(127) == [0x7F])
        #expect(CPace.lengthPrefix(128) == [0x80, 0x01])
        #expect(CPace.lengthPrefix(300) == [0xAC, 0x02])
        #expect(CPace.lengthPrefix(16_384) == [0x80, 0x80, 0x01])
        #expect(CPace.concatenated([7], [], [8, 9]) == [1, 7, 0, 2, 8, 9])
    }

    // MARK: Agreement

    private struct Outcome: Equatable {
        var hostBelieves: Bool
        var viewerBelieves: Bool
    }

    /// A whole pairing. Each side has its own context; `tamper` changes messages on the wire.
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

    @Test func theSameCodePairs() throws {
        for _ in 0..<10 {
            #expect(try Self.pair() == Outcome(hostBelieves: true, viewerBelieves: true))
        }
    }

    @Test func anotherCodeDoesNotPair() throws {
        for guess in ["482912", "000000", "382913", "318294"] {
            let outcome = try Self.pair(viewerCode: PairingCode(guess)!)
            #expect(outcome == Outcome(hostBelieves: false, viewerBelieves: false))
        }
    }

    @Test func everyFieldOfTheContextIsBound() throws {
        var otherNonce = Self.nonce
        otherNonce[0] ^= 1
        let others = [
            Self.context(viewer: .made(1)), Self.context(host: .made(1)),
            Self.context(viewer: .host, host: .viewer), Self.context(nonce: otherNonce),
            Self.context(viewerName: "Tablet"), Self.context(hostName: "desk "),
            // The same bytes, split differently between the names.
            Self.context(viewerName: "tabletdes", hostName: "k"),
        ]
        for other in others {
            #expect(try Self.pair(viewer: other) == Outcome(hostBelieves: false, viewerBelieves: false))
        }
    }

    @Test func everyBitOfATagIsChecked() throws {
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

    @Test func changedSharesNeverPair() throws {
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

    @Test func invalidSharesAreRefused() throws {
        let viewer = try CPaceViewer(code: Self.code, context: Self.context())
        func expect(_ failure: PairingFailure, for share: [UInt8]) {
            #expect(throws: failure) { try viewer.confirm(hostShare: share) }
            #expect(throws: failure) { try CPaceHost(code: Self.code, context: Self.context(), viewerShare: share) }
        }
        for share in CPaceVectors.invalid + CPaceVectors.undecodable { expect(.share, for: share) }
        for count in [0, 1, 31, 33, 64] {
            let share = Array((CPaceVectors.element + CPaceVectors.element).prefix(count))
            expect(.length(of: "pairing share", count), for: share)
        }
        // The peer's own share, as it is and in another encoding.
        var disguised = viewer.share
        disguised[31] |= 0x80
        #expect(throws: PairingFailure.share) { try viewer.confirm(hostShare: viewer.share) }
        #expect(throws: PairingFailure.share) { try viewer.confirm(hostShare: disguised) }
        let host = try CPaceHost(code: Self.code, context: Self.context(), viewerShare: viewer.share)
        let confirmed = try viewer.confirm(hostShare: host.share)
        let right = confirmed.confirmation
        for tag in [[], Array(right.dropLast()), right + [0], [UInt8](repeating: 0, count: 64)] {
            #expect(host.answer(to: tag) == nil)
            #expect(!confirmed.verify(tag))
        }
    }

    @Test func sharesAndKeysDifferFromRunToRun() throws {
        let shares = try (0..<20).flatMap { _ in
            let viewer = try CPaceViewer(code: Self.code, context: Self.context())
            let host = try CPaceHost(code: Self.code, context: Self.context(), viewerShare: viewer.share)
            return [viewer.share, host.share]
        }
        #expect(Set(shares).count == shares.count)
    }

    /// A man in the middle with two TLS connections who forwards every message: each side sees the middle's key in
    /// place of the other's.
    @Test func aManInTheMiddleWhoForwardsEverythingDoesNotPair() throws {
        let middle = DeviceKey.made(0xEE)
        let outcome = try Self.pair(viewer: Self.context(host: middle), host: Self.context(viewer: middle))
        #expect(outcome == Outcome(hostBelieves: false, viewerBelieves: false))
    }

    /// Checks nothing: prints how long the cryptography of a pairing takes.
    @Test func theDurationOfAPairingIsPrinted() throws {
        let runs = 200
        let clock = ContinuousClock()
        let times = try (0..<runs).map { _ in
            try clock.measure { _ = try Self.pair() }
        }
        print("A pairing by code, both sides, median of \(runs): \(times.sorted()[runs / 2])")
    }
}

extension SecretBytes {
    /// A readable copy, for comparisons.
    fileprivate var copy: [UInt8] {
        withBytes { Array(UnsafeBufferPointer(start: $0, count: count)) }
    }
}
