import BeamIdentity
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix
import Testing

@testable import BeamNetwork

/// A member of a room of equals on loopback, which lets everybody in.
private final class TestMember: Sendable {
    let identity: LocalIdentity
    let name: String
    let server: MeshServer
    let events = Log<MeshServer.Event>()

    /// - Parameter bindAddress: with a multicast address it tells none at which anybody could reach it, and dials nobody on
    ///   loopback but whom it enters through.
    init(_ name: String, identity: LocalIdentity? = nil, bindAddress: String = "127.0.0.1") throws {
        self.identity = try identity ?? LocalIdentity()
        self.name = name
        let events = self.events
        server = try MeshServer(
            MeshServer.Options(
                bindAddress: bindAddress, controlPort: 0, identity: self.identity,
                door: Door.Configuration(
                    acceptance: .all, deviceName: name,
                    trust: HostTrust(own: self.identity.deviceKey, code: .none, remembersNewViewers: false)),
                name: name),
            handlers: MeshServer.Handlers(onEvent: { events.append($0) }, locate: { _ in [] }))
    }

    var key: DeviceKey { identity.deviceKey }
    var endpoint: Endpoint { Endpoint(host: "127.0.0.1", port: server.controlPort) }

    /// Has the member's door let this one in, as a viewer. Returns why it doesn't; nil: it does.
    func knock(at member: TestMember) throws -> String? {
        let endpoint = member.endpoint
        let viewer = try TestViewer({ [endpoint] }, code: nil, identity: identity, named: name)
        defer { viewer.client.shutdown() }
        let answer = viewer.events.wait {
            switch $0 {
            case .paired, .refused: true
            default: false
            }
        }
        guard case .paired = answer else { return "\(try #require(answer))" }
        return nil
    }

    func enter(through member: TestMember) throws {
        #expect(try knock(at: member) == nil)
        server.begin(.enter(through: member.key, at: member.endpoint))
    }

    /// Waits until these are here, and nobody else.
    func waitForPeople(_ names: Set<String>) -> Bool {
        events.wait { event in
            guard case .mesh(.people(let people)) = event else { return false }
            return Set(people.filter(\.isHere).map(\.name)) == names
        } != nil
    }

    var notes: [String] {
        events.all.flatMap { event -> [String] in
            guard case .mesh(.log(.lines(let lines))) = event else { return [] }
            return lines.compactMap { if case .note(let text) = $0.content { "\($0.name): \(text)" } else { nil } }
        }
    }

    func waitForNotes(_ count: Int) -> Bool {
        for _ in 0..<600 where notes.count < count { _ = events.wait(seconds: 0.1) { _ in false } }
        return notes.count >= count
    }

    func share() throws -> (server: HostServer, requests: Log<Int>) {
        let requests = Log<Int>()
        let server = try HostServer(
            in: self.server, mediaPort: 0, name: name, broadcast: Broadcast.Configuration(),
            handlers: HostServer.Handlers(
                onEvent: { _ in }, requestKeyframe: { requests.append($0) }, onDemand: { _, _ in }))
        server.setBroadcast(true)
        return (server, requests)
    }

    func watch(_ member: TestMember) -> (client: ViewerClient, frames: Log<ReceivedFrame>, events: Log<ViewerEvent>) {
        let (frames, events) = (Log<ReceivedFrame>(), Log<ViewerEvent>())
        let client = ViewerClient(
            in: server, watching: member.key, called: member.name,
            session: ViewerSession.Configuration(
                trust: ViewerTrust(own: key, name: name, instance: 1)),
            handlers: ViewerClient.Handlers(
                onEvent: { events.append($0) }, sinks: [frames], locate: { [] }))
        client.begin()
        return (client, frames, events)
    }
}

