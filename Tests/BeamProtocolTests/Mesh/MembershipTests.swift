import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Who belongs to a room of equals.
struct MembershipTests {
    @Test func `A device belongs to the room if a member has let it in`() throws {
        var room = StatementRoom()
        let (founding, two) = (room.found(), room.admit(2))
        let three = room.admit(3, by: 2, in: two)
        let membership = try room.membership([founding, two, three])
        #expect(membership.devices == [.made(1), .made(2), .made(3)])
        #expect(membership.roomName == "study")
        #expect(membership.people.map(\.name) == ["one", "member 2", "member 3"])
        // Not one that isn't a member, one in a stay that isn't its own, or in one that isn't there.
        let four = room.admit(4, by: 3, in: three)
        for foreign in [room.admit(5, by: 4, in: two), room.admit(5, by: 4, in: nil), room.admit(5, by: 4, in: four)] {
            #expect(throws: Membership.Rejection.notCounted) { try room.membership([founding, two, three, foreign]) }
        }
        // Another one can't have founded this room.
        let nonce = room.nonce
        let other = room.say(.founded(nonce: nonce, room: "study", name: "mine"), by: 2, in: nil)
        #expect(throws: Membership.Rejection.notCounted) { try room.membership([other]) }
    }

    /// Member 4 lets in again who was let in by one that was here before it, under another name and at an early time.
    @Test func `Nobody gets another name or place by a later member's word`() throws {
        var room = StatementRoom()
        let (founding, two) = (room.found(), room.admit(2))
        let three = room.admit(3, by: 2, in: two)
        let four = room.admit(4, by: 1)
        let five = room.admit(5, by: 2, in: two)
        let key = LogSigning.simulated(5).signing.publicKey
        let renaming = room.say(.admitted(publicKey: key, name: "one"), by: 4, in: four, at: 0)
        let all = [founding, two, three, four, five, renaming]
        for statements in [all, all.reversed()] {
            let membership = try room.gathered(statements)
            #expect(membership.people.map(\.name) == ["one", "member 2", "member 3", "member 4", "member 5"])
            #expect(membership.person(.made(5))?.stay == room.name(five))
            #expect(membership.everybody[.made(5)] == "member 5")
            #expect(
                membership.hasLetIn(.made(5), in: room.name(two)) && membership.hasLetIn(.made(5), in: room.name(four)))
            #expect(!membership.hasLetIn(.made(5), in: .founder))
        }
        // When who has let it in is out, the other word counts.
        let after = try room.gathered(all + [room.putOut([two])])
        #expect(after.person(.made(5))?.stay == room.name(renaming))
    }

    @Test func `A statement that was changed isn't taken`() throws {
        var room = StatementRoom()
        let founding = room.found()
        var two = room.admit(2)
        two.content = .admitted(publicKey: LogSigning.simulated(3).signing.publicKey, name: "member 2")
        #expect(throws: Membership.Rejection.signature) { try room.membership([founding, two]) }
        // Nor that of another room.
        let elsewhere = MembershipStatement(
            .admitted(publicKey: LogSigning.simulated(2).signing.publicKey, name: "x"), stay: .founder,
            milliseconds: 1, room: [UInt8](repeating: 0, count: 16), signing: LogSigning.simulated(1).signing)
        #expect(throws: Membership.Rejection.signature) { try room.membership([founding, elsewhere]) }
        // Nothing of a message with such a one is taken.
        var membership = try room.membership([founding])
        let four = room.admit(4)
        #expect(throws: Membership.Rejection.signature) { try membership.add([four, elsewhere]) }
        #expect(membership.devices == [.made(1)])
    }

    @Test func `Nothing counts that is said in a stay that is over, whenever it was said`() throws {
        var room = StatementRoom()
        let (founding, two) = (room.found(), room.admit(2))
        let three = room.admit(3, by: 2, in: two)
        let (out, late) = (room.putOut([two]), room.admit(4, by: 2, in: two))
        for order in [[founding, two, three, out, late], [founding, two, late, three, out]] {
            let membership = try room.membership(order)
            #expect(membership.devices == [.made(1)])
            #expect(membership.putOut == [.made(2): .made(1), .made(3): .made(1), .made(4): .made(1)])
            #expect(membership.everybody[.made(2)] == "member 2")
        }
        // Somebody else may have vouched for one of them.
        let again = room.admit(3)
        let membership = try room.membership([founding, two, three, out, again])
        #expect(membership.devices == [.made(1), .made(3)])
        #expect(membership.person(.made(3))?.stay == room.name(again))
    }

    @Test func `Nobody puts out who was there before`() throws {
        var room = StatementRoom()
        let (founding, two, three) = (room.found(), room.admit(2), room.admit(3))
        let (up, down) = (room.putOut([two], by: 3, in: three), room.putOut([three], by: 2, in: two))
        #expect(try room.membership([founding, two, three, up]).devices == [.made(1), .made(2), .made(3)])
        // Of two that put each other out at the same time the one that was there before stays.
        #expect(try room.membership([founding, two, three, up, down]).devices == [.made(1), .made(2)])
        #expect(try room.membership([founding, two, three, down, up]).devices == [.made(1), .made(2)])
        // Whoever tells an early time isn't there before who has let him in.
        let early = room.admit(4, by: 3, in: three, at: 0)
        let out = room.putOut([three], by: 4, in: early)
        #expect(try room.membership([founding, two, three, early, out]).belongs(.made(3)))
    }

    @Test func `Who was put out can be let in again, and nobody is banned`() throws {
        var room = StatementRoom()
        let (founding, two, three) = (room.found(), room.admit(2), room.admit(3))
        let out = room.putOut([three])
        let again = room.admit(3, by: 2, in: two)
        var membership = try room.membership([founding, two, three, out])
        #expect(membership.devices == [.made(1), .made(2)])
        let first = membership.endingsDigest
        #expect(first != 0)
        #expect(try membership.add(again))
        #expect(membership.devices == [.made(1), .made(2), .made(3)])
        #expect(membership.putOut.isEmpty)
        // It lets others in, in its new stay, and may be put out of that one too.
        let four = room.admit(4, by: 3, in: again)
        #expect(try membership.add(four))
        #expect(membership.belongs(.made(4)))
        #expect(try membership.add(room.putOut([again], by: 2, in: two)))
        #expect(membership.devices == [.made(1), .made(2)])
        #expect(![0, first].contains(membership.endingsDigest))
        // An ending of a stay that isn't there has no effect, also when the device comes later.
        let ghost = room.admit(9, at: 77)
        _ = try membership.add(room.putOut([ghost], by: 2, in: two))
        let nine = room.admit(9)
        #expect(try membership.add(nine))
        #expect(membership.belongs(.made(9)))
    }

    @Test func `A putting out by one who is out himself has no effect`() throws {
        var room = StatementRoom()
        let (founding, two, three, four) = (room.found(), room.admit(2), room.admit(3), room.admit(4))
        let (bad, out) = (room.putOut([four], by: 3, in: three), room.putOut([three], by: 2, in: two))
        #expect(try room.gathered([founding, two, three, four, bad]).belongs(.made(4)) == false)
        let statements = [founding, two, three, four, bad, out]
        for order in [statements, statements.reversed()] {
            #expect(try room.gathered(order).devices == [.made(1), .made(2), .made(4)])
        }
    }

    @Test func `A putting out says what was known of the log, and the least counts`() throws {
        var room = StatementRoom()
        let (founding, two, three) = (room.found(), room.admit(2), room.admit(3))
        let one = room.putOut([three], last: [5: 40, 6: 7])
        let other = room.putOut([three], by: 2, in: two, last: [5: 1000, 9: 1000])
        var membership = try room.membership([founding, two, three, one])
        #expect(membership.lastEntries(of: .made(3)) == [5: 40, 6: 7])
        _ = try membership.add(other)
        #expect(membership.lastEntries(of: .made(3)) == [5: 40])
        // In a later stay there is more.
        let again = room.admit(3)
        _ = try membership.add(again)
        #expect(membership.lastEntries(of: .made(3)).isEmpty)
        _ = try membership.add(room.putOut([again], last: [5: 50, 7: 1]))
        #expect(membership.lastEntries(of: .made(3)) == [5: 50, 7: 1])
        #expect(membership.lastEntries(of: .made(8)).isEmpty)
    }

    @Test func `Known statements cost nothing, and a message is gone through once`() throws {
        var room = StatementRoom()
        var statements = [room.found()]
        for number in 2..<UInt8(MeshLimits.statements) { statements.append(room.admit(number)) }
        var membership = try room.membership()
        #expect(try membership.add(statements).count == statements.count)
        #expect(membership.evaluations == 1)
        for _ in 0..<20 { #expect(try membership.add(statements).isEmpty) }
        // An unknown stay isn't looked at any further, either.
        let foreign = (0..<50).map { _ in
            room.say(.putOut([.init(stay: .founder)]), by: 9, in: room.admit(200, by: 201))
        }
        #expect(try membership.add(foreign).isEmpty)
        #expect(membership.evaluations == 1)
    }

    @Test func `Statements are read as they were written, and nothing else is`() throws {
        var room = StatementRoom()
        let two = room.admit(2)
        let last = Dictionary(uniqueKeysWithValues: (0..<8).map { (UInt64($0), UInt32($0)) })
        let longName = PeerText.name(String(repeating: "\u{1F469}\u{0301}\u{0302}", count: 200))
        let statements = [
            room.found(), two, room.putOut([two, room.admit(3)], last: last),
            room.say(.admitted(publicKey: two.publicKey, name: longName), by: 1, in: two),
            room.say(
                .putOut((0..<8).map { .init(stay: room.name(room.admit(UInt8(10 + $0))), last: $0 < 2 ? last : [:]) }),
                by: 1, in: two),
        ]
        for statement in statements {
            let bytes = statement.bytes
            #expect(bytes.count <= MembershipStatement.longest)
            #expect(read(bytes) == statement)
            for length in 0..<bytes.count { #expect(read(Array(bytes[..<length])) == nil) }
        }
        // Too many stays, none, one twice, too many runs.
        let stays = (0..<9).map { MembershipStatement.Ending(stay: room.name(room.admit(UInt8(10 + $0)))) }
        let many = stays.prefix(3).map { MembershipStatement.Ending(stay: $0.stay, last: last) }
        for endings in [stays, [], [stays[0], stays[0]], many] {
            #expect(read(room.say(.putOut(endings), by: 1, in: nil).bytes) == nil)
        }
    }

    /// A whole message of the first form, whose stays had numbers.
    @Test func `A statement of the first form isn't read`() {
        var fields: [UInt8] = [2, 0] + [UInt8](repeating: 0, count: 8)
        fields += LogSigning.simulated(2).signing.publicKey + [0, 3] + Array("Ann".utf8)
        let bytes = SignedFields.bytes(
            publicKey: LogSigning.simulated(1).signing.publicKey,
            signature: [UInt8](repeating: 1, count: LogSigning.signatureLength), fields: fields)
        #expect(read(bytes) == nil)
        var room = KeptRoom(id: [UInt8](repeating: 1, count: 16), name: "study", statements: [bytes], age: .zero)
        #expect(room.isOfOlderForm)
        var statements = StatementRoom()
        room.statements.append(statements.found().bytes)
        #expect(!room.isOfOlderForm)
    }

    private func read(_ bytes: [UInt8]) -> MembershipStatement? {
        bytes.withUnsafeBytes { bytes in
            var reader = BigEndianReader(bytes)
            guard let statement = MembershipStatement(&reader), reader.rest.isEmpty else { return nil }
            return statement
        }
    }
}
