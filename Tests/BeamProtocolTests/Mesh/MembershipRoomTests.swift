import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Which statements have room, and that it depends on nothing but which there are.
struct MembershipRoomTests {
    /// Statements at random, most of which could count: of 8 devices with several stays each, in each other's trees.
    private func statements(_ count: Int, in room: inout StatementRoom, _ random: inout SeededGenerator)
        -> [MembershipStatement]
    {
        var statements = [room.found()]
        var stays: [(device: UInt8, admission: MembershipStatement?)] = [(1, nil)]
        for _ in 0..<count {
            let author = stays[Int(random.next(upperBound: UInt64(stays.count)))]
            // Now and then in somebody else's name.
            let device = random.next(upperBound: 12 as UInt64) == 0 ? 3 : author.device
            let time = random.next(upperBound: 3 as UInt64) == 0 ? random.next(upperBound: 200_000 as UInt64) : nil
            if random.next(upperBound: 3 as UInt64) == 0 {
                let targets = (0..<1 + random.next(upperBound: 2 as UInt64)).compactMap { _ in
                    stays[Int(random.next(upperBound: UInt64(stays.count)))].admission
                }
                guard Set(targets).count == targets.count, !targets.isEmpty else { continue }
                statements.append(
                    room.putOut(
                        targets, by: device, in: author.admission,
                        last: [random.next(upperBound: 3 as UInt64): UInt32(random.next(upperBound: 9 as UInt64))]))
            } else {
                let other = UInt8(1 + random.next(upperBound: 8 as UInt64))
                let admission = room.admit(other, by: device, in: author.admission, at: time)
                statements.append(admission)
                stays.append((other, admission))
            }
        }
        return statements
    }

    private func expectSame(_ one: Membership, _ other: Membership) {
        #expect(one.statements == other.statements)
        #expect(one.people == other.people)
        #expect(one.putOut == other.putOut)
        #expect(one.everybody == other.everybody)
        #expect(one.endingsDigest == other.endingsDigest)
        for number in 1...8 as ClosedRange<UInt8> {
            #expect(one.lastEntries(of: .made(number)) == other.lastEntries(of: .made(number)))
        }
    }

    @Test(arguments: 1...80 as ClosedRange<UInt64>)
    func `Whoever has the same statements comes to the same result, in any order and with any capacity`(seed: UInt64)
        throws
    {
        var random = SeededGenerator(seed: seed)
        var room = StatementRoom()
        let statements = statements(36, in: &room, &random)
        let capacity = [6, 12, 20, 100][Int(seed % 4)]
        let one = try room.gathered(statements, capacity: capacity)
        #expect(one.statements.count <= capacity + 1)
        for _ in 0..<4 {
            expectSame(one, try room.gathered(statements.shuffled(using: &random), capacity: capacity))
        }
        // All at once, and in the order in which a member passes them on.
        var whole = try room.membership(capacity: capacity)
        _ = try whole.add(statements.shuffled(using: &random))
        expectSame(one, whole)
        expectSame(one, try room.membership(one.statements, capacity: capacity))
        // In parts, of which each member forgets what has no room: what they have left makes the same.
        var parts = (0..<3).map { _ in statements.filter { _ in random.next(upperBound: 2 as UInt64) == 0 } }
        let told = parts.joined() + [statements[0]]
        parts[0] += statements.filter { !told.contains($0) }
        var members = try parts.map { try room.gathered($0 + [statements[0]], capacity: capacity) }
        for _ in 0..<statements.count {
            for index in members.indices {
                _ = try members[index].add(members[(index + 1) % 3].statements)
                // A part's statements may come only now that their authors are known.
                _ = try members[index].add(parts[index])
            }
        }
        for member in members { expectSame(one, member) }
    }

    /// Two members flood: by hundreds of admissions and endings, by those whom they let in, and with early times.
    private func flood(_ stays: [(UInt8, MembershipStatement)], _ room: inout StatementRoom) -> [MembershipStatement] {
        var statements: [MembershipStatement] = []
        for (number, stay) in stays {
            var below: [(UInt8, MembershipStatement)] = []
            for count in 0..<120 {
                let other = UInt8(60 + count)
                below.append((other, room.admit(other, by: number, in: stay, at: UInt64(count))))
                statements.append(room.putOut([below[count].1], by: number, in: stay))
            }
            statements += below.map(\.1)
            for (other, stay) in below.prefix(20) {
                for count in 0..<12 { statements.append(room.admit(UInt8(200 + count), by: other, in: stay, at: 0)) }
            }
        }
        return statements
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `Who floods leaves room for everybody else, also after being put out`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var room = StatementRoom()
        // 2 and 3 are honest, 3 was let in by 2; 4 was let in by the founder, 5 by 3: both flood.
        let (founding, two) = (room.found(), room.admit(2))
        let three = room.admit(3, by: 2, in: two)
        let (four, five) = (room.admit(4), room.admit(5, by: 3, in: three))
        let flood = flood([(4, four), (5, five)], &room)
        let honest =
            [founding, two, three, four, five, room.putOut([four], by: 3, in: three), room.putOut([five])]
            + (10..<18 as Range<UInt8>).flatMap { number in
                let admission = room.admit(number, by: 3, in: three)
                return [
                    admission, room.admit(number + 20, by: number, in: admission),
                    room.admit(number + 10, by: 2, in: two),
                ]
            }
        var membership = try room.membership()
        for statement in (honest + flood).shuffled(using: &random) { _ = try? membership.add(statement) }
        // As members do, again what others lack.
        for _ in 0..<3 { _ = try membership.add(honest + flood) }
        #expect(membership.statements.count == MeshLimits.statements + 1)
        #expect(Set(honest).subtracting(membership.statements).isEmpty)
        let expected = [1, 2, 3] + Array(10..<18) + Array(20..<28) + Array(30..<38) as [UInt8]
        #expect(Set(membership.devices) == Set(expected.map { DeviceKey.made($0) }))
        // While they aren't out, too.
        var before = try room.membership()
        for part in (honest.filter { if case .putOut = $0.content { false } else { true } } + flood)
            .shuffled(using: &random).chunks(of: 40)
        { _ = try before.add(part) }
        for _ in 0..<3 { _ = try before.add(honest.filter { if case .putOut = $0.content { false } else { true } }) }
        #expect(Set(expected.map { DeviceKey.made($0) }).isSubset(of: before.devices))
        // And a putting out finds room then.
        _ = try before.add([honest[5], honest[6]])
        #expect(!before.belongs(.made(4)) && !before.belongs(.made(5)))
    }
}

extension Array {
    fileprivate func chunks(of count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}
