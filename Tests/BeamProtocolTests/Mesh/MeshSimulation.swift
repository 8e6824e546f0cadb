import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Members of a room of equals in virtual time. Connections deliver in order, after a delay, as TCP does; what crosses a
/// link that is cut is lost, and its ends find out by silence.
struct MeshSimulation {
    /// A class, because an unoptimised test would copy the whole member for each property that it reads.
    final class Member {
        let number: UInt8
        var mesh: Mesh
        var events: [MeshEvent] = []
        var isAlive = true
        /// It neither takes nor sends anything (SIGSTOP).
        var isFrozen = false
        /// What it was told to close its links for.
        var refusals: [MeshRefusal] = []
        /// Whom it has dialled.
        var dialled: [DeviceKey] = []
        var questions: [MeshQuestion] = []
        /// What its door was told about newcomers' proofs, by number; nil: it may be checked.
        var verdicts: [(number: UInt64, pause: Duration?)] = []
        /// Something has happened to it.
        var isTouched = true

        init(_ number: UInt8, _ mesh: Mesh) {
            self.number = number
            self.mesh = mesh
        }
    }

    /// A member has closed a link.
    struct Parting {
        var at: MediaTime
        var by: Int
        var from: Int
        var reason: MeshRefusal
    }

    private struct Connection {
        var id: UInt64
        var ends: [Int]
        /// Nothing crosses it any more.
        var isDead = false
    }

    private enum Happening {
        case message(connection: UInt64, to: Int, bytes: [UInt8])
        case closed(connection: UInt64, to: Int)
        case connected(from: Int, to: Int)
        case refused(by: Int, device: DeviceKey)
    }

    private struct Pair: Hashable {
        var low: Int
        var high: Int
        init(_ one: Int, _ other: Int) { (low, high) = (min(one, other), max(one, other)) }
    }

    var members: [Member] = []
    private(set) var now = MediaTime.zero
    var random: SeededGenerator
    /// One of so many messages is late, because a segment was lost; 0: none is.
    var lossOneIn: UInt64 = 20
    /// What each program makes if the room has no code.
    var code = HostCode.none
    /// The numbers of members where somebody is asked about newcomers.
    var asking: Set<UInt8> = []
    /// Changes a message on its way; nil as the result: it isn't delivered.
    var tamper: ((SecureMessage, _ from: Int, _ to: Int) -> SecureMessage?)?
    private var connections: [Connection] = []
    private var queue: [(at: MediaTime, order: Int, what: Happening)] = []
    private var order = 0
    private var lastArrival: [String: MediaTime] = [:]
    private var nextConnection: UInt64 = 1
    private var blocked: Set<Pair> = []
    private var delays: [Pair: Duration] = [:]
    private(set) var messagesSent = 0
    private(set) var partings: [Parting] = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    // MARK: Members

    /// A program; it is in no room yet.
    @discardableResult mutating func add(_ number: UInt8) -> Int {
        members.append(Member(number, makeMesh(number)))
        return members.count - 1
    }

    private mutating func makeMesh(_ number: UInt8) -> Mesh {
        let (signing, device) = LogSigning.simulated(number)
        var mesh = Mesh(
            Mesh.Configuration(
                own: device, name: "member \(number)", signing: signing, sealing: .simulated(number), code: code,
                asksPerson: asking.contains(number)),
            random: SeededGenerator(seed: random.next()))
        mesh.setAddresses([NetworkAddress(ip: .v4(0x0A00_0000 + UInt32(number)), port: 52345)], now: now)
        return mesh
    }

    mutating func found(_ index: Int) {
        act(index) { $0.found("study", now: $1) }
    }

    /// `index` pairs with `host`, a member, and enters its room.
    mutating func enter(_ index: Int, through host: Int) throws {
        members[index].mesh.enter(through: .made(members[host].number))
        let connection = connect(index, host)
        let key = LogSigning.simulated(members[index].number).signing.publicKey
        do {
            let name = "member \(members[index].number)"
            try act(host) { (mesh, now) throws(MeshRefusal) in try mesh.admit(publicKey: key, name: name, now: now) }
        } catch {
            close(connection, by: host)
            throw error
        }
        settle()
    }

