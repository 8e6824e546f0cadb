import BeamIdentity
import BeamMedia
import BeamSession
import BeamSockets
import NIOCore
import NIOPosix
import Testing

@testable import BeamNetwork

/// A paired host that is sought at several addresses, over real sockets.
struct CandidateTests {
    private let desk: LocalIdentity
    private let sofa: LocalIdentity

    init() throws {
        desk = try LocalIdentity()
        sofa = try LocalIdentity()
    }

    /// A host that knows the viewer.
    private func host(_ identity: LocalIdentity, on address: String = "127.0.0.1", port: UInt16 = 0) throws -> TestHost
    {
        try TestHost(
            port: port, bind: address, acceptance: .none, identity: identity,
            remembered: [sofa.deviceKey: "sofa"], allowsUnencrypted: false)
    }

    private func viewer(
        at named: @escaping @Sendable () -> [Endpoint], hints: @escaping @Sendable () -> [Endpoint]
    ) throws -> TestViewer {
        try TestViewer(
            named, code: nil, identity: sofa, knowing: [desk.deviceKey: "desk"], requiring: [desk.deviceKey],
            hints: hints)
    }

    private func isRefusal(_ event: ViewerEvent) -> Bool {
        switch event {
        case .refused, .mistrusted: true
        default: false
        }
    }

