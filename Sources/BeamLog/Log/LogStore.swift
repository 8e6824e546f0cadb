import BeamMedia
import BeamWire

/// Everything that was written in a room: a log for each author, and the order in which the entries came here.
///
/// Entries are identified by their author and number, so one that comes twice is kept once. When there are too many, the
/// device that has most loses its oldest ones, so that nobody's words are pushed out by another's.
struct LogStore: Sendable {
    /// A place in the order of arrival.
    struct Place: Sendable {
        /// Counted from 0, also those that are gone.
        var position: Int
        /// The author's index, and the serial number of its log: another one may have that index by now.
        var author: Int
        var serial: UInt64
        var number: UInt32
        /// The last entry of what came together: up to here each author's newest entry is signed.
        var endsBlock: Bool
    }

    enum Rejection: Error, CustomStringConvertible {
        case author
        case tooManyAuthors
        case gap
        case signature
        case size
        /// Among equals: without the digest before, or a digest in place of an entry.
        case notWhole

        var description: String {
            switch self {
            case .author: "entries of another author"
            case .tooManyAuthors: "entries of more than \(LogLimits.authors) authors"
            case .gap: "entries with a gap before them"
            case .signature: "entries whose signature is wrong"
            case .size: "more than \(LogLimits.batchBytes) bytes of entries at once"
            case .notWhole: "entries that aren't whole"
            }
        }
    }

    /// An entry that is new here.
    struct Arrival: Sendable {
        var author: LogAuthor
        var number: UInt32
        var entry: LogEntry
    }

    /// What a peer is to be sent.
    struct Outgoing: Sendable {
        var batch: LogMessage.Batch
        /// The authors of its sections, and their last entries' numbers.
        var newest: [(author: LogAuthor, number: UInt32)]
    }

    /// What a device has written, as far as it is kept.
    struct Share: Sendable {
        var entries = 0
        var bytes = 0
    }

    let scope: LogScope
    let signing: LogSigning
    var authors: [AuthorLog] = []
    var indices: [LogAuthor: Int] = [:]
    var nextSerial: UInt64 = 1
    /// Authors whose logs are kept when there are too many: this device, and members who are there.
    var presentAuthors: Set<LogAuthor> = []
    /// Authors whose logs were dropped since `takeDropped` was called.
    var dropped: [LogAuthor] = []
    /// By position. Places of entries that are gone may be among them.
    var order: [Place] = []
    var head = 0
    /// The position of the next entry.
    var end = 0
    var shares: [DeviceKey: Share] = [:]
    /// Entries kept, and their bytes, about.
    var count = 0
    var bytes = 0
    /// The time of the newest entry that was dropped: what is older isn't complete.
    var completeSince = Duration.zero

    /// `keeper`: the host whose log it is; nil: it is that of a room of equals.
    init(room: [UInt8], keeper: DeviceKey? = nil, signing: LogSigning) {
        scope = LogScope(room: room, keeper: keeper)
        self.signing = signing
    }

    var room: [UInt8] { scope.room }

    /// The position of the first kept entry.
    var start: Int { head < order.count ? order[head].position : end }

    func index(of author: LogAuthor) -> Int? { indices[author] }

    /// The number of the author's newest entry; 0: there is none.
    func last(of author: LogAuthor) -> UInt32 { index(of: author).map { authors[$0].last } ?? 0 }

    func isKept(_ place: Place) -> Bool {
        let log = authors[place.author]
        return log.serial == place.serial && place.number >= log.first && place.number <= log.last
    }

    /// The newest entry of each author.
    var has: [LogAuthor: UInt32] {
        Dictionary(uniqueKeysWithValues: authors.filter { $0.last > 0 }.map { ($0.author, $0.last) })
    }

    /// The same, with what is kept of each.
    var kept: [LogAuthor: MeshMessage.KeptEntries] {
        Dictionary(
            uniqueKeysWithValues: authors.filter { $0.count > 0 }.map { log in
                (
                    log.author,
                    MeshMessage.KeptEntries(first: log.first, last: log.last, digest: EntryChain.mark(log.lastDigest))
                )
            })
    }

    // MARK: Entries that are added

    /// Adds an entry of this device. Returns its number; nil if there are too many authors. `age`: of the room.
    mutating func append(_ entry: LogEntry, by author: LogAuthor, age: Duration) -> UInt32? {
        guard let index = indexOrNew(author, publicKey: signing.publicKey, age: age) else { return nil }
        add(.whole(entry), to: index, endsBlock: true, age: age)
        trim()
        return authors[index].last
    }

