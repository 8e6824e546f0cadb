/// Which sizes of packets pass: several at a time, because a size that doesn't pass is known only after a wait.
struct MTUSearch: Equatable {
    enum Outcome: Equatable {
        case passed
        /// It hasn't come back.
        case lost
        /// This machine's interface doesn't take it.
        case tooLong
    }

    /// The largest that matters: Ethernet's. In bytes, IP's header included.
    static let most = 1500
    /// The usual ones: Ethernet, PPPoE, tunnels in IPv4 and IPv6, VPNs, IPv6's least (RFC 8200, 5), those that full and
    /// shorter datagrams of BeamRoom need, and what every IPv4 host takes (RFC 1122, 3.3.2).
    private static let usual = [
        1500, 1492, 1480, 1460, 1440, 1420, 1400, 1380, 1340, 1300, 1280, 1248, 1228, 1000, 576,
    ]
    /// Sizes in one round between two that are known.
    private static let parts = 8

    /// The largest that has passed; 0: none.
    private(set) var passed = 0
    /// The least above `passed` that hasn't.
    private(set) var failed = MTUSearch.most + 1
    /// This machine's interface refused `failed`.
    private(set) var isInterfaceLimit = false
    private var isBegun = false

    /// What to try next; empty: the search is over.
    ///
    /// - Parameter reported: a size that somebody says passes; it is tried, and the next one.
    func sizes(reported: Int?) -> [Int] {
        guard isBegun else { return Self.usual }
        guard passed > 0, failed - passed > 1 else { return [] }
        let between = (1...Self.parts).map { passed + (failed - passed) * $0 / (Self.parts + 1) }
        let told = reported.map { [$0, $0 + 1] } ?? []
        return Set(between + told).filter { $0 > passed && $0 < failed }.sorted(by: >)
    }

    /// Several echoes of one size count as passed if one of them has.
    mutating func note(_ outcomes: [(size: Int, outcome: Outcome)]) {
        isBegun = true
        passed = outcomes.lazy.filter { $0.outcome == .passed }.map(\.size).reduce(passed, max)
        // A smaller one that was lost by chance says nothing.
        if failed <= passed { (failed, isInterfaceLimit) = (Self.most + 1, false) }
        for (size, outcome) in outcomes where outcome != .passed && size > passed && size <= failed {
            (failed, isInterfaceLimit) = (size, outcome == .tooLong || isInterfaceLimit && size == failed)
        }
    }
}

/// The result: the largest packet that passes, and why larger ones don't.
struct PathMTU: Equatable {
    enum Limit: Equatable {
        /// All that were tried pass.
        case none
        case interface
        /// A router on the way has said so.
        case reported
        /// Larger ones are lost, and nobody says why.
        case silent
    }

    /// In bytes, IP's header included; 0: not even the least that was tried.
    var size: Int
    var limit: Limit

    init(size: Int, limit: Limit) { (self.size, self.limit) = (size, limit) }

    /// - Parameter reported: what the kernel knows of the path after the search.
    init(_ search: MTUSearch, reported: Int?) {
        size = search.passed
        limit =
            if search.passed >= MTUSearch.most {
                .none
            } else if search.isInterfaceLimit {
                .interface
            } else if let reported, reported < MTUSearch.most, reported == search.passed {
                .reported
            } else {
                .silent
            }
    }
}
