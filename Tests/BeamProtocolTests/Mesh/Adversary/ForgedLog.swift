@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// An author's log that isn't kept as it ought to be: a copy goes on as another branch.
struct ForgedLog {
    let author: LogAuthor
    private let signing: LogSigning
    private let scope: LogScope
    /// The number of the first entry.
    let first: UInt32
    private(set) var entries: [StoredEntry] = []
    /// The chain's digest before each entry, and after the last.
    private(set) var digests: [[UInt8]]

    /// - Parameter start: the digest before entry `first`; nil: what it ought to be before an author's first.
    init(_ number: UInt8, run: UInt64, _ scope: LogScope, first: UInt32 = 1, start: [UInt8]? = nil) {
        let (signing, device) = LogSigning.simulated(number)
        author = LogAuthor(device: device, run: run)
        (self.signing, self.scope, self.first) = (signing, scope, first)
        digests = [start ?? EntryChain.start(scope, author: author)]
    }

    mutating func add(_ entry: StoredEntry) {
        entries.append(entry)
        digests.append(EntryChain.next(digests[digests.count - 1], entry))
    }

    mutating func write(_ text: String, at milliseconds: UInt64) {
        add(.whole(LogEntry(kind: .note, milliseconds: milliseconds, body: Array(text.utf8))))
    }

    /// The entries from this place on, at most `count`; nil if there are none. `isRedacted`: as digests.
    func batch(from place: Int = 0, count: Int = .max, isRedacted: Bool = false) -> LogMessage.Batch? {
        let part = entries.dropFirst(place).prefix(count)
        guard !part.isEmpty else { return nil }
        let number = first &+ UInt32(place)
        let last = number &+ UInt32(part.count) &- 1
        let end = digests[place + part.count]
        let section = LogMessage.Batch.Section(
            publicKey: signing.publicKey, run: author.run, first: max(1, number), startDigest: digests[place],
            signature: signing.sign(EntryChain.signed(end, number: last, of: author, in: scope)))
        let items = part.map {
            LogMessage.Batch.Item(section: 0, entry: isRedacted ? .redacted(digest: $0.digest) : $0)
        }
        return LogMessage.Batch(sections: [section], items: items)
    }
}
