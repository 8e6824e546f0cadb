import BeamClock
import BeamDiscovery
import BeamLog
import BeamMedia
import BeamNetwork
import BeamWire
import Dispatch
import Foundation
import Synchronization

/// Rooms of equals in the network's discovery: which there are, where the members of one's own are, and this device's
/// announcement.
///
/// A room's name is announced, its mark (`MeshMark`), and a tag by which its members recognise each other (`MeshTag`);
/// nothing else. Mark and tag change each day (`refresh`).
public final class MeshPresence: Sendable {
    /// A room that is announced, as far as that tells: nothing of it is proved.
    public struct Found: Sendable, Hashable {
        /// The room's name, cleaned.
        public var room: String
        /// How many members are announced, and the room's mark; nil: an earlier version, which tells no mark. Each of
        /// its members counts as a room.
        public var standing: MeshStanding?
        /// Where its members are: for each the most likely address.
        public var doors: [Endpoint]

        public init(room: String, standing: MeshStanding?, doors: [Endpoint]) {
            self.room = room
            self.standing = standing
            self.doors = doors
        }
    }

    public enum Event: Sendable {
        /// This member has appeared, or is at another address.
        case appeared(DeviceKey)
        case announced
        /// `found` may have changed.
        case changed
        /// There is no discovery on this machine at present; a sentence for a person. Said once.
        case unavailable(reason: String)
    }

    fileprivate struct Sighting {
        var room: String
        var tag: MeshTag
        var mark: MeshMark?
        var endpoints: [Endpoint]
    }

    fileprivate struct State {
        /// By instance name.
        var sightings: [String: Sighting] = [:]
        var isSettled = false
        /// This device's room.
        var room: MeshAnnouncements?
        /// Rooms that it has left: its announcement may be seen for a while still. The last few.
        var former: [MeshAnnouncements] = []
        /// The room's name, while it is announced.
        var announced: String?
        var isOver = false
        /// Why there is no discovery, once that is known.
        var problem: String?
        var onEvent: (@Sendable (Event) -> Void)?
    }

    private let state = Mutex(State())
    /// Signalled when the first look at the network is complete.
    private let settled = DispatchSemaphore(value: 0)
    private let browser = Mutex<ServiceBrowser?>(nil)
    private let publisher = Mutex<ServicePublisher?>(nil)
    /// Publishing waits for the Avahi daemon.
    private let queue = DispatchQueue(label: "beam-room-presence")
    private let today: @Sendable () -> MeshDay
    private static let mostFormer = 8

    /// - Parameter today: by the machine's clock.
    public init(
        today: @escaping @Sendable () -> MeshDay = { MeshDay(secondsSince1970: Date().timeIntervalSince1970) }
    ) {
        self.today = today
    }

    /// Sets who is told what happens, on discovery's threads.
    public func connect(_ onEvent: @escaping @Sendable (Event) -> Void) {
        let problem = state.withLock { state in
            state.onEvent = onEvent
            return state.problem
        }
        if let problem { onEvent(.unavailable(reason: problem)) }
    }

    private func tell(_ event: Event) { state.withLock { $0.onEvent }?(event) }

    /// Begins to look. Waits for the Avahi daemon.
    public func start() {
        let made = ServiceBrowser(type: ServiceType.room) { [weak self] event in self?.handle(event) }
        browser.withLock { $0 = made }
    }

    /// The announced rooms; waits until the first look at the network is complete, or for `time`.
    public func rooms(within time: Duration) -> [Found] {
        if !state.withLock({ $0.isSettled }) {
            _ = settled.wait(timeout: .now() + time.inSeconds)
        }
        return found
    }

    /// The announced rooms but for this device's own; by name, and of one name the one that stays if they meet
    /// (`MeshStanding`) first.
    public var found: [Found] { state.withLock { $0.found } }

