import BeamMedia

/// Compares a picture at rest with the host's, by hashes of its rows of tiles: when to ask for them, which rows to hash here,
/// and what the comparison says.
///
/// It is asked for only while all tiles count as exact and nothing has changed for a while. Hashes may be lost, come twice or
/// late: each row is compared with what has come for it. A value without I/O and clock.
///
/// Whoever owns it also owns the map and the pixels:
/// ```
///     takeRequest ──▶ ask the host … take(hashes) ──▶ while let row = nextRow() { hashed(row, …) }
/// ```
public struct ExactCheck: Sendable {
    /// Nothing has changed for so long: a person who types pauses for less.
    private static let rest = Duration.milliseconds(400)
    /// From one request that was answered to the next. After hashes that differed it is twice as long each time.
    private static let leastPause = Duration.seconds(2)
    /// A request that isn't answered, or not for what is shown, is repeated after so long, and half as often each time.
    private static let answerTime = Duration.milliseconds(300)
    /// So many requests in all while nothing changes.
    private static let mostRequests = 10
    /// After so many comparisons in a row that found something wrong, the host isn't asked any more: it says anything.
    private static let mostRefutations = 4

    private struct Expected {
        var hash: UInt32
        /// The host's picture has no change that isn't known here: if the hash differs, what is shown is wrong.
        var isBinding: Bool
    }

    /// The map's `version` that all of this is about, and since when it is known.
    private var version: UInt64?
    private var changed = MediaTime.zero
    /// Each row's hash as it was told, until it is compared.
    private var expected: [Expected?] = []
    private var expectedCount = 0
    /// Rows that were compared since the last request: each answer counts once.
    private var isCompared: [Bool] = []
    private var isEqual: [Bool] = []
    private var equalCount = 0
    /// Rows that are wrong.
    private var doubted: [Int] = []
    private var askedAt: MediaTime?
    private var requests = 0
    private var refutations = 0
    /// How many rows of tiles counted as exact and weren't.
    public private(set) var wrongRows: UInt64 = 0

    public init() {}

    /// All that is shown is as on the host's screen, as its hashes say.
    public func isVerified(_ map: ExactMap) -> Bool {
        version == map.version && equalCount > 0 && equalCount == map.rowCount
    }

    // MARK: The request

    /// Whether the host is to be asked now.
    public mutating func takeRequest(_ map: ExactMap, now: MediaTime) -> Bool {
        follow(map, now: now)
        guard let deadline = deadline(map), deadline <= now else { return false }
        askedAt = now
        requests += 1
        isCompared = [Bool](repeating: false, count: map.rowCount)
        return true
    }

    /// When the host is to be asked; nil: there is nothing to ask for.
    public func deadline(_ map: ExactMap) -> MediaTime? {
        guard map.isAllExact, refutations < Self.mostRefutations else { return nil }
        // It has changed since the last call.
        guard version == map.version else { return .zero }
        guard requests < Self.mostRequests, expectedCount == 0, equalCount < map.rowCount else { return nil }
        let rested = changed + Self.rest
        guard let askedAt else { return rested }
        let pause =
            requests == 0 ? Self.leastPause * (1 << refutations) : Self.answerTime * (1 << (requests - 1))
        return max(rested, askedAt + pause)
    }

    /// What is shown has changed: nothing that was said of it counts any more.
    private mutating func follow(_ map: ExactMap, now: MediaTime) {
        guard version != map.version else { return }
        (version, changed, requests) = (map.version, now, 0)
        forget(map.rowCount)
    }

    private mutating func forget(_ rows: Int) {
        (expected, expectedCount) = ([Expected?](repeating: nil, count: rows), 0)
        isCompared = [Bool](repeating: false, count: rows)
        (isEqual, equalCount) = ([Bool](repeating: false, count: rows), 0)
        doubted = []
    }

    // MARK: The answer

    /// Hashes have come. They count if the host was asked for them since something has changed, and its picture isn't older
    /// than what is shown.
    public mutating func take(_ hashes: PictureHashes, _ map: ExactMap, now: MediaTime) {
        follow(map, now: now)
        guard requests > 0, map.isAllExact, hashes.size == map.size, hashes.firstRow >= 0,
            hashes.firstRow + hashes.rows.count <= map.rowCount, map.isWithin(hashes.time)
        else { return }
        let isBinding = hashes.since <= map.known
        for (row, hash) in zip(hashes.firstRow..., hashes.rows) where !isEqual[row] && !isCompared[row] {
            if expected[row] == nil { expectedCount += 1 }
            expected[row] = Expected(hash: hash, isBinding: isBinding)
        }
    }

    /// The next row to hash; nil: there is none.
    public mutating func nextRow(_ map: ExactMap, now: MediaTime) -> Int? {
        follow(map, now: now)
        return expectedCount == 0 ? nil : expected.firstIndex { $0 != nil }
    }

    /// Some rows wait to be hashed.
    public func hasRows(_ map: ExactMap) -> Bool { version == map.version && expectedCount > 0 }

    /// The hash of a row as it is shown. After the last row, those that are wrong don't count as exact any more.
    public mutating func hashed(_ row: Int, _ hash: UInt32, _ map: inout ExactMap, now: MediaTime) {
        guard version == map.version, expected.indices.contains(row), let told = expected[row] else { return }
        expected[row] = nil
        expectedCount -= 1
        isCompared[row] = true
        if told.hash == hash {
            isEqual[row] = true
            equalCount += 1
            if isVerified(map) { refutations = 0 }
        } else if told.isBinding {
            doubted.append(row)
        }
        guard expectedCount == 0, !doubted.isEmpty else { return }
        wrongRows += UInt64(doubted.count)
        refutations += 1
        map.doubt(rows: doubted, now: now)
        follow(map, now: now)
    }
}
