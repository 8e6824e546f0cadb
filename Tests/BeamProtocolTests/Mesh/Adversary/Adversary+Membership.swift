@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Lies about who belongs to the room.
extension Adversary {
    static var membershipTricks: [Trick] {
        [
            Trick(name: "lets in ghosts", play: letInGhosts), Trick(name: "bans unknown keys", play: banUnknown),
            Trick(name: "puts out its betters", play: putOutBetters), Trick(name: "fat put-outs", play: fatPutOuts),
            Trick(name: "renames others", play: renameOthers), Trick(name: "founds again", play: foundAgain),
            Trick(name: "useless statements", play: uselessStatements),
            Trick(name: "chain of ghosts", play: chainGhosts),
        ]
    }

    /// It may say so much that what it has said before, whom it has let in, finds no room any more.
    var withdraws: Bool { kit.contains { trick in Self.membershipTricks.contains { $0.name == trick.name } } }

    private typealias ID = MembershipStatement.ID

    /// Its own stay in the room, or any that an ally has.
    private func stay(of number: UInt8, _ room: MeshSimulation) -> ID {
        room.members[0].mesh.membership?.person(.made(number))?.stay ?? anyStay()
    }

    private func anyStay() -> ID { ID(bytes: (0..<ID.length).map { _ in UInt8(upTo(256)) }) }

    private func statement(
        _ content: MembershipStatement.Content, by number: UInt8, in stay: MembershipStatement.ID,
        _ room: MeshSimulation
    ) -> MembershipStatement {
        MembershipStatement(
            content, stay: stay, milliseconds: chance(1, in: 2) ? room.milliseconds(index) : extreme(near: 1),
            room: room.room(index), signing: LogSigning.simulated(number).signing)
    }

    /// Says that as a member.
    private func say(_ contents: [MembershipStatement.Content], in room: inout MeshSimulation) {
        let stay = stay(of: number, room)
        let statements = contents.map { statement($0, by: number, in: stay, room) }
        tell(.mesh(.statements(statements)), in: &room)
    }

    private static func admission(_ number: UInt8, _ name: String) -> MembershipStatement.Content {
        .admitted(publicKey: LogSigning.simulated(number).signing.publicKey, name: PeerText.name(name))
    }

    /// Ghosts that are here, by their statuses, and that let in more of their kind.
    private static func letInGhosts(_ own: Adversary, _ room: inout MeshSimulation) {
        let long = String(repeating: "ghost ", count: 1 + own.upTo(15))
        let ghosts = own.ghosts.shuffled(using: &own.random).prefix(1 + own.upTo(30))
        own.say(ghosts.map { admission($0, long + "\($0)") }, in: &room)
        let (_, device) = LogSigning.simulated(own.number)
        for ghost in ghosts.prefix(6) {
            own.say(status: ghost, links: [device] + ghosts.map { .made($0) }.prefix(8), in: &room)
        }
    }

    /// Each lets in the next one, and all of them let in others.
    private static func chainGhosts(_ own: Adversary, _ room: inout MeshSimulation) {
        var (author, stay) = (own.number, own.stay(of: own.number, room))
        var statements: [MembershipStatement] = []
        for ghost in own.ghosts {
            let next = own.statement(admission(ghost, "g\(ghost)"), by: author, in: stay, room)
            statements.append(next)
            statements.append(own.statement(admission(own.ghosts[own.upTo(30)], "h"), by: author, in: stay, room))
            (author, stay) = (ghost, next.id(room: room.room(own.index)))
        }
        // In any order, in several messages.
        statements.shuffle(using: &own.random)
        for start in stride(from: 0, to: statements.count, by: 20) {
            own.tell(.mesh(.statements(Array(statements.dropFirst(start).prefix(20)))), in: &room)
        }
    }

    /// Stays that nobody has had, and those that people who aren't here yet might get.
    private static func banUnknown(_ own: Adversary, _ room: inout MeshSimulation) {
        let guessed = own.outsiders.map { outsider in
            own.statement(
                admission(outsider, "member \(outsider)"), by: own.number, in: own.stay(of: own.number, room), room
            ).id(room: room.room(own.index))
        }
        for stay in guessed + [own.anyStay(), ID(bytes: [UInt8](repeating: 0, count: ID.length))] {
            own.say([.putOut([.init(stay: stay, last: [own.random.next(): own.extreme(near: 0)])])], in: &room)
        }
    }

    /// Those that were here before, the founder among them.
    private static func putOutBetters(_ own: Adversary, _ room: inout MeshSimulation) {
        guard let membership = room.members[0].mesh.membership, let me = membership.person(.made(own.number)) else {
            return
        }
        let betters = membership.people.filter { $0.rank < me.rank }
        own.say(
            betters.map { .putOut([.init(stay: $0.stay, last: [own.random.next(): own.extreme(near: 0)])]) }, in: &room)
    }

    /// Whether one of the simulation's members is there by the ally's word: who is put out takes those along.
    private func hasLetIn(_ ally: UInt8, _ room: MeshSimulation) -> Bool {
        let letIn = room.members[0].mesh.letIn(by: .made(ally)).map(\.device)
        return room.members.contains { letIn.contains(.made($0.number)) }
    }

    /// As long as they may be, of its allies too: so they use up the room for statements.
    private static func fatPutOuts(_ own: Adversary, _ room: inout MeshSimulation) {
        var contents: [MembershipStatement.Content] = []
        for _ in 0..<20 {
            var stays = (0..<MembershipStatement.mostEndings).map { _ in own.anyStay() }
            if let ally = own.one(of: own.allies.filter { $0 != own.number }), !own.hasLetIn(ally, room) {
                stays[0] = own.stay(of: ally, room)
            }
            contents.append(
                .putOut(
                    stays.map { stay in
                        let runs = (0..<2).map { _ in (own.random.next() as UInt64, own.extreme(near: 0) as UInt32) }
                        return .init(stay: stay, last: Dictionary(runs, uniquingKeysWith: { one, _ in one }))
                    }))
        }
        own.say(contents, in: &room)
    }

    /// Admits members again, with other names, and as if it had been long ago.
    private static func renameOthers(_ own: Adversary, _ room: inout MeshSimulation) {
        let numbers = room.members.map(\.number).filter { $0 != own.number }
        own.say(numbers.map { admission($0, "member 1") }, in: &room)
    }

    private static func foundAgain(_ own: Adversary, _ room: inout MeshSimulation) {
        let nonce = [UInt8](repeating: UInt8(own.upTo(256)), count: MembershipStatement.nonceLength)
        let founding = own.statement(
            .founded(nonce: nonce, room: "mine", name: "founder"), by: own.number, in: .founder, room)
        own.tell(.mesh(.statements([founding])), in: &room)
    }

    /// Statements of strangers, and of stays that it hasn't had.
    private static func uselessStatements(_ own: Adversary, _ room: inout MeshSimulation) {
        let foreign = (0..<60).map {
            own.statement(admission(200 + $0 % 50, "n\($0)"), by: 240, in: own.stay(of: own.number, room), room)
        }
        let late = (0..<20).map { own.statement(admission(200 + $0, "m"), by: own.number, in: own.anyStay(), room) }
        own.tell(.mesh(.statements(foreign + late)), in: &room)
    }
}
