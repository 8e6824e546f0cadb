import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A stream goes only to an address that its viewer has proved to own.
struct AddressValidationTests {
    private static let trust = HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none)
    private static let victim = NetworkAddress(ip: .v4(0xC633_6401), port: 40000)

    private func bytes(_ host: HostBench, to address: NetworkAddress) -> Int {
        host.bursts.reduce(0) { $0 + ($1.burst.address == address ? $1.burst.range.count : 0) }
    }

    private func hello(_ host: HostBench, _ sealer: DatagramSealer, token: UInt64? = nil) throws -> [UInt8] {
        try sealer.seal(.hello, SealedHello(time: host.now, token: token).plaintext)
    }

    /// The attack: hellos with the victim's address, and feedback from another address that keeps the path open.
    @Test func aStreamIsNotSentToAnAddressWithoutProof() throws {
        var host = HostBench(.none, trust: Self.trust)
        let joined = host.join(1)
        let (_, sealer) = try #require(joined)
        var sent = 0
        var guess = SeededGenerator(seed: 5)
        for index: UInt32 in 0..<600 {
            if index % 60 == 0 {
                let bytes = try hello(host, sealer, token: index % 120 == 0 ? nil : guess.next())
                sent += bytes.count
                host.hello(Self.victim.port, from: Self.victim.ip, bytes: bytes)
            }
            let feedback = Feedback(
                keyframeAfter: SequenceNumber(index), missing: [Feedback.Missing(frame: SequenceNumber(index))],
                report: Feedback.Report(time: host.now, expected: index, missed: 0))
            host.hello(50000, bytes: try sealer.seal(.feedback, feedback.plaintext))
            host.frame(TestFrame.make(index, reference: index % 30 == 0 ? nil : index - 1, bytes: 20_000))
            host.advance(by: .milliseconds(16))
        }
        let received = bytes(host, to: Self.victim)
        #expect(received > 0 && received <= 3 * sent, "\(received) bytes for \(sent)")
        #expect(Set(host.bursts.map(\.burst.address)) == [Self.victim], "no other address gets anything")
        #expect(host.session.statistics.watching == 0)
    }

    @Test func theStreamStaysAtTheOldAddressUntilTheNewOneIsProved() throws {
        var host = HostBench(.none, trust: Self.trust)
        let joined = host.join(1)
        let (session, sealer) = try #require(joined)
        let old = NetworkAddress(ip: HostBench.viewer, port: 40000)
        host.hello(old.port, bytes: try hello(host, sealer))
        #expect(host.session.statistics.watching == 0)
        try host.answerChallenge(session, sealer, port: old.port)
        #expect(host.session.statistics.watching == 1)
        host.frame(TestFrame.make(1))
        _ = host.takeBursts()
        host.hello(Self.victim.port, from: Self.victim.ip, bytes: try hello(host, sealer))
        host.frame(TestFrame.make(2, reference: 1, bytes: 5000))
        host.advance(by: .milliseconds(100))
        #expect(bytes(host, to: old) > 1200)
        #expect(bytes(host, to: Self.victim) <= 108)
        // The viewer answers from the new address: the stream moves there.
        try host.answerChallenge(session, sealer, port: Self.victim.port, from: Self.victim.ip)
        _ = host.takeBursts()
        host.frame(TestFrame.make(3, bytes: 5000))
        host.advance(by: .milliseconds(100))
        #expect(bytes(host, to: old) == 0 && bytes(host, to: Self.victim) > 1200)
    }

    @Test func aTokenIsValidForOneAddressAndAShortTime() throws {
        var host = HostBench(.none, trust: Self.trust)
        let joined = host.join(1)
        let (session, sealer) = try #require(joined)
        let here = NetworkAddress(ip: HostBench.viewer, port: 40000)
        host.hello(here.port, bytes: try hello(host, sealer))
        let token = try #require(host.challenge(session, at: here))
        // A second hello gets the same token.
        host.advance(by: .seconds(1))
        host.hello(here.port, bytes: try hello(host, sealer))
        #expect(host.challenge(session, at: here) == token)
        // From another address the token proves nothing; that address gets one of its own.
        host.hello(Self.victim.port, from: Self.victim.ip, bytes: try hello(host, sealer, token: token))
        #expect(host.session.statistics.watching == 0)
        #expect(host.challenge(session, at: Self.victim) != token)
        host.hello(here.port, bytes: try hello(host, sealer))
        let second = try #require(host.challenge(session, at: here))
        host.advance(by: AddressValidation.lifetime)
        host.hello(here.port, bytes: try hello(host, sealer, token: second))
        #expect(host.session.statistics.watching == 0, "the token has expired")
        try host.answerChallenge(session, sealer, port: here.port)
        #expect(host.session.statistics.watching == 1)
    }

    @Test func feedbackFromElsewhereDoesNotKeepASilentAddressAlive() throws {
        var host = HostBench(.none, trust: Self.trust)
        let joined = host.join(1)
        let (session, sealer) = try #require(joined)
        host.hello(40000, bytes: try hello(host, sealer))
        try host.answerChallenge(session, sealer, port: 40000)
        for _ in 0..<19 {
            host.advance(by: .seconds(1))
            let report = Feedback.Report(time: host.now, expected: 1, missed: 0)
            host.hello(50000, bytes: try sealer.seal(.feedback, Feedback(report: report).plaintext))
        }
        #expect(host.session.statistics.watching == 1)
        host.advance(by: .seconds(1))
        #expect(host.session.statistics.watching == 0)
    }

    @Test func nothingIsEncodedForAnAddressThatIsNeverProved() throws {
        var host = HostBench(.none, trust: Self.trust)
        let joined = host.join(1)
        let (_, sealer) = try #require(joined)
        host.hello(Self.victim.port, from: Self.victim.ip, bytes: try hello(host, sealer))
        #expect(host.demands.last?.demand.isWatched == true && host.keyframeRequests.count == 1)
        host.frame(TestFrame.make(1))
        host.advance(by: AddressValidation.lifetime)
        #expect(host.demands.last?.demand.isWatched == false)
        #expect(host.keyframeRequests.count == 1)
    }

    // MARK: The first picture

    /// The proof takes one round trip, in parallel with the keyframe: the first picture takes the longer of the two,
    /// not the sum.
    @Test(arguments: [0.3, 1, 5, 20, 60], [5, 15, 40])
    func theAddressIsProvedWhileTheKeyframeIsMade(delay: Double, encodes: Int) throws {
        let delay = Duration.microseconds(Int64(delay * 1000))
        var simulation = Simulation.securePair()
        simulation.source.encodes = .milliseconds(encodes)
        simulation.setConditions(0, LinkConditions(delay: delay))
        simulation.drive(for: .seconds(3))
        let first = try #require(simulation.bursts.first?.time, "the challenge")
        let keyframe = try #require(simulation.bursts.first { $0.burst.range.count > 108 }?.time)
        // The screen is captured 30 times a second: up to 34 ms until the next capture.
        let encoded = .milliseconds(encodes) + .milliseconds(34)
        #expect(keyframe - first <= max(delay * 2, encoded) + .milliseconds(1))
        #expect(simulation.viewer.decoder.errors.isEmpty)
    }

    @Test func aLostChallengeDelaysTheStreamOnlyBriefly() throws {
        for seed: UInt64 in 1...20 {
            var simulation = Simulation.securePair(seed: seed)
            simulation.setConditions(
                0, LinkConditions(delay: .milliseconds(2), loss: 0.3),
                back: LinkConditions(delay: .milliseconds(2), loss: 0.3))
            simulation.drive(for: .seconds(3))
            let first = try #require(simulation.viewer.frames.first?.time)
            #expect(first < .at(1.5), "\(seed): \(first)")
        }
    }
}
