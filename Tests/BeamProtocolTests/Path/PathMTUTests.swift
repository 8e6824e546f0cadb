import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The search for the longest datagrams that a path carries, by itself.
struct PathMTUTests {
    private static let trip = Duration.milliseconds(20)

    /// A path on which long datagrams aren't proved, and the viewer is heard every 20 ms. Answers the time of the
    /// reduction. `arrives`: whether a probe arrives, by its size and the order of all probes.
    private func search(
        _ mtu: inout PathMTU, from start: MediaTime = .zero, arrives: (DatagramSize, Int) -> Bool
    ) -> MediaTime? {
        var now = start
        var acknowledged: [(number: UInt16, time: MediaTime)] = []
        var count = 0
        while now < start + .seconds(1) {
            mtu.sent(4, now: now)
            for (number, time) in acknowledged where time <= now {
                if mtu.acknowledged(number, roundTrip: Self.trip, now: now) { return now }
            }
            acknowledged.removeAll { $0.time <= now }
            mtu.heard(roundTrip: Self.trip, now: now)
            if let deadline = mtu.deadline, deadline <= now {
                for probe in mtu.takeProbes(roundTrip: Self.trip, now: now) {
                    count += 1
                    if arrives(probe.size, count) { acknowledged.append((probe.number, now + Self.trip)) }
                }
            }
            now = now + .milliseconds(20)
        }
        return nil
    }

    @Test(arguments: [DatagramSize.small, .medium])
    func aShorterLengthIsFoundWithinHalfASecond(_ longest: DatagramSize) throws {
        var mtu = PathMTU(canProbe: true)
        let found = search(&mtu) { size, _ in size <= longest }
        let time = try #require(found)
        #expect(mtu.size == longest)
        #expect(time < .at(0.5))
    }

    @Test func lossOfProbesDelaysTheDecisionAndDoesNotChangeIt() {
        var mtu = PathMTU(canProbe: true)
        let time = search(&mtu) { size, count in size == .small && count % 2 == 0 || size == .medium && count > 6 }
        #expect(time != nil)
        #expect(mtu.size == .medium)
    }

    @Test func aProbeOfThePresentLengthEndsTheSearch() {
        var mtu = PathMTU(canProbe: true)
        let time = search(&mtu) { size, count in size != .full || count > 6 }
        #expect(time == nil)
        #expect(mtu.size == .full)
    }

    @Test func withoutAnyProbeNothingChanges() {
        var mtu = PathMTU(canProbe: true)
        let time = search(&mtu) { _, _ in false }
        #expect(time == nil)
        #expect(mtu.size == .full)
    }

    @Test func aViewerThatKnowsNoProbesGetsNone() {
        var mtu = PathMTU(canProbe: false)
        let time = search(&mtu) { _, _ in true }
        #expect(time == nil)
        #expect(mtu.deadline == nil)
    }

    @Test func provenDatagramsAreNotDoubted() {
        var mtu = PathMTU(canProbe: true)
        var now = MediaTime.zero
        for _ in 0..<100 {
            mtu.sent(4, now: now)
            mtu.proved(.full, sent: now, now: now + .milliseconds(30))
            now = now + .milliseconds(40)
            mtu.heard(roundTrip: Self.trip, now: now)
        }
        #expect(mtu.deadline == nil)
        // The arrival of what was sent before proves nothing.
        mtu.sent(10, now: now)
        mtu.proved(.full, sent: now - .milliseconds(1), now: now)
        mtu.heard(roundTrip: Self.trip, now: now + .milliseconds(500))
        #expect(mtu.deadline != nil)
    }

    @Test func longerDatagramsAreTriedAgain() throws {
        var mtu = PathMTU(canProbe: true)
        let found = search(&mtu) { size, _ in size == .small }
        let reduced = try #require(found)
        var now = reduced
        var tries = 0
        // Nothing longer passes for a while; then everything does.
        while mtu.size == .small, now < reduced + .seconds(120) {
            let before = mtu.deadline ?? .distantFuture
            now = max(now, before)
            let probes = mtu.takeProbes(roundTrip: Self.trip, now: now)
            if !probes.isEmpty { tries += 1 }
            #expect(probes.allSatisfy { $0.size > .small })
            guard now > reduced + .seconds(30) else { continue }
            for probe in probes {
                let isReduced = mtu.acknowledged(probe.number, roundTrip: Self.trip, now: now)
                #expect(!isReduced)
            }
        }
        #expect(mtu.size == .full)
        #expect(now < reduced + .seconds(60))
        #expect(tries < 25)
        #expect(mtu.deadline == nil)
    }

    @Test func inventedAcknowledgementsChangeNothing() {
        var mtu = PathMTU(canProbe: true)
        for number in UInt16.min...UInt16.max {
            let isReduced = mtu.acknowledged(number, roundTrip: Self.trip, now: .zero)
            #expect(!isReduced)
        }
        #expect(mtu.size == .full)
    }
}
