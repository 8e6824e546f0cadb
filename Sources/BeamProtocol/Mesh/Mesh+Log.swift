import BeamMedia

/// The log in a room of equals: each member sends its neighbours what they don't have, whoever has written it.
extension Mesh {
    // MARK: Entries that come

    mutating func take(_ batch: LogMessage.Batch, from index: Int, now: MediaTime) {
        guard membership != nil else { return }
        let (id, link) = (links[index].id, links[index])
        let (findings, verdicts): ([LogStore.Finding], [Verdict])
        do throws(LogStore.Rejection) {
            findings = try log.inspect(batch)
            for (finding, section) in zip(findings, batch.sections) where isNewLateStart(finding, now: now) {
                guard log.isSigned(section, finding) else { throw .signature }
                lateStarts[finding.author] = LateStart(since: now, progress: now)
            }
            verdicts = findings.map { verdict($0, link, now: now) }
            // Nothing changes before everything was checked. A member checks what it passes on.
            for (place, section) in batch.sections.enumerated() {
                switch verdicts[place] {
                case .taken, .forked, .own:
                    guard log.isSigned(section, findings[place]) else { throw .signature }
                case .unwanted, .known, .held: break
                }
            }
        } catch {
            return violated(index, "it sent \(error)", now: now)
        }
        let due = charge(findings, verdicts, index, now: now)
        for (place, section) in batch.sections.enumerated() {
            guard case .forked(let number) = verdicts[place],
                let proof = log.proof(section, batch, place, findings[place], at: number)
            else { continue }
            adopt(proof, of: findings[place].author)
        }
        let isTaken = verdicts.map { $0 == .taken }
        if isTaken.contains(true) {
            for place in findings.indices where isTaken[place] {
                noteBeginning(findings[place], batch, place, now: now)
            }
            let taken = zip(findings, isTaken).filter(\.1).map(\.0)
            do throws(LogStore.Rejection) {
                let arrivals = try log.take(batch.only(isTaken), taken, age: age(now: now))
                for finding in taken { lateStarts[finding.author]?.progress = now }
                forgetDropped()
                tell(arrivals, now: now)
            } catch {
                return violated(index, "it sent \(error)", now: now)
            }
        }
        do throws(LogStore.Rejection) {
            try refill(batch, findings, verdicts, from: id, now: now)
        } catch {
            return violated(index, "it sent \(error)", now: now)
        }
        if findings.contains(where: { $0.relation == .late }), isTaken.contains(true) { startRefills(now: now) }
        note(findings, verdicts, index, now: now)
        guard let index = self.index(of: id) else { return }
        let cost = findings.reduce(0) { $0 + $1.cost }
        guard links[index].entries.took(cost, heldUntil: due) else {
            return violated(
                index, "it sent more than \(LogLimits.window) bytes without waiting for an answer", now: now)
        }
    }

    /// A log that begins late is believed: what was before is missing.
    private mutating func noteBeginning(
        _ finding: LogStore.Finding, _ batch: LogMessage.Batch, _ place: Int, now: MediaTime
    ) {
        guard finding.relation == .late else { return }
        lateStarts[finding.author] = nil
        catchUp.missingUntil = max(catchUp.missingUntil, .milliseconds(1), log.completeSince)
        if case .whole(let entry) = batch.items.first(where: { Int($0.section) == place })?.entry {
            catchUp.missingUntil = max(catchUp.missingUntil, min(entry.time, age(now: now)))
        }
        catchUp.isDirty = true
    }

    /// The sender pays for what it has written itself, and for what it sends again; the author for the rest. Returns until
    /// when the sender has to wait.
    private mutating func charge(
        _ findings: [LogStore.Finding], _ verdicts: [Verdict], _ index: Int, now: MediaTime
    ) -> MediaTime {
        let (link, device) = (links[index], links[index].device)
        var (entries, bytes) = (0, 0)
        for (finding, verdict) in zip(findings, verdicts) {
            if verdict == .taken { charge(finding, link, now: now) }
            guard verdict == .taken || verdict == .known else { continue }
            let isOwn = finding.author.device == device
            let again = links[index].entries.exchange.arrived(finding.author, finding.numbers, now: now)
            let count = isOwn ? finding.digests.count - 1 : again
            entries += count
            if count > 0 { bytes += finding.cost }
        }
        return charge(device, entries: entries, bytes: bytes, now: now)
    }

