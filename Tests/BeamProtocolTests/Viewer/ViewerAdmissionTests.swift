import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The timing of a viewer's control connection.
struct ViewerAdmissionTests {
    @Test func theHandshakeIsSentAndTheReplyIsUsed() {
        var viewer = ViewerBench()
        #expect(viewer.take() == ["0.0: connecting(attempt: 1)", "0.0: connect"])
        viewer.now = .at(0.5)
        viewer.handle(.controlConnected)
        #expect(
            viewer.take() == [
                #"0.5: {"app":"beamroom","ver":1,"role":"viewer","code":"482913"}"#,
                "0.5: waitingForDecision(code: 482913)",
            ])
        viewer.advance(to: .at(3))
        viewer.hear(#"{"ok":true,"sessionID":"S1","message":null,"deviceName":"box"}"#)
        viewer.hear(#"{"udpPort":52346}"#, #"{"on":true}"#)
        #expect(
            viewer.take() == [
                #"3.0: paired(session: "S1", deviceName: Optional("box"), isNewSession: true, isEncrypted: false)"#,
                "3.0: open media 52346", "3.0: broadcast(true)",
            ])
        viewer.handle(.mediaOpened(localPort: 40123))
        #expect(viewer.take() == ["3.0: BRHI!", #"3.0: {"mediaSource":40123}"#])
    }

    @Test func unansweredHandshakesFollowTheProtocolsSchedule() {
        var viewer = ViewerBench()
        var pauses: [Double] = []
        for _ in 0..<9 {
            viewer.handle(.controlConnected)
            let asked = viewer.now.seconds
            _ = viewer.take()
            viewer.advance(to: .at(asked + 7.999))
            #expect(viewer.take().isEmpty)
            viewer.advance(to: .at(asked + 8))
            #expect(viewer.take().first == "\(asked + 8): close control")
            while viewer.take().last?.hasSuffix("connect") != true { viewer.advance(by: .milliseconds(100)) }
            pauses.append(((viewer.now.seconds - asked - 8) * 10).rounded() / 10)
        }
        #expect(pauses == [1, 2, 3, 5, 8, 10, 10, 10, 10])
    }

    @Test func anAwaitedHostIsTriedAtLeastEveryOneAndAHalfSeconds() {
        var configuration = ViewerSession.Configuration.secure(knows: true)
        for (pairs, pauses) in [(true, [1, 2, 4, 4, 4]), (false, [1, 1.5, 1.5, 1.5, 1.5])] {
            configuration.trust.pairs = pairs
            var viewer = ViewerBench(configuration)
            var seen: [Double] = []
            for _ in pauses {
                let begin = viewer.now
                viewer.handle(.controlClosed(reason: "refused"))
                viewer.advance(to: viewer.deadline)
                seen.append(viewer.now.seconds - begin.seconds)
            }
            #expect(seen.map { ($0 * 10).rounded() / 10 } == pauses)
        }
    }

