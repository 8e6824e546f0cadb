import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Limits on what a viewer may send and ask for: an honest viewer on the worst network stays far below them, one that
/// floods is evicted.
struct ViewerRateLimitsTests {
    /// Calls `body` `perSecond` times a second. Answers after how many seconds the viewer was evicted.
    private func evicted(
        _ perSecond: Int, seconds: Int, _ body: (inout ViewerRateLimits, MediaTime) -> ViewerRateLimits.Verdict
    ) -> Double? {
        var limits = ViewerRateLimits()
        for step in 0..<perSecond * seconds {
            let now = MediaTime.at(1 + Double(step) / Double(perSecond))
            if case .evict = body(&limits, now) { return now.seconds - 1 }
        }
        return nil
    }

    @Test func onlyAFloodOfDatagramsEvicts() {
        let datagram = { (limits: inout ViewerRateLimits, now: MediaTime) in limits.datagramCame(now: now) }
        // A report every 8 ms, and as many requests.
        #expect(evicted(250, seconds: 600, datagram) == nil)
        #expect(evicted(800, seconds: 600, datagram) == nil, "more than is read, but not enough to evict")
        #expect(evicted(2000, seconds: 10, datagram).map { $0 < 4 } == true)
        #expect(evicted(5000, seconds: 10, datagram).map { $0 < 2 } == true)
    }

    @Test func datagramsThatAreReadAreBounded() {
        var limits = ViewerRateLimits()
        let read = (0..<2000).count { limits.datagramCame(now: .at(1 + Double($0) / 1000)) == .accept }
        #expect((800...910).contains(read), "400 a second and 100 at once: \(read) in 2 s")
    }

    @Test func excessiveKeyframeRequestsEvict() {
        let request = { (limits: inout ViewerRateLimits, now: MediaTime) in limits.keyframeRequested(now: now) }
        #expect(evicted(10, seconds: 3600, request) == nil, "ten a second for an hour without a keyframe are fine")
        #expect(evicted(400, seconds: 10, request).map { $0 < 1 } == true)
    }

    @Test func keyframesThatCostOtherViewersHaveABudget() {
        var budget = KeyframeBudget()
        let paid = (0..<6000).count { budget.pay(now: .at(1 + Double($0) / 100)) }
        #expect((8...10).contains(paid), "three at once, and one every 10 s: \(paid) in a minute")
    }

    @Test func aViewerThatAsksForEverythingAgainIsEvicted() {
        // Half of all parts are lost, and half of all retransmissions.
        let unlucky = evicted(100, seconds: 600) { limits, now in
            limits.partsSent(10, now: now)
            return limits.partsRequested(10, now: now)
        }
        #expect(unlucky == nil)
        let greedy = evicted(100, seconds: 60) { limits, now in
            limits.partsSent(10, now: now)
            return limits.partsRequested(1000, now: now)
        }
        #expect(greedy.map { $0 < 1 } == true)
        // The sum doesn't overflow, however many parts one request names.
        #expect(evicted(100, seconds: 1) { limits, now in limits.partsRequested(.max, now: now) } != nil)
    }

    @Test func aFewImpossibleReportsAreForgiven() {
        #expect(evicted(1, seconds: 600) { limits, now in limits.stated(falseReports: 5, now: now) } == nil)
        #expect(evicted(100, seconds: 5) { limits, now in limits.stated(falseReports: 30, now: now) } != nil)
        #expect(evicted(1, seconds: 600) { limits, now in limits.stated(falseReports: 0, now: now) } == nil)
    }