    /// Accepts connections, and says nothing: a machine that has hung, or something else that listens there.
    private func silentListener() async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0).get()
    }

    private func endpoint(_ channel: any Channel) -> Endpoint {
        Endpoint(host: "127.0.0.1", port: UInt16(channel.localAddress?.port ?? 0))
    }

    @Test(arguments: [false, true]) func aFalseHostAtOneAddressIsPassedOver(isFalseHostFirst: Bool) throws {
        let falseHost = try host(LocalIdentity(), on: "127.0.0.2")
        let trueHost = try host(desk)
        defer {
            falseHost.server.shutdown()
            trueHost.server.shutdown()
        }
        let (other, right) = (falseHost.endpoint("127.0.0.2"), trueHost.endpoint())
        let viewer =
            isFalseHostFirst
            ? try viewer(at: { [other] }, hints: { [right] }) : try viewer(at: { [right] }, hints: { [other] })
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
        #expect(viewer.reached.all == [TestViewer.Reached(host: desk.deviceKey, endpoint: right)])
        #expect(!viewer.events.all.contains(where: isRefusal), "\(viewer.events.all)")
        if isFalseHostFirst { #expect(viewer.others.all == [other]) }
        #expect(falseHost.server.statistics.datagrams == 0)
    }

    @Test func aFalseHostAtTheOnlyNamedAddressIsToldWhenTheOthersHaveFailed() throws {
        let falseHost = try host(LocalIdentity())
        defer { falseHost.server.shutdown() }
        let other = falseHost.endpoint()
        // Nobody listens on port 1.
        let viewer = try viewer(at: { [other] }, hints: { [Endpoint(host: "127.0.0.1", port: 1)] })
        defer { viewer.client.shutdown() }
        let event = viewer.events.wait(for: isRefusal)
        guard case .refused(.otherKey(let key))? = event else {
            Issue.record("\(viewer.events.all)")
            return
        }
        #expect(key.expected == ["desk"])
    }

    /// An address that was only remembered may belong to anybody by now.
    @Test func aFalseHostAtALastKnownAddressIsNoNews() throws {
        let falseHost = try host(LocalIdentity())
        defer { falseHost.server.shutdown() }
        let other = falseHost.endpoint()
        let viewer = try viewer(at: { [] }, hints: { [other] })
        defer { viewer.client.shutdown() }
        let event = viewer.events.wait { if case .retrying = $0 { true } else { false } }
        #expect(
            event == .retrying(after: .seconds(1), reason: "\(other): a machine with another key has that address now"))
        #expect(!viewer.events.all.contains(where: isRefusal))
        #expect(viewer.others.all.first == other)
    }

    @Test func anAddressWhereNothingAnswersDoesNotDelayTheOthers() async throws {
        let silent = try await silentListener()
        defer { silent.close(promise: nil) }
        let trueHost = try host(desk)
        defer { trueHost.server.shutdown() }
        let (dead, right) = (endpoint(silent), trueHost.endpoint())
        let viewer = try viewer(at: { [dead, Endpoint(host: "127.0.0.1", port: 1)] }, hints: { [right] })
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
        let attempts = viewer.events.all.count { if case .connecting = $0 { true } else { false } }
        #expect(attempts == 1, "within one attempt: \(viewer.events.all)")
    }

    /// As discovery, or another source, does it while the stale address is still being tried.
    @Test func anAddressThatIsFoundMeanwhileIsTriedAtOnce() async throws {
        let silent = try await silentListener()
        defer { silent.close(promise: nil) }
        let trueHost = try host(desk)
        defer { trueHost.server.shutdown() }
        let (dead, right) = (endpoint(silent), trueHost.endpoint())
        let found = Log<Endpoint>()
        let viewer = try viewer(at: { [dead] }, hints: { found.all })
        defer { viewer.client.shutdown() }
        _ = viewer.events.wait { if case .connecting = $0 { true } else { false } }
        found.append(right)
        viewer.client.hostAppeared()
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
        let attempts = viewer.events.all.count { if case .connecting = $0 { true } else { false } }
        #expect(attempts == 1, "\(viewer.events.all)")
    }

    /// The address where it was stays in use while it is away, and another one is as good.
    @Test func aHostThatMovesIsFoundByItsKey() throws {
        let first = try host(desk)
        let old = first.endpoint()
        let found = Log<Endpoint>()
        let viewer = try viewer(at: { [old] }, hints: { found.all })
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
        first.server.shutdown()
        // Somebody else has the address now.
        let thief = try host(LocalIdentity(), port: old.port)
        let second = try host(desk, on: "127.0.0.2")
        defer {
            thief.server.shutdown()
            second.server.shutdown()
        }
        found.append(second.endpoint("127.0.0.2"))
        let place = TestViewer.Reached(host: desk.deviceKey, endpoint: second.endpoint("127.0.0.2"))
        #expect(viewer.reached.wait { $0 == place } != nil, "\(viewer.events.all)")
        #expect(!viewer.events.all.contains(where: isRefusal))
    }

    // MARK: In which order

    private static func endpoint(_ number: Int) -> Endpoint { Endpoint(host: "192.0.2.\(number)", port: 52345) }

    @Test func namedOnesAndHintsTakeTurns() {
        var candidates = DialCandidates(
            named: [1, 2, 3].map(Self.endpoint), hints: [4, 1, 5].map(Self.endpoint))
        var order: [Endpoint] = []
        while candidates.hasUntried, let next = candidates.next(open: order) { order.append(next) }
        #expect(order == [1, 4, 2, 5, 3].map(Self.endpoint))
        // The next one is where no attempt is open.
        var later: [Endpoint?] = [candidates.next(open: [1, 4, 2, 3].map(Self.endpoint))]
        later.append(candidates.next(open: []))
        #expect(later == [Self.endpoint(5), Self.endpoint(1)])
    }

    @Test func anOutcomeIsThatOfTheNamedAddresses() {
        var candidates = DialCandidates(named: [1, 2].map(Self.endpoint), hints: [Self.endpoint(3)])
        let key = desk.deviceKey
        candidates.exclude(Self.endpoint(3), "other", .wrongHost(key))
        #expect(candidates.outcome.failure == .network)
        candidates.failed(Self.endpoint(1), "refused")
        #expect(candidates.outcome.reason == "refused")
        candidates.exclude(Self.endpoint(2), "no TLS", .notSecure)
        candidates.failed(Self.endpoint(1), "refused again")
        #expect(candidates.outcome.failure == .notSecure)
        let next = candidates.next(open: [])
        #expect(next == Self.endpoint(1), "the others aren't tried again")
        candidates.exclude(Self.endpoint(1), "other", .wrongHost(key))
        #expect(candidates.outcome.failure == .wrongHost(key))
        let last = candidates.next(open: [])
        #expect(last == nil)
        // It is announced where it was only remembered before.
        var remembered = DialCandidates(hints: [Self.endpoint(1)])
        let isNew = remembered.add(named: [Self.endpoint(1)], hints: [])
        #expect(isNew)
        remembered.exclude(Self.endpoint(1), "other", .wrongHost(key))
        #expect(remembered.outcome.failure == .wrongHost(key))
    }

    @Test func aFloodOfAddressesIsCut() {
        var candidates = DialCandidates(
            named: (0..<200).map(Self.endpoint), hints: (200..<250).map(Self.endpoint))
        let isNew = candidates.add(named: [Self.endpoint(251)], hints: [Self.endpoint(252)])
        #expect(!isNew)
        var count = 0
        while candidates.hasUntried, candidates.next(open: []) != nil { count += 1 }
        #expect(count == 2 * DialCandidates.most)
    }
}
