import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Decisions from a fuzzer's bytes. When they are used up, it goes on with numbers of its own: a constant would never
/// satisfy who draws until a number fits.
struct FuzzDecisions: RandomNumberGenerator {
    private var rest: ArraySlice<UInt8>
    private var after = SeededGenerator(seed: 0)

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func next() -> UInt64 {
        guard let first = rest.popFirst() else { return after.next() }
        // The upper bits decide; the others spread over those that are drawn below a bound that is no power of two.
        return UInt64(first) << 56 | UInt64(rest.popFirst() ?? 0) << 48 | 0x9E37_79B9_7F4A
    }
}

extension FuzzBodies {
    /// Three honest members and one that the bytes direct: each of its messages is well signed, and any of its fields may be
    /// wrong. Then it is put out. Answers what is wrong with the honest ones.
    static func roomWithAdversary(_ bytes: [UInt8]) -> String? {
        var room = AdversaryFuzz(bytes)
        return room.run()
    }
}

private struct AdversaryFuzz {
    private var room = MeshSimulation(seed: 1)
    private let adversary: Adversary
    private let honest = [0, 1, 2]
    private let steps: Int

    init(_ bytes: [UInt8]) {
        let habit = Int(bytes.first ?? 0) % Adversary.habits.count
        steps = min(60, bytes.count / 8)
        adversary = Adversary(
            index: 3, number: 4, allies: [4], outsiders: [9], random: FuzzDecisions(Array(bytes.dropFirst())),
            kit: Adversary.tricks, habit: Adversary.habits[habit])
    }

    mutating func run() -> String? {
        room.lossOneIn = 0
        guard (try? room.makeRoom(4)) != nil else { return "there is no room" }
        let adversary = adversary
        room.tamper = { message, from, to in
            if from == 3 { return adversary.sends(message, to: to) }
            return to == 3 ? adversary.hears(message) : message
        }
        adversary.isActive = true
        for step in 0..<steps {
            room.say(.note("note \(step)"), by: step % 3)
            adversary.play(&room)
            room.run(for: .milliseconds(20 + 10 * Int64(adversary.upTo(20))))
            if let fault = bounds() { return fault }
        }
        for person in room.members[0].mesh.membership?.people.reversed() ?? [] where !isHonest(person.device) {
            guard room.members[0].mesh.membership?.belongs(person.device) == true else { continue }
            let isPutOut: ()? = try? room.act(0) { (mesh, now) throws(MeshRefusal) in
                try mesh.putOut(person.device, alsoThoseLetIn: true, now: now)
            }
            if isPutOut == nil { return "\(person.name) can't be put out" }
        }
        room.run(for: RoomUnderAttack.patience)
        return bounds() ?? disagreement()
    }

    private func isHonest(_ device: DeviceKey) -> Bool { honest.contains { .made(UInt8($0 + 1)) == device } }

    private func bounds() -> String? {
        for index in honest {
            let mesh = room.members[index].mesh
            if mesh.isEnded { return "member \(index + 1) has left" }
            if mesh.membership?.statements.count ?? 0 > MeshLimits.statements + 1 { return "too many statements" }
            if mesh.statuses.count > mesh.membership?.people.count ?? 0 { return "statuses of nobody" }
            if mesh.log.count > LogLimits.entries || mesh.log.bytes > LogLimits.bytes { return "the log is too long" }
            if mesh.log.authors.count > LogLimits.authors { return "too many authors" }
            if mesh.rates.count > LogLimits.rememberedMembers { return "too many rates" }
            for case .violated(let device, let what) in room.members[index].events where isHonest(device) {
                return "member \(index + 1) blames \(device), which is honest: \(what)"
            }
        }
        return nil
    }

    /// Of each author; whatever it is called.
    private func notes(_ index: Int) -> [DeviceKey: [String]] {
        var notes: [DeviceKey: [String]] = [:]
        for case .log(.lines(let lines)) in room.members[index].events {
            for line in lines {
                guard case .note(let text) = line.content, text.hasPrefix("note ") else { continue }
                notes[line.author, default: []].append(text)
            }
        }
        return notes
    }

    private func disagreement() -> String? {
        for index in honest {
            if room.present(index) != [1, 2, 3] { return "member \(index + 1) sees \(room.present(index)) here" }
            let notes = notes(index)
            for author in 1...3 {
                let expected = (0..<steps).filter { $0 % 3 + 1 == author }.map { "note \($0)" }
                let own = notes[.made(UInt8(author))] ?? []
                if own != expected {
                    return "member \(index + 1) has \(own.count) of \(expected.count) notes of \(author)"
                }
            }
        }
        return nil
    }
}
