@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Lies about what it has written itself, and floods.
extension Adversary {
    /// Two logs with one name.
    struct Fork {
        var left: ForgedLog
        var right: ForgedLog
    }

    static var logTricks: [Trick] {
        [
            Trick(name: "forks", play: fork), Trick(name: "starts late", play: startLate),
            Trick(name: "redacts itself", play: redactItself), Trick(name: "floods", play: flood),
            Trick(name: "floods by many runs", play: floodByRuns), Trick(name: "odd entries", play: oddEntries),
            Trick(name: "plain message for one", play: plainMessage), Trick(name: "odd partials", play: oddPartials),
        ]
    }

    /// One half of the members is told one thing, the other half another; both branches may go on.
    private static func fork(_ own: Adversary, _ room: inout MeshSimulation) {
        let time = room.milliseconds(own.index)
        if own.forks.isEmpty || own.chance(1, in: 4) {
            var log = ForgedLog(own.anyKey(), run: own.random.next(), room.scope(own.index))
            for number in 0..<own.upTo(4) { log.write("common \(number)", at: time) }
            own.forks.append(Fork(left: log, right: log))
        }
        let place = own.upTo(own.forks.count)
        for number in 0...own.upTo(3) {
            if own.chance(2, in: 3) { own.forks[place].left.write("left \(number)", at: time) }
            if own.chance(2, in: 3) { own.forks[place].right.write("right \(number)", at: time) }
        }
        let (fork, isFromStart) = (own.forks[place], own.chance(2, in: 3))
        for other in room.neighbours(own.index) {
            let log = other % 2 == 0 ? fork.left : fork.right
            let start = isFromStart ? 0 : own.upTo(log.entries.count)
            guard let batch = log.batch(from: start, count: 1 + own.upTo(12)) else { continue }
            room.inject(.room(.batch(batch)), from: own.index, to: other)
        }
    }

    /// A log that claims to have had entries before, with any digest before its first.
    private static func startLate(_ own: Adversary, _ room: inout MeshSimulation) {
        let first: UInt32 = max(2, own.extreme(near: 1000))
        var log = ForgedLog(
            own.anyKey(), run: own.random.next(), room.scope(own.index), first: first,
            start: [UInt8](repeating: UInt8(own.upTo(256)), count: EntryChain.length))
        for number in 0...own.upTo(3) { log.write("late \(number)", at: room.milliseconds(own.index)) }
        if let batch = log.batch() { own.tell(.room(.batch(batch)), in: &room) }
    }

    private static func redactItself(_ own: Adversary, _ room: inout MeshSimulation) {
        var log = ForgedLog(own.anyKey(), run: own.random.next(), room.scope(own.index))
        for number in 0...own.upTo(5) { log.write("hidden \(number)", at: room.milliseconds(own.index)) }
        if let batch = log.batch(isRedacted: true) { own.tell(.room(.batch(batch)), in: &room) }
        // Others get it whole, from somewhere in the middle on.
        if let batch = log.batch(from: own.upTo(3)) { own.tell(.room(.batch(batch)), in: &room) }
    }

    /// Some hundred entries at once, by any of its keys.
    private static func flood(_ own: Adversary, _ room: inout MeshSimulation) {
        var log = ForgedLog(own.anyKey(), run: own.random.next(), room.scope(own.index))
        let text = String(repeating: "x", count: own.upTo(60))
        for _ in 0..<200 { log.write(text, at: room.milliseconds(own.index)) }
        for start in stride(from: 0, to: 200, by: 50) {
            if let batch = log.batch(from: start, count: 50) { own.tell(.room(.batch(batch)), in: &room) }
        }
    }

    private static func floodByRuns(_ own: Adversary, _ room: inout MeshSimulation) {
        for _ in 0..<12 {
            var batch = LogMessage.Batch(sections: [], items: [])
            for section in 0..<UInt8(LogLimits.batchAuthors) {
                var log = ForgedLog(own.anyKey(), run: own.random.next(), room.scope(own.index))
                log.write("run", at: room.milliseconds(own.index))
                guard let part = log.batch() else { continue }
                batch.sections += part.sections
                batch.items += part.items.map { LogMessage.Batch.Item(section: section, entry: $0.entry) }
            }
            own.tell(.room(.batch(batch)), in: &room)
        }
    }

    private static func oddEntries(_ own: Adversary, _ room: inout MeshSimulation) {
        var log = ForgedLog(own.anyKey(), run: own.extreme(near: 7), room.scope(own.index))
        for _ in 0...own.upTo(4) {
            var entry = LogEntry(
                kind: .note, milliseconds: own.extreme(near: room.milliseconds(own.index)),
                body: [UInt8](repeating: UInt8(own.upTo(256)), count: own.upTo(own.chance(1, in: 4) ? 1 << 16 : 20)))
            entry.kind = UInt8(own.upTo(12))
            if own.chance(1, in: 4) { entry.recipient = .made(UInt8(1 + own.upTo(10))) }
            log.add(.whole(entry))
        }
        if let batch = log.batch() { own.tell(.room(.batch(batch)), in: &room) }
    }

    /// What the simulation looks for: no program may be given it.
    static let strayMessage = "stray"

    private static func plainMessage(_ own: Adversary, _ room: inout MeshSimulation) {
        var log = ForgedLog(own.number, run: own.random.next(), room.scope(own.index))
        let content = LogContent.message(id: strayMessage, json: Array("1".utf8))
        // For somebody who isn't in the room.
        log.add(
            .whole(
                LogEntry(
                    kind: .message, milliseconds: room.milliseconds(own.index), recipient: .made(99),
                    body: content.body)))
        if let batch = log.batch() { own.tell(.room(.batch(batch)), in: &room) }
    }

    private static func oddPartials(_ own: Adversary, _ room: inout MeshSimulation) {
        let (signing, _) = LogSigning.simulated(own.anyKey())
        let (run, after, counter): (UInt64, UInt32, UInt32) = (
            own.chance(1, in: 2) ? 7 : own.random.next(), own.extreme(near: 0), own.extreme(near: 5)
        )
        let body = LogContent.caption(text: "partial", speaker: "member 1").body
        let partial = LogMessage.Partial(
            body, after: after, counter: counter, run: run, scope: room.scope(own.index), signing: signing)
        own.tell(.room(.partial(partial)), in: &room)
    }
}