    /// The sender has what it sent, and perhaps not what is known here besides.
    private mutating func note(
        _ findings: [LogStore.Finding], _ verdicts: [Verdict], _ index: Int, now: MediaTime
    ) {
        var held: [(LogAuthor, Duration)] = []
        for (finding, verdict) in zip(findings, verdicts) {
            if case .held(let pause) = verdict { held.append((finding.author, pause)) }
            guard verdict == .taken || verdict == .known else { continue }
            let sent = links[index].entries.sent[finding.author] ?? 0
            links[index].entries.sent[finding.author] = max(sent, finding.numbers.upperBound)
            noteServed(finding, index, now: now)
        }
        hold(held, index, now: now)
    }

    private mutating func charge(_ device: DeviceKey, entries: Int, bytes: Int, now: MediaTime) -> MediaTime {
        guard entries > 0 else { return now }
        if rates.count >= LogLimits.rememberedMembers { rates = rates.filter { !$0.value.isIdle(now: now) } }
        return rates[device, default: AuthorRate()].add(entries: entries, bytes: bytes, now: now)
    }

    mutating func forgetDropped() {
        for author in log.takeDropped() {
            for index in links.indices { links[index].entries.forget(author) }
        }
    }

    // MARK: Sending

    /// Sends what is due on a link. Returns when there is something to do for it again.
    mutating func serve(_ index: Int, now: MediaTime) -> MediaTime {
        var next = min(sendStatuses(index, now: now), sendForks(index, now: now), endHolds(index, now: now))
        if let time = links[index].entries.patience {
            guard time > now else {
                violated(index, "it doesn't confirm what it is sent", now: now)
                return .distantFuture
            }
            next = min(next, time)
        }
        while links[index].entries.cursor < log.end, let time = links[index].entries.batchTime(now: now) {
            guard time <= now else {
                next = min(next, time)
                break
            }
            let (holds, forks) = (links[index].entries.exchange.holds, forks)
            let found = log.batch(
                from: links[index].entries.cursor, has: links[index].entries.sent,
                leavesOut: { holds[$0] != nil || forks.isFrozen($0) }, isFor: { _, _, _ in true })
            links[index].entries.cursor = found.next
            guard let outgoing = found.outgoing else { continue }
            links[index].entries.sent(outgoing, now: now)
            send(.room(.batch(outgoing.batch)), index, now: now)
        }
        if let time = links[index].entries.patience { next = min(next, time) }
        if let time = links[index].entries.acknowledgementTime(now: now) {
            if time <= now {
                send(.room(.acknowledged(links[index].entries.acknowledge(now: now))), index, now: now)
            } else {
                next = min(next, time)
            }
        }
        if let isSlowed = links[index].entries.slowedChange(now: now) {
            send(.room(.slowed(isSlowed)), index, now: now)
        }
        if let end = links[index].entries.slowedEnd { next = min(next, end) }
        return min(next, sendPartials(index, now: now))
    }

    // MARK: Writing

    mutating func handle(_ input: LogInput, now: MediaTime) {
        switch input {
        case .partial(let text, let speaker): speak(text, speaker: speaker, now: now)
        case .caption(let text, let speaker): attempt(.caption(text: text, speaker: speaker), now: now)
        case .note(let text): attempt(.note(text), now: now)
        case .alert(let alert): attempt(.alert(alert), now: now)
        case .message(let id, let json, let recipient): say(id, json, to: recipient, now: now)
        }
    }

    private func failure(_ content: LogContent) -> LogFailure? {
        if case .note(let text) = content, text.utf8.count > LogLimits.note { return .tooLong(limit: LogLimits.note) }
        if case .note(let text) = content, ShownText.line(text).isEmpty { return .empty }
        if content.body.count > LogLimits.entryBody { return .tooLong(limit: LogLimits.entryBody) }
        return membership == nil || isEnded ? .nobody : isFull ? .full : nil
    }

