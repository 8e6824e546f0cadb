import BeamMedia
import BeamWire

/// The log in a room of equals: each member sends its neighbours what they don't have, whoever has written it.
extension Mesh {
    // MARK: Entries that come

    mutating func take(_ batch: LogMessage.Batch, from index: Int, now: MediaTime) {
        guard membership != nil else { return }
        let (id, peer) = (links[index].id, exchange.members[index])
        let (findings, verdicts): ([LogStore.Finding], [Verdict])
        do throws(LogStore.Rejection) {
            findings = try exchange.log.inspect(batch)
            for (finding, section) in zip(findings, batch.sections) where isNewLateStart(finding, now: now) {
                guard exchange.log.isSigned(section, finding) else { throw .signature }
                lateStarts[finding.author] = LateStart(since: now, progress: now)
            }
            verdicts = findings.map { verdict($0, peer, now: now) }
            // Nothing changes before everything was checked. A member checks what it passes on.
            for (place, section) in batch.sections.enumerated() {
                switch verdicts[place] {
                case .taken, .forked, .own:
                    guard exchange.log.isSigned(section, findings[place]) else { throw .signature }
                case .unwanted, .known, .held: break
                }
            }
        } catch {
            return violated(index, "it sent \(error)", now: now)
        }
        let due = charge(findings, verdicts, index, now: now)
        for (place, section) in batch.sections.enumerated() {
            guard case .forked(let number) = verdicts[place],
                let proof = exchange.log.proof(section, batch, place, findings[place], at: number)
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
                let arrivals = try exchange.log.take(batch.only(isTaken), taken, age: age(now: now))
                for finding in taken { lateStarts[finding.author]?.progress = now }
                exchange.forgetDropped()
                exchange.tell(arrivals, now: now)
                passOn(now: now)
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
        _ = exchange.took(cost, from: index, heldUntil: due)
        passOn(now: now)
    }

    /// A log that begins late is believed: what was before is missing.
    private mutating func noteBeginning(
        _ finding: LogStore.Finding, _ batch: LogMessage.Batch, _ place: Int, now: MediaTime
    ) {
        guard finding.relation == .late else { return }
        lateStarts[finding.author] = nil
        catchUp.missingUntil = max(catchUp.missingUntil, .milliseconds(1), exchange.log.completeSince)
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
        let peer = exchange.members[index]
        var (entries, bytes) = (0, 0)
        for (finding, verdict) in zip(findings, verdicts) {
            if verdict == .taken { charge(finding, peer, now: now) }
            guard verdict == .taken || verdict == .known else { continue }
            let isOwn = finding.author.device == peer.device
            let again = exchange.members[index].link.equals.arrived(finding.author, finding.numbers, now: now)
            let count = isOwn ? finding.digests.count - 1 : again
            entries += count
            if count > 0 { bytes += finding.cost }
        }
        return exchange.charge(peer.device, entries: entries, bytes: bytes, now: now)
    }

    /// The sender has what it sent, and perhaps not what is known here besides.
    private mutating func note(
        _ findings: [LogStore.Finding], _ verdicts: [Verdict], _ index: Int, now: MediaTime
    ) {
        var held: [(LogAuthor, Duration)] = []
        for (finding, verdict) in zip(findings, verdicts) {
            if case .held(let pause) = verdict { held.append((finding.author, pause)) }
            guard verdict == .taken || verdict == .known else { continue }
            let sent = exchange.members[index].link.sent[finding.author] ?? 0
            exchange.members[index].link.sent[finding.author] = max(sent, finding.numbers.upperBound)
            noteServed(finding, index, now: now)
        }
        hold(held, index, now: now)
    }

    // MARK: Sending

    /// Sends what is due on a link. Returns when there is something to do for it again.
    mutating func serve(_ index: Int, now: MediaTime) -> MediaTime {
        let next = min(sendStatuses(index, now: now), sendForks(index, now: now), endHolds(index, now: now))
        let time = exchange.serve(index, now: now)
        passOn(now: now)
        return min(next, time)
    }

    /// Carries out what the exchange has decided.
    mutating func passOn(now: MediaTime) {
        for author in exchange.takeMessageAuthors() {
            ownStatus.messageAuthors[author] = now
            ownStatus.isDirty = true
        }
        while let output = exchange.pollOutput() {
            switch output {
            case .send(let id, let message):
                if let index = exchange.index(of: id) { send(.room(message), index, now: now) }
            case .event(let event): outputs.append(.event(.log(event)))
            case .violation(let id, let reason):
                if let index = exchange.index(of: id) { violated(index, reason, now: now) }
            }
        }
    }

    // MARK: Writing

    mutating func handle(_ input: LogInput, now: MediaTime) {
        if case .message(let id, let json, let recipient) = input {
            say(id, json, to: recipient, now: now)
        } else {
            exchange.handle(input, now: now)
        }
        passOn(now: now)
    }

    /// A message between programs. One for a single member is sealed for it.
    private mutating func say(_ id: String, _ json: [UInt8], to recipient: LogInput.Recipient, now: MediaTime) {
        let content = LogContent.message(id: id, json: json)
        do throws(LogFailure) {
            try exchange.check(content)
            var waiting = Set(
                present.filter { $0.device != own.device }.compactMap { person in
                    statuses[person.device].map { LogAuthor(device: person.device, run: $0.run) }
                })
            var sealed: (body: [UInt8], DeviceKey)?
            if let device = try exchange.device(of: recipient) {
                waiting = waiting.filter { $0.device == device }
                guard !waiting.isEmpty, let key = statuses[device]?.sealingKey else { throw .nobody }
                guard let body = configuration.sealing.seal(content.body, key, own.device.bytes + device.bytes),
                    body.count <= LogLimits.entryBody
                else { throw .tooLong(limit: LogLimits.entryBody) }
                sealed = (body, device)
            }
            guard let number = exchange.append(id, content, sealed: sealed, now: now) else { return }
            exchange.settleMessages(deliveries.add(own, number, waiting: waiting))
        } catch {
            exchange.outputs.append(.event(.undelivered(id: id, reason: error)))
        }
    }

    /// A member's status tells what it has. Another run's program isn't the one that a message was written for.
    mutating func confirm(_ status: MemberStatus, of device: DeviceKey, now: MediaTime) {
        exchange.settleMessages(deliveries.left(where: { $0.device == device && $0.run != status.run }))
        let recipient = LogAuthor(device: device, run: status.run)
        exchange.settleMessages(deliveries.confirmed(own, upTo: status.received[own] ?? 0, by: recipient))
        passOn(now: now)
    }

    func belongs(_ publicKey: [UInt8]) -> Bool {
        configuration.signing.device(publicKey).map(exchange.people.contains) ?? false
    }
}
