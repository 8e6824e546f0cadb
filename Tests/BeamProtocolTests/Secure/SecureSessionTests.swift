import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Version 2 between a host session and a viewer session, in virtual time.
struct SecureSessionTests {
    private static let code = PairingCode("482913")!

    private static func host(code: PairingCode? = code, takesNew: Bool = true, remembers: Bool = true) -> HostTrust {
        HostTrust(
            own: .host, code: code.map { HostCode(given: $0, isRenewed: true) } ?? .none, takesNewViewers: takesNew,
            remembersNewViewers: remembers)
    }

    private static func pairedKeys(_ simulation: Simulation) -> [DeviceKey] {
        simulation.hostEvents.compactMap { if case .devicePaired(let key, _, true) = $0.event { key } else { nil } }
    }

    // MARK: Admission

    @Test func aPairedViewerStreamsWithoutAQuestion() {
        var simulation = Simulation.securePair()
        simulation.drive(for: .seconds(5))
        #expect(simulation.viewer.decoder.decoded > 100)
        #expect(simulation.viewer.decoder.errors == [])
        #expect(!simulation.hostEvents.contains { if case .viewerAsks = $0.event { true } else { false } })
        // TCP's round trip, hello and join, and the first frame take less than 50 ms.
        #expect(simulation.viewer.frames[0].time.seconds < 0.05)
    }

    @Test func theCodePairsOnce() throws {
        var simulation = Simulation.securePair(
            trust: Self.host(), viewer: .secure(knows: false, code: Self.code.description))
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewer.decoder.decoded > 20)
        #expect(Self.pairedKeys(simulation) == [.viewer])
        let codes = simulation.hostEvents.compactMap { entry -> PairingCode? in
            if case .codeChanged(let change) = entry.event { change.code } else { nil }
        }
        #expect(codes.count == 1 && codes[0] != Self.code)
        let hosts = simulation.viewer.events.compactMap { entry -> DeviceKey? in
            if case .hostPaired(let key, _, true) = entry.event { key } else { nil }
        }
        #expect(hosts == [.host])

