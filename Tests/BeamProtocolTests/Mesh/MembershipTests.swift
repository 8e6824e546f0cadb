import BeamMedia
import Testing

@testable import BeamProtocol

/// Who belongs to a room of equals.
struct MembershipTests {
    /// Statements of simulated devices in one room.
    private struct Room {
        let nonce = [UInt8](repeating: 7, count: MembershipStatement.nonceLength)
        let id: [UInt8]
        var time: UInt64 = 0

        init() { id = MembershipStatement.room(founder: .made(1), nonce: nonce) }

        mutating func say(_ content: MembershipStatement.Content, by number: UInt8, era: UInt8 = 0)
            -> MembershipStatement
        {
            time += 1000
            return MembershipStatement(
                content, era: era, milliseconds: time, room: id, signing: RoomSigning.simulated(number).signing)
        }

        mutating func found() -> MembershipStatement { say(.founded(nonce: nonce, room: "study", name: "one"), by: 1) }

        mutating func admit(_ number: UInt8, by author: UInt8, era: UInt8 = 0, of: UInt8 = 0) -> MembershipStatement {
            let key = RoomSigning.simulated(number).signing.publicKey
            return say(.admitted(publicKey: key, name: "member \(number)", era: era), by: author, era: of)
        }

        mutating func putOut(
            _ number: UInt8, by author: UInt8, era: UInt8 = 0, kept: [MembershipStatement] = []
        ) -> MembershipStatement {
            say(.putOut(.made(number), era: era, kept: kept.map { $0.id(room: id) }), by: author)
        }

        func membership(_ statements: [MembershipStatement]) throws -> Membership {
            var membership = Membership(room: id, signing: RoomSigning.simulated(1).signing)
            for statement in statements { _ = try membership.add(statement) }
            return membership
        }
    }

    private func devices(_ membership: Membership) -> [DeviceKey] { membership.people.map(\.device) }

    @Test func `A device belongs to the room if a member has let it in`() throws {
        var room = Room()
        let (founding, two, three) = (room.found(), room.admit(2, by: 1), room.admit(3, by: 2))
        let membership = try room.membership([founding, two, three])
        #expect(devices(membership) == [.made(1), .made(2), .made(3)])
        #expect(membership.roomName == "study")
        #expect(membership.people.map(\.name) == ["one", "member 2", "member 3"])
        let foreign = room.admit(5, by: 4)
        #expect(throws: Membership.Rejection.notCounted) { try room.membership([founding, two, foreign]) }
        // Another one can't have founded this room.
        let nonce = room.nonce
        let other = room.say(.founded(nonce: nonce, room: "study", name: "mine"), by: 2)
        #expect(throws: Membership.Rejection.notCounted) { try room.membership([other]) }
    }

    @Test func `A statement that was changed isn't taken`() throws {
        var room = Room()
        let founding = room.found()
        var two = room.admit(2, by: 1)
        two.content = .admitted(
            publicKey: RoomSigning.simulated(3).signing.publicKey, name: "member 2", era: 0)
        #expect(throws: Membership.Rejection.signature) { try room.membership([founding, two]) }
        // Nor that of another room.
        let elsewhere = MembershipStatement(
            .admitted(publicKey: RoomSigning.simulated(2).signing.publicKey, name: "x", era: 0), era: 0,
            milliseconds: 1, room: [UInt8](repeating: 0, count: 16), signing: RoomSigning.simulated(1).signing)
        #expect(throws: Membership.Rejection.signature) { try room.membership([founding, elsewhere]) }
    }

    @Test func `Who was put out lets nobody in any more, and what it said before counts`() throws {
        var room = Room()
        let founding = room.found()
        let two = room.admit(2, by: 1)
        let three = room.admit(3, by: 2)
        let out = room.putOut(2, by: 1, kept: [three])
        let late = room.admit(4, by: 2)
        var membership = try room.membership([founding, two, three, out])
        #expect(devices(membership) == [.made(1), .made(3)])
        #expect(membership.putOut == [.made(2): .made(1)])
        #expect(throws: Membership.Rejection.notCounted) { try membership.add(late) }
        // The other way round: it was known before the putting out was.
        membership = try room.membership([founding, two, three, late, out])
        #expect(devices(membership) == [.made(1), .made(3)])
        #expect(membership.everybody[.made(2)] == "member 2")
    }

