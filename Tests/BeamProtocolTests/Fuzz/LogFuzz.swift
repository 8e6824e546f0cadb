import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What a member of a room sends and writes in a fuzzed run: mostly what fits, and any field may be wrong.
struct LogFuzz {
    /// The sender's device number, for `LogSigning.simulated`.
    let number: UInt8
    let run: UInt64
    /// It passes on what others have written.
    let isKeeper: Bool

    func greeting(_ input: inout FuzzInput, room: [UInt8], log: LogStore) -> LogMessage {
        var has: [LogAuthor: UInt32] = [:]
        for author in log.authors.prefix(input.choice(8)) {
            has[author.author] = input.integer(near: author.last)
        }
        if input.chance(30) { has[LogAuthor(device: .made(input.byte()), run: input.integer())] = input.integer() }
        return .greeting(
            LogMessage.Greeting(
                room: input.chance(8) ? input.filler(16) : room, age: input.integer(near: 1000),
                run: input.chance(8) ? input.integer() : run, flags: .init(rawValue: input.chance(20) ? 0 : 1),
                completeSince: input.integer(), unsettled: input.integer(near: 1), has: has))
    }

    /// Any message; `log` is what the receiver has.
    func message(_ input: inout FuzzInput, room: [UInt8], log: LogStore) -> LogMessage {
        switch input.choice(16) {
        case 0...7: batch(&input, log: log)
        case 8...10: .acknowledged(input.integer(near: 1))
        case 11: partial(&input, log.scope)
        case 12:
            .receipts(
                (0..<input.choice(4)).map { _ in
                    LogMessage.Receipt(
                        number: input.integer(near: 1), result: [.delivered, .nobody, .left][input.choice(3)],
                        count: input.integer())
                })
        case 13: .slowed(input.chance(128))
        case 14: greeting(&input, room: room, log: log)
        default: batch(&input, log: log)
        }
    }

    private func author(_ input: inout FuzzInput) -> (signing: LogSigning, author: LogAuthor) {
        let isOwn = isKeeper ? input.chance(100) : input.chance(245)
        let number = isOwn ? number : input.byte()
        let (signing, device) = LogSigning.simulated(number)
        return (signing, LogAuthor(device: device, run: isOwn ? run : UInt64(input.choice(8))))
    }

    private func batch(_ input: inout FuzzInput, log: LogStore) -> LogMessage {
        var batch = LogMessage.Batch(sections: [], items: [])
        for _ in 0...(isKeeper ? input.choice(4) : 0) {
            let (signing, author) = author(&input)
            let isKnown = batch.sections.contains { $0.publicKey == signing.publicKey && $0.run == author.run }
            guard !isKnown || input.chance(4) else { continue }
            let known = log.index(of: author).map { log.authors[$0] }
            var first = (known?.last ?? 0) &+ 1
            var digest = known?.lastDigest ?? EntryChain.start(log.scope, author: author)
            // Among equals the digest before is always there.
            var start: [UInt8]? = log.scope.keeper == nil ? digest : nil
            if input.chance(24) {
                first = max(1, input.integer(near: first))
                digest = input.filler(EntryChain.length)
                start = digest
            }
            let count = UInt32(1 + input.choice(input.chance(16) ? 90 : 4))
            for _ in 0..<count {
                // Among equals a digest ends the link.
                let entry = entry(&input, wholeIn256: log.scope.keeper == nil ? 254 : 240)
                digest = EntryChain.next(digest, entry)
                batch.items.append(
                    LogMessage.Batch.Item(section: UInt8(clamping: batch.sections.count), entry: entry))
            }
            var signature = signing.sign(
                EntryChain.signed(digest, number: first &+ count &- 1, of: author, in: log.scope))
            if input.chance(6) { signature = input.filler(LogSigning.signatureLength) }
            batch.sections.append(
                LogMessage.Batch.Section(
                    publicKey: signing.publicKey, run: author.run, first: first, startDigest: start,
                    signature: signature))
        }
        return .batch(batch)
    }

