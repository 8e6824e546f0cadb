import BeamLog
import BeamMedia
import BeamWire

/// The host's control connections: which are accepted, and how long they may stay without admission.
extension Door {
    /// A known device was admitted from this address, so its connections go before unknown ones.
    func isKnownAddress(_ address: IPAddress) -> Bool {
        knownAddresses.contains(address) || members.contains { $0.address == address && isKnown($0.peer) }
    }

    mutating func connectionOpened(_ id: ConnectionID, from address: IPAddress, now: MediaTime) {
        switch ledger.arrive(id, from: address, isKnownAddress: isKnownAddress(address), now: now) {
        case .refuse(let reason):
            outputs.append(.close(id))
            refused(address, reason: reason, now: now)
        case .admit(let evicted):
            if let evicted {
                refuseConnection(
                    evicted, reason: "it hadn't identified itself, and its place was needed for others", now: now)
            }
            connections[id] = HostConnection(from: address)
            deadlines.set(.unadmitted(id), at: now + HostLimits.admissionTimeout)
        }
    }

    /// The connection has ended by itself. If TLS failed before the version was known, the reason is reported.
    mutating func connectionEnded(_ id: ConnectionID, tlsFailure: String?, now: MediaTime) {
        if let tlsFailure, let connection = connections[id], case .undecided = connection.dialog {
            refused(connection.address, reason: tlsFailure, now: now)
        }
        connectionClosed(id, now: now)
    }

    // MARK: Reporting refusals

    /// Reports a refused connection, or only counts it if there are too many.
    mutating func refused(_ address: IPAddress, reason: String, now: MediaTime) {
        if isReported(address, now: now) { emit(.connectionRefused(from: address, reason: reason)) }
    }

    /// Counts a refusal. True if it gets an event of its own.
    private mutating func isReported(_ address: IPAddress, now: MediaTime) -> Bool {
        let isReported = refusals.record(address, now: now)
        armRefusals()
        return isReported
    }

    mutating func sumUpRefusals(now: MediaTime) {
        if let sum = refusals.take(now: now) {
            emit(.connectionsRefused(count: sum.count, addresses: sum.addresses))
        }
        armRefusals()
    }

    private mutating func armRefusals() {
        deadlines.arm(.refusals, at: refusals.deadline)
    }

    mutating func connectionClosed(_ id: ConnectionID, now: MediaTime) {
        guard let connection = forget(id, now: now) else { return }
        if let viewer = connection.viewer, let index = index(of: viewer) {
            members[index].control = nil
            members[index].controlLost = now
            outputs.append(.disconnected(members[index].id))
            emit(.controlLost(session: members[index].session.description))
        }
    }

    mutating func refuseConnection(_ id: ConnectionID, reason: String, now: MediaTime) {
        guard let address = connections[id]?.address else { return }
        outputs.append(.close(id))
        refused(address, reason: reason, now: now)
        connectionClosed(id, now: now)
    }

    /// Removes a connection from all lists; doesn't close it.
    mutating func forget(_ id: ConnectionID, now: MediaTime) -> HostConnection? {
        noteFailedComparison(id, now: now)
        guard let connection = connections.removeValue(forKey: id) else { return nil }
        ledger.remove(id)
        deadlines.cancel(.unadmitted(id))
        deadlines.cancel(.heartbeat(id))
        if connection.isAsking {
            for void in questions.connectionEnded(id, now: now) { emit(.askWithdrawn(void)) }
            armQuestions()
        }
        return connection
    }

    mutating func unadmittedTimedOut(_ id: ConnectionID, now: MediaTime) {
        guard let connection = connections[id], connection.isUnadmitted else { return }
        if connection.isRevealing {
            let reason = "it didn't show its digits within \(Int(clamping: HostLimits.revealTimeout.inSeconds)) s"
            return refuseConnection(id, reason: reason, now: now)
        }
        // A wrong code was typed. The page opens another connection for the next one.
        if connection.isBrowser, !connection.isAsking {
            outputs.append(.close(id))
            return connectionClosed(id, now: now)
        }
        let time = connection.isAsking ? connection.answerTimeout : HostLimits.admissionTimeout
        let seconds = Int(clamping: time.inSeconds)
        let reason =
            connection.isAsking ? "nobody answered within \(seconds) s" : "it didn't ask to watch within \(seconds) s"
        if connection.isAsking, connection.isToldWhy {
            return refuseViewer(
                id, .unanswered, reason: "Nobody at the host answered within \(seconds) s", isAnswer: true, now: now)
        }
        refuseConnection(id, reason: reason, now: now)
    }

    // MARK: Questions to the person

