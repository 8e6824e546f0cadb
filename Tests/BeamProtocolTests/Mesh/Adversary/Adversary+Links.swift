import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Breaks the rules of a link.
extension Adversary {
    static var linkTricks: [Trick] {
        [
            Trick(name: "greets again", play: greetAgain), Trick(name: "wrong acknowledgements", play: acknowledge),
            Trick(name: "floods with messages", play: floodWithMessages), Trick(name: "odd codes", play: oddCodes),
            Trick(name: "odd errands", play: oddErrands), Trick(name: "falls silent", play: fallSilent),
            Trick(name: "slows", play: slow), Trick(name: "hangs up", play: hangUp),
            Trick(name: "holds others", play: holdOthers), Trick(name: "false proofs", play: falseProofs),
            Trick(name: "pauses", play: pause),
        ]
    }

    private static func greetAgain(_ own: Adversary, _ room: inout MeshSimulation) {
        own.tell(.mesh(.greeting(own.greeting(room))), in: &room)
    }

    private func greeting(_ room: MeshSimulation) -> MeshMessage.Greeting {
        MeshMessage.Greeting(
            room: room.room(index), age: extreme(near: room.milliseconds(index)), run: extreme(near: 7),
            completeSince: extreme(near: 0), has: [:], statements: room.members[index].mesh.membership?.statements ?? []
        )
    }

    private static func acknowledge(_ own: Adversary, _ room: inout MeshSimulation) {
        own.tell(.room(.acknowledged(own.extreme(near: 1))), in: &room)
    }

    private static func floodWithMessages(_ own: Adversary, _ room: inout MeshSimulation) {
        for _ in 0..<100 { own.tell(.mesh(.alive), in: &room) }
    }

    private static func oddCodes(_ own: Adversary, _ room: inout MeshSimulation) {
        var code = MeshCode(
            era: own.extreme(near: 0), number: own.extreme(near: 1),
            digits: own.chance(1, in: 3) ? nil : PairingCode(number: UInt64(own.upTo(1000))), service: .always)
        code.left = own.extreme(near: 0)
        code.wrongTries = own.extreme(near: 5)
        code.countedTries = own.extreme(near: 5)
        code.pause = own.extreme(near: 0)
        own.tell(.mesh(.code(code)), in: &room)
    }

    private static func oddErrands(_ own: Adversary, _ room: inout MeshSimulation) {
        for _ in 0..<10 {
            let (from, to) = (DeviceKey.made(UInt8(1 + own.upTo(9))), DeviceKey.made(UInt8(1 + own.upTo(9))))
            own.tell(
                .mesh(
                    .errand(
                        CodeErrand(
                            from: from, to: to, hops: own.extreme(near: 8), number: own.extreme(near: 1),
                            what: CodeErrand.What(rawValue: UInt8(own.upTo(7))) ?? .renew, value: own.extreme(near: 1)))
                ),
                in: &room)
            own.tell(
                .mesh(
                    .question(
                        QuestionErrand(
                            from: from, to: to, hops: own.extreme(near: 8), number: own.extreme(near: 1),
                            what: QuestionErrand.What(rawValue: UInt8(own.upTo(6))) ?? .no,
                            isNamesake: own.chance(1, in: 2), name: "newcomer", address: .v4(7)))), in: &room)
        }
    }

    /// Its program stops in the middle of whatever it was about, and goes on later, or is found to be silent.
    private static func fallSilent(_ own: Adversary, _ room: inout MeshSimulation) {
        room.members[own.index].isFrozen.toggle()
    }

    /// Says that it can't take what others have written, from anywhere on.
    private static func holdOthers(_ own: Adversary, _ room: inout MeshSimulation) {
        let authors = room.members.map(\.mesh.own).shuffled(using: &own.random).prefix(1 + own.upTo(8))
        let held = authors.map { author in
            MeshMessage.HeldAuthor(
                author: author, after: own.extreme(near: 2), milliseconds: own.extreme(near: 250))
        }
        for _ in 0...own.upTo(10) { own.tell(.mesh(.held(Array(held))), in: &room) }
    }

