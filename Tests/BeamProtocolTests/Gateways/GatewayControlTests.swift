import BeamMedia
import BeamWire
import Testing

@testable import BeamSession

/// What a host and a gateway say to each other, in virtual time.
struct GatewayControlTests {
    @Test func aMountpointIsMadeAndDestroyed() {
        var gateway = FakeGateway()
        gateway.run(10)
        #expect(gateway.kinds == ["session", "attach", "create", "info"])
        #expect(gateway.events == [.ready(again: false)])
        #expect(gateway.begun.count == 1 && gateway.mountpoints.count == 1 && gateway.connects.count == 1)
        // Each 2 s, how many watch.
        #expect((4...5).contains(gateway.requests.count { FakeGateway.kind($0.0) == "info" }))
        gateway.viewers = 3
        gateway.run(2.5)
        #expect(gateway.events.last == .viewers(3))
        gateway.end()
        #expect(gateway.hasEnded && gateway.mountpoints.isEmpty && gateway.stops == 1)
        #expect(gateway.kinds.suffix(2) == ["destroy", "destroySession"])
        // Its record is needless.
        #expect(gateway.cleared.count == 1)
    }

    @Test func whatKilledHostsHaveLeftIsDestroyedFirst() throws {
        let left = try #require(GatewayMountpoint(id: 5, secret: "old"))
        let gone = try #require(GatewayMountpoint(id: 6, secret: "old"))
        var gateway = FakeGateway(leftovers: [left, gone])
        gateway.mountpoints = [5: "old"]
        gateway.run(1)
        #expect(gateway.kinds == ["session", "attach", "destroy", "create"])
        #expect(gateway.cleared == [left, gone] && gateway.mountpoints.count == 1)
        #expect(gateway.events == [.ready(again: false)])
    }

    /// The mountpoint outlives a lost connection, and what is sent there goes on.
    @Test func aLostConnectionIsMadeAgainAndTheStreamGoesOn() {
        var gateway = FakeGateway()
        gateway.run(12)
        gateway.lose()
        gateway.run(2)
        #expect(gateway.events == [.ready(again: false), .problem(.lost), .ready(again: true)])
        #expect(gateway.begun.count == 1 && gateway.stops == 0)
        #expect(gateway.kinds == ["session", "attach", "create", "info", "session", "attach", "info"])
    }

    /// The gateway was killed: everything is made anew, with another key.
    @Test func arestartedGatewayGetsTheMountpointAgain() {
        var gateway = FakeGateway()
        gateway.run(12)
        gateway.mountpoints = [:]
        gateway.isReachable = false
        gateway.lose()
        gateway.run(3)
        gateway.isReachable = true
        gateway.run(8)
        #expect(gateway.begun.count == 2 && Set(gateway.begun).count == 2 && gateway.mountpoints.count == 1)
        #expect(gateway.events.last == .ready(again: true))
        let points = gateway.requests.compactMap {
            if case .create(_, let point, _, _, _) = $0.0 { point } else { nil }
        }
        // The same number and PIN: pages find it again by themselves.
        #expect(points.count == 2 && Set(points).count == 1)
    }

    @Test func pausesBetweenTriesGrowAndEachProblemIsToldOnce() {
        var gateway = FakeGateway()
        gateway.isReachable = false
        gateway.run(120)
        let pauses = zip(gateway.connects, gateway.connects.dropFirst()).map { ($1 - $0).inSeconds.rounded() }
        #expect(Array(pauses.prefix(6)) == [1, 2, 4, 8, 16, 30] && pauses.dropFirst(6).allSatisfy { $0 == 30 })
        #expect(gateway.events == [.problem(.unreachable(reason: "no way"))])
    }

