import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Pairing by comparing digits.
struct ComparisonTests {
    private static func context(viewer: DeviceKey = .viewer, host: DeviceKey = .host) -> PairingContext {
        PairingContext(
            viewer: viewer, host: host, nonce: [UInt8](repeating: 7, count: 32), viewerName: "tablet", hostName: "desk")
    }

    private static func compare(
        _ viewer: PairingContext, _ host: PairingContext, seed: UInt64
    ) throws -> (viewer: PairingCode, host: PairingCode) {
        var random = SeededGenerator(seed: seed)
        let left = ComparisonViewer(context: viewer, random: &random)
        let right = try ComparisonHost(context: host, commitment: left.commitment, .six, random: &random)
        let (nonce, digits) = try left.reveal(hostNonce: right.nonce, digitCount: 6)
        // The commitment is to the viewer's view: a host with another refuses it.
        return (digits, try right.digits(revealed: nonce))
    }

    @Test func bothSidesShowTheSameDigits() throws {
        for seed in 0..<100 {
            let digits = try Self.compare(Self.context(), Self.context(), seed: UInt64(seed))
            #expect(digits.viewer == digits.host)
        }
    }

    /// The protocol's bytes, calculated by another program.
    @Test func aComparisonHasTheGoldenBytes() throws {
        typealias Pairing = CPaceVectors.Pairing
        var random = Bytes(Pairing.viewerNonce + Pairing.hostNonce)
        let viewer = ComparisonViewer(context: Pairing.context, random: &random)
        #expect(viewer.commitment == Pairing.commitment)
        let host = try ComparisonHost(context: Pairing.context, commitment: viewer.commitment, .six, random: &random)
        #expect(host.nonce == Pairing.hostNonce)
        let (nonce, digits) = try viewer.reveal(hostNonce: host.nonce, digitCount: 6)
        #expect(nonce == Pairing.viewerNonce)
        #expect(digits.description == Pairing.digits)
        #expect(try host.digits(revealed: nonce).description == Pairing.digits)
        #expect(try viewer.reveal(hostNonce: host.nonce, digitCount: 9).digits.description == Pairing.nineDigits)
        for count in [0, 1, 5, 7, 255] {
            #expect(throws: PairingFailure.digitCount(count)) {
                try viewer.reveal(hostNonce: host.nonce, digitCount: count)
            }
        }
    }

    /// Another value of any field gives other digits: keys, roles, the connection's nonce, the host's nonce, names.
    @Test func everyFieldOfTheContextIsBound() throws {
        typealias Pairing = CPaceVectors.Pairing
        var others = [PairingContext](repeating: Pairing.context, count: 7)
        others[0].viewer = .made(1)
        others[1].host = .made(1)
        (others[2].viewer, others[2].host) = (Pairing.context.host, Pairing.context.viewer)
        others[3].nonce[31] ^= 1
        others[4].viewerName = "Kueche"
        others[5].hostName = "Büro"
        // The same bytes, split differently between the names.
        (others[6].viewerName, others[6].hostName) = ("KücheB", "üro 2")
        var shown = Set([Pairing.digits])
        for context in others {
            var random = Bytes(Pairing.viewerNonce)
            let viewer = ComparisonViewer(context: context, random: &random)
            shown.insert(try viewer.reveal(hostNonce: Pairing.hostNonce, digitCount: 6).digits.description)
        }
        var random = Bytes(Pairing.viewerNonce)
        let viewer = ComparisonViewer(context: Pairing.context, random: &random)
        shown.insert(try viewer.reveal(hostNonce: Pairing.viewerNonce, digitCount: 6).digits.description)
        #expect(shown.count == 9)
        for count in [0, 31, 33] {
            #expect(throws: PairingFailure.length(of: "nonce", count)) {
                try viewer.reveal(hostNonce: [UInt8](repeating: 0, count: count), digitCount: 6)
            }
        }
    }

    @Test func theCommitmentBindsTheViewer() throws {
        var random = SeededGenerator(seed: 1)
        let viewer = ComparisonViewer(context: Self.context(), random: &random)
        let host = try ComparisonHost(context: Self.context(), commitment: viewer.commitment, .six, random: &random)
        var nonce = try viewer.reveal(hostNonce: host.nonce, digitCount: 6).nonce
        for bit in 0..<256 {
            nonce[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: PairingFailure.commitment) { try host.digits(revealed: nonce) }
            nonce[bit / 8] ^= 1 << (bit % 8)
        }
        #expect(throws: PairingFailure.length(of: "nonce", 31)) { try host.digits(revealed: Array(nonce.dropLast())) }
        #expect(throws: PairingFailure.length(of: "commitment", 0)) {
            try ComparisonHost(context: Self.context(), commitment: [], .six, random: &random)
        }
        // A commitment for another pair of keys is useless.
        let other = try ComparisonHost(
            context: Self.context(host: .made(3)), commitment: viewer.commitment, .six, random: &random)
        #expect(throws: PairingFailure.commitment) { try other.digits(revealed: nonce) }
    }

    /// The middle is host to the viewer and viewer to the host, and finishes with the viewer first. It then knows which
    /// digits it needs, but must commit before it learns the host's nonce.
    @Test func aManInTheMiddleWhoKnowsTheViewersDigitsCannotSteerTheHosts() throws {
        let middle = DeviceKey.made(0xEE)
        var agreements = 0
        for seed in 0..<200 {
            var random = SeededGenerator(seed: UInt64(seed))
            let right = Self.context(viewer: middle)
            let viewer = ComparisonViewer(context: Self.context(host: middle), random: &random)
            let shown = try viewer.reveal(hostNonce: random.bytes(32), digitCount: 6).digits
            let towardsHost = ComparisonViewer(context: right, random: &random)
            let host = try ComparisonHost(context: right, commitment: towardsHost.commitment, .six, random: &random)
            let asked = try host.digits(revealed: try towardsHost.reveal(hostNonce: host.nonce, digitCount: 6).nonce)
            if shown == asked { agreements += 1 }
        }
        #expect(agreements == 0)
    }

    /// The other order: the middle first learns all of the host's side, but must send the viewer a nonce before the
    /// viewer reveals its own.
    @Test func aManInTheMiddleSeesOtherDigits() throws {
        let middle = DeviceKey.made(0xEE)
        var agreements = 0
        for seed in 0..<2000 {
            var random = SeededGenerator(seed: UInt64(seed))
            let left = Self.context(host: middle)
            let right = Self.context(viewer: middle)
            let viewer = ComparisonViewer(context: left, random: &random)
            let towardsHost = ComparisonViewer(context: right, random: &random)
            let host = try ComparisonHost(context: right, commitment: towardsHost.commitment, .six, random: &random)
            // It forwards the host's own nonce to the viewer.
            let shown = try viewer.reveal(hostNonce: host.nonce, digitCount: 6).digits
            let asked = try host.digits(revealed: try towardsHost.reveal(hostNonce: host.nonce, digitCount: 6).nonce)
            if shown == asked { agreements += 1 }
        }
        #expect(agreements == 0)
    }

    /// Each of the six places, over fixed seeds.
    @Test func digitsAreEvenlyDistributed() throws {
        let runs = 4000
        var counts = [[Double]](repeating: [Double](repeating: 0, count: 10), count: 6)
        for seed in 0..<runs {
            let digits = try Self.compare(Self.context(), Self.context(), seed: UInt64(seed)).host.description
            for (place, digit) in digits.enumerated() { counts[place][digit.wholeNumberValue ?? 0] += 1 }
        }
        let expected = Double(runs) / 10
        for place in counts {
            let chi = place.reduce(0) { $0 + ($1 - expected) * ($1 - expected) / expected }
            // Chi-squared with nine degrees of freedom exceeds 27.9 once in a thousand.
            #expect(chi < 27.9)
        }
    }

    @Test func leadingZerosAreKept() {
        #expect(PairingCode(number: 42).description == "000042")
        #expect(PairingCode(number: 1_000_000).description == "000000")
        #expect(PairingCode(number: .max).description == "551615")
        #expect(PairingCode(number: 42, .nine).description == "000000042")
        #expect(PairingCode(number: 42, .nine).spaced == "000 000 042")
        #expect(PairingCode("482913")?.spaced == "482 913" && PairingCode("482913507") == nil)
    }
}

/// A generator that gives these bytes, one for each byte asked for.
private struct Bytes: RandomNumberGenerator {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func next() -> UInt64 { UInt64(rest.popFirst() ?? 0) }
}
