import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A room of eight in virtual time, up to three of whom are adversaries: honest people write, a network fails here and
/// there, one comes late and one starts again; then the founder puts the adversaries out, and somebody new comes.
struct RoomUnderAttack {
    static let size = 8
    /// From the adversaries' being put out until everything has to be right.
    static let patience = Duration.seconds(5)

    var room: MeshSimulation
    private var random: SeededGenerator
    private(set) var adversaries: [Adversary] = []
    /// What each honest member has written in each run of its program, by its place.
    private var written: [[[String]]] = Array(repeating: [[]], count: RoomUnderAttack.size + 1)
    private var messages: [[String]] = Array(repeating: [], count: RoomUnderAttack.size + 1)
    /// Honest members that could have parted because their network had failed.
    private var blocked: Set<[Int]> = []
    private var newcomers: [Int]
    private var restarted: Int?
    /// Whoever is put out is put out with those whom it has let in: no honest ones.
    private let isCrowded: Bool
    private var beginning = MediaTime.zero
    private(set) var faults: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        room = MeshSimulation(seed: seed)
        isCrowded = random.chance(0.4)
        // The last of eight comes late, and a ninth when the adversaries are out. The first has founded the room.
        newcomers = [Self.size - 1, Self.size]
        let places = (1..<Self.size - 1).shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
        let allies = places.map { UInt8($0 + 1) }
        for index in places.sorted() {
            adversaries.append(
                Adversary(
                    index: index, number: UInt8(index + 1), allies: allies, outsiders: newcomers.map { UInt8($0 + 1) },
                    seed: random.next()))
        }
    }

    /// Only with these, to look for what one of them causes.
    mutating func limit(to tricks: [Adversary.Trick], habit: Adversary.Habit) {
        adversaries = adversaries.map {
            Adversary(
                index: $0.index, number: $0.number, allies: $0.allies, outsiders: $0.outsiders,
                random: SeededGenerator(seed: random.next()), kit: tricks, habit: habit)
        }
    }

    private func isHonest(_ index: Int) -> Bool { !adversaries.contains { $0.index == index } }

    /// The places of the honest ones who are in the room.
    private var honest: [Int] {
        room.members.indices.filter { isHonest($0) && room.members[$0].mesh.membership != nil }
    }

    /// What was wrong after that seed's course of events; nil: nothing.
    static func play(seed: UInt64) -> String? {
        var room = RoomUnderAttack(seed: seed)
        room.run()
        guard !room.faults.isEmpty else { return nil }
        let who = room.adversaries.map(\.description).joined(separator: ", ")
        return "seed \(seed): adversaries \(who)\n  \(room.faults.prefix(8).joined(separator: "\n  "))"
    }

    // MARK: The course of events

    mutating func run() {
        begin()
        for step in 0..<25 {
            if step == 12 { enter(newcomers.removeFirst(), isSure: false) }
            if step == 15 { restart() }
            write()
            for adversary in adversaries { adversary.play(&room) }
            room.run(for: .milliseconds(Int64.random(in: 100...300, using: &random)))
        }
        room.heal()
        for _ in 0..<20 {
            for adversary in adversaries { adversary.play(&room) }
            room.run(for: .milliseconds(250))
        }
        putOut()
        let end = room.now + Self.patience
        while room.now < end {
            for adversary in adversaries { adversary.play(&room) }
            room.run(for: min(.milliseconds(250), end - room.now))
        }
        check()
        enter(newcomers.removeFirst(), isSure: true)
        room.run(for: .seconds(3))
        checkWords(of: Self.size)
    }

    private mutating func begin() {
        for number in 0...Self.size { room.add(UInt8(number + 1)) }
        room.found(0)
        let all = adversaries
        for index in 1..<Self.size - 1 {
            // Whoever puts a member out puts out those behind it, too.
            let isHonestOnly = isCrowded || adversaries.contains(where: \.withdraws)
            // Only a member has a door; who was let in a moment ago may not have got the room yet.
            let hosts = (0..<index).filter {
                room.members[$0].mesh.membership != nil && (!isHonestOnly || isHonest($0))
            }
            do {
                try room.enter(index, through: hosts.randomElement(using: &random) ?? 0)
            } catch {
                faults.append("member \(index + 1) isn't let in at the beginning: \(error)")
            }
            room.run(for: .milliseconds(Int64.random(in: 0..<300, using: &random)))
        }
        // Until the last link that was one too many is closed.
        room.run(for: .seconds(6))
        beginning = room.now
        room.tamper = { message, from, to in
            var message: SecureMessage? = message
            if let adversary = all.first(where: { $0.index == from }) { message = adversary.sends(message!, to: to) }
            if let adversary = all.first(where: { $0.index == to }) { message = message.flatMap(adversary.hears) }
            return message
        }
        for adversary in adversaries { adversary.isActive = true }
        cut()
    }

    /// Some honest pairs lose their connection; now and then adversaries are the only way between two halves.
    private mutating func cut() {
        let honest = honest
        let isSplit = random.chance(0.1)
        for (place, one) in honest.enumerated() {
            for other in honest[(place + 1)...] {
                guard isSplit ? one % 2 != other % 2 : random.chance(0.06) else { continue }
                room.block(one, other)
                blocked.insert([one, other])
            }
        }
    }

    private mutating func write() {
        for index in honest where index < Self.size && index != restarted && random.chance(0.3) {
            let count = random.chance(0.05) ? 20 : 1
            for _ in 0..<count {
                let run = written[index].count - 1
                let text = "run \(run) note \(written[index][run].count)"
                written[index][run].append(text)
                room.say(.note(text), by: index)
            }
            if random.chance(0.2) {
                let id = "\(index) \(messages[index].count)"
                messages[index].append(id)
                room.say(.message(id: id, json: [0x31], to: .all), by: index)
            }
            if random.chance(0.1) { room.say(.partial(text: "saying", speaker: nil), by: index) }
        }
        // It ends its program when everybody has what it has written.
        if restarted == nil, random.chance(0.2) {
            let free = honest.filter { index in index > 0 && !blocked.contains { $0.contains(index) } }
            restarted = free.randomElement(using: &random)
        }
    }

    private mutating func restart() {
        guard let index = restarted else { return restarted = -1 }
        room.run(for: .seconds(1))
        room.restart(index)
        written[index].append([])
        restarted = -1
    }

    /// `isSure`: nothing may keep it out.
    private mutating func enter(_ index: Int, isSure: Bool) {
        let hosts = honest.filter { $0 < Self.size && room.members[$0].mesh.membership?.belongs(.made(1)) == true }
        guard let host = hosts.randomElement(using: &random) else { return }
        do {
            try room.enter(index, through: host)
        } catch {
            // Adversaries can fill the room with members of their own until they are put out.
            if isSure || error as? MeshRefusal != .full { faults.append("member \(index + 1) isn't let in: \(error)") }
        }
    }

    private mutating func putOut() {
        let numbers = Set(room.members.indices.filter { isHonest($0) }.map { DeviceKey.made(UInt8($0 + 1)) })
        // One may have been let in by another, or put out by it.
        for adversary in adversaries where room.members[0].mesh.membership?.belongs(.made(adversary.number)) == true {
            putOut(.made(adversary.number))
        }
        // Whoever they have let in besides.
        for person in room.members[0].mesh.membership?.people ?? [] where !numbers.contains(person.device) {
            if room.members[0].mesh.membership?.belongs(person.device) == true { putOut(person.device) }
        }
    }

    private mutating func putOut(_ device: DeviceKey) {
        let isCrowded = isCrowded
        do {
            try room.act(0) { (mesh, now) throws(MeshRefusal) in
                try mesh.putOut(device, alsoThoseLetIn: isCrowded, now: now)
            }
        } catch {
            faults.append("\(device) can't be put out: \(error)")
        }
    }

    // MARK: What must be so then

    private mutating func check() {
        let here = Set(honest.map { UInt8($0 + 1) })
        for index in honest {
            let name = "member \(index + 1)"
            if room.present(index) != here {
                faults.append("\(name) sees \(room.present(index).sorted()) here, not \(here.sorted())")
            }
            for other in honest {
                let shown = room.members[index].mesh.names[.made(UInt8(other + 1))]
                if shown != "member \(other + 1)" {
                    faults.append("\(name) calls member \(other + 1) \(shown ?? "nothing")")
                }
            }
            checkWords(of: index)
            checkEvents(of: index)
        }
        checkPartings()
        checkDials()
    }

    /// Every honest author's words, each once and in order.
    private mutating func checkWords(of index: Int) {
        var notes: [DeviceKey: [String]] = [:]
        for case .log(.lines(let lines)) in room.members[index].events {
            for line in lines {
                if case .note(let text) = line.content { notes[line.author, default: []].append(text) }
            }
        }
        for (author, runs) in written.enumerated() where isHonest(author) {
            let all = notes[.made(UInt8(author + 1))] ?? []
            for (run, expected) in runs.enumerated() {
                let heard = all.filter { $0.hasPrefix("run \(run) ") }
                if heard != expected {
                    faults.append(
                        "member \(index + 1) has \(heard.count) of \(expected.count) notes of member \(author + 1)'s "
                            + "run \(run)\(Set(heard) == Set(expected) ? ", in another order or twice" : "")")
                }
            }
            let others = all.filter { !$0.hasPrefix("run ") }
            if !others.isEmpty { faults.append("member \(index + 1) reads “\(others[0])” by member \(author + 1)") }
        }
        if notes.values.contains(where: { $0.contains(Adversary.lateWords) }) {
            faults.append("member \(index + 1) reads what was written after the put-out")
        }
    }

    private mutating func checkEvents(of index: Int) {
        let name = "member \(index + 1)"
        for event in room.members[index].events {
            switch event {
            case .violated(let device, let what) where honest.contains { .made(UInt8($0 + 1)) == device }:
                faults.append("\(name) blames \(device), which is honest: \(what)")
            case .log(.message(let message)) where message.id == Adversary.strayMessage:
                faults.append("\(name) is given a message for another")
            case .putOut, .full, .notResumed: faults.append("\(name) is out: \(event)")
            default: break
            }
        }
        guard index != restartedIndex else { return }
        var results: [String: Int] = [:]
        for event in room.members[index].events {
            if case .log(.delivered(let id, _)) = event { results[id, default: 0] += 1 }
            if case .log(.undelivered(let id, _)) = event { results[id, default: 0] += 1 }
        }
        for id in messages[index] where results[id] != 1 {
            faults.append("\(name) was told \(results[id] ?? 0) times what became of its message \(id)")
        }
    }

    private var restartedIndex: Int? { written.firstIndex { $0.count > 1 } }

    /// Honest members keep their links to each other.
    private mutating func checkPartings() {
        for parting in room.partings where isHonest(parting.by) && isHonest(parting.from) && parting.at > beginning {
            let isCut = blocked.contains([parting.by, parting.from].sorted())
            switch parting.reason {
            case .second, .left: continue
            case .silent where isCut || [parting.by, parting.from].contains(restartedIndex): continue
            // Who has just been let in may know others before they know of it; an adversary may have let it in already.
            case .notAMember, .silent:
                if max(parting.by, parting.from) < Self.size - 1 { fallthrough }
            default:
                let time = parting.at - beginning
                faults.append(
                    "member \(parting.by + 1) parts from member \(parting.from + 1) after \(time): \(parting.reason)")
            }
        }
    }

    /// Nobody is made to dial without end.
    private mutating func checkDials() {
        for index in honest {
            let seconds = Int((room.now - .zero) / .seconds(1)) + 1
            for (device, dials) in Dictionary(grouping: room.members[index].dialled, by: \.self)
            where dials.count > 5 + 2 * seconds {
                faults.append("member \(index + 1) has dialled \(device) \(dials.count) times in \(seconds) s")
            }
        }
    }
}