    /// Connects a program to a member, which hasn't let it in.
    mutating func attach(_ index: Int, to host: Int) {
        connect(index, host)
        settle()
    }

    /// A room with so many members, each let in by one that was chosen at random, or by the founder.
    mutating func makeRoom(_ count: Int, byFounder: Bool = false, settling: Duration = .seconds(2)) throws {
        for number in 0..<count { add(UInt8(number + 1)) }
        found(0)
        for index in 1..<count {
            let members = byFounder ? [0] : (0..<index).filter { self.members[$0].mesh.membership != nil }
            try enter(index, through: members[Int(random.next(upperBound: UInt64(members.count)))])
            run(for: .milliseconds(Int64(random.next(upperBound: 300 as UInt64))))
        }
        run(for: settling)
    }

    mutating func putOut(_ number: UInt8, alsoThoseLetIn: Bool = false, by index: Int) throws {
        try act(index) { (mesh, now) throws(MeshRefusal) in
            try mesh.putOut(.made(number), alsoThoseLetIn: alsoThoseLetIn, now: now)
        }
    }

    /// The program is killed.
    mutating func kill(_ index: Int) {
        members[index].isAlive = false
        for connection in connections where connection.ends.contains(index) && !connection.isDead {
            guard let other = connection.ends.first(where: { $0 != index }) else { continue }
            schedule(.closed(connection: connection.id, to: other), after: delay(index, other))
        }
        connections.removeAll { $0.ends.contains(index) }
    }

    /// Another program of the same device starts, which has kept what it knew of the room.
    mutating func restart(_ index: Int) {
        if members[index].isAlive { kill(index) }
        let before = members[index].mesh
        members[index].mesh = makeMesh(members[index].number)
        members[index].events = []
        members[index].isAlive = true
        if let membership = before.membership {
            let age = before.age(now: now)
            act(index) {
                $0.resume(room: membership.room, statements: membership.statements, age: age, now: $1)
            }
        }
    }

    // MARK: The network

    mutating func block(_ one: Int, _ other: Int) {
        blocked.insert(Pair(one, other))
        for index in connections.indices where Set(connections[index].ends) == [one, other] {
            connections[index].isDead = true
        }
    }

    mutating func unblock(_ one: Int, _ other: Int) { blocked.remove(Pair(one, other)) }

    /// Nothing passes between the members whose places are below `count` and the others.
    mutating func split(at count: Int) {
        for one in 0..<count { for other in count..<members.count { block(one, other) } }
    }

    mutating func heal() { blocked = [] }

    private mutating func delay(_ one: Int, _ other: Int) -> Duration {
        if let known = delays[Pair(one, other)] { return known }
        let delay = Duration.microseconds(200 + Int64(random.next(upperBound: 15_000 as UInt64)))
        delays[Pair(one, other)] = delay
        return delay
    }

    @discardableResult private mutating func connect(_ from: Int, _ to: Int) -> UInt64 {
        let id = nextConnection
        nextConnection += 1
        connections.append(Connection(id: id, ends: [from, to]))
        touch(from)
        touch(to)
        let (caller, callee) = (DeviceKey.made(members[from].number), DeviceKey.made(members[to].number))
        members[from].mesh.opened(MeshLinkID(id), device: callee, isOutgoing: true, now: now)
        members[to].mesh.opened(MeshLinkID(id), device: caller, isOutgoing: false, now: now)
        return id
    }

    private mutating func schedule(_ what: Happening, after delay: Duration) {
        order += 1
        queue.append((now + delay, order, what))
    }

