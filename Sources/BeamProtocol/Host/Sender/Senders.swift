import BeamMedia

/// The senders of all viewers: which of them has something to do now, and when the next one has.
struct Senders: Sendable {
    /// What a sender says to its layer. The layer's demand is made of all of these.
    struct Contribution: Hashable, Sendable {
        var layer = SimulcastLayer.full
        var path = LayerRate.Path.unknown
        /// It is watching, and its path isn't silent.
        var isReachable = false
        /// It has all that it needs to go on.
        var isStreaming = false
        /// What was encoded hasn't left for it yet, or it is still to be sent something again.
        var isBusy = false
        var parityShare = 0.0
        /// It tells how frames arrive (version 2), and can leave some out.
        var reports = false
        /// The stream goes to it.
        var isWatching = false
        /// It is proving its address, and gets the layer then.
        var isExpected = false
    }

    /// In the order of their numbers.
    private(set) var all: [Sender] = []
    private(set) var contributions: [Contribution] = []
    /// When each has to be looked at again.
    private var wakes: [MediaTime] = []
    /// Those that may have something to send.
    private var isReady: [Bool] = []
    private var readyCount = 0
    /// Whose turn is next: each sends one burst, then the next one does.
    private var turn = 0
    /// Of the numbers of the viewers' own keys.
    private var indexOfKey: [UInt16: Int] = [:]

    var count: Int { all.count }
    var indices: Range<Int> { all.indices }
    var nextWake: MediaTime { wakes.reduce(.distantFuture) { min($0, $1) } }
    /// What the one waits for that has to be looked at first; nil if there is none.
    var nextWait: SenderWaitReason? {
        wakes.indices.min { wakes[$0] < wakes[$1] }.map { all[$0].wait.for }
    }

    /// A sender is large: it is read where it stands, not copied.
    subscript(index: Int) -> Sender {
        _read { yield all[index] }
        _modify { yield &all[index] }
    }

    /// Binary search: the numbers ascend.
    func index(of id: ViewerID) -> Int? {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].id.value < id.value { low = middle + 1 } else { high = middle }
        }
        return low < all.count && all[low].id == id ? low : nil
    }

    func index(ofKey number: UInt16) -> Int? { indexOfKey[number] }

    mutating func append(_ sender: Sender) {
        all.append(sender)
        contributions.append(Contribution())
        wakes.append(.zero)
        isReady.append(false)
        indexKeys()
        markReady(all.count - 1)
    }

    mutating func remove(_ index: Int) {
        if isReady[index] { readyCount -= 1 }
        all.remove(at: index)
        contributions.remove(at: index)
        wakes.remove(at: index)
        isReady.remove(at: index)
        indexKeys()
    }

    mutating func removeAll() { self = Senders() }

    /// The viewer's datagrams are sealed with another key from now on.
    mutating func setOpener(_ opener: DatagramOpener, at index: Int) {
        all[index].opener = opener
        indexKeys()
    }

    private mutating func indexKeys() {
        indexOfKey.removeAll(keepingCapacity: true)
        for index in all.indices {
            if let number = all[index].opener?.keyNumber { indexOfKey[number] = index }
        }
    }

    // MARK: Turns

    /// Something has happened to it: it may have something to send.
    mutating func markReady(_ index: Int) {
        guard !isReady[index] else { return }
        isReady[index] = true
        readyCount += 1
    }

    /// The next one that may have something to send, each in turn.
    mutating func nextReady() -> Int? {
        guard readyCount > 0 else { return nil }
        for step in 0..<all.count {
            let index = (turn + step) % all.count
            if isReady[index] {
                turn = index + 1
                return index
            }
        }
        return nil
    }

    /// It has nothing more to send now.
    mutating func finishTurn(_ index: Int, now: MediaTime) {
        if isReady[index] {
            isReady[index] = false
            readyCount -= 1
        }
        // A deadline that has passed and changed nothing must not spin.
        wakes[index] = max(all[index].wait.until, now + Self.shortestWait)
    }

    private static let shortestWait = Duration.microseconds(50)

    /// One whose deadline has passed. It is touched.
    mutating func takeDue(_ now: MediaTime) -> Int? {
        guard let index = wakes.firstIndex(where: { $0 <= now }) else { return nil }
        wakes[index] = .distantFuture
        markReady(index)
        return index
    }

    // MARK: What they say to their layers

    /// Notes what the sender says now. True if that is news.
    mutating func note(_ contribution: Contribution, at index: Int) -> Bool {
        guard contributions[index] != contribution else { return false }
        contributions[index] = contribution
        return true
    }
}
