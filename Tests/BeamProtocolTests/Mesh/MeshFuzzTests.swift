import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A member of a room of equals whose peers, members among them, send authentic messages with any values, in any order.
struct MeshFuzzTests {
    @Test func anythingPasses() {
        for seed in Fuzzing.seeds(150) {
            var random = SeededGenerator(seed: seed)
            var run = MeshFuzz(random.bytes(Int.random(in: 0...1500, using: &random)))
            if let fault = run.toTheEnd() { Issue.record("seed \(seed): \(fault)") }
        }
    }

    /// Some of the runs get entries and statuses into the room.
    @Test func runsReachTheRoom() {
        var (entries, statuses, statements) = (0, 0, 0)
        for seed in 1...150 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            var run = MeshFuzz(random.bytes(1500))
            _ = run.toTheEnd()
            entries += run.mesh.log.authors.contains { $0.author.device == .made(3) } ? 1 : 0
            statuses += run.mesh.statuses[.made(3)] == nil ? 0 : 1
            statements += (run.mesh.membership?.everybody.count ?? 0) > 3 ? 1 : 0
        }
        #expect(entries > 10 && statuses > 10 && statements > 10, "\(entries), \(statuses), \(statements) of 150")
    }
}

/// One run of the fuzzer.
private struct MeshFuzz {
    var mesh: Mesh
    private var input: FuzzInput
    private var now = MediaTime(nanoseconds: 1_000_000_000)
    private var link: UInt64 = 0
    private var open: Set<UInt64> = []
    private var outputs = 0
    private let fuzz = LogFuzz(number: 3, run: 5, isKeeper: true)
    private var counter: UInt64 = 1

    init(_ bytes: [UInt8]) {
        input = FuzzInput(bytes)
        let (signing, device) = LogSigning.simulated(1)
        mesh = Mesh(
            Mesh.Configuration(
                own: device, name: "one", signing: signing, sealing: .simulated(1),
                code: HostCode(given: PairingCode("482913")!, isRenewed: true)),
            random: SeededGenerator(seed: 1))
        mesh.found("study", now: now)
        for number in 2...3 as ClosedRange<UInt8> {
            try? mesh.admit(publicKey: LogSigning.simulated(number).signing.publicKey, name: "m\(number)", now: now)
        }
        connect(2)
        connect(3)
    }

    private var room: [UInt8] { mesh.membership?.room ?? [] }

    mutating func toTheEnd() -> String? {
        while !input.isAtEnd {
            step()
            if let fault = settle() ?? fault() { return fault }
        }
        return nil
    }

    private mutating func connect(_ number: UInt8) {
        link += 1
        open.insert(link)
        mesh.opened(MeshLinkID(link), device: .made(number), isOutgoing: input.chance(128), now: now)
        if input.chance(230) { send(.mesh(.greeting(greeting()))) }
    }

    private mutating func send(_ message: SecureMessage) {
        var bytes = message.bytes
        if input.chance(8) { bytes[input.choice(bytes.count)] = input.byte() }
        guard let message = try? SecureMessage(bytes) else { return }
        let id = input.chance(220) ? link : UInt64(input.choice(Int(link) + 1))
        mesh.received(message, from: MeshLinkID(id), now: now)
    }

    private mutating func step() {
        switch input.choice(16) {
        case 0...4: send(.room(fuzz.message(&input, room: room, log: mesh.log)))
        case 5...6: send(.mesh(.statuses((0...input.choice(3)).map { _ in status() })))
        case 7...8: send(.mesh(.statements((0...input.choice(3)).map { _ in statement() })))
        case 9:
            switch input.choice(10) {
            case 0: send(.mesh(.alive))
            case 8: send(.mesh(.held(held())))
            case 9: send(.mesh(.forked(proof())))
            case 1...2: send(.mesh(carried()))
            case 3...5: send(.mesh(.code(code())))
            case 6: send(.mesh(.errand(errand())))
            default: send(.mesh(.question(question())))
            }
        case 10: connect(UInt8(1 + input.choice(6)))
        case 11: mesh.closed(MeshLinkID(UInt64(input.choice(Int(link) + 1))), now: now)
        case 12...13: now = min(now + .nanoseconds(input.step()), FuzzInput.latest)
        case 14:
            switch input.choice(8) {
            case 5: mesh.codeTried(UInt64(input.choice(4)), now: now)
            case 6: mesh.codeChecked(UInt64(input.choice(4)), isRight: input.chance(128), now: now)
            case 7:
                mesh.questionAsked(
                    UInt64(input.choice(4)), Visitor(address: .v4(UInt32(input.choice(9))), name: "newcomer"), now: now)
                _ = mesh.questionAnswered(UInt64(input.choice(4)), accept: input.chance(128), now: now)
                mesh.answerElsewhere(1 << 63 | UInt64(input.choice(8)), accept: input.chance(128), now: now)
                if input.chance(64) { mesh.renewCode(now: now) }
            case 0: mesh.dialFailed(.made(UInt8(1 + input.choice(6))), now: now)
            case 1: mesh.appeared(.made(UInt8(1 + input.choice(6))), now: now)
            case 2: try? mesh.putOut(.made(UInt8(1 + input.choice(6))), now: now)
            case 3: mesh.setSharing(input.chance(128), isPaused: input.chance(128), now: now)
            default:
                let key = LogSigning.simulated(UInt8(2 + input.choice(8))).signing.publicKey
                try? mesh.admit(publicKey: key, name: "again", now: now)
            }
        default: mesh.handle(fuzz.writing(&input), now: now)
        }
    }

