import BeamMedia
import BeamWire

/// The log in a room of equals, where anybody may bring anybody's entries.
extension LogStore {
    /// A section of a batch beside what is here of its author. Its signature isn't checked yet.
    struct Finding: Sendable {
        enum Relation: Hashable, Sendable {
            /// All of it is here, or was.
            case known
            /// It goes on where this log ends, or before.
            case follows
            /// Something between this log's end and its beginning is missing.
            case late
            /// At this number the two differ: its author or its sender has lied.
            case differs(at: UInt32)
        }

        var author: LogAuthor
        /// The numbers of its entries.
        var numbers: ClosedRange<UInt32>
        /// The chain's digest before the first, and after each.
        var digests: [[UInt8]]
        var relation: Relation
        var cost: Int

        /// After the entry with this number, or before the first.
        func digest(after number: UInt32) -> [UInt8] { digests[Int(clamping: number - (numbers.lowerBound - 1))] }
    }

    /// Looks at a batch that a member has sent. Throws if that member has broken the rules: whoever passes entries on has
    /// whole ones, and knows the digest before them.
    func inspect(_ batch: LogMessage.Batch) throws(Rejection) -> [Finding] {
        try Self.checkSize(batch)
        var digests: [[[UInt8]]] = []
        for section in batch.sections {
            guard let start = section.startDigest else { throw .notWhole }
            digests.append([start])
        }
        var costs = [Int](repeating: 0, count: batch.sections.count)
        for item in batch.items {
            guard case .whole = item.entry else { throw .notWhole }
            let section = Int(item.section)
            digests[section].append(EntryChain.next(digests[section][digests[section].count - 1], item.entry))
            costs[section] += item.entry.cost
        }
        var findings: [Finding] = []
        for (place, section) in batch.sections.enumerated() {
            guard let device = signing.device(section.publicKey) else { throw .author }
            let author = LogAuthor(device: device, run: section.run)
            guard !findings.contains(where: { $0.author == author }) else { throw .author }
            let (end, isTooMuch) = section.first.addingReportingOverflow(UInt32(digests[place].count - 1))
            guard !isTooMuch else { throw .gap }
            // Every member knows where a log begins.
            guard section.first > 1 || digests[place][0] == EntryChain.start(scope, author: author) else {
                throw .signature
            }
            findings.append(
                Finding(
                    author: author, numbers: section.first...(end - 1), digests: digests[place], relation: .known,
                    cost: costs[place]))
            findings[place].relation = relation(findings[place])
        }
        return findings
    }

    private func relation(_ finding: Finding) -> Finding.Relation {
        let numbers = finding.numbers
        guard let index = indices[finding.author] else { return numbers.lowerBound == 1 ? .follows : .late }
        let log = authors[index]
        guard numbers.lowerBound - 1 <= log.last else { return .late }
        // Digests that differ once differ from there on: it is enough to compare the last ones that both have.
        let common = min(numbers.upperBound, log.last)
        // What was before the first kept entry can't be compared.
        guard let own = log.digest(before: common + 1) else { return .known }
        guard own == finding.digest(after: common) else { return .differs(at: common) }
        return numbers.upperBound <= log.last ? .known : .follows
    }

    /// Puts entries before the first kept one that follow from what they begin with. Returns those that were missing; none
    /// if they don't fit: then the author has forked its log, which comes out where both go on.
    mutating func prepend(_ refill: LogRefill, to author: LogAuthor, age: Duration) -> [Arrival] {
        guard let index = indices[author], authors[index].first == refill.numbers.upperBound,
            authors[index].startDigest == refill.digest
        else { return [] }
        let before = authors[index]
        authors[index] = before.preceded(
            by: refill.entries, from: refill.startDigest, signatures: refill.signatures, serial: nextSerial,
            position: end, age: age, in: scope)
        nextSerial += 1
        let log = authors[index]
        for number in log.first...log.last {
            order.append(
                Place(
                    position: end, author: index, serial: log.serial, number: number,
                    endsBlock: log[number]?.signature != nil))
            end += 1
        }
        for entry in refill.entries { count(entry, of: author.device, 1) }
        let arrivals = (log.first..<before.first).compactMap { number -> Arrival? in
            guard before.missing.contains(where: { $0.contains(number) }),
                case .whole(let entry)? = log[number]?.content
            else { return nil }
            return Arrival(author: author, number: number, entry: entry)
        }
        trim()
        return arrivals
    }

    /// The author of the section has signed what is sent.
    func isSigned(_ section: LogMessage.Batch.Section, _ finding: Finding) -> Bool {
        let number = finding.numbers.upperBound
        let signed = EntryChain.signed(
            finding.digest(after: number), number: number, of: finding.author, in: scope)
        return signing.verify(section.signature, signed, section.publicKey)
    }

    /// Two things that the author has signed, if they differ at this number; the section's signature was checked. Nil: what
    /// is here is too old to be proved.
    func proof(
        _ section: LogMessage.Batch.Section, _ batch: LogMessage.Batch, _ place: Int, _ finding: Finding,
        at number: UInt32
    ) -> ForkProof? {
        guard let index = indices[finding.author], let own = authors[index].digest(before: number + 1),
            let signed = authors[index].signed(from: number)
        else { return nil }
        let theirs = finding.digest(after: number)
        if number == finding.numbers.upperBound {
            return ForkProof(
                publicKey: section.publicKey, run: section.run, number: number, digest: theirs,
                signature: section.signature, other: own, entries: signed.entries, otherSignature: signed.signature)
        }
        // The newest entry that is here: its signature is.
        guard signed.entries.isEmpty else { return nil }
        let entries = batch.items.filter { Int($0.section) == place }.map(\.entry.digest)
        return ForkProof(
            publicKey: section.publicKey, run: section.run, number: number, digest: own, signature: signed.signature,
            other: theirs, entries: Array(entries.suffix(Int(clamping: finding.numbers.upperBound - number))),
            otherSignature: section.signature)
    }

    /// Adds what is new of a batch whose sections were inspected and whose signatures were checked. Returns that.
    mutating func take(
        _ batch: LogMessage.Batch, _ findings: [Finding], age: Duration
    ) throws(Rejection) -> [Arrival] {
        var next = findings.map(\.numbers.lowerBound)
        let isNew = batch.items.map { item in
            let place = Int(item.section)
            defer { next[place] += 1 }
            return next[place] > last(of: findings[place].author)
        }
        guard isNew.contains(true) else { return [] }
        return try add(batch, of: findings.map(\.author), isNew: isNew, age: age, keeps: { _ in true })
    }
}

extension LogMessage.Batch {
    /// Only those sections; at least one.
    func only(_ isIncluded: [Bool]) -> LogMessage.Batch {
        if !isIncluded.contains(false) { return self }
        var places = [UInt8](repeating: 0, count: isIncluded.count)
        var next: UInt8 = 0
        for (place, isIncluded) in isIncluded.enumerated() where isIncluded {
            places[place] = next
            next += 1
        }
        return LogMessage.Batch(
            sections: zip(sections, isIncluded).filter(\.1).map(\.0),
            items: items.filter { isIncluded[Int($0.section)] }.map {
                Item(section: places[Int($0.section)], entry: $0.entry)
            })
    }
}
