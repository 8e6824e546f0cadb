import BeamWire

/// What others are sent.
extension LogStore {
    /// What a peer is to be sent next, and the position to go on from; nil for the batch: it has everything up to there.
    ///
    /// `has` is what the peer has or was sent. `author`: only that author's entries are sent; nil: everybody's. `leavesOut`
    /// says whose aren't for now. `isFor` says whether the peer may read an entry at this position.
    mutating func batch(
        from position: Int, has: [LogAuthor: UInt32], of author: LogAuthor? = nil,
        leavesOut: (LogAuthor) -> Bool = { _ in false }, isFor: (LogEntry, LogAuthor, Int) -> Bool
    ) -> (outgoing: Outgoing?, next: Int) {
        // By the author's index: a reconnection walks through up to 100,000 places.
        var had = [UInt32?](repeating: nil, count: authors.count)
        var draft = BatchDraft()
        var at = index(from: position)
        var accepted = at
        while at < order.count {
            let before = draft.mark
            var isEndOfBlock = false
            while at < order.count, !isEndOfBlock {
                let place = order[at]
                at += 1
                isEndOfBlock = place.endsBlock
                let writer = authors[place.author].author
                let known =
                    had[place.author] ?? (author ?? writer != writer || leavesOut(writer) ? .max : has[writer] ?? 0)
                had[place.author] = known
                guard place.number > known, authors[place.author].serial == place.serial,
                    var content = authors[place.author][place.number]?.content
                else { continue }
                if case .whole(let entry) = content, !isFor(entry, writer, place.position) {
                    content = .redacted(digest: content.digest)
                }
                draft.add(content, number: place.number, of: place.author)
            }
            if !before.isEmpty, !draft.isSmall {
                draft.rewind(to: before)
                break
            }
            accepted = at
        }
        let next = accepted < order.count ? order[accepted].position : end
        return (draft.isEmpty ? nil : finish(draft, has: has), next)
    }

    /// The index of the first place at this position or after it.
    private func index(from position: Int) -> Int {
        var (low, high) = (head, order.count)
        while low < high {
            let middle = (low + high) / 2
            if order[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The position of the author's first kept entry after that one; nil: there is none.
    func position(of author: LogAuthor, after number: UInt32) -> Int? {
        guard let index = indices[author], number < authors[index].last else { return nil }
        return authors[index][max(number + 1, authors[index].first)]?.position
    }

    private mutating func finish(_ draft: BatchDraft, has: [LogAuthor: UInt32]) -> Outgoing? {
        var sections: [LogMessage.Batch.Section] = []
        var newest: [(author: LogAuthor, number: UInt32)] = []
        for (index, numbers) in zip(draft.authors, draft.numbers) {
            guard let signature = authors[index].sign(numbers.upperBound, in: scope, with: signing) else { return nil }
            let log = authors[index]
            // Among equals it is always there: only with it a signature proves what its author has signed.
            let isContinued = scope.keeper != nil && numbers.lowerBound <= (has[log.author] ?? 0) + 1
            newest.append((log.author, numbers.upperBound))
            sections.append(
                LogMessage.Batch.Section(
                    publicKey: log.publicKey, run: log.author.run, first: numbers.lowerBound,
                    startDigest: isContinued ? nil : log.digest(before: numbers.lowerBound), signature: signature))
        }
        return Outgoing(batch: LogMessage.Batch(sections: sections, items: draft.items), newest: newest)
    }
}
