import BeamWire

/// What has become of a message.
struct MessageResult: Sendable {
    var author: LogAuthor
    var receipt: LogMessage.Receipt
}

/// Which recipients have yet to get which messages: the keeper's members, or among equals the runs of others' programs.
struct MessageDeliveries<Recipient: Hashable & Sendable>: Sendable {
    typealias Result = MessageResult

    private struct Open: Sendable {
        var number: UInt32
        var waiting: Set<Recipient>
        var count: Int
        var hasLost = false
    }

    private var open: [LogAuthor: [Open]] = [:]

    mutating func add(
        _ author: LogAuthor, _ number: UInt32, waiting: Set<Recipient>, count: Int = 0
    ) -> [Result] {
        let message = Open(number: number, waiting: waiting, count: count)
        guard !waiting.isEmpty else { return [result(author, message)] }
        open[author, default: []].append(message)
        guard let count = open[author]?.count, count > LogLimits.openMessages,
            let oldest = open[author]?.removeFirst()
        else { return [] }
        return [result(author, oldest)]
    }

    mutating func confirmed(_ author: LogAuthor, upTo number: UInt32, by recipient: Recipient) -> [Result] {
        guard open[author] != nil else { return [] }
        return update(author) { message in
            guard message.number <= number, message.waiting.remove(recipient) != nil else { return }
            message.count += 1
        }
    }

    mutating func left(_ recipient: Recipient) -> [Result] {
        open.keys.flatMap { author in
            update(author) { if $0.waiting.remove(recipient) != nil { $0.hasLost = true } }
        }
    }

    mutating func left(where hasLeft: (Recipient) -> Bool) -> [Result] {
        open.keys.flatMap { author in
            update(author) { message in
                // Each status of a member asks, and hardly ever anybody has left: nothing is copied then.
                guard message.waiting.contains(where: hasLeft) else { return }
                message.waiting = message.waiting.filter { !hasLeft($0) }
                message.hasLost = true
            }
        }
    }

    private mutating func update(_ author: LogAuthor, _ change: (inout Open) -> Void) -> [Result] {
        guard var messages = open.removeValue(forKey: author) else { return [] }
        for index in messages.indices { change(&messages[index]) }
        let done = messages.filter(\.waiting.isEmpty)
        if !done.isEmpty { messages.removeAll(where: \.waiting.isEmpty) }
        if !messages.isEmpty { open[author] = messages }
        return done.map { result(author, $0) }
    }

    private func result(_ author: LogAuthor, _ message: Open) -> Result {
        let isLost = message.hasLost || !message.waiting.isEmpty
        let kind: LogMessage.Receipt.Result = message.count > 0 ? .delivered : isLost ? .left : .nobody
        return Result(
            author: author,
            receipt: LogMessage.Receipt(number: message.number, result: kind, count: UInt32(clamping: message.count)))
    }
}
