import BeamMedia
import BeamWire

/// What is dropped when there is too much: of whoever has most, the oldest.
extension LogStore {
    mutating func count(_ entry: StoredEntry, of device: DeviceKey, _ sign: Int) {
        count += sign
        bytes += sign * entry.cost
        var share = shares[device] ?? Share()
        share.entries += sign
        share.bytes += sign * entry.cost
        shares[device] = share.entries > 0 ? share : nil
    }

    /// Drops until there isn't too much. The device that has most is never one under its fair share.
    mutating func trim() {
        while count > LogLimits.entries || bytes > LogLimits.bytes, count > 1 {
            let isByBytes = bytes > LogLimits.bytes
            let most = shares.max { one, other in
                isByBytes ? one.value.bytes < other.value.bytes : one.value.entries < other.value.entries
            }
            guard let device = most?.key, let index = oldestLog(of: device) else { break }
            dropFirst(of: index)
        }
        tidy()
    }

    /// Of the device's logs the one whose first entry came first.
    private func oldestLog(of device: DeviceKey) -> Int? {
        var oldest: (index: Int, position: Int)?
        for (index, log) in authors.enumerated() where log.author.device == device {
            guard let position = log.firstPosition, position < oldest?.position ?? .max else { continue }
            oldest = (index, position)
        }
        return oldest?.index
    }

    private mutating func dropFirst(of index: Int) {
        guard let item = authors[index].dropFirst() else { return }
        if case .whole = item.content { completeSince = max(completeSince, item.time) }
        count(item.content, of: authors[index].author.device, -1)
    }

    /// Forgets the places of entries that are gone, when they are many.
    private mutating func tidy() {
        while head < order.count, !isKept(order[head]) { head += 1 }
        if head > 1024, head > order.count / 2 {
            order.removeFirst(head)
            head = 0
        }
        guard order.count - head > 2 * count + 1024 else { return }
        var kept: [Place] = []
        kept.reserveCapacity(count)
        for place in order[head...] {
            if isKept(place) {
                kept.append(place)
            } else if place.endsBlock, !kept.isEmpty {
                // Blocks that became one would be longer than what others take at once.
                kept[kept.count - 1].endsBlock = true
            }
        }
        order = kept
        head = 0
    }

    /// Others have dropped what was before `number`: the log goes on there, if nothing newer is known.
    mutating func skip(_ index: Int, to number: UInt32, digest: [UInt8]) {
        guard number > authors[index].last &+ 1 else { return }
        let missing = authors[index].missing
        while authors[index].count > 0 { dropFirst(of: index) }
        authors[index].skip(to: number, digest: digest, missing: missing)
    }

    mutating func indexOrNew(_ author: LogAuthor, publicKey: [UInt8], age: Duration) -> Int? {
        if let index = indices[author] { return index }
        let log = AuthorLog(author: author, serial: nextSerial, publicKey: publicKey, scope: scope)
        let index: Int
        if authors.count < LogLimits.authors {
            index = authors.count
            authors.append(log)
        } else {
            guard let freed = dropAuthor() else { return nil }
            index = freed
            authors[index] = log
        }
        nextSerial += 1
        indices[author] = index
        return index
    }

    /// Drops the log of the oldest run of the device that has the most runs here, so that somebody who starts a program
    /// again and again loses only what he has written. Returns its index.
    private mutating func dropAuthor() -> Int? {
        var runs: [DeviceKey: Int] = [:]
        for log in authors { runs[log.author.device, default: 0] += 1 }
        let candidates = authors.indices.filter { !presentAuthors.contains(authors[$0].author) }
        func rank(_ index: Int) -> (Int, UInt64) {
            (-(runs[authors[index].author.device] ?? 0), authors[index].serial)
        }
        guard let index = candidates.min(by: { rank($0) < rank($1) }) else { return nil }
        let author = authors[index].author
        while authors[index].count > 0 { dropFirst(of: index) }
        indices[author] = nil
        dropped.append(author)
        return index
    }

    /// Authors whose logs were dropped since the last call: nobody has to know any more who has what of them.
    mutating func takeDropped() -> [LogAuthor] {
        defer { dropped = [] }
        return dropped
    }
}
