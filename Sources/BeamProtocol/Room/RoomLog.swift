import BeamMedia

/// Everything that was written in a room: a log for each author, and the order in which the entries came here.
///
/// Entries are identified by their author and number, so one that comes twice is kept once. When there are too many, the
/// oldest go, and so does the oldest run of the device with the most runs, when there are too many authors.
struct RoomLog: Sendable {
    /// A place in the order of arrival.
    struct Place: Sendable {
        /// The author's index, and the serial number of its log: another one may have that index by now.
        var author: Int
        var serial: UInt64
        var number: UInt32
        /// When it was written. Not after it came.
        var time: Duration
        /// The last entry of what came together: up to here each author's newest entry is signed.
        var endsBlock: Bool
    }

    enum Rejection: Error, CustomStringConvertible {
        case author
        case tooManyAuthors
        case gap
        case signature
        case size

        var description: String {
            switch self {
            case .author: "entries of another author"
            case .tooManyAuthors: "entries of more than \(RoomLimits.authors) authors"
            case .gap: "entries with a gap before them"
            case .signature: "entries whose signature is wrong"
            case .size: "more than \(RoomLimits.batchBytes) bytes of entries at once"
            }
        }
    }

    /// An entry that is new here.
    struct Arrival: Sendable {
        var author: RoomAuthor
        var number: UInt32
        var entry: RoomEntry
    }

    /// What a peer is to be sent.
    struct Outgoing: Sendable {
        var batch: RoomMessage.Batch
        /// The authors of its sections, and their last entries' numbers.
        var newest: [(author: RoomAuthor, number: UInt32)]
    }

    let scope: LogScope
    var room: [UInt8] { scope.room }
    private let signing: RoomSigning
    private(set) var authors: [AuthorLog] = []
    private var indices: [RoomAuthor: Int] = [:]
    private var nextSerial: UInt64 = 1
    /// Authors whose logs are kept when there are too many: this device, and members who are there.
    var presentAuthors: Set<RoomAuthor> = []
    /// Authors whose logs were dropped since `takeDropped` was called.
    private var dropped: [RoomAuthor] = []
    private var order: [Place] = []
    private var head = 0
    /// The place of the first kept entry in the order of arrival.
    private(set) var start = 0
    /// Bytes kept, about.
    private(set) var bytes = 0
    /// The time of the newest entry that was dropped: what is older isn't complete.
    private(set) var completeSince = Duration.zero

    /// `keeper`: the host whose log it is; nil: it is that of a room of equals.
    init(room: [UInt8], keeper: DeviceKey? = nil, signing: RoomSigning) {
        scope = LogScope(room: room, keeper: keeper)
        self.signing = signing
    }

    /// One after the place of the newest entry.
    var end: Int { start + order.count - head }
    var count: Int { order.count - head }

    private func place(_ position: Int) -> Place { order[head + position - start] }

    func index(of author: RoomAuthor) -> Int? { indices[author] }

    /// The number of the author's newest entry; 0: there is none.
    func last(of author: RoomAuthor) -> UInt32 { index(of: author).map { authors[$0].last } ?? 0 }

    private func entry(at place: Place) -> StoredEntry? {
        authors[place.author].serial == place.serial ? authors[place.author][place.number]?.content : nil
    }

    /// The newest entry of each author.
    var has: [RoomAuthor: UInt32] {
        Dictionary(uniqueKeysWithValues: authors.filter { $0.last > 0 }.map { ($0.author, $0.last) })
    }