    @Test func anUnreachableHostIsTriedOnTheSameSchedule() {
        var viewer = ViewerBench()
        var lines: [String] = viewer.take()
        for _ in 0..<3 {
            viewer.handle(.controlClosed(reason: "refused"))
            viewer.advance(to: viewer.deadline)
            lines += viewer.take()
        }
        #expect(
            lines == [
                "0.0: connecting(attempt: 1)", "0.0: connect",
                #"0.0: retrying(after: 1.0 seconds, reason: "refused")"#,
                "1.0: connecting(attempt: 2)", "1.0: connect",
                #"1.0: retrying(after: 2.0 seconds, reason: "refused")"#,
                "3.0: connecting(attempt: 3)", "3.0: connect",
                #"3.0: retrying(after: 3.0 seconds, reason: "refused")"#,
                "6.0: connecting(attempt: 4)", "6.0: connect",
            ])
    }

    @Test func aConnectionAttemptWithoutAnAnswerIsGivenUp() {
        var viewer = ViewerBench()
        _ = viewer.take()
        viewer.advance(to: .at(10))
        #expect(
            viewer.take() == [
                "10.0: close control", #"10.0: retrying(after: 1.0 seconds, reason: "it doesn\'t answer")"#,
            ])
    }

    @Test func aHostThatAppearsIsTriedAtOnce() {
        var viewer = ViewerBench()
        viewer.handle(.controlClosed(reason: "refused"))
        _ = viewer.take()
        viewer.handle(.hostAppeared)
        #expect(viewer.take() == ["0.0: connecting(attempt: 2)", "0.0: connect"])
        viewer.handle(.hostAppeared)
        #expect(viewer.take().isEmpty, "it is tried once")
    }

    @Test func aRefusalEndsTheSession() {
        var viewer = ViewerBench()
        viewer.handle(.controlConnected)
        _ = viewer.take()
        viewer.hear(#"{"ok":false,"message":"Declined"}"#, #"{"ok":true,"sessionID":"S1","udpPort":5}"#)
        #expect(
            viewer.take() == [
                #"0.0: refused(BeamSession.ViewerRefusal.other(says: "Declined"))"#, "0.0: close control",
            ])
        #expect(viewer.deadline == .distantFuture)
        viewer.handle(.controlClosed(reason: "gone"))
        viewer.handle(.hostAppeared)
        #expect(viewer.take().isEmpty)
        #expect(viewer.deadline == .distantFuture)
    }

    @Test func heartbeatsGoOutEveryFiveSeconds() {
        var viewer = ViewerBench()
        viewer.handle(.controlConnected)
        viewer.hear(#"{"ok":true,"sessionID":"S1"}"#)
        _ = viewer.take()
        for _ in 0..<4 {
            viewer.advance(by: .seconds(5))
            viewer.hear(#"{"hb":1}"#)
        }
        #expect(viewer.take() == ["5.0", "10.0", "15.0", "20.0"].map { $0 + #": {"hb":1}"# })
    }

    @Test func aSilentConnectionIsReplaced() {
        var viewer = ViewerBench()
        viewer.handle(.controlConnected)
        viewer.hear(#"{"ok":true,"sessionID":"S1"}"#)
        viewer.advance(to: .at(6))
        viewer.hear("some line of the future")
        _ = viewer.take()
        viewer.hear(#"{"future":1}"#)
        viewer.advance(to: .at(21.3))
        #expect(
            viewer.take().filter { !$0.contains("hb") } == [
                "21.0: close control", #"21.0: controlLost(reason: "nothing came from it for 15 s")"#,
                "21.3: connecting(attempt: 1)", "21.3: connect",
            ])
    }

    @Test func aLostConnectionIsRestoredWhileThePictureContinues() {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        viewer.handle(.controlClosed(reason: "reset"))
        viewer.advance(to: .at(0.3))
        viewer.handle(.controlClosed(reason: "refused"))
        viewer.advance(to: .at(1.3))
        viewer.handle(.controlClosed(reason: "refused"))
        viewer.advance(to: .at(2.3))
        viewer.handle(.controlConnected)
        viewer.hear(
            #"{"ok":true,"sessionID":"S1","udpPort":52346,"message":null}"#, #"{"udpPort":52346}"#, #"{"on":true}"#)
        #expect(
            viewer.take().filter { !$0.contains("BRHI") } == [
                #"0.0: controlLost(reason: "reset")"#,
                "0.3: connecting(attempt: 1)", "0.3: connect",
                #"0.3: retrying(after: 1.0 seconds, reason: "refused")"#,
                "1.3: connecting(attempt: 2)", "1.3: connect",
                #"1.3: retrying(after: 1.0 seconds, reason: "refused")"#,
                "2.3: connecting(attempt: 3)", "2.3: connect",
                #"2.3: {"app":"beamroom","ver":1,"role":"viewer","code":"482913"}"#,
                "2.3: waitingForDecision(code: 482913)",
                #"2.3: paired(session: "S1", deviceName: nil, isNewSession: false, isEncrypted: false)"#,
                "2.3: controlRestored", #"2.3: {"mediaSource":40000}"#,
            ])
    }

    @Test func anotherSessionRestartsTheMedia() throws {
        var viewer = ViewerBench()
        viewer.pair()
        for part in try datagrams(TestFrame.make(0), 500) { viewer.datagram(part) }
        viewer.handle(.controlClosed(reason: "reset"))
        viewer.advance(to: .at(0.3))
        viewer.handle(.controlConnected)
        _ = viewer.take()
        viewer.hear(#"{"ok":true,"sessionID":"S2","udpPort":52399,"message":null}"#)
        #expect(
            viewer.take() == [
                #"0.3: paired(session: "S2", deviceName: nil, isNewSession: true, isEncrypted: false)"#,
                "0.3: open media 52399",
            ])
        viewer.handle(.mediaOpened(localPort: 40001))
        for part in try datagrams(TestFrame.make(1), 0) { viewer.datagram(part) }
        #expect(viewer.delivered.map(\.number) == [500, 0])
    }

    @Test func anotherPortIsFollowed() {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        viewer.hear(#"{"udpPort":52346}"#)
        #expect(viewer.take().isEmpty)
        viewer.hear(#"{"udpPort":52347}"#)
        viewer.advance(by: .milliseconds(500))
        #expect(viewer.take() == ["0.5: open media 52347"])
    }

    @Test func impossiblePortsAreIgnored() {
        var viewer = ViewerBench()
        viewer.handle(.controlConnected)
        _ = viewer.take()
        viewer.hear(#"{"ok":true,"sessionID":"S1","udpPort":65536}"#, #"{"ok":true,"sessionID":"S1","udpPort":0}"#)
        #expect(viewer.take().isEmpty)
        viewer.hear(#"{"ok":true,"sessionID":"S1"}"#, #"{"udpPort":0}"#, #"{"udpPort":-1}"#)
        #expect(
            viewer.take() == [#"0.0: paired(session: "S1", deviceName: nil, isNewSession: true, isEncrypted: false)"#])
    }

    @Test func invalidLinesEndOnlyTheConnection() {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        viewer.handle(.controlBytes([UInt8](repeating: 0x20, count: 5000)))
        #expect(
            viewer.take() == [
                "0.0: close control", #"0.0: controlLost(reason: "it sent a line of more than 4096 bytes")"#,
            ])
        viewer.advance(to: .at(0.3))
        viewer.pair()
        _ = viewer.take()
        for _ in 0..<15 { viewer.hear("nonsense") }
        #expect(viewer.take().isEmpty)
        viewer.hear("nonsense", #"{"ok":false}"#)
        #expect(viewer.take().first == "0.3: close control")
    }

    @Test func changesOfTheBroadcastStateAreReported() {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        viewer.advance(by: .milliseconds(600))
        viewer.hear(#"{"on":true}"#, #"{"on":false}"#, #"{"on":false}"#)
        #expect(viewer.take().filter { $0.contains("broadcast") } == ["0.6: broadcast(false)"])
        viewer.hear(#"{"on":true}"#)
        viewer.advance(by: .milliseconds(600))
        #expect(viewer.take().filter { $0.contains("broadcast") } == ["1.1: broadcast(true)"])
    }

    @Test func shutdownClosesEverything() {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        viewer.handle(.shutdown)
        #expect(viewer.take() == ["0.0: close media", "0.0: close control"])
        #expect(viewer.deadline == .distantFuture)
        viewer.handle(.mediaOpened(localPort: 1))
        viewer.handle(.controlConnected)
        viewer.hear(#"{"ok":true,"sessionID":"S9","udpPort":9}"#)
        viewer.datagram(Array("BMRV".utf8))
        #expect(viewer.take().isEmpty)
    }

    /// A host that admits the viewer and says goodbye at once, again and again.
    @Test func aHostThatSaysGoodbyeAtOnceIsRetriedEverMoreRarely() {
        var control = AdmissionState(.secure(after: nil), isAwaited: false)
        var now = MediaTime.at(1)
        var pauses: [Double] = []
        _ = control.start(now: now)
        for _ in 0..<10 {
            _ = control.connected(.lines(LineReading()), now: now)
            let isNews = control.accepted(now: now)
            #expect(isNews)
            _ = control.violated(reason: "bye", now: now)
            let due = control.deadline ?? .distantFuture
            pauses.append((due - now).inSeconds)
            now = due
            let actions = control.deadlineReached(now: now)
            #expect(actions.count == 1)
        }
        #expect(pauses == [0.3, 0.3, 0.3, 1, 2, 4, 4, 4, 4, 4])
        _ = control.connected(.lines(LineReading()), now: now)
        _ = control.accepted(now: now)
        now = now + .seconds(6)
        _ = control.closed(reason: "gone", now: now)
        #expect(control.deadline == now + .milliseconds(300), "a connection that lasted is restored at once")
    }
}