    /// Nobody has taken what this device has written for so long that it waits for somebody.
    private var isFull: Bool {
        let up = links.filter(\.isUp)
        guard !up.isEmpty, let place = log.index(of: own) else { return false }
        let last = log.authors[place].last
        return up.allSatisfy { last - min(last, $0.entries.sent[own] ?? 0) >= LogLimits.unsentEntries }
    }

    private mutating func attempt(_ content: LogContent, now: MediaTime) {
        if let failure = failure(content) { return outputs.append(.event(.unwritten(content, reason: failure))) }
        write(content, to: nil, now: now)
    }

    mutating func write(_ content: LogContent, to recipient: DeviceKey?, now: MediaTime) {
        let milliseconds = age(now: now).inMilliseconds64
        let entry = LogEntry(kind: content.kind, milliseconds: milliseconds, recipient: recipient, body: content.body)
        guard log.append(entry, by: own, age: age(now: now)) != nil else {
            return outputs.append(.event(.unwritten(content, reason: .full)))
        }
        forgetDropped()
        if case .caption = content { partials.endOwn() }
        outputs.append(.event(.lines([line(content, by: own, time: age(now: now), now: now)])))
    }

    /// A message between programs. One for a single member is sealed for it.
    private mutating func say(_ id: String, _ json: [UInt8], to recipient: LogInput.Recipient, now: MediaTime) {
        let content = LogContent.message(id: id, json: json)
        if let failure = failure(content) { return outputs.append(.event(.undelivered(id: id, reason: failure))) }
        var waiting: [DeviceKey: UInt64] = [:]
        for person in present where person.device != own.device {
            waiting[person.device] = statuses[person.device]?.run
        }
        let milliseconds = age(now: now).inMilliseconds64
        var entry = LogEntry(kind: .message, milliseconds: milliseconds, body: content.body)
        if case .named(let name) = recipient {
            guard let device = device(called: name), let run = waiting[device], let key = statuses[device]?.sealingKey
            else { return outputs.append(.event(.undelivered(id: id, reason: .nobody))) }
            waiting = [device: run]
            guard let sealed = configuration.sealing.seal(content.body, key, own.device.bytes + device.bytes),
                sealed.count <= LogLimits.entryBody
            else { return outputs.append(.event(.undelivered(id: id, reason: .tooLong(limit: LogLimits.entryBody)))) }
            entry = LogEntry(kind: .sealed, milliseconds: milliseconds, recipient: device, body: sealed)
        }
        guard let number = log.append(entry, by: own, age: age(now: now)) else {
            return outputs.append(.event(.undelivered(id: id, reason: .full)))
        }
        forgetDropped()
        report(messages.add(id, number, waiting: waiting))
    }

    mutating func report(_ results: [MeshDeliveries.Result]) {
        for result in results {
            switch result {
            case .delivered(let id, let count): outputs.append(.event(.delivered(id: id, count: count)))
            case .undelivered(let id, let reason): outputs.append(.event(.undelivered(id: id, reason: reason)))
            }
        }
    }

    /// A member's status tells what it has.
    mutating func confirm(_ status: MemberStatus, of device: DeviceKey) {
        report(messages.confirmed(upTo: status.received[own] ?? 0, by: device, run: status.run))
    }

    // MARK: What has come

    mutating func tell(_ arrivals: [LogStore.Arrival], now: MediaTime) {
        var lines: [LogLine] = []
        for arrival in arrivals {
            let isNew = arrival.number > history[arrival.author] ?? 0
            guard let content = LogContent(arrival.entry) ?? opened(arrival) else {
                if arrival.entry.kind == LogEntry.Kind.sealed.rawValue { noteMessage(arrival.author, now: now) }
                continue
            }
            if case .member = content { continue }
            if case .message(let id, let json) = content {
                noteMessage(arrival.author, now: now)
                let isForAll = arrival.entry.recipient == nil
                // Nobody honest writes a message for one member that all can read.
                guard isNew, arrival.author != own, isForAll || arrival.entry.recipient == own.device else { continue }
                outputs.append(
                    .event(
                        .message(
                            LogIncomingMessage(
                                from: arrival.author.device, name: name(of: arrival.author.device), id: id, json: json,
                                isForAll: isForAll))))
                continue
            }
            if case .caption = content, partials.ended(arrival.author, by: arrival.number) {
                outputs.append(
                    .event(.partial(author: arrival.author.device, name: name(of: arrival.author.device), nil)))
            }
            var line = line(content, by: arrival.author, time: min(arrival.entry.time, age(now: now)), now: now)
            line.isHistory = !isNew
            lines.append(line)
        }
        if !lines.isEmpty { outputs.append(.event(.lines(lines))) }
    }