    /// How this device's room stands, by what is announced; nil before its own announcement is seen on the network.
    public var ownStanding: MeshStanding? {
        state.withLock { state in
            guard let room = state.room else { return nil }
            let members = state.sightings.values.count { $0.mark.map { room.isMark($0) } ?? false }
            return members > 0 ? MeshStanding(members: members, mark: room.mark) : nil
        }
    }

    /// Whether a room with this mark is announced at this address. Without a mark: any room.
    public func isAnnounced(_ mark: MeshMark?, at door: Endpoint) -> Bool {
        state.withLock { state in
            state.sightings.values.contains { (mark == nil || $0.mark == mark) && $0.endpoints.contains(door) }
        }
    }

    /// Which of the announced rooms is this one, in which this device was.
    public func isAnnounced(_ found: Found, as id: [UInt8]) -> Bool {
        guard let mark = found.standing?.mark else { return false }
        return MeshAnnouncements.isMark(mark, of: id, about: today())
    }

    /// The members of this device's room. They are looked for.
    public func setRoom(_ id: [UInt8], members: some Sequence<DeviceKey>, own: DeviceKey) {
        let members = Set(members).union([own])
        let today = self.today()
        let appeared = state.withLock { state -> [DeviceKey] in
            if let room = state.room, room.room == id, room.members == members { return [] }
            var room = MeshAnnouncements(room: id, own: own, members: members, on: today)
            let known = state.room.flatMap { $0.room == id ? $0.members : nil } ?? []
            _ = room.update(on: today, seen: state.marks)
            state.room = room
            return state.sightings.values.compactMap { room.member($0.tag) }.filter {
                $0 != own && !known.contains($0)
            }
        }
        for device in appeared { tell(.appeared(device)) }
    }

    /// Announces this member of the room on its control port, once until `withdraw`. Returns at once.
    public func announce(_ room: String, port: UInt16) {
        let isFirst = state.withLock { state in
            guard state.announced == nil, !state.isOver, state.room != nil else { return false }
            state.announced = room
            return true
        }
        if isFirst { queue.async { [self] in publish(room, port) } }
    }

    /// Another day may have come, or a member announces it already. Call it about once a second.
    public func refresh() {
        let today = self.today()
        let hasChanged = state.withLock { state in
            for index in state.former.indices { _ = state.former[index].update(on: today, seen: []) }
            let seen = state.marks
            return state.room?.update(on: today, seen: seen) ?? false
        }
        if hasChanged {
            queue.async { [self] in
                guard let published = publisher.withLock({ $0 }), let record else { return }
                published.update(txt: record)
            }
        }
    }

    /// The announcement's TXT record; nil: nothing is announced.
    private var record: [(key: String, value: String)]? {
        state.withLock { state in
            guard let room = state.room, let name = state.announced else { return nil }
            return [(key: "room", value: name), (key: "m", value: room.tag.text), (key: "r", value: room.mark.text)]
        }
    }

    private func publish(_ room: String, _ port: UInt16) {
        guard let record else { return }
        let made = ServicePublisher(
            name: Self.instance(of: room), type: ServiceType.room, port: port, txt: record
        ) { [weak self] event in
            switch event {
            case .published: self?.tell(.announced)
            case .renamed: break
            case .unavailable(let reason), .failed(let reason): self?.complain(reason)
            }
        }
        publisher.withLock { $0 = made }
    }

    /// Another name at each member, because all of a room, and those of other rooms of its name, would compete for one: until
    /// all have others, one's address is told with another one's record.
    private static func instance(of room: String) -> String {
        var name = room
        // Of 63 bytes.
        while name.utf8.count > 56 { name.removeLast() }
        return "\(name) \(String(UInt32.random(in: 0x10_0000...0xFF_FFFF), radix: 16))"
    }

    /// Where the member may be. Called on the event loop.
    public func endpoints(of device: DeviceKey) -> [Endpoint] {
        state.withLock { state in
            guard let room = state.room, device != room.own else { return [] }
            return state.sightings.values.filter { room.member($0.tag) == device }.flatMap(\.endpoints)
        }
    }

