import BeamWire

/// One author's entries, in order and without gaps, as far as they are kept.
struct AuthorLog: Sendable {
    struct Item: Sendable {
        var content: StoredEntry
        /// The chain's digest after this entry.
        var digest: [UInt8]
        /// The author's signature of everything up to here; nil: only a later entry's is known, or, for own entries, it
        /// hasn't been needed yet.
        var signature: [UInt8]?
        /// In the order of arrival.
        var position: Int
        /// When it was written. Not after it came.
        var time: Duration
    }

    let author: LogAuthor
    /// Distinguishes the logs that have had the same place in `LogStore.authors`; a later log's is greater.
    let serial: UInt64
    let publicKey: [UInt8]
    /// The number of the first kept entry; an author's first is 1.
    private(set) var first: UInt32 = 1
    /// The chain's digest before that.
    private(set) var startDigest: [UInt8]
    /// The author's signature of everything before the first kept entry, if it was known.
    private(set) var startSignature: [UInt8]?
    /// Numbers before the first kept one that have never been here: others didn't have them, or said so.
    private(set) var missing: [ClosedRange<UInt32>] = []
    private var items: [Item?] = []
    private var head = 0

    init(author: LogAuthor, serial: UInt64, publicKey: [UInt8], scope: LogScope) {
        self.author = author
        self.serial = serial
        self.publicKey = publicKey
        startDigest = EntryChain.start(scope, author: author)
    }

    /// The number of the newest entry; 0: none.
    var last: UInt32 { first + UInt32(items.count - head) - 1 }
    var count: Int { items.count - head }
    var lastDigest: [UInt8] { items.count > head ? items[items.count - 1]?.digest ?? startDigest : startDigest }

    subscript(number: UInt32) -> Item? {
        guard number >= first, number <= last else { return nil }
        return items[head + Int(clamping: number - first)]
    }

    /// The chain's digest before that entry; nil if it isn't known.
    func digest(before number: UInt32) -> [UInt8]? { number == first ? startDigest : self[number &- 1]?.digest }

    mutating func append(_ content: StoredEntry, position: Int, time: Duration) {
        items.append(
            Item(content: content, digest: EntryChain.next(lastDigest, content), position: position, time: time))
    }

    var firstPosition: Int? { items.count > head ? items[head]?.position : nil }

    /// The signed number at or after this one, with the digests of the entries between; nil: none is known.
    func signed(from number: UInt32) -> (entries: [[UInt8]], signature: [UInt8])? {
        if number == first &- 1, let startSignature { return ([], startSignature) }
        if let signature = self[number]?.signature { return ([], signature) }
        var entries: [[UInt8]] = []
        var next = number
        while next < last, entries.count < LogLimits.batchEntries {
            next += 1
            guard let item = self[next] else { return nil }
            entries.append(item.content.digest)
            if let signature = item.signature { return (entries, signature) }
        }
        return nil
    }

    /// Sets the signature of the newest entry.
    mutating func signLast(_ signature: [UInt8]) {
        guard count > 0 else { return }
        items[items.count - 1]?.signature = signature
    }

    mutating func sign(_ number: UInt32, in scope: LogScope, with signing: LogSigning) -> [UInt8]? {
        guard let item = self[number] else { return nil }
        if let signature = item.signature { return signature }
        let signature = signing.sign(EntryChain.signed(item.digest, number: number, of: author, in: scope))
        items[head + Int(clamping: number - first)]?.signature = signature
        return signature
    }

    /// Bytes kept, about.
    var cost: Int { items[head...].reduce(0) { $0 + ($1?.content.cost ?? 0) } }

    /// Drops the oldest entry, and returns it.
    mutating func dropFirst() -> Item? {
        guard count > 0, let item = items[head] else { return nil }
        // There is no room for what was before.
        missing = []
        startDigest = item.digest
        startSignature = item.signature
        items[head] = nil
        head += 1
        first += 1
        if head > 64, head > items.count / 2 {
            items.removeFirst(head)
            head = 0
        }
        return item
    }

    /// Goes on at a later number. The log has no entries.
    ///
    /// - Parameter before: numbers that were missing already; at most `mostGaps` are remembered.
    mutating func skip(to number: UInt32, digest: [UInt8], missing before: [ClosedRange<UInt32>]) {
        let last = last
        items.removeAll()
        head = 0
        missing = before + (last < number - 1 ? [last + 1...number - 1] : [])
        first = number
        startDigest = digest
        startSignature = nil
        missing.removeFirst(max(0, missing.count - Self.mostGaps))
    }

    private static let mostGaps = 16

    /// The same entries after others that come before them, at new positions from `position` on: a log of its own.
    func preceded(
        by entries: [StoredEntry], from digest: [UInt8], signatures: [UInt32: [UInt8]], serial: UInt64, position: Int,
        age: Duration, in scope: LogScope
    ) -> AuthorLog {
        var log = AuthorLog(author: author, serial: serial, publicKey: publicKey, scope: scope)
        let start = first - UInt32(entries.count)
        log.skip(to: start, digest: digest, missing: [])
        log.missing = missing.compactMap { $0.lowerBound < start ? $0.lowerBound...min($0.upperBound, start - 1) : nil }
        for content in entries {
            var time = age
            if case .whole(let entry) = content { time = min(entry.time, age) }
            log.append(content, position: position + log.count, time: time)
            if let signature = signatures[log.last] { log.signLast(signature) }
        }
        for case let item? in items[head...] {
            log.append(item.content, position: position + log.count, time: item.time)
            if let signature = item.signature ?? signatures[log.last] { log.signLast(signature) }
        }
        return log
    }
}
