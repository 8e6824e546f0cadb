import BeamMedia
import BeamWire

/// What this device writes, and what it makes of what others have written.
extension LogExchange {
    /// Writes an entry, in the room or for the next one. `recipient`: the only device that gets a message.
    mutating func say(
        _ content: LogContent, to recipient: DeviceKey? = nil, now: MediaTime
    ) throws(LogFailure) {
        try check(content)
        guard isInRoom else {
            guard draftBytes + content.body.count <= LogLimits.unsentBytes else { throw .full }
            draftBytes += content.body.count
            return drafts.append((content, recipient))
        }
        write(content, to: recipient, now: now)
    }

    /// Throws why that can't be written now.
    func check(_ content: LogContent) throws(LogFailure) {
        if case .note(let text) = content {
            guard !ShownText.line(text).isEmpty else { throw .empty }
            guard text.utf8.count <= LogLimits.note else { throw .tooLong(limit: LogLimits.note) }
            guard takesNotes || configuration.role == .keeper else { throw .notesOff }
        }
        guard content.body.count <= LogLimits.entryBody else { throw .tooLong(limit: LogLimits.entryBody) }
        guard isInRoom || configuration.role != .equal else { throw .nobody }
        guard drafts.count < LogLimits.unsentEntries, !isFull else { throw .full }
    }

    /// The others take less than this device writes.
    private var isFull: Bool {
        guard isInRoom, let index = log.index(of: own) else { return false }
        let last = log.authors[index].last
        func isBehind(_ number: UInt32?) -> Bool { last - min(last, number ?? 0) >= LogLimits.unsentEntries }
        switch configuration.role {
        case .keeper: return false
        case .guest: return isBehind(members.first?.has[own])
        case .equal:
            let up = members.filter(\.link.isGreeted)
            return !up.isEmpty && up.allSatisfy { isBehind($0.link.sent[own]) }
        }
    }

    package mutating func write(_ content: LogContent, to recipient: DeviceKey?, now: MediaTime) {
        guard let number = append(content, to: recipient, now: now) else { return refused(content) }
        switch content {
        case .message(let id, _):
            unsettled[number] = id
            track(LogStore.Arrival(author: own, number: number, entry: entry(content, recipient, now: now)))
        case .member: break
        default: outputs.append(.event(.lines([line(content, by: own, time: age(now: now), now: now)])))
        }
        if case .caption = content { partials.endOwn() }
    }

    /// The room has too many authors. Each message gets a result, and nothing that a person writes is lost in silence.
    private mutating func refused(_ content: LogContent) {
        switch content {
        case .message(let id, _): outputs.append(.event(.undelivered(id: id, reason: .full)))
        case .member: break
        default: outputs.append(.event(.unwritten(content, reason: .full)))
        }
    }

    mutating func append(_ content: LogContent, to recipient: DeviceKey?, now: MediaTime) -> UInt32? {
        append(entry(content, recipient, now: now), now: now)
    }

    /// Returns the number of the entry; nil: there are too many authors.
    private mutating func append(_ entry: LogEntry, now: MediaTime) -> UInt32? {
        markDirty()
        defer { forgetDropped() }
        return log.append(entry, by: own, age: age(now: now))
    }

    /// Writes a message of an equal, `sealed` for its only recipient or for all to read. Returns its number; nil: it isn't
    /// written, which was told.
    mutating func append(_ id: String, _ content: LogContent, sealed: (body: [UInt8], DeviceKey)?, now: MediaTime)
        -> UInt32?
    {
        var entry = entry(content, nil, now: now)
        if let (body, recipient) = sealed {
            entry = LogEntry(kind: .sealed, milliseconds: entry.milliseconds, recipient: recipient, body: body)
        }
        guard let number = append(entry, now: now) else {
            refused(content)
            return nil
        }
        unsettled[number] = id
        return number
    }

    private func entry(_ content: LogContent, _ recipient: DeviceKey?, now: MediaTime) -> LogEntry {
        LogEntry(
            kind: content.kind, milliseconds: age(now: now).inMilliseconds64, recipient: recipient, body: content.body)
    }

    // MARK: What has come

