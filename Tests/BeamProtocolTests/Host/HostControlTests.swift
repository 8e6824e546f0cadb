import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A host's control plane.
struct HostControlTests {
    private func session(in line: String) throws -> String {
        guard case .reply(let reply) = try ControlMessage(line: Array(line.utf8)[...]) else { return "" }
        return try #require(reply.session)
    }

    // MARK: Handshakes

    @Test func aHandshakeIsAnsweredAsTheProtocolSays() throws {
        var host = HostBench()
        host.introduce(1)
        let lines = host.take(1)
        let session = try session(in: lines[0])
        #expect(
            lines == [
                #"{"ok":true,"sessionID":"\#(session)","udpPort":52346,"message":null}"#, #"{"udpPort":52346}"#,
                #"{"on":true}"#,
            ])
        #expect(session.count == 36 && session == session.uppercased())
        #expect(session.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        #expect(session.dropFirst(14).first == "4" && "89AB".contains(session.dropFirst(19).prefix(1)))
        #expect(
            host.events == [
                .viewerPaired(session: session, from: Visitor(address: HostBench.viewer, name: nil), isResumed: false)
            ])
        #expect(host.session.statistics.viewers == 1)

        host.say(1, HostBench.handshake)
        #expect(
            host.take(1) == [
                #"{"ok":true,"sessionID":"\#(session)","udpPort":52346,"message":"Already paired"}"#,
                #"{"udpPort":52346}"#, #"{"on":true}"#,
            ])
    }

    @Test func theReplyCarriesTheHostsName() {
        var host = HostBench(name: String(repeating: "é\"", count: 5000))
        host.introduce(1)
        let line = host.take(1)[0]
        #expect(line.contains(#""deviceName":"é\""#))
        #expect(line.utf8.count < 1000)
    }

    @Test func theSameSeedMakesTheSameSessionIDs() {
        var lines: [[String]] = []
        for seed: UInt64 in [7, 7, 8] {
            var host = HostBench(seed: seed)
            host.introduce(1)
            lines.append(host.take(1))
        }
        #expect(lines[0] == lines[1] && lines[0] != lines[2])
    }

    @Test(arguments: [
        (#"{"app":"other","ver":1,"role":"viewer","code":"482913"}"#, "Incompatible Viewer"),
        (#"{"app":"beamroom","ver":2,"role":"viewer","code":"482913"}"#, "Incompatible Viewer"),
        (#"{"app":"beamroom","role":"viewer","code":"482913"}"#, "Incompatible Viewer"),
        (#"{"app":"beamroom","ver":1,"role":"host","code":"482913"}"#, "Invalid role"),
        (#"{"app":"beamroom","ver":1,"code":"482913"}"#, "Invalid role"),
        (#"{"app":"beamroom","ver":1,"role":"viewer","code":"48291"}"#, "Invalid code"),
        (#"{"app":"beamroom","ver":1,"role":"viewer"}"#, "Invalid code"),
    ])
    func wrongHandshakesAreRefused(_ line: String, reason: String) {
        var host = HostBench()
        host.open(1)
        host.say(1, line)
        #expect(host.take(1) == [#"{"ok":false,"message":"\#(reason)"}"#])
        #expect(host.isClosed(1))
        #expect(host.events == [.viewerRefused(from: Visitor(address: HostBench.viewer, name: nil), reason: reason)])
        host.say(1, HostBench.handshake)
        #expect(host.take(1).isEmpty)
        #expect(host.session.statistics.viewers == 0)
    }

    @Test func acceptanceNoneDeclinesEverybody() {
        var host = HostBench(.none)
        host.introduce(1)
        #expect(host.take(1) == [#"{"ok":false,"message":"Declined"}"#])
        #expect(host.isClosed(1))
    }

    @Test func changesAreAnnouncedToAllAdmittedViewers() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, code: "000000")
        host.open(3)
        for id: UInt64 in 1...3 { _ = host.take(id) }
        host.handle(.mediaPort(50000))
        host.handle(.mediaPort(50000))
        host.handle(.broadcast(false))
        host.handle(.broadcast(true))
        for id: UInt64 in 1...2 {
            #expect(host.take(id) == [#"{"udpPort":50000}"#, #"{"on":false}"#, #"{"on":true}"#])
        }
        #expect(host.take(3).isEmpty)
    }

    @Test func heartbeatsComeAfterTwoSecondsAndThenEveryFive() {
        var host = HostBench()
        host.introduce(1)
        _ = host.take(1)
        for expected in [[], [], ["2"], [], [], [], [], ["7"], [], [], [], [], ["12"]] as [[String]] {
            host.say(1, #"{"hb":1}"#)
            #expect(host.take(1) == expected.map { _ in #"{"hb":1}"# }, "\(host.now.seconds)")
            host.advance(by: .seconds(1))
        }
    }

    @Test func shutdownNotifiesAndClosesAllConnections() {
        var host = HostBench()
        host.introduce(1)
        host.open(2)
        host.hello(40000)
        _ = host.take(1)
        host.handle(.shutdown)
        #expect(host.take(1) == [#"{"on":false}"#])
        #expect(host.isClosed(1) && host.isClosed(2))
        #expect(host.deadline == .distantFuture)
        let count = host.outputs.count
        host.introduce(3)
        host.hello(40000)
        host.frame(TestFrame.make(0))
        host.handle(.broadcast(true))
        host.advance(by: .seconds(100))
        #expect(host.outputs.count == count)
    }

    // MARK: A viewer's end

    @Test func aViewerThatReconnectsKeepsItsSession() throws {
        var host = HostBench(.ask)
        host.introduce(1)
        host.handle(.decision(ConnectionID(1), accept: true))
        let session = try session(in: host.take(1)[0])
        host.hello(40000)
        host.handle(.connectionClosed(ConnectionID(1)))
        #expect(host.events.last == .controlLost(session: session))
        for _ in 0..<30 {
            host.advance(by: .seconds(1))
            host.hello(40000)
        }
        #expect(host.session.statistics.viewers == 1)
        _ = host.takeEvents()
        host.introduce(2)
        #expect(try self.session(in: host.take(2)[0]) == session)
        #expect(
            host.takeEvents() == [
                .viewerPaired(session: session, from: Visitor(address: HostBench.viewer, name: nil), isResumed: true)
            ])
        #expect(host.session.statistics.watching == 1)
    }

    @Test func aNewConnectionOfAViewerReplacesItsOldOne() throws {
        var host = HostBench()
        host.introduce(1)
        let session = try session(in: host.take(1)[0])
        host.introduce(2)
        #expect(try self.session(in: host.take(2)[0]) == session)
        #expect(host.isClosed(1))
        // The old connection's end doesn't affect the new one.
        host.handle(.connectionClosed(ConnectionID(1)))
        #expect(!host.events.contains(.controlLost(session: session)))
        host.handle(.broadcast(false))
        #expect(host.take(2).last == #"{"on":false}"#)
    }

    @Test func anotherCodeOrAddressIsAnotherViewer() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, code: "111111")
        host.introduce(3, from: .v4(0xC000_0208))
        #expect(host.session.statistics.viewers == 3)
        #expect(host.closed.isEmpty)
    }

    @Test func aViewerIsRemovedWhenBothPlanesAreSilent() throws {
        var host = HostBench()
        host.introduce(1)
        let session = try session(in: host.take(1)[0])
        host.hello(40000)
        host.advance(to: .at(10))
        host.say(1, #"{"future":true}"#)  // an unknown line counts, too
        host.advance(to: .at(20))
        host.hello(40000)
        host.advance(to: .at(34.9))
        #expect(host.session.statistics.viewers == 1)
        _ = host.takeEvents()
        host.advance(to: .at(35))
        #expect(host.isClosed(1))
        #expect(
            host.takeEvents() == [
                .viewerLeft(
                    session: session, from: Visitor(address: HostBench.viewer, name: nil),
                    reason: "nothing came from it for 15 s"),
                .audience(0),
            ])
        #expect(host.session.statistics.viewers == 0)
        host.hello(40000)
        #expect(host.session.statistics.watching == 0)
    }

    @Test func aViewerWithoutAConnectionIsRemovedWhenItsHellosStop() throws {
        var host = HostBench()
        host.introduce(1)
        let session = try session(in: host.take(1)[0])
        host.advance(to: .at(3))
        host.hello(40000)
        host.handle(.connectionClosed(ConnectionID(1)))
        _ = host.takeEvents()
        host.advance(to: .at(18))
        #expect(
            host.takeEvents().first
                == .viewerLeft(
                    session: session, from: Visitor(address: HostBench.viewer, name: nil),
                    reason: "its connection has ended"))
    }

    // MARK: Unauthenticated peers

    @Test func oneMachineCannotTakeAllConnections() {
        var host = HostBench()
        host.introduce(100)
        for id: UInt64 in 0..<17 { host.open(id) }
        #expect(host.closed == [ConnectionID(16)])
        host.open(17, from: .v4(1))
        #expect(!host.isClosed(17))
    }

    @Test func aConnectionWithoutAHandshakeEndsAfter30s() {
        var host = HostBench()
        host.open(1)
        host.introduce(2)
        host.advance(to: .at(14))
        host.say(2, #"{"hb":1}"#)
        host.advance(to: .at(28))
        host.say(2, #"{"hb":1}"#)
        // A byte now and then (slowloris) doesn't prolong the time.
        host.handle(.connectionBytes(ConnectionID(1), Array("{".utf8)))
        host.advance(to: .at(29.9))
        #expect(host.closed.isEmpty)
        host.advance(to: .at(30))
        #expect(host.closed == [ConnectionID(1)])
        #expect(
            host.events.last
                == .connectionRefused(from: HostBench.viewer, reason: "it didn't ask to watch within 30 s"))
    }

    @Test(arguments: ["nonsense", "{", #"{"udpPort":"x"}"#, String(repeating: "[", count: 4000)])
    func aMalformedLineBeforeTheHandshakeEndsTheConnection(_ line: String) {
        var host = HostBench()
        host.introduce(1)
        host.open(2, from: .v4(9))
        host.say(2, line)
        #expect(host.closed == [ConnectionID(2)])
        guard case .connectionRefused(.v4(9), let reason)? = host.events.last else {
            Issue.record("\(host.events)")
            return
        }
        #expect(reason.hasPrefix("it sent a line"))
    }

    @Test func tooManyLinesBeforeTheHandshakeEndTheConnection() {
        var host = HostBench()
        host.open(1)
        for _ in 0..<64 { host.say(1, #"{"future":1}"#) }
        #expect(host.closed.isEmpty)
        host.say(1, #"{"future":1}"#)
        #expect(host.isClosed(1))
    }

    @Test func aLineOfMoreThan4KiBEndsTheConnection() throws {
        var host = HostBench()
        host.introduce(1)
        let session = try session(in: host.take(1)[0])
        host.hello(40000)
        for _ in 0..<5 { host.handle(.connectionBytes(ConnectionID(1), [UInt8](repeating: 0x20, count: 1000))) }
        #expect(host.isClosed(1))
        #expect(host.events.last == .controlLost(session: session))
        #expect(host.session.statistics.watching == 1, "the stream goes on")
    }

    @Test func anAdmittedViewerMaySend15MalformedLines() {
        var host = HostBench()
        host.introduce(1)
        for _ in 0..<15 { host.say(1, "nonsense") }
        #expect(host.closed.isEmpty)
        host.say(1, "nonsense")
        #expect(host.isClosed(1))
    }

    @Test func inputOfUnknownConnectionsIsIgnored() {
        var host = HostBench()
        let count = host.outputs.count
        host.handle(.connectionBytes(ConnectionID(9), [1]))
        host.handle(.connectionClosed(ConnectionID(9)))
        host.handle(.decision(ConnectionID(9), accept: true))
        host.handle(.sendFailed(NetworkAddress(ip: .v4(1), port: 1)))
        #expect(host.outputs.count == count)
    }
}
