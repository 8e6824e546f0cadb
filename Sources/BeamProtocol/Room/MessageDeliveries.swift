/// Which members have yet to get which messages.
struct MessageDeliveries: Sendable {
    struct Result: Sendable {
        var author: RoomAuthor
        var receipt: RoomMessage.Receipt
    }

    private struct Open: Sendable {
        var number: UInt32
        var waiting: Set<RoomMemberID>
        var count: Int
        var hasLost = false
    }

    private var open: [RoomAuthor: [Open]] = [:]

    mutating func add(
        _ author: RoomAuthor, _ number: UInt32, waiting: Set<RoomMemberID>, count: Int
    ) -> [Result] {
        let message = Open(number: number, waiting: waiting, count: count)
        guard !waiting.isEmpty else { return [result(author, message)] }
        open[author, default: []].append(message)
        guard let count = open[author]?.count, count > RoomLimits.openMessages,
            let oldest = open[author]?.removeFirst()
        else { return [] }
        return [result(author, oldest)]
    }

    mutating func confirmed(_ author: RoomAuthor, upTo number: UInt32, by member: RoomMemberID) -> [Result] {
        guard open[author] != nil else { return [] }
        return update(author) { message in
            guard message.number <= number, message.waiting.remove(member) != nil else { return }
            message.count += 1
        }
    }

    mutating func left(_ member: RoomMemberID) -> [Result] {
        open.keys.flatMap { author in
            update(author) { if $0.waiting.remove(member) != nil { $0.hasLost = true } }
        }
    }

    private mutating func update(_ author: RoomAuthor, _ change: (inout Open) -> Void) -> [Result] {
        guard var messages = open.removeValue(forKey: author) else { return [] }
        for index in messages.indices { change(&messages[index]) }
        let done = messages.filter(\.waiting.isEmpty)
        if !done.isEmpty { messages.removeAll(where: \.waiting.isEmpty) }
        if !messages.isEmpty { open[author] = messages }
        return done.map { result(author, $0) }
    }

    private func result(_ author: RoomAuthor, _ message: Open) -> Result {
        let isLost = message.hasLost || !message.waiting.isEmpty
        let kind: RoomMessage.Receipt.Result = message.count > 0 ? .delivered : isLost ? .left : .nobody
        return Result(
            author: author,
            receipt: RoomMessage.Receipt(number: message.number, result: kind, count: UInt32(clamping: message.count)))
    }
}
