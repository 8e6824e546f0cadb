import BeamWire

/// A batch that is being put together.
struct BatchDraft {
    var authors: [Int] = []
    /// The entries of each author.
    var numbers: [ClosedRange<UInt32>] = []
    var items: [LogMessage.Batch.Item] = []
    private var bytes = 0

    var isEmpty: Bool { items.isEmpty }

    /// How far it was put together at some time.
    struct Mark {
        var items: Int
        var numbers: [ClosedRange<UInt32>]
        var bytes: Int
        var isEmpty: Bool { items == 0 }
    }

    var mark: Mark { Mark(items: items.count, numbers: numbers, bytes: bytes) }

    mutating func rewind(to mark: Mark) {
        items.removeLast(items.count - mark.items)
        authors.removeLast(authors.count - mark.numbers.count)
        (numbers, bytes) = (mark.numbers, mark.bytes)
    }

    var isSmall: Bool {
        bytes <= LogLimits.batchBytes && items.count <= LogLimits.batchEntries
            && authors.count <= LogLimits.batchAuthors
    }

    mutating func add(_ entry: StoredEntry, number: UInt32, of author: Int) {
        let section: Int
        if let known = authors.firstIndex(of: author) {
            section = known
            numbers[known] = numbers[known].lowerBound...number
        } else {
            section = authors.count
            authors.append(author)
            numbers.append(number...number)
        }
        items.append(LogMessage.Batch.Item(section: UInt8(clamping: section), entry: entry))
        bytes += entry.cost
    }
}
