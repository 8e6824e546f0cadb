@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Lies about what others have written.
extension Adversary {
    static var relayTricks: [Trick] {
        [
            Trick(name: "redacts others", play: redactOthers), Trick(name: "begins others late", play: beginOthersLate),
            Trick(name: "speaks for others", play: speakForOthers), Trick(name: "other room's words", play: otherRoom),
            Trick(name: "repeats", play: repeatHeard), Trick(name: "changes entries", play: changeEntries),
            Trick(name: "accomplice's words", play: accompliceWords),
        ]
    }

    /// A part of what an honest member has written, as its program knows it, up to an entry that is signed.
    private func part(_ room: MeshSimulation, isLate: Bool) -> LogMessage.Batch? {
        let log = room.members[index].mesh.log
        let others = log.authors.filter { !allies.map { DeviceKey.made($0) }.contains($0.author.device) && $0.last > 0 }
        guard let author = one(of: others) else { return nil }
        let signed = (author.first...author.last).filter { author[$0]?.signature != nil }
        guard let last = one(of: signed), let signature = author[last]?.signature else { return nil }
        let first = isLate ? author.first + UInt32(upTo(Int(last - author.first) + 1)) : author.first
        let entries = (first...last).compactMap { author[$0]?.content }
        return LogMessage.Batch(
            sections: [
                .init(
                    publicKey: author.publicKey, run: author.author.run, first: first,
                    startDigest: author.digest(before: first), signature: signature)
            ], items: entries.prefix(LogLimits.batchEntries).map { .init(section: 0, entry: $0) })
    }

    private static func redactOthers(_ own: Adversary, _ room: inout MeshSimulation) {
        guard var batch = own.part(room, isLate: own.chance(1, in: 2)) else { return }
        for place in batch.items.indices where own.chance(2, in: 3) {
            batch.items[place].entry = .redacted(digest: batch.items[place].entry.digest)
        }
        own.tell(.room(.batch(batch)), in: &room)
    }

    private static func beginOthersLate(_ own: Adversary, _ room: inout MeshSimulation) {
        guard let batch = own.part(room, isLate: true) else { return }
        own.tell(.room(.batch(batch)), in: &room)
    }

    private static func changeEntries(_ own: Adversary, _ room: inout MeshSimulation) {
        guard var batch = own.part(room, isLate: false) else { return }
        let place = own.upTo(batch.items.count)
        switch own.upTo(4) {
        case 0: batch.items[place].entry = .whole(LogEntry(kind: .note, milliseconds: 1, body: Array("forged".utf8)))
        case 1: batch.items.swapAt(0, place)
        case 2: batch.sections[0].first &+= 1
        default: batch.sections[0].startDigest = [UInt8](repeating: 1, count: EntryChain.length)
        }
        own.tell(.room(.batch(batch)), in: &room)
    }

    /// In an honest member's name, with its own signature.
    private static func speakForOthers(_ own: Adversary, _ room: inout MeshSimulation) {
        var log = ForgedLog(own.number, run: own.random.next(), room.scope(own.index))
        log.write("I never said this", at: 1)
        guard var batch = log.batch(), let other = own.one(of: room.neighbours(own.index)) else { return }
        batch.sections[0].publicKey = LogSigning.simulated(room.members[other].number).signing.publicKey
        batch.sections[0].run = own.chance(1, in: 2) ? room.members[other].mesh.own.run : 3
        own.tell(.room(.batch(batch)), in: &room)
    }

    /// What an honest member has really signed in another room, in the same run of its program.
    private static func otherRoom(_ own: Adversary, _ room: inout MeshSimulation) {
        guard let other = own.one(of: room.neighbours(own.index)) else { return }
        let run = room.members[other].mesh.own.run
        // Of another room of equals, or for a host that has used this room's ID for its own log.
        let isHosts = own.chance(1, in: 2)
        let elsewhere = LogScope(
            room: isHosts ? room.room(own.index) : [UInt8](repeating: 0xEE, count: LogMessage.idLength),
            keeper: isHosts ? .made(own.number) : nil)
        var log = ForgedLog(room.members[other].number, run: run, elsewhere)
        for number in 0...own.upTo(30) { log.write("said elsewhere \(number)", at: UInt64(number)) }
        guard let batch = log.batch(from: own.upTo(log.entries.count)) else { return }
        own.tell(.room(.batch(batch)), in: &room)
    }

    private static func repeatHeard(_ own: Adversary, _ room: inout MeshSimulation) {
        for _ in 0...own.upTo(6) {
            if let message = own.one(of: own.heard) { own.tell(message, in: &room) }
        }
    }

    /// What the simulation looks for: nobody may hear it after its author was put out.
    static let lateWords = "after the put-out"

    private static func accompliceWords(_ own: Adversary, _ room: inout MeshSimulation) {
        let others = room.members.filter { !own.allies.contains($0.number) }.compactMap(\.mesh.membership)
        for number in own.allies where number != own.number {
            // Whoever hasn't heard of the put-out yet takes what comes.
            let isOut = others.allSatisfy { !$0.belongs(.made(number)) }
            var log = ForgedLog(number, run: own.chance(1, in: 2) ? 9 : own.random.next(), room.scope(own.index))
            log.write(isOut ? lateWords : "by my friend", at: isOut ? 1 : room.milliseconds(own.index))
            if let batch = log.batch() { own.tell(.room(.batch(batch)), in: &room) }
        }
    }
}
