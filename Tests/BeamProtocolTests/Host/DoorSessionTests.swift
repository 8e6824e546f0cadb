import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A door that no stream belongs to.
struct DoorSessionTests {
    private static let mediaPort: UInt16 = 50_000

    private struct Bench {
        var session = DoorSession(
            configuration: Door.Configuration(
                acceptance: .none, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none)),
            random: SeededGenerator(seed: 1))
        var now = MediaTime.zero
        private(set) var messages: [SecureMessage] = []
        private(set) var events: [HostEvent] = []
        private(set) var closed: [ConnectionID] = []
        private(set) var deadline = MediaTime.distantFuture

        static let connection = ConnectionID(1)

        /// A known device comes and joins.
        init() {
            session.mediaPortChanged(DoorSessionTests.mediaPort)
            handle(.connectionOpened(Self.connection, from: HostBench.viewer))
            handle(.connectionSecured(Self.connection, .viewer))
            say(.hello(SecureMessage.Hello(instance: 1, name: "viewer")))
            say(.join)
        }

        mutating func handle(_ input: Door.Input) {
            session.handle(input, now: now)
            drain()
        }

        mutating func say(_ message: SecureMessage) { handle(.connectionMessage(Self.connection, message.bytes)) }

        mutating func advance(by duration: Duration) {
            let end = now + duration
            while deadline <= end {
                now = max(now, deadline)
                drain()
            }
            now = end
        }

        mutating func drain() {
            while true {
                switch session.pollOutput(now: now) {
                case .send(_, let bytes): messages += (try? SecureMessage(bytes)).map { [$0] } ?? []
                case .close(let id): closed.append(id)
                case .browser: Issue.record("no browser has come")
                case .event(let event): events.append(event)
                case .wait(let until): return deadline = until
                }
            }
        }

        var given: SecureMessage.Session? {
            messages.lazy.compactMap { if case .session(let session) = $0 { session } else { nil } }.first
        }
    }

    @Test func aGuestIsLetInAndHasNothingToWatch() throws {
        let bench = Bench()
        let given = try #require(bench.given)
        #expect(given.mediaPort == Self.mediaPort && !given.isBroadcasting)
        #expect(bench.session.guests.map(\.identity) == [.device(.viewer)])
    }

    @Test func whatIsSaidOfAStreamIsIgnored() throws {
        var bench = Bench()
        let number = try #require(bench.given).mediaKey.number
        let before = bench.messages.count
        for message: SecureMessage in [
            .mediaKeyReady(number), .mediaKeyReady(number &+ 1), .soundWanted(true), .shownSize(width: 1, height: 1),
        ] {
            bench.say(message)
        }
        #expect(bench.messages.count == before && bench.closed.isEmpty && bench.session.guests.count == 1)
    }

    /// Nothing but its connection keeps a guest: there is no other way on which it could be heard.
    @Test func aSilentGuestLeaves() {
        var bench = Bench()
        bench.advance(by: HostLimits.viewerTimeout - .seconds(1))
        bench.say(.ping(1))
        bench.advance(by: HostLimits.viewerTimeout - .seconds(1))
        #expect(bench.session.guests.count == 1)
        bench.advance(by: .seconds(1))
        #expect(bench.session.guests.isEmpty && bench.closed == [Bench.connection])
    }

    @Test func theEndIsToldAndNothingFollows() {
        var bench = Bench()
        bench.session.shutdown()
        bench.drain()
        #expect(bench.messages.contains { if case .bye = $0 { true } else { false } })
        #expect(bench.closed == [Bench.connection] && bench.deadline == .distantFuture)
        let before = bench.messages.count
        bench.handle(.connectionOpened(ConnectionID(2), from: HostBench.viewer))
        bench.handle(.connectionSecured(ConnectionID(2), .viewer))
        #expect(bench.messages.count == before && bench.deadline == .distantFuture)
    }
}
