import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A keeper and its guests in virtual time. Connections deliver in order, after a delay, until they are cut; what is under
/// way then is lost.
struct LogSimulation {
    struct Guest {
        let number: UInt8
        var room: LogExchange
        /// The connection; nil: cut.
        var connection: UInt64?
        var member: LogMemberID
        var events: [LogEvent] = []
        /// Not more than this reaches the guest and comes back.
        var delay: Duration
    }

    private struct Packet {
        var at: MediaTime
        var order: Int
        var connection: UInt64
        var isToGuest: Bool
        var guest: Int
        var bytes: [UInt8]
    }

    static let keeperNumber: UInt8 = 200

    private(set) var keeper: LogExchange
    var guests: [Guest] = []
    private(set) var keeperEvents: [LogEvent] = []
    private(set) var violations: [(guest: Int?, reason: String)] = []
    private(set) var now = MediaTime.zero
    var random: SeededGenerator
    private var packets: [Packet] = []
    private var order = 0
    private var lastArrival: [String: MediaTime] = [:]
    private var nextConnection: UInt64 = 1
    private var nextMember: UInt64 = 1
    /// Bytes sent to guests.
    private(set) var bytesToGuests = 0
    /// Changes a message of the keeper on its way to a guest.
    var tamper: ((inout LogMessage, Int) -> Void)?

    init(seed: UInt64, takesNotes: Bool = true) {
        random = SeededGenerator(seed: seed)
        let (signing, device) = LogSigning.simulated(Self.keeperNumber)
        keeper = LogExchange(
            LogExchange.Configuration(
                role: .keeper, own: device, name: "desk", signing: signing, takesNotes: takesNotes),
            random: SeededGenerator(seed: seed &+ 1))
        keeper.shareChanged(true, now: now)
    }

    // MARK: Guests

    /// A program that wants to enter the room. It isn't connected yet.
    mutating func add(_ number: UInt8) -> Int {
        let (signing, device) = LogSigning.simulated(number)
        let room = LogExchange(
            LogExchange.Configuration(role: .guest, own: device, name: "viewer \(number)", signing: signing),
            random: SeededGenerator(seed: random.next()))
        let member = LogMemberID(nextMember)
        nextMember += 1
        guests.append(
            Guest(
                number: number, room: room, member: member,
                delay: .microseconds(Int64(random.next(upperBound: 20_000 as UInt64)))))
        return guests.count - 1
    }

    mutating func connect(_ index: Int) {
        cut(index)
        guests[index].connection = nextConnection
        nextConnection += 1
        let guest = guests[index]
        keeper.joined(guest.member, device: .made(guest.number), name: "viewer \(guest.number)", now: now)
        keeper.connected(guest.member, now: now)
        guests[index].room.metKeeper(
            ViewerSession.keeper, device: .made(Self.keeperNumber), name: "desk", now: now)
        settle()
    }

    mutating func cut(_ index: Int) {
        guard let connection = guests[index].connection else { return }
        packets.removeAll { $0.connection == connection }
        guests[index].connection = nil
        keeper.disconnected(guests[index].member)
        guests[index].room.disconnected(ViewerSession.keeper)
    }

    /// The program is killed; another one of the same device starts.
    mutating func restart(_ index: Int) {
        cut(index)
        keeper.left(guests[index].member, now: now)
        let number = guests[index].number
        let place = add(number)
        guests[index] = guests.remove(at: place)
        settle()
    }

    mutating func restartKeeper() {
        for index in guests.indices { cut(index) }
        let (signing, device) = LogSigning.simulated(Self.keeperNumber)
        keeper = LogExchange(
            LogExchange.Configuration(role: .keeper, own: device, name: "desk", signing: signing),
            random: SeededGenerator(seed: random.next()))
        keeperEvents.removeAll()
        keeper.shareChanged(true, now: now)
    }

    mutating func leave(_ index: Int) {
        cut(index)
        keeper.left(guests[index].member, now: now)
        settle()
    }

    // MARK: What they write

    mutating func say(_ input: LogInput, guest index: Int) {
        guests[index].room.handle(input, now: now)
        settle()
    }