    private mutating func settle() -> String? {
        for _ in 0..<10_000 {
            mesh.settle(now: now)
            var isQuiet = true
            while let output = mesh.pollOutput() {
                isQuiet = false
                if case .close(let id, _) = output { open.remove(id.value) }
                if case .send(_, let message) = output, message.bytes.count > 160 << 10 {
                    return "a message is too long"
                }
            }
            if isQuiet, mesh.isEnded || mesh.deadline > now { return nil }
        }
        return "it never comes to rest"
    }

    // MARK: Values

    private mutating func device() -> DeviceKey { .made(UInt8(1 + input.choice(6))) }

    private mutating func number() -> UInt64 { input.chance(32) ? .max : UInt64(input.choice(5)) }

    private mutating func code() -> MeshCode {
        var code = MeshCode(
            era: input.chance(16) ? .max : UInt64(input.choice(2)), number: number(),
            digits: input.chance(32) ? nil : PairingCode(number: UInt64(input.choice(9))),
            service: MeshCode.Service(rawValue: UInt8(input.choice(3))) ?? .one)
        code.left = input.chance(64) ? .max : UInt32(input.choice(3))
        code.wrongTries = input.chance(32) ? .max : UInt8(input.choice(6))
        code.countedTries = input.chance(32) ? .max : UInt8(input.choice(12))
        code.pause = input.chance(32) ? .max : UInt32(input.choice(3))
        return code
    }

    private mutating func held() -> [MeshMessage.HeldAuthor] {
        mesh.log.authors.prefix(input.choice(4)).map { log in
            MeshMessage.HeldAuthor(
                author: log.author, after: input.integer(near: log.last), milliseconds: input.integer(near: 500))
        }
    }

    /// Mostly a right one.
    private mutating func proof() -> ForkProof {
        let signing = signing()
        let device = signing.device(signing.publicKey) ?? mesh.own.device
        let author = LogAuthor(device: device, run: UInt64(input.choice(8)))
        let number: UInt32 = input.chance(200) ? 1 : input.integer()
        let (one, other) = (input.filler(EntryChain.length), input.filler(EntryChain.length))
        let entries = (0..<input.choice(3)).map { _ in input.filler(EntryChain.length) }
        let end = entries.reduce(other) { EntryChain.next($0, .redacted(digest: $1)) }
        func signature(_ digest: [UInt8], _ number: UInt32) -> [UInt8] {
            signing.sign(EntryChain.signed(digest, number: number, of: author, in: mesh.log.scope))
        }
        return ForkProof(
            publicKey: signing.publicKey, run: author.run, number: number, digest: one,
            signature: signature(one, number), other: other, entries: entries,
            otherSignature: signature(end, number &+ UInt32(entries.count)))
    }

    private mutating func errand() -> CodeErrand {
        CodeErrand(
            from: device(), to: device(), hops: UInt8(input.choice(9)), number: number(),
            what: CodeErrand.What(rawValue: UInt8(input.choice(7))) ?? .renew, value: input.chance(64) ? .max : 1)
    }

    private mutating func question() -> QuestionErrand {
        QuestionErrand(
            from: device(), to: device(), hops: UInt8(input.choice(9)), number: number(),
            what: QuestionErrand.What(rawValue: UInt8(input.choice(6))) ?? .no, isNamesake: input.chance(64),
            name: input.chance(128) ? "123456" : "\u{202E}x", address: input.chance(64) ? nil : .v4(7))
    }