    /// Asks the person at the host about this connection's viewer.
    mutating func ask(_ id: ConnectionID, _ subject: PairingQuestions.Subject, now: MediaTime) {
        guard let connection = connections[id] else { return }
        switch questions.arrive(id, from: connection.address, subject, now: now) {
        case .accept: accepted(id, subject, now: now)
        case .decline: declined(id, now: now)
        case .busy: refuseViewer(id, .busy, reason: "Too many viewers ask at the moment", now: now)
        case .ask(let withdrawn, let evicted):
            for question in withdrawn { emit(.askWithdrawn(question)) }
            if let evicted { refuseViewer(evicted, .busy, reason: "Too many viewers ask at the moment", now: now) }
            markAsking(id, now: now)
            let visitor = visitor(id)
            switch subject {
            case .code(let code): emit(.viewerAsks(id, code: code, from: visitor))
            case .comparison: emit(.comparisonAsked(id, from: visitor))
            case .browser: emit(.browserAsks(id, from: visitor))
            }
        case .wait(let previous):
            markAsking(id, now: now)
            if let previous, connections[previous] != nil {
                outputs.append(.close(previous))
                _ = forget(previous, now: now)
            }
        }
        armQuestions()
    }

    private mutating func markAsking(_ id: ConnectionID, now: MediaTime) {
        connections[id]?.isAsking = true
        ledger.markAsking(id)
        guard let connection = connections[id], connection.answerTimeout != HostLimits.admissionTimeout else { return }
        deadlines.set(.unadmitted(id), at: now + connection.answerTimeout)
    }

    mutating func decided(_ question: ConnectionID, accept: Bool, now: MediaTime) {
        defer { armQuestions() }
        switch questions.decide(question, accept: accept, now: now) {
        case nil: break
        case .compare(let id): compare(id, now: now)
        case .settled(let id, let subject):
            connections[id]?.isAsking = false
            connections[id]?.isDeclined = !accept
            if accept { accepted(id, subject, now: now) } else { declined(id, now: now) }
        }
    }

    private mutating func accepted(_ id: ConnectionID, _ subject: PairingQuestions.Subject, now: MediaTime) {
        switch subject {
        case .code(let code): admitVersion1(id, code: code, now: now)
        case .comparison: comparisonAccepted(id, now: now)
        case .browser: admitBrowser(id, now: now)
        }
    }

    private mutating func declined(_ id: ConnectionID, now: MediaTime) {
        refuseViewer(id, .declined, reason: "Declined", isAnswer: true, now: now)
    }

    /// Refuses a viewer in its own version, and closes the connection. `isAnswer`: the person declined, so the refusal
    /// is always reported.
    mutating func refuseViewer(
        _ id: ConnectionID, _ refusal: SecureMessage.Refusal, reason: String, browser: BrowserRefusal? = nil,
        isAnswer: Bool = false, now: MediaTime
    ) {
        let visitor = visitor(id)
        guard let connection = forget(id, now: now) else { return }
        switch connection.dialog {
        case .version2: send(.refused(refusal, reason), to: id)
        case .browser: outputs.append(.browser(id, .refused(browser ?? BrowserRefusal(refusal), reason: reason)))
        case .undecided, .version1: send(.reply(ControlMessage.Reply(isAccepted: false, message: reason)), to: id)
        }
        outputs.append(.close(id))
        // A wrong code has an event of its own.
        guard refusal != .wrongCode, isAnswer || isReported(visitor.address, now: now) else { return }
        emit(.viewerRefused(from: visitor, reason: reason))
    }

    /// The peer of that connection.
    func visitor(_ id: ConnectionID) -> Visitor {
        guard let connection = connections[id] else { return Visitor(address: .v4(0), name: nil) }
        if case .version2(let dialog) = connection.dialog {
            return visitor(connection.address, dialog.device, callsItself: dialog.name)
        }
        if case .browser(let kind) = connection.dialog { return Visitor(address: connection.address, name: kind) }
        return Visitor(address: connection.address, name: nil)
    }
}

extension HostConnection {
    /// Older viewers come again instead.
    fileprivate var isToldWhy: Bool {
        switch dialog {
        case .version2, .browser: true
        case .undecided, .version1: false
        }
    }

    /// The viewer has the host's nonce, and has to reveal its own.
    fileprivate var isRevealing: Bool {
        if case .version2(let dialog) = dialog { dialog.isRevealing } else { false }
    }

    /// How long the person may take to answer. A version 1 viewer reconnects with the same code; others can't, so they
    /// get longer.
    fileprivate var answerTimeout: Duration {
        switch dialog {
        case .version2, .browser: HostLimits.comparisonTimeout
        case .undecided, .version1: HostLimits.admissionTimeout
        }
    }
}