    /// An evicted viewer is refused for a minute on any connection; then it is admitted again.
    @Test func anEvictedViewerIsAdmittedAgainAfterAMinute() throws {
        var host = HostBench(
            .none, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none))
        let first = host.join(1)
        let joined = try #require(first)
        host.hello(40_000, bytes: try joined.sealer.seal(.hello, SealedHello(time: .zero).plaintext))
        try host.answerChallenge(joined.session, joined.sealer, port: 40_000)
        host.frame(TestFrame.make(0))
        _ = host.takeEvents()
        _ = host.takeMessages(1)
        let feedback = Feedback(keyframeAfter: SequenceNumber(5))
        for _ in 0..<2000 {
            host.hello(40_000, bytes: try joined.sealer.seal(.feedback, feedback.plaintext))
            host.advance(by: .milliseconds(2))
        }
        let reason = "it was sent away: it sent too many keyframe requests"
        #expect(
            host.takeEvents().contains { if case .viewerLeft(_, _, reason) = $0 { true } else { false } })
        #expect(host.isClosed(1) && host.session.statistics.viewers == 0)
        let told = host.takeMessages(1).compactMap { if case .refused(_, let text) = $0 { text } else { nil } }
        #expect(told == ["This viewer was sent away: it sent too many keyframe requests"])
        let second = host.join(2, instance: 2)
        #expect(second == nil)
        host.advance(by: .seconds(55))
        let third = host.join(3, instance: 3)
        #expect(third == nil)
        host.advance(by: .seconds(10))
        let fourth = host.join(4, instance: 4)
        #expect(fourth != nil)
    }

    /// Many viewers are evicted in one pass over the list of viewers: none is removed while the list is iterated.
    @Test func manyViewersCanBeEvictedAtOnce() throws {
        let devices = (1...20).map { DeviceKey.made(UInt8($0)) }
        var host = HostBench(
            .none,
            trust: HostTrust(
                own: .host, remembered: Dictionary(uniqueKeysWithValues: devices.map { ($0, "viewer") }), code: .none))
        var sealers: [DatagramSealer] = []
        for (index, device) in devices.enumerated() {
            let port = UInt16(40_000 + index)
            let session = host.join(UInt64(index + 1), device: device, instance: 1)
            let joined = try #require(session)
            host.hello(port, bytes: try joined.sealer.seal(.hello, SealedHello(time: .zero).plaintext))
            try host.answerChallenge(joined.session, joined.sealer, port: port)
            sealers.append(joined.sealer)
        }
        host.frame(TestFrame.make(0))
        let feedback = Feedback(keyframeAfter: SequenceNumber(5)).plaintext
        for round: UInt32 in 1...400 where host.session.statistics.viewers > 0 {
            for (index, sealer) in sealers.enumerated() {
                let bytes = try sealer.seal(.feedback, feedback)
                // All viewers misbehave before the host is polled.
                bytes.withUnsafeBytes {
                    host.session.handleDatagram(
                        $0, from: NetworkAddress(ip: HostBench.viewer, port: UInt16(40_000 + index)), now: host.now)
                }
            }
            host.frame(TestFrame.make(round, reference: round - 1))
            host.advance(by: .milliseconds(2))
        }
        #expect(host.session.statistics.viewers == 0)
    }

    /// A newcomer repeats its request until its keyframe comes, which may take long on a busy host. Only keyframes that
    /// are made for it count against its budget: it isn't moved to the reduced layer.
    @Test func waitingForAKeyframeThatIsDueCostsNothing() throws {
        let devices = [DeviceKey.made(1), DeviceKey.made(2)]
        var host = HostBench(
            .none,
            trust: HostTrust(
                own: .host, remembered: Dictionary(uniqueKeysWithValues: devices.map { ($0, "viewer") }), code: .none))
        var sealers: [DatagramSealer] = []
        for (index, device) in devices.enumerated() {
            let port = UInt16(40_000 + index)
            let session = host.join(UInt64(index + 1), device: device, instance: 1)
            let joined = try #require(session)
            host.hello(port, bytes: try joined.sealer.seal(.hello, SealedHello(time: .zero).plaintext))
            try host.answerChallenge(joined.session, joined.sealer, port: port)
            sealers.append(joined.sealer)
        }
        host.frame(TestFrame.make(0))
        host.advance(by: .milliseconds(500))
        _ = host.takeEvents()
        // The encoder takes a second for the keyframe that the second viewer needs.
        for _ in 0..<10 {
            host.hello(
                40_001, bytes: try sealers[1].seal(.feedback, Feedback(keyframeAfter: SequenceNumber(5)).plaintext))
            host.advance(by: .milliseconds(100))
        }
        let moved = host.takeEvents().contains { if case .layerChanged = $0 { true } else { false } }
        #expect(!moved)
    }
}
