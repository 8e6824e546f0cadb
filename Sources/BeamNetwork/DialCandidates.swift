import BeamIdentity
import BeamSession

/// The addresses at which a host is sought in one dial, and what has become of each.
struct DialCandidates {
    /// Why an address isn't the host's, or not at the moment.
    private struct Verdict {
        /// A part of a sentence.
        var reason: String
        var failure: ViewerSession.ControlFailure
        /// Later ones have higher numbers.
        var number: Int
    }

    /// Addresses of each kind. More can't be tried in the time of one dial.
    static let most = 8
    /// The reason of a hint that belongs to another machine by now.
    static let otherMachine = "a machine with another key has that address now"

    /// Given by the person, or announced: another host there is news.
    private var named: [Endpoint] = []
    /// Known from before or from elsewhere: another machine may have such an address now.
    private var hints: [Endpoint] = []
    private var tries: [Endpoint: Int] = [:]
    private var verdicts: [Endpoint: Verdict] = [:]
    /// Those where another machine has answered: they aren't tried again.
    private var excluded: Set<Endpoint> = []
    private var verdictCount = 0

    init(named: [Endpoint] = [], hints: [Endpoint] = []) { add(named: named, hints: hints) }

    /// Adds those that are new. Returns whether any is.
    @discardableResult
    mutating func add(named newNamed: [Endpoint], hints newHints: [Endpoint]) -> Bool {
        var isAny = false
        for endpoint in newNamed where !named.contains(endpoint) && named.count < Self.most {
            // A hint may turn out to be announced, too.
            hints.removeAll { $0 == endpoint }
            named.append(endpoint)
            isAny = true
        }
        for endpoint in newHints where !all.contains(endpoint) && hints.count < Self.most {
            hints.append(endpoint)
            isAny = true
        }
        return isAny
    }

    var count: Int { named.count + hints.count }

    var isEmpty: Bool { named.isEmpty && hints.isEmpty }

    /// Named ones and hints in turn, so that neither has to wait for all of the others.
    private var all: [Endpoint] {
        (0..<max(named.count, hints.count)).flatMap { index in
            [named, hints].compactMap { $0.indices.contains(index) ? $0[index] : nil }
        }
    }

    /// The address for the next attempt: the one with the fewest open attempts, of these the one that was tried least.
    /// Counts as tried from now on. Nil if none is left.
    mutating func next(open: [Endpoint]) -> Endpoint? {
        func rank(_ endpoint: Endpoint) -> (Int, Int) {
            (open.count { $0 == endpoint }, tries[endpoint, default: 0])
        }
        guard let next = all.filter({ !excluded.contains($0) }).min(by: { rank($0) < rank($1) }) else { return nil }
        tries[next, default: 0] += 1
        return next
    }

    /// Some haven't been tried.
    var hasUntried: Bool { all.contains { tries[$0] == nil } }

    /// All attempts so far have failed at this address. It may be tried again.
    mutating func failed(_ endpoint: Endpoint, _ reason: String) {
        guard !excluded.contains(endpoint) else { return }
        note(endpoint, reason, .network)
    }

    /// What is at this address isn't the host.
    mutating func exclude(_ endpoint: Endpoint, _ reason: String, _ failure: ViewerSession.ControlFailure) {
        excluded.insert(endpoint)
        note(endpoint, reason, failure)
    }

    private mutating func note(_ endpoint: Endpoint, _ reason: String, _ failure: ViewerSession.ControlFailure) {
        verdictCount += 1
        verdicts[endpoint] = Verdict(reason: reason, failure: failure, number: verdictCount)
    }

    /// Something listens there after all.
    mutating func answered(_ endpoint: Endpoint) {
        if !excluded.contains(endpoint) { verdicts[endpoint] = nil }
    }

    /// The host may still be at this address.
    func isUndecided(_ endpoint: Endpoint) -> Bool { verdicts[endpoint] == nil }

    /// Why there is no connection: what was found at the named addresses, the gravest first; otherwise at the others,
    /// where nothing is the host's fault.
    var outcome: (reason: String, failure: ViewerSession.ControlFailure) {
        let found = named.compactMap { verdicts[$0] }
        let gravest = found.max { (Self.weight($0.failure), $0.number) < (Self.weight($1.failure), $1.number) }
        if let gravest { return (gravest.reason, gravest.failure) }
        let last = hints.compactMap { verdicts[$0] }.max { $0.number < $1.number }
        return (last?.reason ?? "it isn't on the network at the moment", .network)
    }

    private static func weight(_ failure: ViewerSession.ControlFailure) -> Int {
        switch failure {
        case .network: 0
        case .notSecure: 1
        case .refusedCertificate: 2
        case .wrongHost: 3
        }
    }
}
