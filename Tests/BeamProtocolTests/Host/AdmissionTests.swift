import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Limits on connections, viewers and questions, when some peers try to take all of them.
struct AdmissionTests {
    private static let trust = HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none)

    private func address(_ number: Int) -> IPAddress { .v4(0x0A00_0000 + UInt32(number)) }

    // MARK: Connections

    @Test func idleConnectionsOfAFewAddressesDoNotKeepOutOthers() {
        var host = HostBench(.none, trust: Self.trust)
        for id in 0..<80 { host.open(UInt64(id), from: address(id % 5)) }
        // At most 16 of each address, and 64 in all.
        #expect(host.closed.count == 16)
        let honest = host.join(100, from: address(9))
        #expect(honest != nil, "the known viewer is admitted")
        // An address that holds the most connections loses one.
        #expect(host.closed.count == 17 && host.session.door.ledger.count == 63)
    }

    @Test func theAddressWithMostConnectionsLosesItsOldest() {
        var host = HostBench()
        for id in 0..<10 { host.open(UInt64(id), from: address(1)) }
        for id in 10..<64 { host.open(UInt64(id), from: address(id)) }
        #expect(host.closed.isEmpty)
        host.open(64, from: address(64))
        #expect(host.closed == [ConnectionID(0)])
        host.open(65, from: address(65))
        #expect(host.closed == [ConnectionID(0), ConnectionID(1)])
        // An address that already holds as many as any other takes none from them.
        for id in 66..<74 { host.open(UInt64(id), from: address(id)) }
        host.open(200, from: address(200))
        host.open(201, from: address(200))
        #expect(host.isClosed(201) && !host.isClosed(200))
    }

    @Test func aNewAddressTakesTheOldestConnectionOfItsOwnNetwork() {
        var host = HostBench()
        func machine(_ low: UInt64) -> IPAddress { .v6(high: 0x2001_0DB8_0000_0001, low: low, scope: 0) }
        for id in 0..<16 { host.open(UInt64(id), from: machine(UInt64(id))) }
        host.open(16, from: machine(100))
        #expect(host.closed == [ConnectionID(0)])
        host.open(17, from: machine(100))
        #expect(host.isClosed(17), "this address holds as many as any other")
        host.open(18, from: .v6(high: 0x2001_0DB8_0000_0002, low: 1, scope: 0))
        #expect(!host.isClosed(18))
    }

    @Test func aViewerThatWaitsForADecisionKeepsItsConnection() {
        var host = HostBench(.ask)
        host.introduce(0, from: address(1))
        for id in 1..<64 { host.open(UInt64(id), from: address(1 + id % 4)) }
        for id in 64..<120 { host.open(UInt64(id), from: address(id)) }
        #expect(!host.isClosed(0))
        host.handle(.decision(ConnectionID(0), accept: true))
        #expect(host.take(0).count == 3)
    }

    @Test(arguments: [300, 1000]) func aFloodFromOneAddressDoesNotKeepOutOthers(perSecond: Int) {
        var host = HostBench(.none, trust: Self.trust)
        var id: UInt64 = 1000
        for millisecond in 0..<40_000 {
            if millisecond % (1000 / perSecond) == 0 {
                host.open(id, from: address(1))
                host.handle(.connectionClosed(ConnectionID(id)))
                id += 1
            }
            // Every 5 s a known viewer joins from another address.
            if millisecond % 5000 == 2500 {
                let other = UInt64(millisecond / 5000)
                let joined = host.join(other, instance: other, from: address(2))
                #expect(joined != nil)
            }
            host.advance(by: .milliseconds(1))
        }
        #expect(host.session.statistics.viewers >= 2)
        let events = host.takeEvents()
        let single = events.count { if case .connectionRefused = $0 { true } else { false } }
        let sums = events.compactMap { if case .connectionsRefused(let count, 1) = $0 { count } else { nil } }
        #expect(single == 4 && (3...4).contains(sums.count), "\(single), \(sums)")
        #expect(sums.reduce(0, +) > 40 * perSecond / 2)
    }

    @Test func aFloodFromManyAddressesDoesNotKeepOutOthers() {
        var host = HostBench(.none, trust: Self.trust)
        var id: UInt64 = 1000
        for millisecond in 0..<10_000 {
            // 5,000 connections a second from 100 addresses; each is closed 20 ms later.
            for _ in 0..<5 {
                host.open(id, from: address(Int(id % 100)))
                if id >= 1100 { host.handle(.connectionClosed(ConnectionID(id - 100))) }
                id += 1
            }
            if millisecond % 2000 == 1500 {
                let other = UInt64(millisecond / 2000)
                let joined = host.join(other, instance: other, from: address(200 + Int(other)))
                #expect(joined != nil)
            }
            host.advance(by: .milliseconds(1))
        }
    }

    @Test func connectionsWithWhichAKnownDeviceJoinsAreNotLimited() {
        var host = HostBench(.none, trust: Self.trust)
        for id: UInt64 in 0..<500 {
            #expect(host.join(id, instance: 1) != nil)
        }
        #expect(host.session.statistics.viewers == 1)
        // Connections with which it doesn't join are limited.
        for id: UInt64 in 500..<510 { host.openSecurely(id) }
        #expect(!host.isClosed(503) && host.isClosed(504))
    }

    @Test func onlyTheFirstRefusalsAreReportedOneByOne() {
        var host = HostBench()
        func refuse(_ count: Int, _ base: UInt64) {
            for id in base..<base + UInt64(count) {
                host.open(id, from: address(Int(id % 3)))
                host.say(id, "nonsense")
            }
        }
        refuse(20, 0)
        #expect(host.takeEvents().count == 12, "four of each address")
        host.advance(to: .at(10))
        #expect(host.takeEvents() == [.connectionsRefused(count: 8, addresses: 3)])
        refuse(5, 100)
        #expect(host.takeEvents().isEmpty)
        host.advance(to: .at(20))
        #expect(host.takeEvents() == [.connectionsRefused(count: 5, addresses: 3)])
        host.advance(to: .at(31))
        #expect(host.takeEvents().isEmpty)
        refuse(1, 200)
        #expect(host.takeEvents().count == 1)
    }

    // MARK: Viewers

    @Test func oneDeviceHas8ViewersAtMost() {
        var host = HostBench(
            .none, trust: HostTrust(own: .host, remembered: [.viewer: "a", .made(7): "b"], code: .none))
        let joined = (0..<63).count { host.join(UInt64($0), instance: UInt64($0)) != nil }
        #expect(joined == 8)
        #expect(host.join(100, device: .made(7)) != nil)
        // A viewer of the same device without a connection makes room for a new one.
        host.handle(.connectionClosed(ConnectionID(0)))
        #expect(host.join(101, instance: 101) != nil)
        #expect(host.session.statistics.viewers == 9)
    }

    @Test func oneAddressHas8Version1ViewersAtMost() {
        var host = HostBench(.all)
        for id in 0..<61 { host.introduce(UInt64(id), code: String(100_000 + id)) }
        #expect(host.session.statistics.viewers == 8)
        #expect(host.take(60) == [#"{"ok":false,"message":"Too many viewers of this device"}"#])
        host.introduce(100, from: address(1))
        #expect(host.session.statistics.viewers == 9)
    }

    @Test func somePlacesAreReservedForKnownDevices() {
        var host = HostBench(.all, trust: Self.trust)
        for id in 0..<60 {
            _ = host.join(UInt64(id), device: .made(UInt8(id)), from: address(id % 2))
            host.advance(by: .milliseconds(100))
        }
        #expect(host.session.statistics.viewers == 48)
        #expect(host.join(100, from: address(0)) != nil)
        #expect(host.session.statistics.viewers == 49)
    }

    /// Each viewer that leaves makes the host rotate the media key for all others.
    @Test func joiningAndLeavingOftenDoesNotFloodTheOthersWithKeys() {
        // Many devices, because each may begin a few sessions only.
        let devices = (8...247).map { DeviceKey.made(UInt8($0)) }
        let known = Dictionary(uniqueKeysWithValues: ([.made(7)] + devices).map { ($0, "a") })
        var host = HostBench(.none, trust: HostTrust(own: .host, remembered: known, code: .none))
        let honest = host.join(1, device: .made(7))
        #expect(honest != nil)
        var keys = 0
        for id: UInt64 in 100..<2100 {
            _ = host.join(id, device: devices[Int(id) % devices.count], instance: id)
            host.say(id, .bye(""))
            for case .mediaKey(let key) in host.takeMessages(1) {
                keys += 1
                host.say(1, .mediaKeyReady(key.number))
            }
            host.advance(by: .milliseconds(5))
        }
        #expect((100...201).contains(keys), "\(keys) in 10 s")
        #expect(!host.isClosed(1))
    }

    // MARK: Questions

    private func asked(_ host: inout HostBench) -> [ConnectionID] {
        host.takeEvents().compactMap { if case .viewerAsks(let id, _, _) = $0 { id } else { nil } }
    }

    @Test func aFewAddressesCannotTakeAllQuestions() {
        var host = HostBench(.ask)
        for id in 0..<12 { host.introduce(UInt64(id), from: address(id % 3), code: String(100_000 + id)) }
        #expect(asked(&host).count == 6)
        // Two places are left for addresses that haven't asked yet; after that, the address with most questions loses
        // its oldest.
        for id in 20..<24 { host.introduce(UInt64(id), from: address(id)) }
        #expect(asked(&host) == (20..<24).map { ConnectionID($0) })
        host.handle(.decision(ConnectionID(23), accept: true))
        #expect(host.take(23).count == 3)
    }

    @Test func aQuestionStaysFor20sBeforeAnotherReplacesIt() {
        var host = HostBench(.ask)
        for id in 0..<8 { host.introduce(UInt64(id), from: address(id)) }
        _ = asked(&host)
        host.advance(to: .at(19))
        host.introduce(20, from: address(20))
        #expect(asked(&host).isEmpty)
        host.advance(to: .at(20))
        host.introduce(21, from: address(21))
        #expect(host.takeEvents().contains(.askWithdrawn(ConnectionID(0))))
        #expect(host.isClosed(0))
        #expect(host.take(0) == [#"{"ok":false,"message":"Too many viewers ask at the moment"}"#])
    }

    // MARK: Messages

    @Test func aViewerThatSendsTooManyMessagesIsEvicted() throws {
        var host = HostBench(.none, trust: Self.trust)
        #expect(host.join(1) != nil)
        // Ten times as many messages as an honest viewer sends, for 60 s.
        for _ in 0..<120 {
            host.say(1, .ping(1), .ping(2), .ping(3))
            host.advance(by: .milliseconds(500))
        }
        #expect(host.closed.isEmpty)
        _ = host.takeMessages(1)
        for number: UInt64 in 0..<1000 { host.say(1, .ping(number)) }
        #expect(host.isClosed(1))
        let answers = host.takeMessages(1)
        #expect(answers.count <= MessageRate.burst + 1)
        #expect(answers.last == .refused(.other, "This viewer was sent away: \(MessageRate.reason)"))
    }

    /// An admitted viewer that breaks the rules of the control connection is evicted. It and the person at the host
    /// learn the reason, and it may come back after `HostLimits.evictionTime`.
    @Test(arguments: ["too many", "garbage", "no message"]) func aViewerThatBreaksTheRulesIsEvicted(how: String) throws
    {
        var host = HostBench(.none, trust: Self.trust)
        #expect(host.join(1) != nil)
        _ = host.takeMessages(1)
        switch how {
        case "too many": for number: UInt64 in 0..<1000 { host.say(1, .ping(number)) }
        case "garbage": host.handle(.connectionMessage(ConnectionID(1), SecureMessage.ping(1).bytes.dropLast()))
        default: host.handle(.connectionViolated(ConnectionID(1), reason: "it announced a message of 9 GB"))
        }
        #expect(host.isClosed(1))
        guard case .refused(.other, let told) = try #require(host.takeMessages(1).last) else {
            Issue.record("the viewer didn't learn the reason")
            return
        }
        #expect(told.hasPrefix("This viewer was sent away: it "))
        let left = host.events.compactMap { event -> String? in
            if case .viewerLeft(_, _, let reason) = event { reason } else { nil }
        }
        #expect(left.count == 1 && left[0].hasPrefix("it was sent away: it "), "\(left)")
        host.advance(by: HostLimits.evictionDuration - .seconds(1))
        #expect(host.join(2) == nil)
        host.advance(by: .seconds(2))
        #expect(host.join(3) != nil)
    }

    @Test func version1LinesAreLimitedToo() {
        var host = HostBench()
        host.introduce(1)
        host.handle(
            .connectionBytes(ConnectionID(1), Array(repeating: #"{"hb":1}"# + "\n", count: 1000).joined().utf8 + []))
        #expect(host.isClosed(1))
    }

    @Test func aViewerLeavesAHostThatSendsTooManyMessages() {
        var viewer = ViewerBench(.secure(knows: true))
        viewer.handle(.controlSecured(.host))
        viewer.say(
            .welcome(
                SecureMessage.Welcome(isTrusted: true, methods: [], nonce: Array(repeating: 1, count: 32), name: "h")),
            .session(
                SecureMessage.Session(
                    id: Array(repeating: 2, count: 16), mediaPort: 1, isBroadcasting: true, viewerKey: .made(1),
                    mediaKey: .made(2))))
        _ = viewer.takeMessages()
        for number: UInt64 in 0..<10_000 { viewer.say(.ping(number)) }
        #expect(viewer.takeMessages().count <= MessageRate.burst)
        #expect(viewer.take().contains { $0.hasSuffix("close control") })
        #expect(viewer.events.contains { if case .controlLost(MessageRate.reason) = $0 { true } else { false } })
    }
}