/// Rooms of equals over real sockets.
struct MeshServerTests {
    /// A room of as many; the first founds it, and the others enter through it.
    private func room(_ names: [String]) throws -> [TestMember] {
        let members = try names.map { try TestMember($0) }
        members[0].server.begin(.found(name: "study"))
        _ = members[0].waitForPeople([names[0]])
        for member in members.dropFirst() { try member.enter(through: members[0]) }
        for member in members { #expect(member.waitForPeople(Set(names)), "\(member.name) doesn't know all") }
        return members
    }

    private func close(_ members: [TestMember]) { for member in members { member.server.shutdown() } }

    /// Somebody watches a member as if it were a host. Datagrams that came back as “unreachable” would have it open its
    /// socket again every second.
    @Test func aGuestOfTheDoorWaitsQuietly() throws {
        let (member, stranger) = (try TestMember("desk"), try LocalIdentity())
        defer { member.server.shutdown() }
        member.server.begin(.found(name: "study"))
        let endpoint = member.endpoint
        let viewer = try TestViewer({ [endpoint] }, code: nil, identity: stranger, named: "passer-by")
        defer { viewer.client.shutdown() }
        _ = viewer.events.wait { if case .paired = $0 { true } else { false } }
        #expect(viewer.events.wait(seconds: 2.5) { $0 == .mediaReconnecting } == nil)
    }

    @Test func newcomersAreVouchedForAndWordsReachEverybody() throws {
        let members = try room(["Ann", "Ben", "Cleo", "Dan"])
        defer { close(members) }
        for member in members {
            for number in 0..<5 { member.server.write(.note("\(number)")) }
        }
        for member in members {
            #expect(member.waitForNotes(20))
            #expect(member.notes.count == 20, "each once")
            for name in ["Ann", "Ben", "Cleo", "Dan"] {
                #expect(member.notes.filter { $0.hasPrefix(name) } == (0..<5).map { "\(name): \($0)" })
            }
        }
        // Somebody leaves, and the others see it.
        members[1].server.shutdown()
        let left = members[3].events.wait { event in
            guard case .mesh(.people(let people)) = event else { return false }
            return people.contains { $0.name == "Ben" && !$0.isHere } && people.count { $0.isHere } == 3
        }
        #expect(left != nil)
    }

    @Test func everyMemberMayShareAndWatch() throws {
        let members = try room(["Ann", "Ben", "Cleo"])
        defer { close(members) }
        let shares = try [members[0], members[1]].map { try $0.share() }
        let watching = [
            (members[1].watch(members[0]), 0), (members[2].watch(members[0]), 0), (members[2].watch(members[1]), 1),
        ]
        for (share, requests) in shares {
            #expect(requests.wait { _ in true } != nil, "nobody asks for a keyframe")
            share.submit(TestFrame.keyframe(bytes: 30_000))
        }
        for (viewer, index) in watching {
            // One that came later asks again.
            while viewer.frames.wait(seconds: 0.2, for: { $0.isKeyframe }) == nil {
                shares[index].server.submit(TestFrame.keyframe(bytes: 30_000))
            }
            shares[index].server.submit(TestFrame.delta(bytes: 2000))
            #expect(viewer.frames.wait { !$0.isKeyframe } != nil)
        }
        let sharing = members[2].events.wait { event in
            guard case .mesh(.people(let people)) = event else { return false }
            return people.count { $0.isSharing } == 2
        }
        #expect(sharing != nil)
        shares[0].server.shutdown()
        let ended = members[2].events.wait { event in
            guard case .mesh(.people(let people)) = event else { return false }
            return people.filter(\.isSharing).map(\.name) == ["Ben"]
        }
        #expect(ended != nil)
        for (viewer, _) in watching { viewer.client.shutdown() }
        shares[1].server.shutdown()
    }

    /// The third one has no connection to the first one, whose screen the second one gets.
    @Test func picturesThroughAnotherMemberAreAskedForAndLabelled() throws {
        let members = try room(["Ann", "Ben"]) + [try TestMember("Cleo", bindAddress: "239.255.0.7")]
        defer { close(members) }
        let (ann, ben, cleo) = (members[0], members[1], members[2])
        let (share, _) = try ann.share()
        let at = ben.watch(ann)
        while at.frames.wait(seconds: 0.2, for: { $0.isKeyframe }) == nil {
            share.submit(TestFrame.keyframe(bytes: 10_000))
        }
        try cleo.enter(through: ben)
        #expect(cleo.waitForPeople(["Ann", "Ben", "Cleo"]))
        let (client, frames, _) = cleo.watch(ann)
        func isAsked(_ event: MeshServer.Event) -> Bool {
            if case .relayNeeded(ann.key, through: ben.key) = event { true } else { false }
        }
        #expect(cleo.events.wait(for: isAsked) != nil)
        func send(_ rounds: Int) {
            for _ in 0..<rounds where frames.wait(seconds: 0.2, for: { _ in true }) == nil {
                share.submit(TestFrame.keyframe(bytes: 10_000))
            }
        }
        send(5)
        #expect(frames.all.isEmpty, "pictures came before the person has agreed")
        cleo.server.answerRelay(ann.key, through: ben.key, accept: false)
        let withdrawn = cleo.events.wait { if case .relayNotNeeded(ann.key) = $0 { true } else { false } }
        #expect(withdrawn != nil)
        send(15)
        #expect(frames.all.isEmpty)
        #expect(cleo.events.all.count(where: isAsked) == 1, "it was asked again")
        // The person thinks better of it.
        cleo.server.answerRelay(ann.key, through: ben.key, accept: true)
        send(100)
        #expect(!frames.all.isEmpty)
        let label = cleo.events.all.contains {
            if case .relayed(ann.key, through: .some(ben.key)) = $0 { true } else { false }
        }
        #expect(label)
        client.shutdown()
        at.client.shutdown()
        share.shutdown()
    }

    /// A member that is gone has named somebody else's address: the others don't besiege it.
    @Test func anAddressOfAThirdPartyGetsFewConnections() throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let connections = Log<Bool>()
        let third = try ServerBootstrap(group: group).childChannelInitializer { channel in
            connections.append(true)
            return channel.eventLoop.makeCompletedFuture { channel.close(promise: nil) }
        }.bind(host: "127.0.0.1", port: 0).wait()
        let members = try room(["Ann", "Ben", "Mallory"])
        defer { close([members[0], members[1]]) }
        let port = UInt16(clamping: third.localAddress?.port ?? 0)
        members[2].server.handle.perform {
            $0.handle(.addresses([NetworkAddress(ip: .v4(0x7F00_0001), port: port)]))
        }
        members[2].server.shutdown()
        // At most 4 of each at once, and then one in 2.5 s.
        _ = connections.wait(seconds: 8) { _ in false }
        let count = connections.all.count
        #expect((1...16).contains(count), "\(count) connections")
        try third.close().wait()
    }