    /// Takes a batch of a host's log, or refuses all of it. Returns what is new. `isAuthor` says whose entries the sender may
    /// send, `keeps` whether an entry is kept; of others only the digest is. `age`: of the room.
    mutating func take(
        _ batch: LogMessage.Batch, age: Duration, isAuthor: (LogAuthor) -> Bool, keeps: (LogEntry) -> Bool
    ) throws(Rejection) -> (authors: [LogAuthor], arrivals: [Arrival]) {
        try Self.checkSize(batch)
        // Nothing changes before everything was checked.
        let (senders, isNew) = try check(batch, isAuthor: isAuthor)
        guard isNew.contains(true) else { return (senders, []) }
        return (senders, try add(batch, of: senders, isNew: isNew, age: age, keeps: keeps))
    }

    /// Others get it as it came, and have the same limit.
    static func checkSize(_ batch: LogMessage.Batch) throws(Rejection) {
        let size = batch.items.reduce(0) { $0 + $1.entry.cost }
        guard batch.items.count == 1 || size <= LogLimits.batchBytes else { throw .size }
    }

    /// Returns the authors of the sections, and which items are new.
    private func check(
        _ batch: LogMessage.Batch, isAuthor: (LogAuthor) -> Bool
    ) throws(Rejection) -> (authors: [LogAuthor], isNew: [Bool]) {
        var senders: [LogAuthor] = []
        var last: [UInt32] = []
        var digests: [[UInt8]] = []
        for section in batch.sections {
            guard let device = signing.device(section.publicKey) else { throw .author }
            let author = LogAuthor(device: device, run: section.run)
            guard isAuthor(author), !senders.contains(author) else { throw .author }
            let log = indices[author].map { authors[$0] }
            senders.append(author)
            last.append(log?.last ?? 0)
            // A section follows what is here, or brings the digest that it follows.
            if section.first > (log?.last ?? 0) + 1 {
                guard let start = section.startDigest else { throw .gap }
                digests.append(start)
            } else {
                digests.append(log?.lastDigest ?? EntryChain.start(scope, author: author))
            }
        }
        var next = batch.sections.map(\.first)
        var isNew = [Bool](repeating: false, count: batch.items.count)
        for (position, item) in batch.items.enumerated() {
            let section = Int(item.section)
            let number = next[section]
            next[section] &+= 1
            guard next[section] != 0 else { throw .gap }
            guard number > last[section] else { continue }
            isNew[position] = true
            digests[section] = EntryChain.next(digests[section], item.entry)
        }
        for (place, section) in batch.sections.enumerated() where next[place] - 1 > last[place] {
            let signed = EntryChain.signed(
                digests[place], number: next[place] - 1, of: senders[place], in: scope)
            guard signing.verify(section.signature, signed, section.publicKey) else { throw .signature }
        }
        return (senders, isNew)
    }

    /// Adds the new items of a batch that was checked.
    mutating func add(
        _ batch: LogMessage.Batch, of senders: [LogAuthor], isNew: [Bool], age: Duration,
        keeps: (LogEntry) -> Bool
    ) throws(Rejection) -> [Arrival] {
        var isExtended = [Bool](repeating: false, count: batch.sections.count)
        for (item, isNew) in zip(batch.items, isNew) where isNew { isExtended[Int(item.section)] = true }
        var indexOf = [Int](repeating: 0, count: batch.sections.count)
        // The authors of this batch aren't dropped in favour of one another.
        let present = presentAuthors
        defer { presentAuthors = present }
        presentAuthors.formUnion(senders)
        for (place, section) in batch.sections.enumerated() where isExtended[place] {
            guard let index = indexOrNew(senders[place], publicKey: section.publicKey, age: age) else {
                throw .tooManyAuthors
            }
            indexOf[place] = index
            if let digest = section.startDigest { skip(index, to: section.first, digest: digest) }
        }
        var arrivals: [Arrival] = []
        for (item, isNew) in zip(batch.items, isNew) where isNew {
            let index = indexOf[Int(item.section)]
            switch item.entry {
            case .whole(let entry) where keeps(entry):
                add(item.entry, to: index, endsBlock: false, age: age)
                arrivals.append(Arrival(author: authors[index].author, number: authors[index].last, entry: entry))
            default:
                add(.redacted(digest: item.entry.digest), to: index, endsBlock: false, age: age)
            }
        }
        for (place, section) in batch.sections.enumerated() where isExtended[place] {
            authors[indexOf[place]].signLast(section.signature)
        }
        if !order.isEmpty { order[order.count - 1].endsBlock = true }
        trim()
        return arrivals
    }

    private mutating func add(_ entry: StoredEntry, to index: Int, endsBlock: Bool, age: Duration) {
        var time = age
        if case .whole(let entry) = entry { time = min(entry.time, age) }
        authors[index].append(entry, position: end, time: time)
        order.append(
            Place(
                position: end, author: index, serial: authors[index].serial, number: authors[index].last,
                endsBlock: endsBlock))
        end += 1
        count(entry, of: authors[index].author.device, 1)
    }
}