        // Another viewer with the same code is refused.
        simulation.addViewer(
            from: .v4(0x0A00_0003),
            configuration: .secure(knows: false, device: .made(7), code: Self.code.description))
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewers[1].decoder.decoded == 0)
        #expect(simulation.viewers[1].events.contains { if case .refused = $0.event { true } else { false } })
    }

    @Test func afterAWrongCodeTheViewerAsksAgain() {
        var simulation = Simulation.securePair(
            trust: Self.host(), viewer: .secure(knows: false, code: "000000", asksForCode: true))
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.events.last?.event == .codeNeeded(CodeQuestion(host: "BeamRoom", problem: .wrong)))
        #expect(
            simulation.hostEvents.contains {
                $0.event == .wrongCode(from: Visitor(address: .v4(0x0A00_0002), name: "viewer"), pause: nil)
            })
        // The viewer doesn't retry by itself: each try needs a code from the person.
        let count = simulation.hostEvents.count
        simulation.drive(for: .seconds(60))
        #expect(simulation.hostEvents.count == count)
        simulation.handleAtViewer(0, .code(Self.code))
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.decoder.decoded > 10)
    }

    @Test func theSixthWrongCodeIsDelayed() {
        var simulation = Simulation.securePair(
            trust: Self.host(), viewer: .secure(knows: false, asksForCode: true))
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.events.last?.event == .codeNeeded(CodeQuestion(host: "BeamRoom")))
        for guess in 0..<6 {
            simulation.handleAtViewer(0, .code(PairingCode("00000\(guess)")!))
            simulation.drive(for: .milliseconds(50))
        }
        let wrong = simulation.hostEvents.count { if case .wrongCode = $0.event { true } else { false } }
        #expect(wrong == 5)
        #expect(simulation.viewer.events.contains { if case .retrying = $0.event { true } else { false } })
        // The sixth code is checked after its delay.
        simulation.drive(for: .seconds(3))
        #expect(simulation.hostEvents.count { if case .wrongCode = $0.event { true } else { false } } == 6)
    }

    @Test func withoutACodeBothShowTheSameDigits() throws {
        var simulation = Simulation.securePair(
            acceptance: .ask, trust: Self.host(code: nil), viewer: .secure(knows: false))
        simulation.drive(for: .seconds(20))
        let id = try #require(Self.comparisonAsked(simulation))
        #expect(Self.shownDigits(simulation).isEmpty, "no digits before the person has agreed")
        #expect(simulation.viewer.events.contains { $0.event == .waitingForPerson(host: "BeamRoom", takesCode: false) })
        simulation.handleAtHost(.decision(id, accept: true))
        simulation.drive(for: .seconds(20))
        let digits = simulation.hostEvents.compactMap { entry -> PairingCode? in
            if case .digitsShown(id, let digits, _) = entry.event { digits } else { nil }
        }
        #expect(digits.count == 1 && Self.shownDigits(simulation) == digits)
        #expect(simulation.bursts.isEmpty)
        simulation.handleAtHost(.decision(id, accept: true))
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.decoder.decoded > 10)
        #expect(Self.pairedKeys(simulation) == [.viewer])
        #expect(!simulation.hostEvents.contains { if case .comparisonFailed = $0.event { true } else { false } })
    }

    /// Before the digits are shown, and after.
    @Test(arguments: [false, true]) func aDeclinedViewerEnds(hasCompared: Bool) throws {
        var simulation = Simulation.securePair(
            acceptance: .ask, trust: Self.host(code: nil), viewer: .secure(knows: false))
        simulation.drive(for: .seconds(1))
        let id = try #require(Self.comparisonAsked(simulation))
        if hasCompared {
            simulation.handleAtHost(.decision(id, accept: true))
            simulation.drive(for: .seconds(1))
            #expect(Self.shownDigits(simulation).count == 1)
        }
        simulation.handleAtHost(.decision(id, accept: false))
        simulation.drive(for: .seconds(30))
        #expect(simulation.viewer.events.last?.event == .refused(.declined))
        #expect(simulation.bursts.isEmpty)
        let failed = simulation.hostEvents.count { if case .comparisonFailed = $0.event { true } else { false } }
        #expect(failed == (hasCompared ? 1 : 0))
    }

    private static func comparisonAsked(_ simulation: Simulation) -> ConnectionID? {
        simulation.hostEvents.lazy.compactMap { entry -> ConnectionID? in
            if case .comparisonAsked(let id, _) = entry.event { id } else { nil }
        }.first
    }

    private static func shownDigits(_ simulation: Simulation) -> [PairingCode] {
        simulation.viewer.events.compactMap { entry -> PairingCode? in
            if case .waitingForDecision(let code) = entry.event { code } else { nil }
        }
    }

    @Test func anOpenHostAdmitsAllAndRemembersNone() {
        var simulation = Simulation.securePair(
            acceptance: .all, trust: Self.host(code: nil), viewer: .secure(knows: false))
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.decoder.decoded > 10)
        #expect(Self.pairedKeys(simulation) == [])
        #expect(!simulation.viewer.events.contains { if case .hostPaired = $0.event { true } else { false } })
    }

    @Test func aViewerWithACodeRefusesAHostThatChecksNone() {
        var simulation = Simulation.securePair(
            acceptance: .all, trust: Self.host(code: nil), viewer: .secure(knows: false, code: "482913"))
        simulation.drive(for: .seconds(5))
        #expect(simulation.viewer.decoder.decoded == 0)
        #expect(simulation.viewer.events.contains { if case .refused = $0.event { true } else { false } })
    }

    @Test func aReplacedCodeIsInvalid() throws {
        var host = HostBench(.none, trust: Self.host(), allowsUnencrypted: false)
        host.openSecurely(1)
        host.say(1, .hello(SecureMessage.Hello(instance: 1, name: "viewer")))
        let nonce = try #require(
            host.takeMessages(1).compactMap { if case .welcome(let welcome) = $0 { welcome.nonce } else { nil } }.first)
        let context = PairingContext(
            viewer: .viewer, host: .host, nonce: nonce, viewerName: "viewer", hostName: "BeamRoom")
        let viewer = try CPaceViewer(code: Self.code, context: context)
        host.say(1, .codeShare(viewer.share))
        let share = try #require(
            host.takeMessages(1).compactMap { if case .codeShare(let share) = $0 { share } else { nil } }.first)
        host.handle(.code(PairingCode("111111")!))
        host.say(1, .codeConfirm(try viewer.confirm(hostShare: share).confirmation))
        #expect(host.isClosed(1))
        #expect(!host.takeEvents().contains { if case .devicePaired = $0 { true } else { false } })
        #expect(host.session.door.code.current?.description == "111111")
    }

    @Test func aHostThatPairsNoNewViewersSaysSo() {
        var simulation = Simulation.securePair(
            acceptance: .ask, trust: Self.host(takesNew: false), viewer: .secure(knows: false, code: "482913"))
        simulation.drive(for: .seconds(1))
        #expect(
            simulation.viewer.events.last?.event
                == .refused(.notTrusted(says: "Only viewers that were paired before are let in")))
    }

    @Test func pairingOnceIsNotRememberedButOutlivesAConnection() {
        var simulation = Simulation.securePair(
            trust: Self.host(remembers: false), viewer: .secure(knows: false, code: "482913"))
        simulation.drive(for: .seconds(1))
        #expect(Self.pairedKeys(simulation) == [])
        simulation.cutControl()
        simulation.drive(for: .seconds(1))
        simulation.restoreControl()
        simulation.drive(for: .seconds(3))
        #expect(simulation.viewer.events.contains { $0.event == .controlRestored })
        #expect(simulation.viewer.decoder.errors == [])
    }

    // MARK: Keys

    @Test func anotherKeyUnderAKnownNameIsRefused() {
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.trust.required = [.host]
        var simulation = Simulation.securePair(viewer: configuration)
        simulation.hostKey = .made(9)
        simulation.drive(for: .seconds(1))
        let key = DeviceKey.made(9)
        let expected = ViewerRefusal.OtherKey(key: key, expected: ["host"], place: .name)
        #expect(simulation.viewer.events.last?.event == .refused(.otherKey(expected)))
        #expect(simulation.hostEvents.allSatisfy { if case .viewerPaired = $0.event { false } else { true } })
    }

    @Test func aViewerThatDoesNotPairIgnoresAnUnknownHost() {
        var configuration = ViewerSession.Configuration.secure(knows: false, code: "482913")
        configuration.trust.pairs = false
        var simulation = Simulation.securePair(acceptance: .all, trust: Self.host(), viewer: configuration)
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.decoder.decoded == 0)
        #expect(simulation.viewer.events.contains { if case .retrying = $0.event { true } else { false } })
        #expect(simulation.hostEvents.allSatisfy { if case .devicePaired = $0.event { false } else { true } })
        #expect(simulation.hostEvents.allSatisfy { if case .viewerPaired = $0.event { false } else { true } })
    }

    @Test func forgettingAViewerEndsItsSessionAndRotatesTheKey() {
        var simulation = Simulation(seed: 1)
        simulation.startHost(
            acceptance: .none,
            trust: HostTrust(own: .host, remembered: [.viewer: "one", .made(2): "two"], code: .none))
        simulation.addViewer(configuration: .secure(knows: true))
        simulation.addViewer(from: .v4(0x0A00_0003), configuration: .secure(knows: true, device: .made(2)))
        simulation.drive(for: .seconds(2))
        let before = simulation.viewers.map(\.decoder.decoded)
        simulation.handleAtHost(.remembered([.viewer: "one"]))
        simulation.drive(for: .seconds(5))
        #expect(
            simulation.viewers[1].events.last?.event
                == .refused(.sentAway(says: "This viewer was sent away, and nobody is asked to let it in again")))
        #expect(simulation.viewers[1].decoder.decoded - before[1] <= 1)
        // The other viewer isn't disturbed.
        #expect(simulation.viewers[0].decoder.decoded - before[0] > 140)
        #expect(simulation.viewers[0].decoder.errors == [])
        #expect(
            simulation.viewers[0].longestPause(from: MediaTime(nanoseconds: 1_500_000_000), to: simulation.now)
                .inSeconds < 0.1)
        #expect(simulation.host?.broadcast.stream.keys.current.number == 1)
    }

    @Test func forgettingTheHostEndsTheViewersSession() {
        var simulation = Simulation.securePair()
        simulation.drive(for: .seconds(1))
        simulation.handleAtViewer(0, .remembered([.host: "host", .made(3): "another"]))
        simulation.drive(for: .seconds(1))
        #expect(!simulation.viewer.events.contains { if case .refused = $0.event { true } else { false } })
        simulation.handleAtViewer(0, .remembered([.made(3): "another"]))
        simulation.drive(for: .milliseconds(100))
        #expect(simulation.viewer.events.last?.event == .refused(.forgottenHere))
        #expect(simulation.host?.statistics.viewers == 0)
    }

    @Test func theKeyIsRotatedWithoutAGapWhenViewersLeave() {
        var simulation = Simulation(seed: 3)
        let devices = (1...6).map { DeviceKey.made($0) }
        simulation.startHost(
            trust: HostTrust(
                own: .host, remembered: Dictionary(uniqueKeysWithValues: devices.map { ($0, "viewer") }), code: .none))
        for (index, device) in devices.enumerated() {
            simulation.addViewer(
                from: .v4(0x0A00_0002 + UInt32(index)), configuration: .secure(knows: true, device: device))
        }
        simulation.drive(for: .seconds(2))
        for index in 1...4 {
            simulation.handleAtViewer(index, .shutdown)
            simulation.drive(for: .milliseconds(index == 2 ? 1 : 700))
        }
        simulation.drive(for: .seconds(2))
        for index in [0, 5] {
            let viewer = simulation.viewers[index]
            #expect(viewer.decoder.errors == [])
            #expect(
                viewer.longestPause(from: MediaTime(nanoseconds: 1_000_000_000), to: simulation.now).inSeconds < 0.1)
            #expect(viewer.session.statistics.lost == 0)
            #expect(viewer.session.statistics.malformed == 0)
        }
        #expect((simulation.host?.broadcast.stream.keys.current.number ?? 0) >= 3)
    }

    @Test func aViewerWithoutAConnectionDelaysTheRotationBy1sAtMost() {
        var simulation = Simulation(seed: 4)
        simulation.startHost(
            trust: HostTrust(own: .host, remembered: [.viewer: "a", .made(2): "b"], code: .none))
        simulation.addViewer(configuration: .secure(knows: true))
        simulation.addViewer(from: .v4(0x0A00_0003), configuration: .secure(knows: true, device: .made(2)))
        simulation.drive(for: .seconds(1))
        simulation.cutControl()
        simulation.drive(for: .milliseconds(100))
        simulation.handleAtHost(.remembered([.viewer: "a"]))
        simulation.drive(for: .milliseconds(1100))
        #expect(simulation.host?.broadcast.stream.keys.current.number == 1)
        simulation.restoreControl()
        simulation.drive(for: .seconds(3))
        #expect(simulation.viewer.decoder.errors == [])
        #expect(simulation.viewer.longestPause(from: simulation.now - .seconds(1), to: simulation.now).inSeconds < 0.2)
    }

    // MARK: The stream's destination

    @Test func aViewerThatChangesNetworksIsFollowed() {
        var simulation = Simulation.securePair()
        simulation.drive(for: .seconds(2))
        simulation.move(0, to: .v4(0xC0A8_0163))
        simulation.drive(for: .seconds(4))
        #expect(simulation.viewer.longestPause(from: simulation.now - .seconds(2), to: simulation.now).inSeconds < 0.2)
        #expect(simulation.viewer.decoder.errors == [])
        let addresses = Set(simulation.bursts.suffix(20).map(\.burst.address.ip))
        #expect(addresses == [.v4(0xC0A8_0163)])
    }

    @Test func plainForgedAndReplayedHellosMoveNoStream() throws {
        var host = HostBench(
            .none, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none), allowsUnencrypted: false)
        host.openSecurely(1)
        host.say(1, .hello(SecureMessage.Hello(instance: 1, name: "viewer")), .join)
        let session = try #require(
            host.takeMessages(1).compactMap { if case .session(let session) = $0 { session } else { nil } }.first)
        let sealer = DatagramSealer(key: session.viewerKey)
        let first = try sealer.seal(.hello, SealedHello(time: .zero).plaintext)
        let second = try sealer.seal(.hello, SealedHello(time: .zero).plaintext)
        let elsewhere = IPAddress.v4(0xC633_6401)
        host.hello(40000, bytes: second)
        try host.answerChallenge(session, sealer, port: 40000)
        host.frame(TestFrame.make(1))
        // From the attacker's machine, and from another port of the viewer's machine.
        for (port, address) in [(40000, elsewhere), (41000, HostBench.viewer)] as [(UInt16, IPAddress)] {
            host.hello(port, from: address)
            host.hello(port, from: address, bytes: first)
            host.hello(port, from: address, bytes: second)
            var forged = try sealer.seal(.hello, SealedHello(time: .zero).plaintext)
            for index in forged.indices {
                forged[index] ^= 0x10
                host.hello(port, from: address, bytes: forged)
                forged[index] ^= 0x10
            }
            let other = DatagramSealer(key: session.mediaKey)
            host.hello(port, from: address, bytes: try other.seal(.hello, SealedHello(time: .zero).plaintext))
        }
        host.advance(by: .milliseconds(300))
        host.frame(TestFrame.make(2, reference: 1))
        let addresses = Set(host.bursts.map(\.burst.address))
        #expect(addresses == [NetworkAddress(ip: HostBench.viewer, port: 40000)])
        // The same datagrams from the viewer's own socket: only the newest one counts.
        host.hello(42000, bytes: try sealer.seal(.hello, SealedHello(time: .zero).plaintext))
        try host.answerChallenge(session, sealer, port: 42000)
        host.frame(TestFrame.make(3))
        #expect(host.bursts.last?.burst.address == NetworkAddress(ip: HostBench.viewer, port: 42000))
    }

    // MARK: Version 1

    @Test func version1IsRefusedWithAReason() {
        var host = HostBench(.all, allowsUnencrypted: false)
        host.introduce(1)
        let reply = host.take(1).joined()
        #expect(reply.contains(#""ok":false"#) && reply.contains("--allow-unencrypted"))
        #expect(host.isClosed(1))
        host.hello(40000)
        host.frame(TestFrame.make(1))
        #expect(host.bursts.isEmpty)
    }

    @Test func aViewerFallsBackToVersion1OnlyIfAllowed() {
        var strict = ViewerBench(.secure(knows: false))
        strict.handle(.controlClosed(reason: "it doesn't speak TLS", .notSecure))
        #expect(strict.take().filter { $0.hasSuffix("connect") } == [])

        var lax = ViewerSession.Configuration.secure(knows: false)
        lax.allowsUnencrypted = true
        var viewer = ViewerBench(lax)
        #expect(viewer.take() == ["0.0: connecting(attempt: 1)", "0.0: connect securely"])
        viewer.handle(.controlClosed(reason: "it doesn't speak TLS", .notSecure))
        #expect(viewer.take() == ["0.0: connecting(attempt: 1)", "0.0: connect"])

        // A known host is never watched in the clear, whatever discovery announces.
        lax.trust.required = [.host]
        lax.announcedVersion = 1
        var careful = ViewerBench(lax)
        #expect(careful.take() == ["0.0: connecting(attempt: 1)", "0.0: connect securely"])
        careful.handle(.controlClosed(reason: "it doesn't speak TLS", .notSecure))
        #expect(careful.events.contains { if case .refused = $0 { true } else { false } })
        lax.trust.required = nil
        lax.announcedVersion = nil

        // A host that has spoken version 2 once is never watched in version 1.
        var known = ViewerBench(lax)
        known.handle(.controlSecured(.host))
        known.handle(.controlClosed(reason: "reset"))
        known.advance(by: .seconds(2))
        known.handle(.controlClosed(reason: "it doesn't speak TLS", .notSecure))
        known.advance(by: .seconds(20))
        #expect(!known.take().contains { $0.hasSuffix(" connect") })
    }

    @Test func aHostThatSpokeVersion1BeforeIsNotAskedForTLSFirst() {
        var lax = ViewerSession.Configuration.secure(knows: false)
        lax.wasUnencrypted = true
        var strict = ViewerBench(lax)
        #expect(strict.take() == ["0.0: connecting(attempt: 1)", "0.0: connect securely"], "it isn't allowed")
        lax.allowsUnencrypted = true
        var viewer = ViewerBench(lax)
        #expect(viewer.take() == ["0.0: connecting(attempt: 1)", "0.0: connect"])
        // It may have learnt version 2 since: its refusal counts only if it hasn't.
        viewer.handle(.controlConnected)
        viewer.hear(#"{"ok":false,"message":"--allow-unencrypted"}"#)
        #expect(viewer.take().suffix(2) == ["0.0: connecting(attempt: 1)", "0.0: connect securely"])
        viewer.handle(.controlClosed(reason: "it doesn't speak TLS", .notSecure))
        #expect(viewer.events.last == .refused(.other(says: "--allow-unencrypted")))

        lax.announcedVersion = 2
        var announced = ViewerBench(lax)
        #expect(announced.take() == ["0.0: connecting(attempt: 1)", "0.0: connect securely"])
        lax.announcedVersion = nil
        lax.trust.required = [.host]
        var paired = ViewerBench(lax)
        #expect(paired.take() == ["0.0: connecting(attempt: 1)", "0.0: connect securely"])
    }

    @Test func aCodeThatAHostMayHaveSeenIsNotRetried() throws {
        var viewer = ViewerBench(.secure(knows: false, code: "482913", asksForCode: true))
        viewer.handle(.controlSecured(.host))
        let nonce = [UInt8](repeating: 5, count: 32)
        viewer.say(
            .welcome(SecureMessage.Welcome(isTrusted: false, methods: .code, nonce: nonce, name: "false host")))
        let share = try #require(
            viewer.takeMessages().compactMap { if case .codeShare(let share) = $0 { share } else { nil } }.first)
        let context = PairingContext(
            viewer: .viewer, host: .host, nonce: nonce, viewerName: "viewer", hostName: "false host")
        let guess = try CPaceHost(code: PairingCode("111111")!, context: context, viewerShare: share)
        viewer.say(.codeShare(guess.share))
        #expect(viewer.takeMessages().contains { if case .codeConfirm = $0 { true } else { false } })
        viewer.handle(.controlClosed(reason: "reset"))
        #expect(viewer.events.last == .codeNeeded(CodeQuestion(host: "false host", problem: .unchecked)))
        viewer.advance(by: .seconds(60))
        #expect(!viewer.take().contains { $0.hasPrefix("6") || $0.hasPrefix("3") })
    }
}
