import BeamLog
import BeamNetwork
import BeamViewer
import BeamWire
import Testing

@testable import BeamMeeting

/// Several rooms of one name: which one is entered, and what the person reads of them.
struct MeetingCandidateTests {
    private static func key(_ number: UInt8) -> DeviceKey { DeviceKey([UInt8](repeating: number, count: 32))! }

    private static func door(_ number: UInt8) -> Endpoint { Endpoint(host: "192.0.2.\(number)", port: 52345) }

    /// A room whose doors have the keys with these numbers.
    private static func candidate(_ doors: UInt8..., knows: Set<UInt8> = []) -> MeetingCandidate {
        let mark = MeshMark(of: [UInt8](repeating: doors[0], count: 32), on: MeshDay(20_000))
        var candidate = MeetingCandidate(
            found: MeshPresence.Found(
                room: "study", standing: MeshStanding(members: doors.count, mark: mark), doors: doors.map { door($0) }))
        candidate.keys = Dictionary(uniqueKeysWithValues: doors.map { (door($0), key($0)) })
        candidate.known = knows.sorted().map { .init(device: key($0), name: "Person \($0)") }
        return candidate
    }

    private static func remembered(_ number: UInt8) -> MeetingCandidate {
        var candidate = candidate(number)
        candidate.remembered = KeptRoom(
            id: [number], name: "study", statements: [[1]], age: .seconds(1), addresses: [:])
        return candidate
    }

    private enum Kind: Equatable {
        case enter(Endpoint)
        case ask([Endpoint])
        case ambiguous
    }

    private func decide(_ all: [MeetingCandidate], hasPerson: Bool) -> Kind {
        switch MeetingCandidate.decide(all, hasPerson: hasPerson) {
        case .enter(let one): .enter(one.found.doors[0])
        case .ask(let all): .ask(all.map { $0.found.doors[0] })
        case .ambiguous: .ambiguous
        }
    }

    @Test(arguments: [true, false]) func `The only one isn't asked about`(hasPerson: Bool) {
        #expect(decide([Self.candidate(1)], hasPerson: hasPerson) == .enter(Self.door(1)))
    }

    @Test func `Of several the person picks, and those with somebody known come first`() {
        let all = [Self.candidate(1, 2, 3), Self.remembered(4), Self.candidate(5, knows: [5])]
        #expect(decide(all, hasPerson: true) == .ask([Self.door(5), Self.door(4), Self.door(1)]))
    }

    @Test func `Without a person only what a key proves decides`() {
        let crowd = Self.candidate(1, 2, 3, 4, 5, 6, 7, 8)
        #expect(decide([crowd, Self.candidate(9)], hasPerson: false) == .ambiguous)
        #expect(decide([crowd, Self.candidate(9, knows: [9])], hasPerson: false) == .enter(Self.door(9)))
        #expect(decide([crowd, Self.remembered(9)], hasPerson: false) == .enter(Self.door(9)))
        let two = [Self.candidate(8, knows: [8]), Self.candidate(9, knows: [9])]
        #expect(decide(two, hasPerson: false) == .ambiguous)
    }

    @Test func `The doors of those who are known are asked first`() {
        let room = Self.candidate(1, 2, 3, knows: [3])
        #expect(room.doors == [3, 1, 2].map { Self.door($0) })
        #expect(room.address == Self.door(3))
        var silent = Self.candidate(1, 2)
        silent.keys = [Self.door(2): Self.key(2)]
        #expect(silent.address == Self.door(2))
    }

    @Test func `The person reads who is there`() {
        #expect(Self.candidate(0xAB).words == "1 person: the key abab abab abab abab")
        #expect(Self.candidate(0xAB).shortWords == "1 person, key abab abab abab abab")
        #expect(
            Self.candidate(1, 2, knows: [2]).words
                == "2 people: “Person 2”, whom you know (0202 0202 0202 0202), the key 0101 0101 0101 0101")
        #expect(Self.candidate(1, 2, knows: [2]).shortWords == "2 people, “Person 2” whom you know")
        #expect(Self.candidate(1, 2, 3, 4, 5).words.hasSuffix(" and 2 more"))
        #expect(Self.remembered(4).words.hasSuffix("; you were in it before"))
        var silent = Self.candidate(1)
        silent.keys = [:]
        #expect(silent.words == "1 person: none of them answers")
    }

    @Test func `The question says what is proved, and shows no name of a stranger's choice`() {
        #expect(MeetingProof.given.question("study") == nil && MeetingProof.given.reason == nil)
        let stranger = MeetingProof.none(door: Self.key(0xAB))
        #expect(stranger.question("study")?.contains("abab abab abab abab") == true)
        #expect(stranger.reason?.contains("proved") == true && !stranger.isGiven)
        let digits = PairingCode("482913")!
        #expect(MeetingProof.compared(digits, with: Self.key(1)).question("study")?.contains("482 913") == true)
        #expect(!MeetingProof.compared(digits, with: Self.key(1)).isGiven)
        #expect(MeetingProof.none(door: nil).question("study") != nil)
    }
}