    mutating func tell(_ arrivals: [LogStore.Arrival], now: MediaTime) {
        var lines: [LogLine] = []
        for arrival in arrivals {
            let isHistory = history[arrival.author].map { arrival.number <= $0 } ?? false
            guard let content = LogContent(arrival.entry) ?? opened(arrival) else {
                if arrival.entry.kind == LogEntry.Kind.sealed.rawValue { noteMessage(by: arrival.author) }
                continue
            }
            switch content {
            case .member(let device, let name):
                if isKeeper(arrival.author.device) { setName(PeerText.name(name), of: device) }
            case .message(let id, let json):
                track(arrival)
                noteMessage(by: arrival.author)
                // Among equals everybody has every message, and nobody honest leaves one for a single member unsealed.
                guard arrival.author != own, arrival.entry.recipient.map({ $0 == own.device }) ?? true,
                    !isHistory || configuration.role != .equal
                else { continue }
                outputs.append(
                    .event(
                        .message(
                            LogIncomingMessage(
                                from: arrival.author.device, name: name(of: arrival.author.device), id: id, json: json,
                                isForAll: arrival.entry.recipient == nil))))
            default:
                if case .caption = content, partials.ended(arrival.author, by: arrival.number) {
                    outputs.append(
                        .event(
                            .partial(author: arrival.author.device, name: name(of: arrival.author.device), nil)))
                }
                var line = line(content, by: arrival.author, time: min(arrival.entry.time, age(now: now)), now: now)
                line.isHistory = isHistory
                lines.append(line)
            }
        }
        if !lines.isEmpty { outputs.append(.event(.lines(lines))) }
    }

    private func line(_ content: LogContent, by author: LogAuthor, time: Duration, now: MediaTime) -> LogLine {
        let isKeepers = isKeeper(author.device)
        return LogLine(
            author: author.device, name: name(of: author.device), isOwn: author == own, isKeepers: isKeepers,
            isClaim: isClaim(content, isKeepers: isKeepers), content: content, time: time, age: age(now: now) - time)
    }

    /// What was sealed for this device.
    private func opened(_ arrival: LogStore.Arrival) -> LogContent? {
        guard arrival.entry.kind == LogEntry.Kind.sealed.rawValue, arrival.entry.recipient == own.device,
            let body = configuration.sealing?.open(
                arrival.entry.body, arrival.author.device.bytes + own.device.bytes)
        else { return nil }
        return LogContent(LogEntry(kind: .message, milliseconds: arrival.entry.milliseconds, body: body))
    }

    func isKeeper(_ device: DeviceKey) -> Bool {
        switch configuration.role {
        case .keeper: device == own.device
        case .guest: members.first?.device == device
        case .equal: false
        }
    }

    package func name(of device: DeviceKey) -> String {
        names.shown(device) ?? (device == own.device ? configuration.name : String(device.hex.prefix(8)))
    }

    /// Whether a caption's speaker is only what its author says. The keeper's captions are those of the room's sound: their
    /// speakers are believed, unless one is called as a member is. Among equals nobody's are.
    func isClaim(_ content: LogContent, isKeepers: Bool) -> Bool {
        guard configuration.role != .equal else { return true }
        guard case .caption(_, let speaker?) = content else { return false }
        return !isKeepers || names.contains(speaker)
    }

    /// The member that is called so, or has this key in hexadecimal digits; nil: nobody is, or several are.
    func device(called name: String) -> DeviceKey? {
        if let key = DeviceKey(hex: name) { return key }
        var devices = Set(names.devices(called: name))
        switch configuration.role {
        case .keeper: devices.formIntersection(members.map(\.device))
        case .guest: break
        case .equal: devices.formIntersection(people)
        }
        devices.remove(own.device)
        return devices.count == 1 ? devices.first : nil
    }

    // MARK: Messages' results

    /// The keeper notes who has to get a message.
    private mutating func track(_ arrival: LogStore.Arrival) {
        guard configuration.role == .keeper else { return }
        let recipient = arrival.entry.recipient
        let waiting = members.filter {
            ($0.device != arrival.author.device || $0.run != arrival.author.run)
                && (recipient == nil || $0.device == recipient)
        }
        let isForKeeper = arrival.author != own && (recipient == nil || recipient == own.device)
        settleMessages(
            deliveries.add(
                arrival.author, arrival.number, waiting: Set(waiting.map(\.id)), count: isForKeeper ? 1 : 0))
    }

    mutating func settleMessages(_ results: [MessageResult]) {
        for result in results {
            if result.author == own {
                settle(result.receipt)
                continue
            }
            guard
                let index = members.firstIndex(where: {
                    $0.device == result.author.device && $0.run == result.author.run
                })
            else { continue }
            members[index].settled.append(result.receipt)
            if members[index].settled.count > LogLimits.keptReceipts { members[index].settled.removeFirst() }
            if members[index].isConnected { members[index].link.receipts.append(result.receipt) }
            markDirty(index)
        }
    }

    mutating func take(_ receipts: [LogMessage.Receipt]) {
        guard configuration.role == .guest else { return }
        for receipt in receipts { settle(receipt) }
    }

    private mutating func settle(_ receipt: LogMessage.Receipt) {
        guard let id = unsettled.removeValue(forKey: receipt.number) else { return }
        switch receipt.result {
        case .delivered: outputs.append(.event(.delivered(id: id, count: Int(receipt.count))))
        case .nobody: outputs.append(.event(.undelivered(id: id, reason: .nobody)))
        case .left: outputs.append(.event(.undelivered(id: id, reason: .left)))
        }
    }
}
