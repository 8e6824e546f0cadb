import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Questions to the person at the host.
struct PairingTests {
    private func asks(_ id: UInt64, code: String = "482913", from address: IPAddress = HostBench.viewer) -> HostEvent {
        .viewerAsks(ConnectionID(id), code: PairingCode(code)!, from: Visitor(address: address, name: nil))
    }

    /// A room's door: nobody is asked at this machine, but at another one.
    @Test func comparingIsOfferedWhileSomebodyElsewhereCanBeAsked() {
        var host = HostBench(.none, allowsUnencrypted: false)
        var methods: [SecureMessage.Welcome.Methods?] = []
        for (id, asks) in [(1, nil), (2, true), (3, false)] as [(UInt64, Bool?)] {
            if let asks { host.handle(.asksElsewhere(asks)) }
            host.openSecurely(id)
            host.say(id, .hello(SecureMessage.Hello(instance: id, name: "dora")))
            let welcome = host.takeMessages(id).compactMap { message -> SecureMessage.Welcome.Methods? in
                if case .welcome(let welcome) = message { welcome.methods } else { nil }
            }
            methods.append(welcome.first)
        }
        #expect(methods == [nil, .compare, nil])
        #expect(host.isClosed(1) && !host.isClosed(2) && host.isClosed(3))
        // Everybody is let in at once: a comparison would only be in the way.
        var open = HostBench(.all, allowsUnencrypted: false)
        open.handle(.asksElsewhere(true))
        open.openSecurely(1)
        open.say(1, .hello(SecureMessage.Hello(instance: 1, name: "dora")))
        #expect(
            open.takeMessages(1).contains {
                if case .welcome(let welcome) = $0 { welcome.methods == .open } else { false }
            })
    }

    @Test func nothingIsAnsweredBeforeTheDecision() {
        var host = HostBench(.ask)
        host.introduce(1)
        #expect(host.takeEvents() == [asks(1)])
        host.say(1, HostBench.handshake)
        host.advance(to: .at(20))
        #expect(host.take(1).isEmpty)
        host.handle(.decision(ConnectionID(1), accept: true))
        #expect(host.take(1).count == 3)
        // A second decision changes nothing.
        host.handle(.decision(ConnectionID(1), accept: false))
        #expect(host.closed.isEmpty && host.take(1).isEmpty)
    }

    @Test func aRefusalIsAnsweredAsTheProtocolSays() {
        var host = HostBench(.ask)
        host.introduce(1)
        host.handle(.decision(ConnectionID(1), accept: false))
        #expect(host.take(1) == [#"{"ok":false,"message":"Declined"}"#])
        #expect(host.isClosed(1))
        #expect(
            host.takeEvents().last
                == .viewerRefused(from: Visitor(address: HostBench.viewer, name: nil), reason: "Declined"))
    }

    @Test func anAcceptedViewerIsNotAskedAboutAgain() {
        var host = HostBench(.ask)
        host.introduce(1)
        host.advance(to: .at(8))
        host.handle(.connectionClosed(ConnectionID(1)))
        host.advance(to: .at(9))
        host.introduce(2)
        // Also if its old connection hasn't ended yet.
        host.introduce(3)
        #expect(host.isClosed(2))
        #expect(host.takeEvents() == [asks(1)])
        host.handle(.decision(ConnectionID(1), accept: true))
        #expect(host.take(3).count == 3)
        #expect(host.take(2).isEmpty)
    }

    @Test(arguments: [true, false])
    func aDecisionWhileTheViewerIsAwayCountsWhenItComesBack(accept: Bool) {
        var host = HostBench(.ask)
        host.introduce(1)
        host.advance(to: .at(8))
        host.handle(.connectionClosed(ConnectionID(1)))
        host.advance(to: .at(13))
        host.handle(.decision(ConnectionID(1), accept: accept))
        host.advance(to: .at(72))
        // The decision doesn't count for another code or another address.
        host.introduce(2, code: "000000")
        host.introduce(3, from: .v4(1))
        #expect(host.take(2).isEmpty && host.take(3).isEmpty)
        host.introduce(4)
        #expect(host.take(4).first?.hasPrefix(accept ? #"{"ok":true"# : #"{"ok":false"#) == true)
    }

    @Test func aDecisionIsForgottenAfterAMinute() {
        var host = HostBench(.ask)
        host.introduce(1)
        host.handle(.connectionClosed(ConnectionID(1)))
        host.handle(.decision(ConnectionID(1), accept: true))
        host.advance(to: .at(61))
        _ = host.takeEvents()
        host.introduce(2)
        #expect(host.takeEvents() == [asks(2)])
        #expect(host.take(2).isEmpty)
    }

    @Test func aQuestionIsWithdrawnWhenTheViewerStaysAway() {
        var host = HostBench(.ask)
        host.introduce(1)
        host.advance(to: .at(8))
        host.handle(.connectionClosed(ConnectionID(1)))
        host.advance(to: .at(22.9))
        #expect(host.takeEvents() == [asks(1)])
        host.advance(to: .at(23))
        #expect(host.takeEvents() == [.askWithdrawn(ConnectionID(1))])
        host.handle(.decision(ConnectionID(1), accept: true))
        host.introduce(2)
        #expect(host.takeEvents() == [asks(2)])
    }

    /// It hasn't waited as long as version 1 viewers wait for an answer.
    @Test func aQuestionEndsSoonAfterAViewerThatHasHungUp() {
        var host = HostBench(.ask)
        host.introduce(1)
        host.advance(to: .at(4))
        host.handle(.connectionClosed(ConnectionID(1)))
        // Its network was lost for a moment: the person isn't asked again.
        host.advance(to: .at(6))
        host.introduce(2)
        #expect(host.takeEvents() == [asks(1)])
        // Counted from the newest connection.
        host.advance(to: .at(11))
        host.handle(.connectionClosed(ConnectionID(2)))
        host.advance(to: .at(13.9))
        #expect(host.takeEvents().isEmpty)
        host.advance(to: .at(14))
        #expect(host.takeEvents() == [.askWithdrawn(ConnectionID(1))])
        // An answer to it isn't one to the next question.
        host.handle(.decision(ConnectionID(1), accept: true))
        host.introduce(3)
        #expect(host.takeEvents() == [asks(3)] && host.take(3).isEmpty)
    }

    /// The pauses of the app on iOS. The person is asked once, whenever it answers.
    @Test func aViewerThatKeepsTryingIsAskedAboutOnce() {
        var host = HostBench(.ask)
        var time = 0.0
        for (id, pause) in [1.0, 2, 3, 5, 8, 10, 10].enumerated() {
            host.introduce(UInt64(id))
            time += 8
            host.advance(to: .at(time))
            host.handle(.connectionClosed(ConnectionID(UInt64(id))))
            time += pause
            host.advance(to: .at(time))
        }
        #expect(host.takeEvents() == [asks(0)])
        host.handle(.decision(ConnectionID(0), accept: true))
        host.introduce(9)
        #expect(host.take(9).count == 3)
    }

    @Test func aViewerThatIsAwayKeepsNobodyWaiting() {
        var host = HostBench(.ask)
        host.introduce(1)
        host.introduce(2, from: .v4(1))
        #expect(host.takeEvents() == [asks(1), asks(2, from: .v4(1))])
        // It goes while another one waits.
        host.handle(.connectionClosed(ConnectionID(1)))
        #expect(host.takeEvents() == [.askWithdrawn(ConnectionID(1))])
        // It comes back: it is asked about again, after the other one.
        host.introduce(3)
        #expect(host.takeEvents() == [asks(3)])
        host.handle(.connectionClosed(ConnectionID(3)))
        host.handle(.decision(ConnectionID(2), accept: true))
        #expect(host.take(2).count == 3)
        _ = host.takeEvents()
        // It is away, and another one comes.
        host.introduce(4)
        host.handle(.connectionClosed(ConnectionID(4)))
        host.introduce(5, from: .v4(2))
        #expect(host.takeEvents() == [asks(4), .askWithdrawn(ConnectionID(4)), asks(5, from: .v4(2))])
    }

    @Test func anotherCodeFromTheSameMachineReplacesTheQuestion() {
        var host = HostBench(.ask)
        host.introduce(1)
        host.handle(.connectionClosed(ConnectionID(1)))
        host.introduce(2, code: "000000")
        #expect(host.takeEvents() == [asks(1), .askWithdrawn(ConnectionID(1)), asks(2, code: "000000")])
        // Both connections wait: both codes are asked about.
        host.introduce(3, code: "111111")
        #expect(host.takeEvents() == [asks(3, code: "111111")])
    }

    @Test func aQuestionEndsAfterThirtySeconds() {
        var host = HostBench(.ask)
        host.introduce(1)
        host.advance(to: .at(30))
        #expect(host.isClosed(1))
        #expect(
            host.takeEvents() == [
                asks(1), .connectionRefused(from: HostBench.viewer, reason: "nobody answered within 30 s"),
            ])
        host.introduce(2)
        host.handle(.decision(ConnectionID(1), accept: true))
        #expect(host.take(2).count == 3)
    }

    @Test func atMost8QuestionsAreOpen() {
        var host = HostBench(.ask)
        for id: UInt64 in 0..<12 { host.introduce(id, from: .v4(UInt32(id))) }
        #expect(host.takeEvents().count { if case .viewerAsks = $0 { true } else { false } } == 8)
        #expect(host.take(11) == [#"{"ok":false,"message":"Too many viewers ask at the moment"}"#])
        #expect(host.isClosed(11))
        host.handle(.decision(ConnectionID(0), accept: false))
        host.introduce(20, from: .v4(100))
        #expect(host.takeEvents().last == asks(20, from: .v4(100)))
    }

    @Test func questionsOfOneMachineAreLimited() {
        var host = HostBench(.ask)
        var questions = 0
        for id: UInt64 in 0..<300 {
            host.introduce(id, code: String(100_000 + id))
            host.handle(.connectionClosed(ConnectionID(id)))
            host.advance(by: .milliseconds(100))
            questions += host.takeEvents().count { if case .viewerAsks = $0 { true } else { false } }
        }
        #expect((4...9).contains(questions), "\(questions) questions in 30 s")
    }
}
