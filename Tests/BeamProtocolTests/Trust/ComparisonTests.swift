import Testing

@testable import BeamProtocol

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
        let right = try ComparisonHost(context: host, commitment: left.commitment, random: &random)
        let (nonce, digits) = try left.reveal(hostNonce: right.nonce)
        // The commitment is to the viewer's view: a host with another refuses it.
        return (digits, try right.digits(revealed: nonce))
    }

    @Test func bothShowTheSameDigits() throws {
        for seed in 0..<100 {
            let digits = try Self.compare(Self.context(), Self.context(), seed: UInt64(seed))
            #expect(digits.viewer == digits.host)
        }
    }

    @Test func theCommitmentBinds() throws {
        var random = SeededGenerator(seed: 1)
        let viewer = ComparisonViewer(context: Self.context(), random: &random)
        let host = try ComparisonHost(context: Self.context(), commitment: viewer.commitment, random: &random)
        var nonce = try viewer.reveal(hostNonce: host.nonce).nonce
        for bit in 0..<256 {
            nonce[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: PairingFailure.commitment) { try host.digits(revealed: nonce) }
            nonce[bit / 8] ^= 1 << (bit % 8)
        }
        #expect(throws: PairingFailure.length(of: "nonce", 31)) { try host.digits(revealed: Array(nonce.dropLast())) }
        #expect(throws: PairingFailure.length(of: "commitment", 0)) {
            try ComparisonHost(context: Self.context(), commitment: [], random: &random)
        }
        // One that was made for another pair of keys is for nothing else.
        let other = try ComparisonHost(
            context: Self.context(host: .made(3)), commitment: viewer.commitment, random: &random)
        #expect(throws: PairingFailure.commitment) { try other.digits(revealed: nonce) }
    }

    /// The middle is host to the viewer and viewer to the host. It has to commit before it knows the host's nonce, and
    /// learns the viewer's too late to use it.
    @Test func aManInTheMiddleSeesOtherDigits() throws {
        let middle = DeviceKey.made(0xEE)
        var agreements = 0
        for seed in 0..<2000 {
            var random = SeededGenerator(seed: UInt64(seed))
            let left = Self.context(host: middle)
            let right = Self.context(viewer: middle)
            let viewer = ComparisonViewer(context: left, random: &random)
            let towardsHost = ComparisonViewer(context: right, random: &random)
            let host = try ComparisonHost(context: right, commitment: towardsHost.commitment, random: &random)
            // It passes the host's own nonce on to the viewer.
            let shown = try viewer.reveal(hostNonce: host.nonce).digits
            let asked = try host.digits(revealed: try towardsHost.reveal(hostNonce: host.nonce).nonce)
            if shown == asked { agreements += 1 }
        }
        #expect(agreements == 0)
    }

    @Test func theDigitsAreEven() throws {
        var counts = [Character: Int]()
        let runs = 4000
        for seed in 0..<runs {
            for digit in try Self.compare(Self.context(), Self.context(), seed: UInt64(seed)).host.description {
                counts[digit, default: 0] += 1
            }
        }
        let expected = Double(runs * 6) / 10
        let chi = counts.values.reduce(0.0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected }
        // Nine degrees of freedom: beyond 27.9 once in a thousand; the seeds are fixed.
        #expect(counts.count == 10 && chi < 27.9)
    }

    @Test func smallNumbersKeepTheirZeros() {
        #expect(PairingCode(number: 42).description == "000042")
        #expect(PairingCode(number: 1_000_000).description == "000000")
        #expect(PairingCode(number: .max).description == "551615")
    }
}