    private mutating func send(_ message: SecureMessage, on connection: UInt64, from: Int) {
        guard let link = connections.first(where: { $0.id == connection }), !link.isDead,
            let to = link.ends.first(where: { $0 != from })
        else { return }
        guard let message = tamper.map({ $0(message, from, to) }) ?? message else { return }
        messagesSent += 1
        let isLate = lossOneIn > 0 && random.next(upperBound: lossOneIn) == 0
        let key = "\(connection) \(to)"
        let at = max(
            lastArrival[key] ?? .zero, now + delay(from, to) + (isLate ? .milliseconds(200) : .zero))
        lastArrival[key] = at
        order += 1
        queue.append((at, order, .message(connection: connection, to: to, bytes: message.bytes)))
    }

    /// Something that a liar sends on each of its links.
    mutating func inject(_ message: SecureMessage, from index: Int) {
        for connection in connections where connection.ends.contains(index) {
            send(message, on: connection.id, from: index)
        }
    }

    /// Something that a liar sends one other member, if it has a link to it.
    mutating func inject(_ message: SecureMessage, from index: Int, to other: Int) {
        for connection in connections where Set(connection.ends) == [index, other] {
            send(message, on: connection.id, from: index)
        }
    }

    /// The places of those that a member has an open connection with.
    func neighbours(_ index: Int) -> [Int] {
        connections.filter { $0.ends.contains(index) && !$0.isDead }.flatMap { $0.ends.filter { $0 != index } }
    }

    private mutating func note(_ reason: MeshRefusal, on connection: UInt64, by index: Int) {
        members[index].refusals.append(reason)
        guard let ends = connections.first(where: { $0.id == connection })?.ends,
            let other = ends.first(where: { $0 != index })
        else { return }
        partings.append(Parting(at: now, by: index, from: other, reason: reason))
    }

    private mutating func close(_ connection: UInt64, by index: Int) {
        guard let place = connections.firstIndex(where: { $0.id == connection }) else { return }
        let link = connections.remove(at: place)
        guard !link.isDead, let other = link.ends.first(where: { $0 != index }) else { return }
        // What was sent before arrives first.
        let at = lastArrival["\(connection) \(other)"] ?? .zero
        order += 1
        queue.append((max(at, now + delay(index, other)), order, .closed(connection: connection, to: other)))
        connections.append(Connection(id: connection, ends: link.ends, isDead: true))
    }

    // MARK: Time

    mutating func run(for duration: Duration) {
        let end = now + duration
        while true {
            var time = MediaTime.distantFuture
            for happening in queue { time = min(time, happening.at) }
            for index in members.indices where members[index].isAlive && !members[index].isFrozen {
                time = min(time, members[index].mesh.deadline)
            }
            guard time <= end else { break }
            now = max(now, time)
            let due = queue.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
            queue.removeAll { $0.at <= now }
            for happening in due { carryOut(happening.what) }
            settle()
        }
        now = end
        settle()
    }

    private mutating func carryOut(_ what: Happening) {
        switch what {
        case .message(let connection, let to, let bytes):
            guard members[to].isAlive, connections.contains(where: { $0.id == connection }) else { return }
            // It is read when the program goes on.
            guard !members[to].isFrozen else {
                return schedule(.message(connection: connection, to: to, bytes: bytes), after: .milliseconds(10))
            }
            guard let message = try? SecureMessage(bytes) else { return }
            touch(to)
            members[to].mesh.received(message, from: MeshLinkID(connection), now: now)
        case .closed(let connection, let to):
            guard members[to].isAlive else { return }
            guard !members[to].isFrozen else {
                return schedule(.closed(connection: connection, to: to), after: .milliseconds(10))
            }
            touch(to)
            members[to].mesh.closed(MeshLinkID(connection), now: now)
        case .connected(let from, let to):
            guard members[from].isAlive, !members[from].isFrozen else { return }
            touch(from)
            guard members[to].isAlive, !members[to].isFrozen, !blocked.contains(Pair(from, to)) else {
                return members[from].mesh.dialFailed(.made(members[to].number), now: now)
            }
            connect(from, to)
        case .refused(let index, let device):
            guard members[index].isAlive else { return }
            touch(index)
            members[index].mesh.dialFailed(device, now: now)
        }
    }

