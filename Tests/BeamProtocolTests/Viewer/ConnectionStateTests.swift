import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Connecting, stable, unstable: when a viewer says which, and how often it tries again.
struct ConnectionStateTests {
    private static let trust = HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none)

    private static func states(_ simulation: Simulation) -> [ConnectionState] {
        simulation.viewer.events.compactMap { if case .connection(let state) = $0.event { state } else { nil } }
    }

    private static func times(_ simulation: Simulation, of state: ConnectionState) -> [Double] {
        simulation.times { $0 == .connection(state) }
    }

    // MARK: The states

    /// On a still screen the host's answers to hellos are all that comes.
    @Test(arguments: [false, true]) func aConnectionIsStableAfter4s(isStill: Bool) {
        var simulation = Simulation.securePair()
        simulation.source.isStill = isStill
        simulation.drive(for: .seconds(3.9))
        #expect(Self.states(simulation) == [])
        simulation.drive(for: .seconds(20))
        #expect(Self.states(simulation) == [.stable])
        let time = Self.times(simulation, of: .stable).first ?? 0
        #expect(time >= 4 && time < 5.2, "stable after \(time) s")
    }

    @Test func aConnectionThatIsLostSoonIsUnstableUntilItIsStable() {
        var simulation = Simulation.securePair()
        simulation.drive(for: .seconds(2))
        simulation.killHost()
        simulation.drive(for: .seconds(1))
        #expect(Self.states(simulation) == [.unstable])
        simulation.startHost(acceptance: .none, trust: Self.trust)
        simulation.drive(for: .seconds(2))
        // Lost again before it was stable: nothing new.
        simulation.killHost()
        simulation.drive(for: .seconds(1))
        #expect(Self.states(simulation) == [.unstable])
        simulation.startHost(acceptance: .none, trust: Self.trust)
        simulation.drive(for: .seconds(8))
        #expect(Self.states(simulation) == [.unstable, .stable])
    }

    @Test func aStableConnectionThatIsLostIsConnecting() {
        var simulation = Simulation.securePair()
        simulation.drive(for: .seconds(8))
        simulation.killHost()
        simulation.drive(for: .seconds(3))
        simulation.startHost(acceptance: .none, trust: Self.trust)
        let back = simulation.now.seconds
        simulation.drive(for: .seconds(8))
        #expect(Self.states(simulation) == [.stable, .connecting, .stable])
        let first = simulation.viewer.frames.first { $0.time.seconds > back }
        #expect((first?.time.seconds ?? .infinity) - back < 1, "the picture is back within 1 s of its listening again")
    }

    /// Between 4 and 5 s a connection may be called stable already, and still be lost too soon.
    @Test func aLossWithin5sIsUnstableEvenAfterStable() {
        var tracker = ConnectionTracker()
        tracker.made(now: .at(10))
        let first = [tracker.heard(now: .at(13.9)), tracker.heard(now: .at(14)), tracker.heard(now: .at(14.5))]
        #expect(first == [nil, .stable, nil])
        let loss = [tracker.lost(now: .at(14.9)), tracker.lost(now: .at(15)), tracker.heard(now: .at(30))]
        #expect(loss == [.unstable, nil, nil], "then there is no connection that could be lost or heard")
        tracker.made(now: .at(31))
        let silent = tracker.lost(now: .at(60))
        #expect(silent == nil, "it was never stable, for want of traffic")
        tracker.made(now: .at(61))
        let orderly = [tracker.heard(now: .at(65)), tracker.ended()]
        #expect(orderly == [.stable, .connecting])
        tracker.made(now: .at(70))
        let early = tracker.ended()
        #expect(early == nil && tracker.state == .connecting)
    }

    // MARK: Retries

    @Test func anUnreachableHostIsTriedAfter1And2AndThenEvery4s() {
        var viewer = ViewerBench(.secure(knows: true))
        var pauses: [Double] = []
        for _ in 0..<6 {
            let begin = viewer.now
            viewer.handle(.controlClosed(reason: "refused"))
            viewer.advance(to: viewer.deadline)
            pauses.append((viewer.now - begin).inSeconds)
        }
        #expect(pauses == [1, 2, 4, 4, 4, 4])
    }

    /// For a minute a restarted host is found at once; later attempts are as rare as at the beginning.
    @Test func aLostHostIsTriedOftenForAMinute() {
        var control = AdmissionState(.secure(after: nil), isAwaited: false)
        var now = MediaTime.at(0)
        _ = control.start(now: now)
        let pairing = SecurePairing(own: .viewer, name: "viewer", host: .host, isKnown: true, choice: .any)
        _ = control.connected(.pairing(pairing), now: now)
        _ = control.accepted(now: now)
        now = .at(20)
        _ = control.closed(reason: "reset", now: now)
        var pauses: [Double] = []
        while now < .at(110) {
            let due = control.deadline ?? .distantFuture
            pauses.append((due - now).inSeconds)
            now = due
            _ = control.deadlineReached(now: now)
            _ = control.closed(reason: "refused", now: now)
        }
        #expect(pauses.first == 0.3)
        #expect(pauses.dropFirst().prefix(200).allSatisfy { $0 == 0.25 })
        #expect(pauses.suffix(3) == [4, 4, 4])
        let late = pauses.drop { $0 < 1 }
        #expect(Array(late.prefix(4)) == [1, 2, 4, 4])
    }

    // MARK: Another host in its place

    private static func required(pairs: Bool) -> ViewerBench {
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.trust.required = [.host]
        configuration.trust.pairs = pairs
        return ViewerBench(configuration)
    }

    @Test func anotherHostThanTheExpectedOneIsRefusedWhenNothingElseAnswers() {
        var viewer = Self.required(pairs: true)
        #expect(viewer.session.expectedHosts == [.host])
        viewer.handle(.controlClosed(reason: "another machine", .wrongHost(.made(9))))
        guard case .refused(.otherKey(let other))? = viewer.events.last else {
            Issue.record("\(viewer.events)")
            return
        }
        #expect(other.key == .made(9) && other.expected == ["host"])
    }

    @Test func withoutAPersonTheExpectedHostIsWaitedFor() {
        var viewer = Self.required(pairs: false)
        viewer.handle(.controlClosed(reason: "another machine", .wrongHost(.made(9))))
        #expect(viewer.events.contains { if case .mistrusted(.otherKey) = $0 { true } else { false } })
        #expect(viewer.deadline == .at(10))
    }

    /// The version is learned after the first attempt, which was to a last known address.
    @Test func aPairedNameThatIsAnnouncedInVersion1IsNotWatched() {
        var viewer = Self.required(pairs: true)
        viewer.handle(.controlClosed(reason: "refused"))
        viewer.handle(.announced(version: 1))
        viewer.handle(.hostAppeared)
        viewer.handle(.controlClosed(reason: "no TLS", .notSecure))
        #expect(viewer.events.last == .refused(.unencryptedImpostor))
    }
}
