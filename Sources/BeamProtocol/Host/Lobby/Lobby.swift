import BeamMedia

/// Who comes in: control connections, their dialogs, pairing, trust and codes. What it decides is `Output`; it knows nothing of what is sent
/// on the media plane.
struct Lobby: Sendable {
    enum Output: Sendable {
        /// Bytes of a version 1 connection, or a whole message of a version 2 connection.
        case send(ConnectionID, [UInt8])
        /// Close after everything sent so far has left.
        case close(ConnectionID)
        case event(HostEvent)
        /// A viewer is let in, or is back on another connection (`isResumed`). Version 2 viewers wait for `welcome`.
        case admitted(ViewerID, isResumed: Bool)
        /// It is no member any more.
        case left(ViewerID, wasSecure: Bool)
        /// A line or message has come from it.
        case heard(ViewerID)
        /// Version 1: it has named the port of its media socket.
        case mediaSource(ViewerID, port: UInt16)
        /// Version 2: it holds the media key of that number.
        case mediaKeyReady(ViewerID, number: UInt16)
    }

    /// What the lobby wakes up for.
    enum Purpose: Hashable, Sendable {
        /// A connection hasn't been let in for too long.
        case unadmitted(ConnectionID)
        case heartbeat(ConnectionID)
        case questions
        /// Refused connections are summed up.
        case refusals
    }

    let configuration: HostSession.Configuration
    let limits: ViewerLimits
    var random: any RandomNumberGenerator & Sendable
    var outputs = OutputQueue<Output>()
    var deadlines = Deadlines<Purpose>()

    var connections: [ConnectionID: HostConnection] = [:]
    var ledger = ConnectionLedger()
    var refusals = RefusalLog()
    /// Where known devices were let in from, the latest last.
    var knownAddresses: [IPAddress] = []
    /// In the order of their coming, which is that of their numbers.
    var members: [Member] = []
    var lastMember: UInt64 = 0
    var questions = PairingQuestions()
    let trust: HostTrust
    var book: TrustBook
    var blocked = BlockedPeers()
    var code: HostCode
    var codeGuard = CodeGuard()
    var comparisonGuard = ComparisonGuard()
    /// What viewers are told.
    var mediaPort: UInt16?
    var isBroadcasting = false

    init(configuration: HostSession.Configuration, random: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        self.random = random
        limits = ViewerLimits(configuration.mostViewers)
        trust = configuration.trust
        book = TrustBook(remembered: configuration.trust.remembered)
        code = configuration.trust.code
    }

    mutating func deadlineReached(_ purpose: Purpose, now: MediaTime) {
        switch purpose {
        case .unadmitted(let id): unadmittedTimedOut(id, now: now)
        case .heartbeat(let id): sendHeartbeat(id, now: now)
        case .questions:
            for id in questions.expire(now: now) { emit(.askWithdrawn(id)) }
            armQuestions()
        case .refusals:
            sumUpRefusals(now: now)
        }
    }

    /// Another code to type.
    mutating func replaceCode(_ next: PairingCode, now: MediaTime) {
        code.replace(next)
        withdrawProofs(but: nil, now: now)
        emit(.codeChanged(code.current))
    }

    /// Everybody is told, and every connection closed.
    mutating func shutdown() {
        announce(.broadcast(false), .bye("The host has ended"))
        for id in connections.keys.sorted(by: { $0.value < $1.value }) { outputs.append(.close(id)) }
        connections = [:]
        ledger.removeAll()
        members = []
        deadlines.cancelAll()
    }

    func index(of id: ViewerID) -> Int? { members.firstIndex { $0.id == id } }

    /// The viewer's device was paired, or was let in by the person.
    func isKnown(_ id: ViewerID) -> Bool { index(of: id).map { isKnown(members[$0].peer) } ?? false }

    // MARK: Shorthands

    mutating func emit(_ event: HostEvent) { outputs.append(.event(event)) }

    mutating func send(_ message: ControlMessage, to id: ConnectionID) { outputs.append(.send(id, message.line)) }

    mutating func send(_ message: SecureMessage, to id: ConnectionID) { outputs.append(.send(id, message.bytes)) }

    mutating func armQuestions() {
        if let time = questions.deadline { deadlines.set(.questions, at: time) } else { deadlines.cancel(.questions) }
    }
}

/// How many viewers are let in at a time; those without a connection included.
struct ViewerLimits: Sendable {
    let viewers: Int
    /// Of those, the ones of devices that aren't known (`--accept all`, version 1), in all and of one address prefix: the rest is kept
    /// free for devices that are known.
    let unknownViewers: Int
    let unknownViewersPerPrefix: Int

    init(_ viewers: Int) {
        self.viewers = max(1, viewers)
        unknownViewers = max(1, self.viewers * 3 / 4)
        unknownViewersPerPrefix = max(1, self.viewers / 2)
    }
}