    private func entry(_ input: inout FuzzInput, wholeIn256: Int) -> StoredEntry {
        guard input.chance(wholeIn256) else { return .redacted(digest: input.filler(EntryChain.length)) }
        var entry = LogEntry(kind: .note, milliseconds: input.integer(near: 1000), body: [])
        switch input.choice(8) {
        case 0: entry.body = LogContent.caption(text: text(&input), speaker: "\(input.byte())").body
        case 1: entry.body = LogContent.message(id: "\(input.byte())", json: Array(text(&input).utf8)).body
        case 2: entry.body = LogContent.member(.made(input.byte()), name: text(&input)).body
        case 3: entry.body = input.bytes(input.choice(40))
        case 4: entry.body = input.filler(input.choice(1 << 16))
        default: entry.body = Array(text(&input).utf8)
        }
        entry.kind = input.chance(220) ? UInt8(1 + input.choice(7)) : input.byte()
        if input.chance(30) { entry.recipient = .made([0xA0, 0xB0, 1][input.choice(3)]) }
        return .whole(entry)
    }

    private func partial(_ input: inout FuzzInput, _ scope: LogScope) -> LogMessage {
        let (signing, author) = author(&input)
        let body = input.chance(60) ? [] : LogContent.caption(text: text(&input), speaker: nil).body
        let (after, counter): (UInt32, UInt32) = (input.integer(near: 0), input.integer(near: 1))
        return .partial(
            LogMessage.Partial(
                publicKey: signing.publicKey, run: author.run, after: after, counter: counter, body: body,
                signature: signing.sign(
                    LogMessage.Partial.signed(
                        scope, run: author.run, after: after, counter: counter, body: body))))
    }

    /// What the program under test writes itself.
    func writing(_ input: inout FuzzInput) -> LogInput {
        switch input.choice(6) {
        case 0: .caption(text: text(&input), speaker: nil)
        case 1: .partial(text: input.chance(60) ? "" : text(&input), speaker: "s")
        case 2: .alert(.batteryLow(percent: Int(input.byte())))
        case 3: .message(id: "\(input.byte())", json: [0x31], to: .all)
        case 4:
            .message(
                id: "\(input.byte())", json: [0x31], to: .named(input.chance(128) ? "viewer" : DeviceKey.viewer.hex))
        default: .note(text(&input))
        }
    }

    private func text(_ input: inout FuzzInput) -> String {
        String(
            decoding: input.chance(20) ? input.filler(input.choice(3000)) : input.bytes(input.choice(8)), as: UTF8.self)
    }

    /// What is wrong with a room's state; nil: nothing.
    static func fault(in room: LogExchange, mostMembers: Int) -> String? {
        let log = room.log
        if log.count > LogLimits.entries || log.bytes > LogLimits.bytes { return "the log is too long" }
        if log.bytes != log.authors.reduce(0, { $0 + $1.cost }) { return "the log's bytes are miscounted" }
        if log.authors.count > LogLimits.authors { return "too many authors" }
        if room.members.count > mostMembers { return "too many members" }
        if room.names.count > LogLimits.names { return "too many names" }
        if room.formerMembers.count > LogLimits.rememberedMembers { return "too many former members" }
        if room.rates.count > LogLimits.rememberedMembers { return "too many rates" }
        if room.partials.newest.count > 16 { return "too many partial captions" }
        if room.drafts.count > LogLimits.unsentEntries { return "too many drafts" }
        for member in room.members {
            let link = member.link
            if member.settled.count > LogLimits.keptReceipts { return "too many results are kept" }
            if link.inFlight < 0 || link.inFlight > 2 * LogLimits.window + LogLimits.entryBody {
                return "\(link.inFlight) bytes are in flight"
            }
        }
        return nil
    }
}
