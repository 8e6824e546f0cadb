import BeamMedia
import BeamWire

/// The senders of all viewers: which one may send next, and when the next deadline is.
struct Senders: Sendable {
    /// What a sender contributes to the demand on its layer.
    struct Contribution: Hashable, Sendable {
        var layer = SimulcastLayer.full
        var path = LayerRate.Path.unknown
        /// The stream goes to it, and its path isn't silent.
        var isReachable = false
        /// Its viewer has the frames that the next ones refer to.
        var isStreaming = false
        /// Frames or retransmissions still wait to be sent to it.
        var isBusy = false
        var parityShare = 0.0
        /// Its viewer reports how frames arrive, and can decode with some left out (version 2).
        var reports = false
        /// The share of the picture's width and height that is enough for it, in eighths.
        var eighths = StreamDemand.wholeSize
        /// The largest share that it takes, and that it leaves to others.
        var limit = StreamDemand.wholeSize
        var limitForOthers = StreamDemand.wholeSize
        /// The most frames a second that its viewer wishes; nil: all.
        var frameRate: Double?
        /// Who gets exact patches by way of its viewer, and who doesn't.
        var patchTakers = PatchTakers.video
        /// Its path loses some of them, or that to somebody behind it.
        var losesPatches = false
        /// Its viewer draws the pointer.
        var takesPointer = false
        /// The stream goes to it.
        var isWatching = false
        /// Its address is being validated; it gets the layer after that.
        var isExpected = false
    }

    /// In ascending order of the viewers' IDs. Elements are changed in place, as a sender is a large value; they are added,
    /// removed and given keys by the methods below. There is no subscript that yields elements: in builds without
    /// optimisation Swift 6.3.1 reads such an accessor's memory after it was freed, as the address sanitizer shows.
    var all: [Sender] = []
    var count: Int { all.count }
    private(set) var contributions: [Contribution] = []
    /// How many are of version 1.
    private(set) var plainCount = 0
    private struct Wake {
        var time: MediaTime
        var reason = SenderWaitReason.pace
    }

    /// Each sender's deadline.
    private var wakes: [Wake] = []
    /// Whether each sender may have something to send.
    private var isReady: [Bool] = []
    private var readyCount = 0
    /// The index whose turn is next: senders send one burst each in turn.
    private var turn = 0
    /// Senders by the number of their viewer's key.
    private var indexOfKey: [UInt16: Int] = [:]

    /// The earliest deadline, and what it is for; nil if there is none.
    var nextWait: (until: MediaTime, for: SenderWaitReason)? {
        var next: Wake?
        for wake in wakes where wake.time < next?.time ?? .distantFuture { next = wake }
        return next.map { ($0.time, $0.reason) }
    }

    /// Binary search: the IDs ascend.
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
        if sender.form == .version1 { plainCount += 1 }
        contributions.append(Contribution())
        wakes.append(Wake(time: .zero))
        isReady.append(false)
        indexKeys()
        markReady(all.count - 1)
    }

    mutating func remove(_ index: Int) {
        if isReady[index] { readyCount -= 1 }
        if all[index].form == .version1 { plainCount -= 1 }
        all.remove(at: index)
        contributions.remove(at: index)
        wakes.remove(at: index)
        isReady.remove(at: index)
        indexKeys()
    }

    mutating func removeAll() { self = Senders() }

    /// Sets the key that the viewer's datagrams are sealed with.
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

    /// The sender may have something to send.
    mutating func markReady(_ index: Int) {
        guard !isReady[index] else { return }
        isReady[index] = true
        readyCount += 1
    }

    /// A frame is about to be sent to everybody: another sender begins than with the last one. Where all share a bottleneck,
    /// the last ones' datagrams stand in the queue of the others', and would always seem to be on a slower path.
    mutating func beginFrame() {
        guard all.count > 2 else { return }
        // The golden section spreads the beginnings most evenly.
        turn = (turn + max(1, all.count * 382 / 1000)) % all.count
    }

    /// The next sender that may have something to send, in turn.
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

    /// The sender has nothing more to send now. `wishDeadline`: when what its viewer has said of sizes and rates may count.
    mutating func finishTurn(_ index: Int, wishDeadline: MediaTime?, now: MediaTime) {
        if isReady[index] {
            isReady[index] = false
            readyCount -= 1
        }
        var (until, reason) = all[index].wait
        if let wishDeadline, wishDeadline < until { (until, reason) = (wishDeadline, .wish) }
        wakes[index] = Wake(
            time: until > now ? max(until, now + Self.shortestWait) : now + Self.waitAfterNothing, reason: reason)
    }

    private static let shortestWait = Duration.microseconds(50)
    /// After a deadline that has passed without effect, which mustn't cause a busy loop.
    private static let waitAfterNothing = Duration.milliseconds(1)

    /// A sender whose deadline has passed, now marked ready; nil if there is none.
    mutating func takeDue(_ now: MediaTime) -> Int? {
        guard let index = wakes.firstIndex(where: { $0.time <= now }) else { return nil }
        wakes[index].time = .distantFuture
        markReady(index)
        return index
    }

    // MARK: Contributions to the layers

    /// Stores the sender's contribution. True if it has changed.
    mutating func note(_ contribution: Contribution, at index: Int) -> Bool {
        guard contributions[index] != contribution else { return false }
        contributions[index] = contribution
        return true
    }
}