    private func opened(_ arrival: LogStore.Arrival) -> LogContent? {
        guard arrival.entry.kind == LogEntry.Kind.sealed.rawValue, arrival.entry.recipient == own.device,
            let body = configuration.sealing.open(
                arrival.entry.body, arrival.author.device.bytes + own.device.bytes)
        else { return nil }
        return LogContent(LogEntry(kind: .message, milliseconds: arrival.entry.milliseconds, body: body))
    }

    /// The author waits to hear that its message has come.
    private mutating func noteMessage(_ author: LogAuthor, now: MediaTime) {
        ownStatus.messageAuthors[author] = now
        ownStatus.isDirty = true
    }

    private func line(_ content: LogContent, by author: LogAuthor, time: Duration, now: MediaTime) -> LogLine {
        LogLine(
            author: author.device, name: name(of: author.device), isOwn: author == own, isKeepers: false,
            isClaim: true, content: content, time: time, age: age(now: now) - time)
    }

    func name(of device: DeviceKey) -> String {
        names.shown(device) ?? (device == own.device ? configuration.name : String(device.hex.prefix(8)))
    }

    /// The member that is called so, or has this key in hexadecimal digits; nil: nobody is, or several are.
    private func device(called name: String) -> DeviceKey? {
        if let key = DeviceKey(hex: name) { return key }
        let found = names.devices(called: name).filter { $0 != own.device && membership?.belongs($0) == true }
        return found.count == 1 ? found[0] : nil
    }

    // MARK: What is just being said

    private mutating func speak(_ text: String, speaker: String?, now: MediaTime) {
        guard membership != nil, partials.speak(text, speaker: speaker, by: own, log: log, configuration.signing) else {
            return
        }
        let words = text.isEmpty ? nil : LogPartial(text: text, speaker: speaker)
        outputs.append(.event(.partial(author: own.device, name: name(of: own.device), words)))
    }

    mutating func take(_ partial: LogMessage.Partial, from index: Int, now: MediaTime) {
        guard let device = configuration.signing.device(partial.publicKey), membership?.belongs(device) == true else {
            return
        }
        let author = LogAuthor(device: device, run: partial.run)
        guard author != own, !forks.isFrozen(author), partials.isNew(partial.counter, of: author) else { return }
        guard partial.isSigned(in: log.scope, configuration.signing) else {
            return violated(index, "it passed on a caption whose signature is wrong", now: now)
        }
        links[index].entries.notePartial(of: author, counter: partial.counter)
        if let silenced = partials.hold(partial, of: author)?.device {
            outputs.append(.event(.partial(author: silenced, name: name(of: silenced), nil)))
        }
        // An entry that came meanwhile ends it.
        guard log.last(of: author) <= partial.after else { return }
        outputs.append(.event(.partial(author: device, name: name(of: device), LogPartial(body: partial.body))))
    }

    /// Sends the newest partial captions that the peer doesn't have. Returns when the next one may be sent.
    private mutating func sendPartials(_ index: Int, now: MediaTime) -> MediaTime {
        let link = links[index]
        guard let held = partials.next(for: link.entries, of: link.device, log: log) else { return .distantFuture }
        let time = link.entries.partialTime(now: now)
        guard time <= now else { return time }
        links[index].entries.sentPartial(of: held.author, counter: held.message.counter, now: now)
        send(.room(.partial(held.message)), index, now: now)
        return links[index].entries.partialTime(now: now + .nanoseconds(1))
    }
}
