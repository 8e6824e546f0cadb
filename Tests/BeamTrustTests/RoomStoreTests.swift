import BeamLog
import BeamWire
import Foundation
import Testing

@testable import BeamTrust

@Suite struct RoomStoreTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private let time = Date(timeIntervalSince1970: 1_800_000_000)

    private func room(_ name: String, _ id: UInt8, age: Duration = .seconds(60)) throws -> KeptRoom {
        KeptRoom(
            id: [UInt8](repeating: id, count: 32), name: name, statements: [[1, 2, 3], [4]], age: age,
            addresses: [
                makeKey(Int(id)): [
                    NetworkAddress(ip: .v4(0xC000_0207), port: 52345),
                    NetworkAddress(ip: try #require(IPAddress(text: "2001:db8::7")), port: 40000),
                ]
            ])
    }

    @Test func aRoomComesBackAsItWas() throws {
        let store = scratch.store
        #expect(try store.rooms().isEmpty)
        let study = try room("study", 1)
        try store.keep(study, at: time)
        #expect(try store.rooms() == [KnownRoom(room: study, usedAt: time)])
        #expect(mode(scratch.file("rooms.json")) == 0o600)
        // Its age goes on while nobody of it runs; a clock that was set back doesn't make it younger.
        let known = try #require(try store.rooms().first)
        #expect(known.room(at: time + 30).age == .seconds(90))
        #expect(known.room(at: time - 30).age == .seconds(60))
    }

    @Test func whatHasProvedNothingStaysSoUntilThePersonSaysOtherwise() throws {
        let store = scratch.store
        let study = try room("study", 1)
        try store.keep(study, isProved: false, at: time)
        #expect(try store.rooms() == [KnownRoom(room: study, usedAt: time, isProved: false)])
        try store.keep(study, isProved: false, at: time + 5)
        #expect(try store.rooms().map(\.isProved) == [false])
        try store.noteProof(ofRoom: [9])
        #expect(try store.rooms().map(\.isProved) == [false])
        try store.noteProof(ofRoom: study.id)
        #expect(try store.rooms().map(\.isProved) == [true])
        // What was proved once stays so.
        try store.keep(study, isProved: false, at: time + 10)
        #expect(try store.rooms().map(\.isProved) == [true])
        #expect(try store.rooms().map(\.usedAt) == [time + 10])
    }

    @Test func theSameRoomIsKeptOnceAndTheLastUsedIsFirst() throws {
        let store = scratch.store
        try store.keep(room("study", 1), at: time)
        try store.keep(room("kitchen", 2), at: time + 10)
        try store.keep(room("study", 1, age: .seconds(90)), at: time + 20)
        #expect(try store.rooms().map(\.room.name) == ["study", "kitchen"])
        #expect(try store.rooms().first?.room.age == .seconds(90))
    }

    @Test func onlySoManyRoomsAreKept() throws {
        let store = scratch.store
        for number in 0..<RoomsFile.maxRooms + 3 {
            try store.keep(room("room \(number)", UInt8(number)), at: time + Double(number))
        }
        let names = try store.rooms().map(\.room.name)
        #expect(names.count == RoomsFile.maxRooms)
        #expect(names.first == "room \(RoomsFile.maxRooms + 2)")
        #expect(!names.contains("room 0"))
    }

    @Test func aRoomIsForgottenByNameOrID() throws {
        let store = scratch.store
        try store.keep(room("Study", 1), at: time)
        try store.keep(room("study", 2), at: time)
        try store.keep(room("kitchen", 3), at: time)
        #expect(try store.forgetRooms(named: "STUDY") == 2)
        #expect(try store.forgetRooms(named: "study") == 0)
        try store.forgetRoom([UInt8](repeating: 3, count: 32))
        #expect(try store.rooms().isEmpty)
    }

    @Test func onlyOneProgramIsInARoom() throws {
        let store = scratch.store
        let (one, other) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16))
        var first = try store.claim(one)
        #expect(first != nil)
        #expect(try store.claim(one) == nil)
        #expect(try store.claim(other) != nil, "another room")
        first = nil
        #expect(try store.claim(one) != nil)
        #expect(mode(scratch.file("rooms-in-use")) == 0o600)
    }

    @Test(arguments: [
        "", "[]", #"{"version":0,"rooms":[]}"#, #"{"version":1}"#,
        #"{"version":1,"rooms":[{"name":"a","id":"zz","usedAt":"2026-03-01T09:30:00Z","age":1,"statements":["AQ=="],"addresses":{}}]}"#,
        #"{"version":1,"rooms":[{"name":"a","id":"00","usedAt":"2026-03-01T09:30:00Z","age":-1,"statements":["AQ=="],"addresses":{}}]}"#,
        #"{"version":1,"rooms":[{"name":"a","id":"00","usedAt":"2026-03-01T09:30:00Z","age":1,"statements":["?"],"addresses":{}}]}"#,
        #"{"version":1,"rooms":[{"name":"a\u202e","id":"00","usedAt":"2026-03-01T09:30:00Z","age":1,"statements":["AQ=="],"addresses":{}}]}"#,
        #"{"version":1,"rooms":[{"name":"a","id":"00","usedAt":"yesterday","age":1,"statements":["AQ=="],"addresses":{}}]}"#,
    ])
    func aDamagedFileIsAnErrorAndStays(text: String) throws {
        try scratch.write(text, to: "rooms.json")
        #expect(throws: TrustStoreError.self) { try scratch.store.rooms() }
        #expect(throws: TrustStoreError.self) { try scratch.store.keep(room("study", 1), at: time) }
        #expect(try String(contentsOfFile: scratch.file("rooms.json"), encoding: .utf8) == text)
    }

    @Test func aNewerFileIsNamedAsThat() throws {
        try scratch.write(#"{"version":9,"rooms":"?"}"#, to: "rooms.json")
        #expect(throws: TrustStoreError.newerRooms(path: scratch.file("rooms.json"), version: 9)) {
            try scratch.store.rooms()
        }
    }
}