    private mutating func touch(_ index: Int) { members[index].isTouched = true }

    /// Lets a member do something of its own, and carries out what follows.
    mutating func act<Result, Failure: Error>(
        _ index: Int, _ action: (inout Mesh, MediaTime) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        touch(index)
        let result = try action(&members[index].mesh, now)
        settle()
        return result
    }

    mutating func settle() {
        for index in members.indices where members[index].isAlive && !members[index].isFrozen {
            guard members[index].isTouched || members[index].mesh.deadline <= now else { continue }
            members[index].isTouched = false
            members[index].mesh.settle(now: now)
            while let output = members[index].mesh.pollOutput() {
                switch output {
                case .send(let link, let message): send(message, on: link.value, from: index)
                case .close(let link, let reason):
                    note(reason, on: link.value, by: index)
                    close(link.value, by: index)
                case .event(let event): members[index].events.append(event)
                case .carried, .resume: break
                case .question(let question): members[index].questions.append(question)
                case .codeVerdict(let number, let pause): members[index].verdicts.append((number, pause))
                case .dial(let device):
                    members[index].dialled.append(device)
                    guard let to = members.firstIndex(where: { DeviceKey.made($0.number) == device }),
                        members[to].isAlive
                    else {
                        schedule(.refused(by: index, device: device), after: .milliseconds(1))
                        continue
                    }
                    if blocked.contains(Pair(index, to)) || members[to].isFrozen {
                        schedule(.refused(by: index, device: device), after: .seconds(3))
                    } else {
                        schedule(.connected(from: index, to: to), after: delay(index, to) * 4)
                    }
                }
            }
        }
    }

    // MARK: What they have

    /// The entries of each author, as digests.
    func logs(_ index: Int) -> [LogAuthor: [[UInt8]]] {
        var logs: [LogAuthor: [[UInt8]]] = [:]
        let log = members[index].mesh.log
        for log in log.authors where log.last > 0 {
            logs[log.author] = (log.first...log.last).compactMap { log[$0]?.content.digest }
        }
        return logs
    }

    /// The notes that the program has been told, as "author: text".
    func notes(_ index: Int) -> [String] {
        members[index].events.flatMap { event -> [String] in
            guard case .log(.lines(let lines)) = event else { return [] }
            return lines.compactMap {
                if case .note(let text) = $0.content { "\($0.name): \(text)" } else { nil }
            }
        }
    }

    func messages(_ index: Int) -> [String] {
        members[index].events.compactMap { if case .log(.message(let message)) = $0 { message.id } else { nil } }
    }

    func delivered(_ index: Int) -> [String] {
        members[index].events.compactMap { if case .log(.delivered(let id, _)) = $0 { id } else { nil } }
    }

    /// The numbers of those who are here, as the member knows.
    func present(_ index: Int) -> Set<UInt8> {
        Set(
            members[index].mesh.people.filter(\.isHere).compactMap { person in
                members.first { DeviceKey.made($0.number) == person.device }?.number
            })
    }

    /// The pairs of places with an open connection, each as many times as there are connections.
    var openPairs: [[Int]] { connections.filter { !$0.isDead }.map { $0.ends.sorted() } }

    mutating func say(_ input: LogInput, by index: Int) {
        act(index) { $0.handle(input, now: $1) }
    }
}

extension Mesh {
    var log: LogStore { exchange.log }
    var names: MemberNames { exchange.names }
    var rates: [DeviceKey: AuthorRate] { exchange.rates }
    var forks: ForkKeeping { exchange.forks }
}

extension MeshSealing {
    /// Readable by everybody, but bound to its recipient's key, for tests that can't spend the time.
    static func simulated(_ number: UInt8) -> MeshSealing {
        let key = [UInt8](repeating: number, count: MemberStatus.sealingKeyLength)
        return MeshSealing(
            publicKey: key, seal: { text, key, binding in key + binding + text },
            open: { sealed, binding in
                sealed.starts(with: key + binding) ? Array(sealed.dropFirst(key.count + binding.count)) : nil
            })
    }
}