    /// That an honest member has told different people different things: with its real signatures, of here and elsewhere.
    private static func falseProofs(_ own: Adversary, _ room: inout MeshSimulation) {
        let log = room.members[own.index].mesh.log
        guard let author = own.one(of: log.authors.filter { $0.last > 0 }),
            let member = room.members.first(where: { DeviceKey.made($0.number) == author.author.device }),
            let number = (author.first...author.last).filter({ author[$0]?.signature != nil }).last,
            let item = author[number], let signature = item.signature
        else { return }
        // What it has signed with the same number in another room, and a forgery.
        var elsewhere = ForgedLog(
            member.number, run: author.author.run, LogScope(room: [UInt8](repeating: 0xEE, count: 16), keeper: nil))
        for place in 0..<number { elsewhere.write("elsewhere \(place)", at: 1) }
        guard let other = elsewhere.batch()?.sections.first?.signature else { return }
        let forged = LogSigning.simulated(own.number).signing.sign(
            EntryChain.signed(
                elsewhere.digests[Int(number)], number: number, of: author.author, in: room.scope(own.index)))
        for otherSignature in [other, forged, signature] {
            let proof = ForkProof(
                publicKey: author.publicKey, run: author.author.run, number: number, digest: item.digest,
                signature: signature, other: elsewhere.digests[Int(number)], entries: [],
                otherSignature: otherSignature)
            own.tell(.mesh(.forked(proof)), in: &room)
        }
    }

    private static func pause(_ own: Adversary, _ room: inout MeshSimulation) {
        own.tell(
            .mesh(.paused(MeshPause([.violation, .full, .busy][own.upTo(3)], .milliseconds(own.upTo(1 << 20))))),
            in: &room)
    }

    private static func slow(_ own: Adversary, _ room: inout MeshSimulation) {
        for _ in 0..<20 { own.tell(.room(.slowed(own.chance(1, in: 2))), in: &room) }
    }

    private static func hangUp(_ own: Adversary, _ room: inout MeshSimulation) {
        room.restart(own.index)
    }
}

extension Adversary.Habit {
    static let none = Self(name: "no habit") { _, message, _ in message }

    /// It passes no entries on.
    static let mute = Self(name: "mute") { _, message, _ in
        if case .room(.batch) = message { nil } else { message }
    }

    /// It keeps back the entries of some authors: those whose batch they come in are lost, too.
    static let withholds = Self(name: "withholds") { own, message, to in
        guard case .room(.batch(let batch)) = message else { return message }
        return (batch.sections.first?.run ?? 0) % 2 == UInt64(to % 2) ? nil : message
    }

    /// It changes bytes.
    static let garbles = Self(name: "garbles") { own, message, _ in
        guard own.chance(1, in: 8) else { return message }
        var bytes = message.bytes
        for _ in 0...own.upTo(3) { bytes[own.upTo(bytes.count)] = UInt8(own.upTo(256)) }
        return try? SecureMessage(bytes)
    }

    /// It says that it has everything already, or that nobody has anything of before.
    static let boasts = Self(name: "boasts") { own, message, _ in
        guard case .mesh(.greeting(var greeting)) = message else { return message }
        Adversary.boast(&greeting, own)
        return .mesh(.greeting(greeting))
    }

    /// It confirms nothing.
    static let deaf = Self(name: "deaf") { _, message, _ in
        if case .room(.acknowledged) = message { nil } else { message }
    }

    /// It leaves out some of what it knows of the membership.
    static let forgetful = Self(name: "forgets statements") { own, message, _ in
        guard case .mesh(.greeting(var greeting)) = message else { return message }
        greeting.statements.removeAll { _ in own.chance(1, in: 3) }
        return .mesh(.greeting(greeting))
    }
}

extension Adversary {
    fileprivate static func boast(_ greeting: inout MeshMessage.Greeting, _ own: Adversary) {
        for author in greeting.has.keys where own.chance(1, in: 2) {
            greeting.has[author] = .init(
                first: max(1, own.extreme(near: 1)), last: own.extreme(near: 100), digest: own.extreme(near: 0))
        }
        greeting.completeSince = own.extreme(near: 5000)
        if own.chance(1, in: 4) { greeting.age = own.extreme(near: greeting.age) }
    }
}
