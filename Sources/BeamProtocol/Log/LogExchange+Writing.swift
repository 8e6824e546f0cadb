import BeamMedia

/// What this device writes, and what it makes of what others have written.
extension LogExchange {
    /// Writes an entry, in the room or for the next one. `recipient`: the only device that gets a message.
    mutating func say(
        _ content: LogContent, to recipient: DeviceKey? = nil, now: MediaTime
    ) throws(LogFailure) {
        if case .note(let text) = content {
            guard !ShownText.line(text).isEmpty else { throw .empty }
            guard text.utf8.count <= LogLimits.note else { throw .tooLong(limit: LogLimits.note) }
            guard takesNotes || configuration.role == .keeper else { throw .notesOff }
        }
        guard content.body.count <= LogLimits.entryBody else { throw .tooLong(limit: LogLimits.entryBody) }
        guard drafts.count < LogLimits.unsentEntries, !isFull else { throw .full }
        guard isInRoom else {
            guard draftBytes + content.body.count <= LogLimits.unsentBytes else { throw .full }
            draftBytes += content.body.count
            return drafts.append((content, recipient))
        }
        write(content, to: recipient, now: now)
    }

    /// A guest whose keeper takes less than is written.
    private var isFull: Bool {
        guard configuration.role == .guest, isInRoom, let index = log.index(of: own) else { return false }
        let waiting = log.authors[index].last - min(log.authors[index].last, members.first?.has[own] ?? 0)
        return waiting >= LogLimits.unsentEntries
    }

    mutating func write(_ content: LogContent, to recipient: DeviceKey?, now: MediaTime) {
        guard let number = append(content, to: recipient, now: now) else { return refused(content) }
        switch content {
        case .message(let id, _):
            unsettled[number] = id
            track(LogStore.Arrival(author: own, number: number, entry: entry(content, recipient, now: now)), now: now)
        case .member: break
        default:
            let line = LogLine(
                author: own.device, name: name(of: own.device), isOwn: true, isKeepers: configuration.role == .keeper,
                isClaim: isClaim(content, isKeepers: configuration.role == .keeper), content: content,
                time: age(now: now), age: .zero)
            outputs.append(.event(.lines([line])))
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
        markDirty()
        defer { forgetDropped() }
        return log.append(entry(content, recipient, now: now), by: own, age: age(now: now))
    }

    private func entry(_ content: LogContent, _ recipient: DeviceKey?, now: MediaTime) -> LogEntry {
        LogEntry(
            kind: content.kind, milliseconds: age(now: now).inMilliseconds64, recipient: recipient, body: content.body)
    }

    // MARK: What has come

    mutating func tell(_ arrivals: [LogStore.Arrival], now: MediaTime) {
        var lines: [LogLine] = []
        for arrival in arrivals {
            guard let content = LogContent(arrival.entry) else { continue }
            let isKeepers = isKeeper(arrival.author.device)
            switch content {
            case .member(let device, let name):
                if isKeepers { setName(PeerText.name(name), of: device) }
            case .message(let id, let json):
                track(arrival, now: now)
                guard arrival.author != own, arrival.entry.recipient.map({ $0 == own.device }) ?? true else { continue }
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
                let time = min(arrival.entry.time, age(now: now))
                lines.append(
                    LogLine(
                        author: arrival.author.device, name: name(of: arrival.author.device),
                        isOwn: arrival.author == own, isKeepers: isKeepers,
                        isClaim: isClaim(content, isKeepers: isKeepers), content: content, time: time,
                        age: age(now: now) - time,
                        isHistory: history[arrival.author].map { arrival.number <= $0 } ?? false))
            }
        }
        if !lines.isEmpty { outputs.append(.event(.lines(lines))) }
    }

    func isKeeper(_ device: DeviceKey) -> Bool {
        configuration.role == .keeper ? device == own.device : members.first?.device == device
    }

    func name(of device: DeviceKey) -> String { names.shown(device) ?? String(device.hex.prefix(8)) }

    /// Whether a caption's speaker is only what its author says. The keeper's captions are those of the room's sound: their
    /// speakers are believed, unless one is called as a member is.
    func isClaim(_ content: LogContent, isKeepers: Bool) -> Bool {
        guard case .caption(_, let speaker?) = content else { return false }
        return !isKeepers || names.contains(speaker)
    }

    /// The member that is called so, or has this key in hexadecimal digits; nil: nobody is, or several are.
    func device(called name: String) -> DeviceKey? {
        if let key = DeviceKey(hex: name) { return key }
        var devices = Set(names.devices(called: name))
        if configuration.role == .keeper { devices.formIntersection(members.map(\.device)) }
        devices.remove(own.device)
        return devices.count == 1 ? devices.first : nil
    }

    // MARK: Messages' results

    /// The keeper notes who has to get a message.
    private mutating func track(_ arrival: LogStore.Arrival, now: MediaTime) {
        guard configuration.role == .keeper else { return }
        let recipient = arrival.entry.recipient
        let waiting = members.filter {
            ($0.device != arrival.author.device || $0.run != arrival.author.run)
                && (recipient == nil || $0.device == recipient)
        }
        let isForKeeper = arrival.author != own && (recipient == nil || recipient == own.device)
        settleMessages(
            deliveries.add(
                arrival.author, arrival.number, waiting: Set(waiting.map(\.id)), count: isForKeeper ? 1 : 0), now: now)
    }

    mutating func settleMessages(_ results: [MessageDeliveries.Result], now: MediaTime) {
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
            if members[index].link != nil { members[index].link?.receipts.append(result.receipt) }
            markDirty(index)
        }
    }

    mutating func take(_ receipts: [LogMessage.Receipt], now: MediaTime) {
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