    /// A mountpoint lives on without a connection, but not for ever: what is sent in vain ends after 30 s.
    @Test func nothingIsSentToAGatewayThatHasGone() {
        var gateway = FakeGateway()
        gateway.run(12)
        gateway.isReachable = false
        gateway.lose()
        gateway.run(29)
        #expect(gateway.stops == 0)
        gateway.run(2)
        #expect(gateway.stops == 1)
        // It was there all the time: it is made anew all the same, as the old key isn't used again.
        gateway.isReachable = true
        gateway.run(40)
        #expect(
            gateway.begun.count == 2 && gateway.mountpoints.count == 1 && gateway.events.last == .ready(again: true))
    }

    /// Browsers aren't sent there meanwhile, and what was made is made anew.
    @Test func whatCannotBeSentIsAProblemThatIsTriedAgainLessAndLess() {
        var gateway = FakeGateway()
        gateway.sendingProblem = .unprotected(reason: "no library")
        gateway.run(120)
        let pauses = zip(gateway.connects, gateway.connects.dropFirst()).map { ($1 - $0).inSeconds.rounded() }
        #expect(Array(pauses.prefix(6)) == [1, 2, 4, 8, 16, 30] && pauses.dropFirst(6).allSatisfy { $0 == 30 })
        #expect(gateway.events == [.problem(.unprotected(reason: "no library"))])
        #expect(gateway.stops == gateway.begun.count && gateway.mountpoints.count == 1)
        gateway.sendingProblem = nil
        gateway.run(31)
        #expect(gateway.events.last == .ready(again: false) && gateway.mountpoints.count == 1)
        // Later, too.
        gateway.viewers = 2
        gateway.run(12)
        gateway.control.sendingFailed(.unreachable(reason: "no port"), now: gateway.now)
        gateway.drain()
        #expect(gateway.events.suffix(2) == [.viewers(0), .problem(.unreachable(reason: "no port"))])
        gateway.run(4)
        #expect(gateway.events.suffix(2) == [.ready(again: true), .viewers(2)])
    }

    /// Nothing is said about what it is sent.
    @Test func whatIsBeingPreparedIsWaitedForAndEnds() {
        var gateway = FakeGateway()
        gateway.isPreparing = true
        gateway.run(9)
        #expect(gateway.events.isEmpty && gateway.begun.count == 1)
        gateway.run(2)
        #expect(gateway.events == [.problem(.unreachable(reason: "no way to it was found"))] && gateway.stops == 1)
        gateway.run(2)
        gateway.end()
        #expect(gateway.hasEnded && gateway.mountpoints.isEmpty)
    }

    /// An answer that never came leaves the mountpoint there: the next try removes it.
    @Test func anUnansweredCreationIsMadeGood() {
        var gateway = FakeGateway()
        gateway.answers["create"] = .some(nil)
        gateway.run(10.5)
        #expect(gateway.events == [.problem(.silent)] && gateway.begun.isEmpty)
        gateway.answers = [:]
        if case .create(_, let point, _, _, _)? = gateway.requests.first(where: { FakeGateway.kind($0.0) == "create" })?
            .0
        {
            gateway.mountpoints[point.id] = point.secret
        }
        gateway.run(2)
        #expect(gateway.begun.count == 1 && gateway.events.last == .ready(again: false))
    }

    @Test(arguments: [
        (
            "session", #"{"janus":"error","transaction":"T","error":{"code":403,"reason":"Unauthorized"}}"#,
            GatewayProblem.unauthorised(hasToken: false)
        ),
        ("attach", #"{"janus":"error","transaction":"T","error":{"code":460,"reason":"No such plugin"}}"#, .noPlugin),
        (
            "create",
            #"{"janus":"success","transaction":"T","plugindata":{"data":{"error_code":453,"error":"admin_key"}}}"#,
            .adminKey(isGiven: false)
        ),
        (
            "create",
            #"{"janus":"success","transaction":"T","plugindata":{"data":{"error_code":456,"error":"ports"}}}"#,
            .refused(code: 456, reason: "ports")
        ),
        ("create", #"{"janus":"success","transaction":"T","plugindata":{"data":{"streaming":"created"}}}"#, .badAnswer),
        ("session", #"{"janus":"success","transaction":"T","data":{"id":-4}}"#, .badAnswer),
        ("session", "[1]", .badAnswer), ("session", "{\"janus\":", .badAnswer),
        ("session", #"{"janus":"timeout"}"#, .lost),
        ("session", #"{"janus":"ack","transaction":"T"}"#, .silent),
        ("session", #"{"janus":"success","transaction":"other","data":{"id":4}}"#, .silent),
    ])
    func whatItAnswersIsAProblemThatIsTriedAgain(kind: String, answer: String, problem: GatewayProblem) {
        var gateway = FakeGateway()
        gateway.answers[kind] = answer
        gateway.run(11)
        #expect(gateway.events == [.problem(problem)] && gateway.begun.isEmpty)
        gateway.answers = [:]
        gateway.run(31)
        #expect(gateway.events.last == .ready(again: false))
    }

    /// A port of sound is missing, so sound can't be sent.
    @Test func aMountpointWithoutSoundIsNoneForSound() {
        var gateway = FakeGateway()
        gateway.answers["create"] =
            #"{"janus":"success","transaction":"T","plugindata":{"data":{"streaming":"created","stream":{"ports":[{"type":"video","port":1,"rtcp_port":2}]}}}}"#
        gateway.run(1)
        #expect(gateway.events == [.problem(.badAnswer)] && gateway.begun.isEmpty)
    }

    @Test func theEndIsNeverWaitedForLong() {
        var gateway = FakeGateway()
        gateway.run(5)
        gateway.answers["destroy"] = .some(nil)
        gateway.end()
        #expect(!gateway.hasEnded)
        gateway.run(2.1)
        // Not known to be gone: the next host asks again.
        #expect(gateway.hasEnded && gateway.cleared.isEmpty)
        var never = FakeGateway()
        never.isReachable = false
        never.run(1)
        never.end()
        #expect(never.hasEnded && never.cleared.count == 1)
    }

    /// The mountpoint outlives a lost connection, so the end makes another one for it; whatever is under way goes on to it.
    @Test(arguments: [0, 0.5, 1.5, 12.5])
    func theEndRemovesWhatIsThereWhileThereIsNoConnection(secondsLater: Double) {
        var gateway = FakeGateway()
        gateway.run(12)
        // What comes after the new connection isn't answered, so that it is just being asked, or waits to be asked again.
        gateway.answers["session"] = .some(nil)
        gateway.lose()
        gateway.run(secondsLater)
        gateway.answers = [:]
        let isAsking = gateway.isConnected
        let connects = gateway.connects.count
        gateway.end()
        if isAsking {
            // The answer to the request for a session.
            gateway.answerLast()
        } else {
            #expect(gateway.connects.count == connects + 1)
        }
        #expect(gateway.hasEnded && gateway.mountpoints.isEmpty && gateway.cleared.count == 1)
    }

    /// It can't be reached until the end: the next host finds the mountpoint among its leftovers, and replaces it.
    @Test func whatTheEndCannotRemoveIsTheNextHostsLeftover() throws {
        var gateway = FakeGateway()
        gateway.run(12)
        gateway.isReachable = false
        gateway.lose()
        gateway.end()
        #expect(gateway.hasEnded && gateway.cleared.isEmpty && gateway.mountpoints.count == 1)
        let (id, secret) = try #require(gateway.mountpoints.first.map { ($0.key, $0.value) })
        let left = try #require(GatewayMountpoint(id: id, secret: secret))
        var next = FakeGateway(leftovers: [left], seed: 7)
        next.mountpoints = gateway.mountpoints
        next.run(1)
        #expect(next.cleared == [left] && next.mountpoints.count == 1 && next.mountpoints[id] == nil)
        // A gateway that takes the connection and then says nothing holds nobody up for longer than 2 s.
        var silent = FakeGateway()
        silent.run(12)
        silent.answers["session"] = .some(nil)
        silent.lose()
        silent.end()
        #expect(!silent.hasEnded)
        silent.run(2.1)
        #expect(silent.hasEnded && silent.cleared.isEmpty)
    }

    /// What isn't asked for changes nothing.
    @Test func messagesOutOfTurnAreIgnored() {
        var gateway = FakeGateway()
        gateway.run(1)
        for text in [
            #"{"janus":"success","transaction":"b3","data":{"id":1}}"#, #"{"janus":"event"}"#, #"{"janus":"detached"}"#,
            #"{"janus":"success","plugindata":{"data":{"streaming":"destroyed"}}}"#,
        ] {
            gateway.say(text)
        }
        gateway.run(3)
        #expect(gateway.events == [.ready(again: false)] && gateway.begun.count == 1)
    }
}
