import BeamMedia
import BeamWire

/// Partial captions: the newest of each author. None is kept in the log.
struct LogPartials: Sendable {
    struct Held: Sendable {
        var author: LogAuthor
        var message: LogMessage.Partial
    }

    /// More authors than this don't speak at a time.
    private static let most = 16

    private(set) var newest: [Held] = []
    private(set) var ownCounter: UInt32 = 0
    private(set) var isSpeaking = false

    /// What this device is just saying; empty: nothing any more. Nil: there is nothing to tell.
    mutating func speak(_ text: String, speaker: String?, by own: LogAuthor, log: LogStore, _ signing: LogSigning)
        -> LogMessage.Partial?
    {
        guard !text.isEmpty || isSpeaking else { return nil }
        let body = text.isEmpty ? [] : LogContent.caption(text: text, speaker: speaker).body
        guard body.count <= LogLimits.entryBody else { return nil }
        ownCounter += 1
        isSpeaking = !text.isEmpty
        return LogMessage.Partial(
            body, after: log.last(of: own), counter: ownCounter, run: own.run, scope: log.scope, signing: signing)
    }

    /// The next one that a member doesn't have.
    func next(for link: LogLink, of device: DeviceKey, log: LogStore) -> Held? {
        newest.first { held in
            guard link.partials[held.author] != held.message.counter, held.author.device != device else { return false }
            // The caption itself has gone out, or goes first.
            guard log.last(of: held.author) <= held.message.after else { return false }
            // The captions before it go first, too: with the next batch, after which this is called again.
            return link.sent[held.author] ?? 0 >= held.message.after || link.cursor >= log.end
        }
    }

    mutating func endOwn() { isSpeaking = false }

    /// Whether this is newer than what is known of its author.
    func isNew(_ counter: UInt32, of author: LogAuthor) -> Bool {
        newest.first { $0.author == author }.map { counter > $0.message.counter } ?? true
    }

    /// Returns the author whose words went, because too many speak at a time.
    mutating func hold(_ partial: LogMessage.Partial, of author: LogAuthor) -> LogAuthor? {
        newest.removeAll { $0.author == author }
        let silenced = newest.count >= Self.most ? newest.removeFirst().author : nil
        newest.append(Held(author: author, message: partial))
        return silenced
    }

    /// A caption has come: true if it ends what its author was saying.
    mutating func ended(_ author: LogAuthor, by number: UInt32) -> Bool {
        guard let index = newest.firstIndex(where: { $0.author == author }), newest[index].message.after < number,
            !newest[index].message.body.isEmpty
        else { return false }
        newest[index].message.body = []
        return true
    }
}

extension LogPartial {
    /// From a caption's body; nil if nothing is being said.
    init?(body: [UInt8]) {
        guard !body.isEmpty,
            case .caption(let text, let speaker) = LogContent(LogEntry(kind: .caption, milliseconds: 0, body: body))
        else { return nil }
        self.init(text: text, speaker: speaker)
    }
}

extension LogExchange {
    /// This device is just saying something; empty: not any more.
    mutating func speak(_ text: String, speaker: String?, now: MediaTime) {
        guard isInRoom,
            let said = partials.speak(text, speaker: speaker, by: own, log: log, configuration.signing)
        else { return }
        hold(said, of: own)
        let words = text.isEmpty ? nil : partial(LogPartial(text: text, speaker: speaker), isKeepers: true)
        outputs.append(.event(.partial(author: own.device, name: name(of: own.device), words)))
        markDirty()
    }

    mutating func take(_ partial: LogMessage.Partial, from index: Int, now: MediaTime) {
        // Guests have no captions.
        guard configuration.role != .keeper else { return }
        guard let device = configuration.signing.device(partial.publicKey) else {
            return violated(members[index].id, "it sent a caption of nobody")
        }
        let author = LogAuthor(device: device, run: partial.run)
        guard author != own, !forks.isFrozen(author), partials.isNew(partial.counter, of: author) else { return }
        guard partial.isSigned(in: log.scope, configuration.signing) else {
            let verb = configuration.role == .equal ? "passed on" : "sent"
            return violated(members[index].id, "it \(verb) a caption whose signature is wrong")
        }
        members[index].link.notePartial(of: author, counter: partial.counter)
        hold(partial, of: author)
        // An entry that came meanwhile ends it.
        guard log.last(of: author) <= partial.after else { return }
        let words = LogPartial(body: partial.body).map { self.partial($0, isKeepers: isKeeper(device)) }
        outputs.append(.event(.partial(author: device, name: name(of: device), words)))
    }

    /// Keeps it as its author's newest. The author whose place it takes says nothing any more, and is forgotten at the links,
    /// too: otherwise they would grow with every author that a peer makes up.
    private mutating func hold(_ partial: LogMessage.Partial, of author: LogAuthor) {
        guard let silenced = partials.hold(partial, of: author) else { return }
        for index in members.indices { members[index].link.partials[silenced] = nil }
        outputs.append(.event(.partial(author: silenced.device, name: name(of: silenced.device), nil)))
    }

    private func partial(_ partial: LogPartial, isKeepers: Bool) -> LogPartial {
        var partial = partial
        partial.isClaim = isClaim(.caption(text: partial.text, speaker: partial.speaker), isKeepers: isKeepers)
        return partial
    }

    /// Sends the newest partial captions that the member doesn't have. Returns when the next one may be sent.
    mutating func sendPartials(_ index: Int, now: MediaTime) -> MediaTime {
        let (link, device) = (members[index].link, members[index].device)
        guard link.isGreeted, let held = partials.next(for: link, of: device, log: log) else { return .distantFuture }
        let time = link.partialTime(now: now)
        guard time <= now else { return time }
        members[index].link.sentPartial(of: held.author, counter: held.message.counter, now: now)
        outputs.append(.send(members[index].id, .partial(held.message)))
        return members[index].link.partialTime(now: now + .nanoseconds(1))
    }
}