    /// The same, with what is kept of each.
    var kept: [RoomAuthor: MeshMessage.KeptEntries] {
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
    mutating func append(_ entry: RoomEntry, by author: RoomAuthor, age: Duration) -> UInt32? {
        guard let index = indexOrNew(author, publicKey: signing.publicKey, age: age) else { return nil }
        add(.whole(entry), to: index, endsBlock: true, age: age)
        trim()
        return authors[index].last
    }

    /// Takes a batch, or refuses all of it. Returns what is new. `isAuthor` says whose entries the sender may send, `keeps`
    /// whether an entry is kept; of others only the digest is. `age`: of the room.
    mutating func take(
        _ batch: RoomMessage.Batch, age: Duration, isAuthor: (RoomAuthor) -> Bool, keeps: (RoomEntry) -> Bool
    ) throws(Rejection) -> (authors: [RoomAuthor], arrivals: [Arrival]) {
        // Others get it as it came, and have the same limit.
        let size = batch.items.reduce(0) { $0 + $1.entry.cost }
        guard batch.items.count == 1 || size <= RoomLimits.batchBytes else { throw .size }
        // Nothing changes before everything was checked.
        let (senders, isNew) = try check(batch, isAuthor: isAuthor)
        guard isNew.contains(true) else { return (senders, []) }
        return (senders, try add(batch, of: senders, isNew: isNew, age: age, keeps: keeps))
    }

    /// Returns the authors of the sections, and which items are new.
    private func check(
        _ batch: RoomMessage.Batch, isAuthor: (RoomAuthor) -> Bool
    ) throws(Rejection) -> (authors: [RoomAuthor], isNew: [Bool]) {
        var senders: [RoomAuthor] = []
        var last: [UInt32] = []
        var digests: [[UInt8]] = []
        for section in batch.sections {
            guard let device = signing.device(section.publicKey) else { throw .author }
            let author = RoomAuthor(device: device, run: section.run)
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

    private mutating func add(
        _ batch: RoomMessage.Batch, of senders: [RoomAuthor], isNew: [Bool], age: Duration,
        keeps: (RoomEntry) -> Bool
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
            guard let digest = section.startDigest else { continue }
            bytes -= authors[index].skip(to: section.first, digest: digest)
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
        authors[index].append(entry)
        var time = age
        if case .whole(let entry) = entry { time = min(entry.time, age) }
        order.append(
            Place(
                author: index, serial: authors[index].serial, number: authors[index].last, time: time,
                endsBlock: endsBlock))
        bytes += entry.cost
    }

    // MARK: Bounds

    private mutating func trim() {
        while count > RoomLimits.entries || bytes > RoomLimits.bytes, count > 1 {
            let place = order[head]
            if let entry = entry(at: place) {
                if case .whole = entry { completeSince = max(completeSince, place.time) }
                if authors[place.author].first == place.number { bytes -= authors[place.author].dropFirst() }
            }
            head += 1
            start += 1
            if head > 1024, head > order.count / 2 {
                order.removeFirst(head)
                head = 0
            }
        }
    }

    private mutating func indexOrNew(_ author: RoomAuthor, publicKey: [UInt8], age: Duration) -> Int? {
        if let index = indices[author] { return index }
        let log = AuthorLog(author: author, serial: nextSerial, publicKey: publicKey, scope: scope)
        let index: Int
        if authors.count < RoomLimits.authors {
            index = authors.count
            authors.append(log)
        } else {
            guard let freed = dropAuthor(age: age) else { return nil }
            index = freed
            authors[index] = log
        }
        nextSerial += 1
        indices[author] = index
        return index
    }

    /// Drops the log of the oldest run of the device that has the most runs here, so that somebody who starts a program
    /// again and again loses only what he has written. Returns its index.
    private mutating func dropAuthor(age: Duration) -> Int? {
        var runs: [DeviceKey: Int] = [:]
        for log in authors { runs[log.author.device, default: 0] += 1 }
        let candidates = authors.indices.filter { !presentAuthors.contains(authors[$0].author) }
        func rank(_ index: Int) -> (Int, UInt64) {
            (-(runs[authors[index].author.device] ?? 0), authors[index].serial)
        }
        guard let index = candidates.min(by: { rank($0) < rank($1) }) else { return nil }
        let log = authors[index]
        if case .whole(let entry) = log[log.last]?.content { completeSince = max(completeSince, min(entry.time, age)) }
        bytes -= log.cost
        indices[log.author] = nil
        dropped.append(log.author)
        return index
    }

    /// Authors whose logs were dropped since the last call: nobody has to know any more who has what of them.
    mutating func takeDropped() -> [RoomAuthor] {
        defer { dropped = [] }
        return dropped
    }

    // MARK: Batches for others

    /// What a peer is to be sent next, and the place to go on from; nil for the batch: it has everything up to there.
    ///
    /// `has` is what the peer has or was sent. `author`: only that author's entries are sent; nil: everybody's. `isFor` says
    /// whether the peer may read an entry at this place.
    mutating func batch(
        from position: Int, has: [RoomAuthor: UInt32], of author: RoomAuthor? = nil,
        isFor: (RoomEntry, RoomAuthor, Int) -> Bool
    ) -> (outgoing: Outgoing?, next: Int) {
        // By the author's index: a reconnection walks through up to 100,000 places.
        var had = [UInt32?](repeating: nil, count: authors.count)
        var draft = BatchDraft()
        var position = max(position, start)
        var accepted = position
        while position < end {
            let before = draft.mark
            var isEndOfBlock = false
            while position < end, !isEndOfBlock {
                let place = place(position)
                isEndOfBlock = place.endsBlock
                let known = had[place.author] ?? known(authors[place.author].author, has, of: author)
                had[place.author] = known
                if place.number > known, var content = entry(at: place) {
                    if case .whole(let entry) = content, !isFor(entry, authors[place.author].author, position) {
                        content = .redacted(digest: content.digest)
                    }
                    draft.add(content, number: place.number, of: place.author)
                }
                position += 1
            }
            if !before.isEmpty, !draft.isSmall {
                draft.rewind(to: before)
                break
            }
            accepted = position
        }
        guard !draft.isEmpty else { return (nil, accepted) }
        return (finish(draft, has: has), accepted)
    }

    private func known(_ author: RoomAuthor, _ has: [RoomAuthor: UInt32], of only: RoomAuthor?) -> UInt32 {
        if let only, author != only { return .max }
        return has[author] ?? 0
    }

    private mutating func finish(_ draft: BatchDraft, has: [RoomAuthor: UInt32]) -> Outgoing? {
        var sections: [RoomMessage.Batch.Section] = []
        var newest: [(author: RoomAuthor, number: UInt32)] = []
        for (index, numbers) in zip(draft.authors, draft.numbers) {
            guard let signature = authors[index].sign(numbers.upperBound, in: scope, with: signing) else { return nil }
            let log = authors[index]
            // Among equals it is always there: only with it a signature proves what its author has signed.
            let isContinued = scope.keeper != nil && numbers.lowerBound <= (has[log.author] ?? 0) + 1
            newest.append((log.author, numbers.upperBound))
            sections.append(
                RoomMessage.Batch.Section(
                    publicKey: log.publicKey, run: log.author.run, first: numbers.lowerBound,
                    startDigest: isContinued ? nil : log.digest(before: numbers.lowerBound), signature: signature))
        }
        return Outgoing(batch: RoomMessage.Batch(sections: sections, items: draft.items), newest: newest)
    }
}