    mutating func say(_ input: LogInput) {
        keeper.handle(input, now: now)
        settle()
    }

    /// Something that a liar sends.
    mutating func inject(_ message: LogMessage, from index: Int) {
        keeper.received(message, from: guests[index].member, now: now)
        settle()
    }

    // MARK: Time

    mutating func run(for duration: Duration) {
        let end = now + duration
        while true {
            let next = packets.map(\.at).min() ?? .distantFuture
            let deadline = guests.reduce(keeper.deadline) { min($0, $1.room.deadline) }
            let time = min(next, deadline)
            guard time <= end else { break }
            now = max(now, time)
            let due = packets.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
            packets.removeAll { $0.at <= now }
            for packet in due { deliver(packet) }
            settle()
        }
        now = end
        settle()
    }

    private mutating func deliver(_ packet: Packet) {
        guard guests[packet.guest].connection == packet.connection else { return }
        guard case .room(var message) = try? SecureMessage(packet.bytes) else { return }
        if packet.isToGuest {
            tamper?(&message, packet.guest)
            guests[packet.guest].room.received(message, from: ViewerSession.keeper, now: now)
        } else {
            keeper.received(message, from: guests[packet.guest].member, now: now)
        }
    }

    private mutating func settle() {
        keeper.settle(now: now)
        while let output = keeper.pollOutput() {
            switch output {
            case .send(let member, let message):
                guard let index = guests.firstIndex(where: { $0.member == member }) else { continue }
                let bytes = SecureMessage.room(message).bytes
                bytesToGuests += bytes.count
                send(bytes, isToGuest: true, guest: index)
            case .event(let event): keeperEvents.append(event)
            case .violation(let member, let reason):
                let index = guests.firstIndex { $0.member == member }
                violations.append((index, reason))
                if let index { cut(index) }
            }
        }
        for index in guests.indices {
            guests[index].room.settle(now: now)
            while let output = guests[index].room.pollOutput() {
                switch output {
                case .send(_, let message):
                    send(SecureMessage.room(message).bytes, isToGuest: false, guest: index)
                case .event(let event): guests[index].events.append(event)
                case .violation(_, let reason):
                    violations.append((nil, reason))
                    cut(index)
                }
            }
        }
    }

    private mutating func send(_ bytes: [UInt8], isToGuest: Bool, guest index: Int) {
        guard let connection = guests[index].connection else { return }
        // In order, as TCP delivers; a lost segment makes everything behind it late.
        let isLost = random.next(upperBound: 20 as UInt64) == 0
        let key = "\(connection) \(isToGuest)"
        let at = max(
            lastArrival[key] ?? .zero, now + guests[index].delay + (isLost ? .milliseconds(200) : .zero))
        lastArrival[key] = at
        order += 1
        packets.append(
            Packet(
                at: at, order: order, connection: connection, isToGuest: isToGuest, guest: index, bytes: bytes))
    }

    // MARK: What they have

    /// The entries of each author, as digests.
    static func logs(_ room: LogExchange) -> [LogAuthor: [[UInt8]]] {
        var logs: [LogAuthor: [[UInt8]]] = [:]
        for log in room.log.authors where log.last > 0 {
            logs[log.author] = (log.first...log.last).compactMap { log[$0]?.content.digest }
        }
        return logs
    }

    static func lines(_ events: [LogEvent]) -> [LogLine] {
        events.flatMap { event -> [LogLine] in if case .lines(let lines) = event { lines } else { [] } }
    }

    static func notes(_ events: [LogEvent]) -> [String] {
        lines(events).compactMap { if case .note(let text) = $0.content { text } else { nil } }
    }

    static func messages(_ events: [LogEvent]) -> [String] {
        events.compactMap { if case .message(let message) = $0 { message.id } else { nil } }
    }

    static func delivered(_ events: [LogEvent]) -> [String] {
        events.compactMap { if case .delivered(let id, _) = $0 { id } else { nil } }
    }

    static func undelivered(_ events: [LogEvent]) -> [String: LogFailure] {
        var failures: [String: LogFailure] = [:]
        for case .undelivered(let id, let reason) in events { failures[id] = reason }
        return failures
    }
}
