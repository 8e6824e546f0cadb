import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A member that tells different members different things.
struct MeshForkTests {
    /// The notes of one author as they were told.
    private func notes(_ room: MeshSimulation, _ index: Int, of number: UInt8) -> [String] {
        room.notes(index).filter { $0.hasPrefix("member \(number): ") }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `A fork is proved to all, and nobody else is blamed or parted`(seed: UInt64) throws {
        var room = MeshSimulation(seed: seed)
        try room.makeRoom(4)
        room.deafen(3)
        var left = MeshWriter(4, run: 77, room: room.room)
        var right = left
        room.inject(left.notes(["yes"]), from: 3, to: 0)
        room.inject(right.notes(["no"]), from: 3, to: 1)
        if seed % 2 == 0 { room.run(for: .milliseconds(Int64(seed) * 5)) }
        room.inject(left.notes(["indeed"]), from: 3, to: 0)
        for number in 0..<20 {
            room.say(.note("\(number)"), by: number % 3)
            room.run(for: .milliseconds(100))
        }
        room.run(for: .seconds(1))
        for index in 0..<3 {
            #expect(room.forkers(index) == [.made(4)])
            #expect(room.violators(index).isEmpty)
            #expect(room.present(index) == [1, 2, 3, 4])
            for author in 0..<3 {
                let all = (0..<20).filter { $0 % 3 == author }.map { "member \(author + 1): \($0)" }
                #expect(notes(room, index, of: UInt8(author + 1)) == all)
            }
        }
        #expect(room.openPairs.count == 6)
        for member in room.members {
            #expect(!member.refusals.contains { if case .violation = $0 { true } else { false } })
        }
        // Who comes later learns of it, and takes nothing of that run.
        let newcomer = room.add(5)
        try room.enter(newcomer, through: 2)
        room.run(for: .seconds(3))
        #expect(room.forkers(newcomer) == [.made(4)])
        #expect(notes(room, newcomer, of: 4).isEmpty)
        #expect(room.histories(newcomer) == [.zero])
        // The run of its program goes on being heard.
        room.say(.note("sorry"), by: 3)
        room.run(for: .seconds(1))
        #expect(notes(room, newcomer, of: 4) == ["member 4: sorry"])
    }

    @Test func `Two forks, and nothing of the device is taken any more`() throws {
        var room = MeshSimulation(seed: 2)
        try room.makeRoom(3)
        room.deafen(2)
        for run in [77, 78] as [UInt64] {
            var left = MeshWriter(3, run: run, room: room.room)
            var right = left
            room.inject(left.notes(["yes"]), from: 2, to: 0)
            room.inject(right.notes(["no"]), from: 2, to: 1)
            room.run(for: .seconds(1))
        }
        for index in 0..<2 { #expect(room.forkers(index) == [.made(3), .made(3)]) }
        room.say(.note("hello?"), by: 2)
        var third = MeshWriter(3, run: 79, room: room.room)
        room.inject(third.notes(["hello?"]), from: 2, to: 0)
        room.run(for: .seconds(1))
        for index in 0..<2 {
            #expect(!room.notes(index).contains { $0.contains("hello?") })
            #expect(room.violators(index).isEmpty && room.present(index) == [1, 2, 3])
        }
    }

    /// Those who were apart compare what they have of each author.
    @Test(arguments: [(1, 1), (3, 3), (2, 5), (5, 2)]) func `A fork comes out when a split heals`(
        lengths: (Int, Int)
    ) throws {
        var room = MeshSimulation(seed: 3)
        try room.makeRoom(4)
        room.split(at: 2)
        room.run(for: .seconds(5))
        var left = MeshWriter(4, run: 77, room: room.room)
        var right = left
        for text in 0..<lengths.0 { room.plant(left.notes(["\(text)"]), at: 0) }
        for text in 0..<lengths.1 { room.plant(right.notes(["no \(text)"]), at: 2) }
        room.run(for: .seconds(1))
        room.heal()
        room.run(for: .seconds(6))
        for index in 0..<3 {
            #expect(room.forkers(index) == [.made(4)])
            #expect(room.violators(index).isEmpty)
            #expect(room.present(index) == [1, 2, 3, 4])
        }
    }

    /// What an honest author has signed elsewhere doesn't prove anything here, and what nobody signed neither.
    /// A liar, member 3 of three, sends member 2 something about an entry of member 1, which is honest.
    private func framed(_ send: (inout MeshSimulation, AuthorLog.Item) throws -> Void) throws {
        var room = MeshSimulation(seed: 4)
        try room.makeRoom(3)
        room.deafen(2)
        room.say(.note("honest"), by: 0)
        room.run(for: .seconds(1))
        let own = room.members[0].mesh.own
        let item = try #require(
            room.members[1].mesh.log.index(of: own).map { room.members[1].mesh.log.authors[$0] }?[1])
        try send(&room, item)
        room.run(for: .seconds(1))
        #expect(room.violators(1) == [3])
        for index in 0..<3 { #expect(room.forkers(index).isEmpty) }
        room.say(.note("still heard"), by: 0)
        room.run(for: .seconds(1))
        #expect(room.notes(1).contains("member 1: still heard"))
    }

    @Test(arguments: 0..<8) func `An honest author can't be framed`(number: Int) throws {
        try framed { room, item in
            let own = room.members[0].mesh.own
            let signature = try #require(item.signature)
            var elsewhere = MeshWriter(1, run: own.run, room: [UInt8](repeating: 9, count: 16))
            _ = elsewhere.notes(["another room"])
            var otherRun = MeshWriter(1, run: own.run &+ 1, room: room.room)
            _ = otherRun.notes(["another run"])
            var liar = MeshWriter(3, run: own.run, room: room.room)
            _ = liar.notes(["forged"])
            func proof(
                _ other: [UInt8], _ otherSignature: [UInt8], number: UInt32 = 1, entries: [[UInt8]] = []
            ) -> ForkProof {
                ForkProof(
                    publicKey: LogSigning.simulated(1).signing.publicKey, run: own.run, number: number,
                    digest: item.digest, signature: signature, other: other, entries: entries,
                    otherSignature: otherSignature)
            }
            let proofs = [
                proof(elsewhere.digest, elsewhere.signature), proof(otherRun.digest, otherRun.signature),
                proof(liar.digest, liar.signature), proof(item.digest, signature),
                proof(liar.digest, signature), proof(liar.digest, signature, number: 0),
                proof(liar.digest, signature, number: .max, entries: [liar.digest]),
                proof([UInt8](repeating: 1, count: 32), signature, entries: [liar.digest]),
            ]
            let proof = proofs[number]
            #expect(proof.author(in: room.members[1].mesh.log.scope, LogSigning.simulated(2).signing) == nil)
            room.inject(.mesh(.forked(proof)), from: 2, to: 1)
        }
    }

    /// Who sends entries of another room as this one's is at fault itself.
    @Test func `Entries of another room frame nobody`() throws {
        try framed { room, item in
            var elsewhere = MeshWriter(1, run: room.members[0].mesh.own.run, room: [UInt8](repeating: 9, count: 16))
            _ = elsewhere.notes(["a first one"])
            var batch = elsewhere.notes(["another room"])
            batch.sections[0].startDigest = item.digest
            room.inject(batch, from: 2, to: 1)
        }
    }

    @Test func `A proof is as it was sent, and bounded`() throws {
        var (left, right) = (MeshWriter(4, run: 7, room: [1]), MeshWriter(4, run: 7, room: [1]))
        _ = left.notes(["a"])
        let number = left.number
        _ = right.notes(["b"])
        let other = right.digest
        let more = right.notes(["c", "d"])
        let proof = ForkProof(
            publicKey: left.signing.publicKey, run: 7, number: number, digest: left.digest,
            signature: left.signature, other: other, entries: more.items.map(\.entry.digest),
            otherSignature: right.signature)
        #expect(proof.author(in: left.scope, left.signing) == left.author)
        let bytes = SecureMessage.mesh(.forked(proof)).bytes
        #expect(try SecureMessage(bytes) == .mesh(.forked(proof)))
        #expect(
            bytes
                == [0x52] + left.signing.publicKey + [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1] + left.digest + left.signature
                + other + [0, 2] + more.items.flatMap(\.entry.digest) + right.signature)
        for count in 0..<bytes.count {
            #expect(throws: SecureMessageError.self) { try SecureMessage(Array(bytes[..<count])) }
        }
        var long = proof
        long.entries = [[UInt8]](repeating: other, count: LogLimits.batchEntries + 1)
        #expect(throws: SecureMessageError.self) { try SecureMessage(SecureMessage.mesh(.forked(long)).bytes) }
    }
}