    @Test func `Nobody puts out who was there before`() throws {
        var room = Room()
        let (founding, two, three) = (room.found(), room.admit(2, by: 1), room.admit(3, by: 1))
        let (up, out) = (room.putOut(1, by: 2), room.putOut(2, by: 3))
        for statement in [up, out] {
            #expect(throws: Membership.Rejection.notCounted) {
                try room.membership([founding, two, three, statement])
            }
        }
        // Of two that put each other out at the same time the one that was there before stays.
        let down = room.putOut(3, by: 2)
        let membership = try room.membership([founding, two, three, down])
        #expect(devices(membership) == [.made(1), .made(2)])
    }

    @Test func `Who was put out can be let in again, by a member`() throws {
        var room = Room()
        let (founding, two, three) = (room.found(), room.admit(2, by: 1), room.admit(3, by: 1))
        let out = room.putOut(3, by: 1)
        let old = room.admit(3, by: 2)
        var membership = try room.membership([founding, two, three, out, old])
        #expect(devices(membership) == [.made(1), .made(2)])
        #expect(membership.nextEra(of: .made(3)) == 1)
        let again = room.admit(3, by: 2, era: 1)
        let added = try membership.add(again)
        #expect(added)
        #expect(devices(membership) == [.made(1), .made(2), .made(3)])
        #expect(membership.putOut.isEmpty)
        // It lets others in, in its new stay.
        let four = room.admit(4, by: 3, of: 1)
        #expect(try membership.add(four))
        #expect(membership.belongs(.made(4)))
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func `Whoever has the same statements comes to the same result`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var room = Room()
        var statements = [room.found()]
        for _ in 0..<24 {
            let author = UInt8(1 + random.next(upperBound: 6 as UInt64))
            let other = UInt8(1 + random.next(upperBound: 6 as UInt64))
            let era = UInt8(random.next(upperBound: 2 as UInt64))
            switch random.next(upperBound: 3 as UInt64) {
            case 0:
                let kept = statements.filter { _ in random.next(upperBound: 2 as UInt64) == 0 }
                statements.append(room.putOut(other, by: author, era: era, kept: kept))
            default:
                statements.append(
                    room.admit(other, by: author, era: era, of: UInt8(random.next(upperBound: 2 as UInt64))))
            }
        }
        /// As members pass them on: again and again what others lack, in any order.
        func gathered(_ statements: [MembershipStatement]) -> Membership {
            var membership = Membership(room: room.id, signing: RoomSigning.simulated(1).signing)
            for _ in 0..<statements.count { for statement in statements { _ = try? membership.add(statement) } }
            return membership
        }
        let one = gathered(statements)
        for _ in 0..<3 {
            let other = gathered([statements[0]] + statements.dropFirst().shuffled(using: &random))
            #expect(devices(other) == devices(one))
            #expect(other.people == one.people)
        }
        // And in the order in which a member passes them on, at once.
        let told = try room.membership(one.statements)
        #expect(told.people == one.people)
    }

    @Test func `A member that says too much isn't heard any more, others are`() throws {
        var room = Room()
        let founding = room.found()
        let two = room.admit(2, by: 1)
        var membership = try room.membership([founding, two])
        for number in 0..<MeshLimits.statementsPerAuthor {
            let statement = room.admit(UInt8(10 + number), by: 2)
            let isNew = try membership.add(statement)
            #expect(isNew)
        }
        let more = room.admit(200, by: 2)
        #expect(throws: Membership.Rejection.full) { try membership.add(more) }
        let out = room.putOut(2, by: 1)
        let isNew = try membership.add(out)
        #expect(isNew)
        #expect(devices(membership) == [.made(1)])
    }

    @Test func `Statements are read as they were written, and nothing else is`() throws {
        var room = Room()
        let statements = [room.found(), room.admit(2, by: 1), room.putOut(2, by: 1, kept: [room.admit(3, by: 2)])]
        for statement in statements {
            let bytes = statement.bytes
            let read = bytes.withUnsafeBytes { bytes -> MembershipStatement? in
                var reader = BigEndianReader(bytes)
                return MembershipStatement(&reader)
            }
            #expect(read == statement)
            for length in 0..<bytes.count {
                let cut = bytes[..<length].withUnsafeBytes { bytes -> MembershipStatement? in
                    var reader = BigEndianReader(bytes)
                    return MembershipStatement(&reader)
                }
                #expect(cut == nil)
            }
        }
    }
}