    /// This device leaves its room for another one: withdraws the announcement, and goes on looking. Waits for the Avahi
    /// daemon.
    public func withdraw() {
        endAnnouncement()
        state.withLock { state in
            if let room = state.room { state.former.append(room) }
            state.former.removeFirst(max(0, state.former.count - Self.mostFormer))
            (state.room, state.announced) = (nil, nil)
        }
    }

    /// Withdraws the announcement, and ends the search.
    public func stop() {
        state.withLock { $0.isOver = true }
        endAnnouncement()
        let running = browser.withLock { browser in
            defer { browser = nil }
            return browser
        }
        running?.stop()
    }

    private func endAnnouncement() {
        queue.sync {}
        let announced = publisher.withLock { publisher in
            defer { publisher = nil }
            return publisher
        }
        announced?.withdraw()
    }

    private func complain(_ reason: String) {
        let isFirst = state.withLock { state in
            defer { state.problem = reason }
            return state.problem == nil
        }
        if isFirst { tell(.unavailable(reason: reason)) }
    }

    private func settle() {
        let isFirst = state.withLock { state in
            defer { state.isSettled = true }
            return !state.isSettled
        }
        if isFirst { settled.signal() }
    }

    /// Called on discovery's thread.
    func handle(_ event: BrowserEvent) {
        switch event {
        case .found(let host):
            guard let tag = host.txt["m"].flatMap({ MeshTag(announced: $0) }), !host.addresses.isEmpty else { break }
            let room = PeerText.name(host.txt["room"] ?? host.name)
            let sighting = Sighting(
                room: room, tag: tag, mark: host.txt["r"].flatMap { MeshMark(announced: $0) },
                endpoints: host.addresses.map { Endpoint(host: $0, port: host.port) })
            let member = state.withLock { state in
                state.sightings[host.name] = sighting
                return state.room.flatMap { room in room.member(tag).flatMap { $0 == room.own ? nil : $0 } }
            }
            if let member { tell(.appeared(member)) }
            tell(.changed)
        case .lost(let name):
            state.withLock { _ = $0.sightings.removeValue(forKey: name) }
            tell(.changed)
        case .settled: settle()
        case .available: break
        case .unavailable(let reason):
            settle()
            complain(reason)
        }
    }
}

extension MeshPresence.State {
    /// All that are announced.
    fileprivate var marks: [MeshMark] { sightings.values.compactMap(\.mark) }

    /// Of this device's room or one that it has left: it knows them better.
    private func isKnown(_ sighting: MeshPresence.Sighting) -> Bool {
        former.contains { $0.isOwn(sighting.tag) } || room?.member(sighting.tag) != nil
            // A member of this device's room that it doesn't know yet is no other room.
            || sighting.mark.map { room?.isMark($0) ?? false } ?? false
    }

    fileprivate var found: [MeshPresence.Found] {
        // A mark that is announced under another name makes another room, and hides none.
        var rooms: [[String]: MeshPresence.Found] = [:]
        var unmarked: [MeshPresence.Found] = []
        for sighting in sightings.values.sorted(by: { $0.endpoints[0].description < $1.endpoints[0].description })
        where !isKnown(sighting) {
            guard let mark = sighting.mark else {
                unmarked.append(.init(room: sighting.room, standing: nil, doors: [sighting.endpoints[0]]))
                continue
            }
            let key = [mark.text, sighting.room.lowercased()]
            var room = rooms[key] ?? .init(room: sighting.room, standing: nil, doors: [])
            room.doors.append(sighting.endpoints[0])
            room.standing = MeshStanding(members: room.doors.count, mark: mark)
            rooms[key] = room
        }
        return (Array(rooms.values) + unmarked).sorted { one, other in
            guard one.room == other.room else { return one.room < other.room }
            guard let first = one.standing, let second = other.standing else { return one.standing != nil }
            return first > second
        }
    }
}
