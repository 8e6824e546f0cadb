import BeamDiscovery
import BeamLog
import BeamNetwork
import BeamWire
import Synchronization
import Testing

@testable import BeamViewer

/// What discovery tells of rooms, from day to day.
struct MeshPresenceTests {
    private let room = [UInt8](repeating: 7, count: 32)

    private static func key(_ number: UInt8) -> DeviceKey { DeviceKey([UInt8](repeating: number, count: 32))! }

    /// What a member with this number announces.
    private func announcement(
        _ member: UInt8, of room: [UInt8]? = nil, on day: UInt32, name: String = "math"
    ) -> BrowserEvent {
        let room = room ?? self.room
        return .found(
            DiscoveredHost(
                name: "\(name) #\(member)", hostName: "host.local", port: 50000 + UInt16(member),
                addresses: ["192.0.2.\(member)"],
                txt: [
                    "room": name, "m": MeshTag(room: room, member: Self.key(member), on: MeshDay(day)).text,
                    "r": MeshMark(of: room, on: MeshDay(day)).text,
                ], isLocal: false))
    }

    private func endpoint(_ member: UInt8) -> Endpoint {
        Endpoint(host: "192.0.2.\(member)", port: 50000 + UInt16(member))
    }

    @Test func `Members find each other on the days about today, and their room is no other one`() {
        let day = Day(100)
        let presence = MeshPresence(today: { day.today })
        let seen = Mutex<[DeviceKey]>([])
        presence.connect { if case .appeared(let device) = $0 { seen.withLock { $0.append(device) } } }
        presence.setRoom(room, members: [1, 2].map { Self.key($0) }, own: Self.key(1))
        presence.handle(announcement(2, on: 99))
        #expect(seen.withLock { $0 } == [Self.key(2)])
        #expect(presence.endpoints(of: Self.key(2)) == [endpoint(2)] && presence.found.isEmpty)
        #expect(presence.ownStanding?.members == 1)
        // Neither is one whom this device doesn't know yet.
        presence.handle(announcement(3, on: 101))
        #expect(presence.found.isEmpty && presence.endpoints(of: Self.key(3)).isEmpty)
        presence.setRoom(room, members: [1, 2, 3].map { Self.key($0) }, own: Self.key(1))
        #expect(seen.withLock { $0 } == [Self.key(2), Self.key(3)])
        // What is announced for days that aren't near is strange.
        presence.handle(announcement(2, on: 97))
        #expect(presence.endpoints(of: Self.key(2)).isEmpty && presence.found.map(\.room) == ["math"])
    }

    @Test func `The standing has the mark that is announced, and the next day another`() {
        let day = Day(100)
        let presence = MeshPresence(today: { day.today })
        presence.setRoom(room, members: [1, 2].map { Self.key($0) }, own: Self.key(1))
        presence.handle(announcement(1, on: 100))
        presence.handle(announcement(2, on: 100))
        presence.refresh()
        let standing = presence.ownStanding
        #expect(standing == MeshStanding(members: 2, mark: MeshMark(of: room, on: MeshDay(100))))
        // Midnight, first at the other one.
        presence.handle(announcement(2, on: 101))
        presence.refresh()
        #expect(presence.ownStanding == MeshStanding(members: 2, mark: MeshMark(of: room, on: MeshDay(101))))
        day.set(101)
        presence.handle(announcement(1, on: 101))
        presence.refresh()
        #expect(presence.ownStanding == MeshStanding(members: 2, mark: MeshMark(of: room, on: MeshDay(101))))
        #expect(presence.found.isEmpty && presence.endpoints(of: Self.key(2)) == [endpoint(2)])
    }

    @Test func `A stranger counts the members by their common mark, and recognises nobody the next day`() throws {
        let presence = MeshPresence(today: { MeshDay(100) })
        for member in 1...3 as ClosedRange<UInt8> { presence.handle(announcement(member, on: 100)) }
        let today = try #require(presence.found.first)
        #expect(presence.found.count == 1 && today.standing?.members == 3)
        #expect(today.doors == [1, 2, 3].map { endpoint($0) })
        for member in 1...3 as ClosedRange<UInt8> { presence.handle(announcement(member, on: 101)) }
        let tomorrow = try #require(presence.found.first)
        #expect(tomorrow.standing?.members == 3 && tomorrow.standing?.mark != today.standing?.mark)
        // A former member recognises it.
        #expect(presence.isAnnounced(tomorrow, as: room))
        #expect(!presence.isAnnounced(tomorrow, as: [UInt8](repeating: 8, count: 32)))
        #expect(!presence.isAnnounced(MeshPresence.Found(room: "math", standing: nil, doors: []), as: room))
    }

    @Test func `What this device has announced in a room that it has left isn't another room`() {
        let day = Day(100)
        let presence = MeshPresence(today: { day.today })
        presence.setRoom(room, members: [Self.key(1)], own: Self.key(1))
        presence.handle(announcement(1, on: 100))
        presence.withdraw()
        #expect(presence.found.isEmpty)
        day.set(101)
        presence.refresh()
        #expect(presence.found.isEmpty)
    }
}

private final class Day: Sendable {
    private let number: Mutex<UInt32>

    init(_ number: UInt32) { self.number = Mutex(number) }

    var today: MeshDay { MeshDay(number.withLock { $0 }) }
    func set(_ day: UInt32) { number.withLock { $0 = day } }
}