    private mutating func carried() -> MeshMessage {
        let message = MeshMessage.Carried(
            source: .made(UInt8(1 + input.choice(12))), dialog: input.integer(near: 1),
            message: (0..<input.choice(40)).map { _ in input.byte() })
        return input.chance(128) ? .toHost(message) : .toViewer(message)
    }

    private mutating func signing() -> LogSigning {
        LogSigning.simulated(input.chance(160) ? 3 : UInt8(1 + input.choice(12))).signing
    }

    private mutating func greeting() -> MeshMessage.Greeting {
        var has = mesh.log.kept.filter { _ in input.chance(60) }
        for (author, kept) in has {
            // The parser refuses what ends before it begins.
            has[author]?.last = max(kept.first, input.integer(near: kept.last))
        }
        var statements = mesh.membership?.statements ?? []
        if input.chance(60) { statements.append(statement()) }
        return MeshMessage.Greeting(
            room: input.chance(8) ? input.filler(16) : room, age: input.integer(near: 1000), run: 5,
            completeSince: input.integer(), has: has, statements: statements)
    }

    private mutating func statement() -> MembershipStatement {
        let signing = signing()
        let content: MembershipStatement.Content
        switch input.choice(6) {
        case 0:
            content = .founded(nonce: input.filler(16), room: "study", name: "n\(input.byte())")
        case 1:
            content = .putOut(
                (0...input.choice(3)).map { _ in
                    MembershipStatement.Ending(
                        stay: stay(), last: input.chance(100) ? [mesh.own.run: input.integer(near: 3)] : [:])
                })
        default:
            content = .admitted(
                publicKey: LogSigning.simulated(UInt8(1 + input.choice(200))).signing.publicKey,
                name: "n\(input.byte())")
        }
        return MembershipStatement(
            content, stay: mesh.membership?.people.first { $0.publicKey == signing.publicKey }?.stay ?? stay(),
            milliseconds: input.integer(near: 1000), room: room, signing: signing)
    }

    private mutating func stay() -> MembershipStatement.ID {
        let known = (mesh.membership?.statements ?? []).map { $0.id(room: room) } + [.founder]
        return input.chance(30)
            ? MembershipStatement.ID(bytes: input.filler(MembershipStatement.ID.length))
            : known[input.choice(known.count)]
    }

    private mutating func status() -> MemberStatus {
        counter &+= 1
        return MemberStatus(
            run: input.integer(near: 5), counter: input.chance(200) ? counter : input.integer(near: counter),
            flags: .init(rawValue: input.chance(200) ? 0 : input.byte()),
            sealingKey: input.filler(MemberStatus.sealingKeyLength),
            addresses: (0..<input.choice(3)).map { _ in
                NetworkAddress(ip: .v4(input.integer()), port: max(1, input.integer()))
            },
            links: (0..<input.choice(5)).map { .made(UInt8(1 + $0)) },
            received: [mesh.own: input.integer(near: 3)], room: room, signing: signing())
    }

    /// What is wrong with the state; nil: nothing.
    private func fault() -> String? {
        guard let membership = mesh.membership else { return "it has left its room" }
        if membership.statements.count > MeshLimits.statements + 1 { return "too many statements" }
        if mesh.statuses.count > membership.people.count { return "statuses of nobody" }
        if mesh.links.count > open.count { return "more links than connections" }
        if mesh.exchange.members.map(\.id.value) != mesh.links.map(\.id.value) { return "other members than links" }
        if Set(mesh.links.map(\.device)).count < mesh.links.count { return "two links to one member" }
        if !mesh.isEnded, mesh.present.first(where: { $0.device == mesh.own.device }) == nil {
            return "it isn't here itself"
        }
        if !mesh.isEnded, mesh.present.count > MeshLimits.members + 1 { return "too many are here" }
        for link in mesh.links where link.isUp && !membership.belongs(link.device) { return "a link to nobody" }
        if mesh.log.count > LogLimits.entries { return "the log is too long" }
        if mesh.log.bytes != mesh.log.authors.reduce(0, { $0 + $1.cost }) { return "the log's bytes are miscounted" }
        if mesh.log.count != mesh.log.authors.reduce(0, { $0 + $1.count }) { return "the log is miscounted" }
        if mesh.forks.proofs.count > ForkKeeping.mostProofs { return "too many proofs" }
        if mesh.lateStarts.count > 12 * MeshLimits.lateStartsPerDevice { return "too many late logs" }
        if mesh.rates.count > LogLimits.rememberedMembers { return "too many rates" }
        return nil
    }
}
