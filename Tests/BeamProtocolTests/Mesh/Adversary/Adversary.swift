import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A member of a simulated room that may send anything that it can sign, on all of its links.
///
/// It runs an honest program, which keeps its links and knows what the room knows. Its habits change what that program
/// sends; its tricks send something besides.
final class Adversary {
    /// Something that it does now and then.
    struct Trick: Sendable {
        var name: String
        var play: @Sendable (Adversary, inout MeshSimulation) -> Void
    }

    /// What it makes of each message that its program sends; nil: it isn't sent.
    struct Habit: Sendable {
        var name: String
        var change: @Sendable (Adversary, SecureMessage, _ to: Int) -> SecureMessage?
    }

    static let tricks: [Trick] = logTricks + relayTricks + membershipTricks + statusTricks + linkTricks
    static let habits: [Habit] = [.none, .mute, .withholds, .garbles, .boasts, .deaf, .forgetful]

    /// Its place among the simulation's members, and its number.
    let index: Int
    let number: UInt8
    /// The numbers of all adversaries: each of them signs for the others, too.
    let allies: [UInt8]
    /// Devices that it has made up: it holds their keys.
    let ghosts: [UInt8]
    /// Those that aren't in the room yet.
    let outsiders: [UInt8]
    /// Decides everything.
    var random: any RandomNumberGenerator
    let kit: [Trick]
    let habit: Habit
    /// It doesn't lie before, nor keeps its program from knowing that it was put out.
    var isActive = false
    /// What it has heard, to say it again.
    private(set) var heard: [SecureMessage] = []
    var forks: [Fork] = []
    var counter: UInt64 = 1 << 42
    private(set) var played: [String] = []

    init(
        index: Int, number: UInt8, allies: [UInt8], outsiders: [UInt8], random: any RandomNumberGenerator,
        kit: [Trick]? = nil, habit: Habit? = nil
    ) {
        (self.index, self.number, self.allies, self.outsiders) = (index, number, allies, outsiders)
        ghosts = (0..<30).map { 100 + 30 * (UInt8(index) % 5) + $0 }
        self.random = random
        self.habit = habit ?? .none
        self.kit = kit ?? Self.tricks
    }

    /// With one to four tricks, and a habit, of all there are.
    convenience init(index: Int, number: UInt8, allies: [UInt8], outsiders: [UInt8], seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let kit = (0...Int.random(in: 0..<4, using: &random)).compactMap { _ in
            Self.tricks.randomElement(using: &random)
        }
        let habit = random.chance(0.5) ? Self.habits.randomElement(using: &random) : nil
        self.init(
            index: index, number: number, allies: allies, outsiders: outsiders, random: random, kit: kit, habit: habit)
    }

    var description: String { "\(number) (\(kit.map(\.name).joined(separator: ", ")); \(habit.name))" }

    // MARK: Choices

    func chance(_ one: UInt64, in all: UInt64) -> Bool { random.next(upperBound: all) < one }
    func upTo(_ count: Int) -> Int { Int(random.next(upperBound: UInt64(max(1, count)))) }
    func one<Value>(of values: [Value]) -> Value? { values.isEmpty ? nil : values[upTo(values.count)] }

    /// A number at the ends of its type, near `near`, or any other.
    func extreme<Value: FixedWidthInteger>(near: Value, _: Value.Type = Value.self) -> Value {
        switch upTo(8) {
        case 0: .max
        case 1: .max - 1
        case 2: 0
        case 3: 1 << (Value.bitWidth - 1)
        case 4: Value(truncatingIfNeeded: random.next())
        case 5: near &+ Value(truncatingIfNeeded: upTo(4))
        default: near
        }
    }

    /// A key that it can sign with: its own, an accomplice's, one that it has made up.
    func anyKey() -> UInt8 { chance(1, in: 2) ? number : one(of: allies + ghosts.prefix(4)) ?? number }

    // MARK: What it does

    func play(_ room: inout MeshSimulation) {
        guard isActive, room.members[index].isAlive, let trick = one(of: kit) else { return }
        played.append(trick.name)
        trick.play(self, &room)
    }

    /// A message of its program leaves, or arrives there.
    func sends(_ message: SecureMessage, to other: Int) -> SecureMessage? {
        isActive ? habit.change(self, message, other) : message
    }

    func hears(_ message: SecureMessage) -> SecureMessage? {
        if heard.count < 64 {
            heard.append(message)
        } else {
            heard[upTo(64)] = message
        }
        guard isActive, case .mesh(.statements(let statements)) = message else { return message }
        // It goes on as if nobody had been put out.
        let others = statements.filter { statement in
            if case .putOut = statement.content { false } else { true }
        }
        return others.isEmpty ? nil : .mesh(.statements(others))
    }

    /// Says something to some of its neighbours, or to all of them.
    func tell(_ message: SecureMessage, in room: inout MeshSimulation) {
        let neighbours = room.neighbours(index)
        let some = chance(1, in: 2) ? neighbours : neighbours.filter { _ in chance(1, in: 2) }
        for other in some { room.inject(message, from: index, to: other) }
    }
}

extension MeshSimulation {
    /// The ID of the room as a member knows it.
    func room(_ index: Int) -> [UInt8] { members[index].mesh.log.room }

    func scope(_ index: Int) -> LogScope { members[index].mesh.log.scope }

    func milliseconds(_ index: Int) -> UInt64 { members[index].mesh.age(now: now).inMilliseconds64 }
}