    /// A member that sends without end is read slowly, and the others' words pass.
    @Test func aFloodOfMessagesOnALinkIsReadSlowly() throws {
        let members = try room(["Ann", "Ben", "Mallory"])
        defer { close(members) }
        let ann = members[0].key
        let sent = Log<Int>()
        // As many as the connection takes, for 3 s: what waits to be sent is bounded.
        for _ in 0..<60 {
            members[2].server.handle.perform { driver in
                guard let link = driver.session.link(to: ann) else { return }
                for _ in 0..<500 { driver.links.send([0x4B], on: link) }
                sent.append(500)
            }
            _ = sent.wait(seconds: 0.05) { _ in false }
        }
        #expect(!sent.all.isEmpty)
        members[1].server.write(.note("between"))
        #expect(members[0].waitForNotes(1))
        let blamed = members[0].events.all.contains { if case .mesh(.violated) = $0 { true } else { false } }
        #expect(!blamed)
    }

    @Test func theNinthHearsThatTheRoomIsFull() throws {
        let members = try room((1...8).map { "member \($0)" })
        defer { close(members) }
        let ninth = try TestMember("ninth")
        defer { ninth.server.shutdown() }
        let answer = try #require(try ninth.knock(at: members[3]))
        #expect(answer.contains("The room “study” is full: 8 members are here"), "\(answer)")
    }

    @Test func whoIsPutOutGetsNothingAnyMore() throws {
        let members = try room(["Ann", "Ben", "Cleo"])
        defer { close(members) }
        let results = Log<MeshRefusal?>()
        members[2].server.putOut(members[0].key) { results.append($0) }
        #expect(results.wait { _ in true } == .some(.wasHereBefore))
        members[0].server.putOut(members[2].key) { results.append($0) }
        let told = members[2].events.wait {
            if case .mesh(.putOut(by: "Ann")) = $0 { true } else { false }
        }
        #expect(told != nil)
        #expect(members[1].waitForPeople(["Ann", "Ben"]))
        members[1].server.write(.note("between us"))
        #expect(members[0].waitForNotes(1))
        #expect(members[2].notes.isEmpty)
        // The door doesn't know it any more, though it lets in all others.
        let answer = try members[2].knock(at: members[1])
        #expect(answer != nil, "it was let in again")
    }

    /// Somebody who speaks a member's protocol, but was let in by nobody.
    @Test func aStrangerLearnsNothing() throws {
        let members = try room(["Ann", "Ben"])
        defer { close(members) }
        let stranger = try LocalIdentity()
        let transport = try SecureTransport(stranger, for: .room)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let messages = Log<[UInt8]>()
        let ends = Log<String>()
        let channel = try ClientBootstrap(group: group).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                _ = try transport.add(
                    .viewer, to: channel.pipeline.syncOperations,
                    events: SecureControl.Events(
                        onSecured: { _ in }, onMessage: { messages.append($0) }, onEnd: { ends.append($0) }))
            }
        }.connect(host: "127.0.0.1", port: Int(members[0].endpoint.port)).wait()
        #expect(ends.wait { _ in true } != nil, "the connection stays")
        #expect(messages.all.isEmpty)
        try? channel.close().wait()
        #expect(members[1].waitForPeople(["Ann", "Ben"]))
    }

    @Test func whoComesBackByWhatItHasKeptNeedsNobody() throws {
        let identity = try LocalIdentity()
        let ann = try TestMember("Ann")
        defer { ann.server.shutdown() }
        ann.server.begin(.found(name: "study"))
        _ = ann.waitForPeople(["Ann"])
        var ben = try TestMember("Ben", identity: identity)
        try ben.enter(through: ann)
        #expect(ann.waitForPeople(["Ann", "Ben"]))
        ann.server.write(.note("first"))
        #expect(ben.waitForNotes(1))
        let kept = try #require(
            ben.events.all.compactMap { if case .keep(let room) = $0 { room } else { nil } }.last {
                !$0.addresses.isEmpty
            })
        #expect(kept.name == "study")
        ben.server.shutdown()
        ben = try TestMember("Ben", identity: identity)
        // It knows where Ann was, and dials even if it has the higher key.
        ben.server.begin(.resume(kept))
        #expect(ben.waitForNotes(1), "the history comes again")
        ben.server.shutdown()
    }
}
