import BeamMedia

/// The host's control connections: who may open one, and for how long it may stay a stranger's.
extension HostSession {
    mutating func connectionOpened(_ id: ConnectionID, from address: IPAddress, now: MediaTime) {
        let strangers = connections.values.count { $0.isStranger && $0.address == address }
        let refusal: String? =
            if connections.count >= HostLimits.connections {
                "\(HostLimits.connections) connections are open already"
            } else if strangers >= HostLimits.strangersPerAddress {
                "\(HostLimits.strangersPerAddress) connections from there wait to be let in already"
            } else {
                nil
            }
        if let refusal {
            outputs.append(.close(id))
            emit(.connectionRefused(from: address, reason: refusal))
            return
        }
        connections[id] = HostConnection(from: address)
        deadlines.set(.stranger(id), at: now + HostLimits.strangerTime)
    }

    /// It has ended by itself. Why a stranger could not be secure is worth a word.
    mutating func connectionEnded(_ id: ConnectionID, trouble: String?, now: MediaTime) {
        if let trouble, let connection = connections[id], case .undecided = connection.dialog {
            emit(.connectionRefused(from: connection.address, reason: trouble))
        }
        connectionClosed(id, now: now)
    }

    mutating func connectionClosed(_ id: ConnectionID, now: MediaTime) {
        guard let connection = forget(id, now: now) else { return }
        if let viewer = connection.viewer, let index = index(of: viewer) {
            viewers[index].control = nil
            emit(.controlLost(session: viewers[index].session.description))
            mediaKeyTaken(now: now)
        }
    }

    mutating func refuseConnection(_ id: ConnectionID, reason: String, now: MediaTime) {
        guard let address = connections[id]?.address else { return }
        outputs.append(.close(id))
        emit(.connectionRefused(from: address, reason: reason))
        connectionClosed(id, now: now)
    }

    /// Takes a connection off all lists. Whether it is closed is another matter.
    mutating func forget(_ id: ConnectionID, now: MediaTime) -> HostConnection? {
        guard let connection = connections.removeValue(forKey: id) else { return nil }
        deadlines.cancel(.stranger(id))
        deadlines.cancel(.heartbeat(id))
        if connection.isAsking {
            desk.connectionEnded(id, now: now)
            armQuestions()
        }
        return connection
    }

    mutating func strangerTimedOut(_ id: ConnectionID, now: MediaTime) {
        guard let connection = connections[id], connection.isStranger else { return }
        let time = connection.isAsking ? connection.questionTime : HostLimits.strangerTime
        let seconds = Int(clamping: time.inSeconds)
        let reason =
            connection.isAsking ? "nobody answered within \(seconds) s" : "it didn't ask to watch within \(seconds) s"
        if connection.isAsking, case .version2 = connection.dialog {
            send(.refused(.unanswered, reason), to: id)
        }
        refuseConnection(id, reason: reason, now: now)
    }

    // MARK: Questions to the person

    /// Asks the person at the host whether this connection's viewer, which shows the same digits, may come in.
    mutating func ask(_ id: ConnectionID, digits: PairingCode, now: MediaTime) {
        guard let connection = connections[id] else { return }
        switch desk.arrive(id, from: connection.address, code: digits, now: now) {
        case .accept: accepted(id, digits: digits, now: now)
        case .decline: declined(id, now: now)
        case .busy: refuseViewer(id, .busy, reason: "Too many requests", now: now)
        case .ask(let withdrawn):
            for question in withdrawn { emit(.askWithdrawn(question)) }
            asks(id, now: now)
            emit(.viewerAsks(id, code: digits, from: visitor(id)))
        case .wait(let previous):
            asks(id, now: now)
            if let previous, connections[previous] != nil {
                outputs.append(.close(previous))
                _ = forget(previous, now: now)
            }
        }
        armQuestions()
    }

    private mutating func asks(_ id: ConnectionID, now: MediaTime) {
        connections[id]?.isAsking = true
        guard let connection = connections[id], connection.questionTime != HostLimits.strangerTime else { return }
        deadlines.set(.stranger(id), at: now + connection.questionTime)
    }

    mutating func decided(_ question: ConnectionID, accept: Bool, now: MediaTime) {
        defer { armQuestions() }
        guard let (id, digits) = desk.decide(question, accept: accept, now: now) else { return }
        connections[id]?.isAsking = false
        if accept { accepted(id, digits: digits, now: now) } else { declined(id, now: now) }
    }

    private mutating func accepted(_ id: ConnectionID, digits: PairingCode, now: MediaTime) {
        if case .version2 = connections[id]?.dialog {
            comparisonAccepted(id, now: now)
        } else {
            admitVersion1(id, code: digits, now: now)
        }
    }

    private mutating func declined(_ id: ConnectionID, now: MediaTime) {
        refuseViewer(id, .declined, reason: "Declined", now: now)
    }

    /// Says no to a viewer, in its own version's words.
    mutating func refuseViewer(
        _ id: ConnectionID, _ refusal: SecureMessage.Refusal, reason: String, now: MediaTime
    ) {
        let visitor = visitor(id)
        guard let connection = forget(id, now: now) else { return }
        if case .version2 = connection.dialog {
            send(.refused(refusal, reason), to: id)
        } else {
            send(.reply(ControlMessage.Reply(isAccepted: false, message: reason)), to: id)
        }
        outputs.append(.close(id))
        // A wrong code has an event of its own.
        if refusal != .wrongCode { emit(.viewerRefused(from: visitor, reason: reason)) }
    }

    /// Who is at that connection's other end.
    func visitor(_ id: ConnectionID) -> Visitor {
        guard let connection = connections[id] else { return Visitor(address: .v4(0), name: nil) }
        if case .version2(let dialog) = connection.dialog {
            return Visitor(address: connection.address, name: dialog.name)
        }
        return Visitor(address: connection.address, name: nil)
    }
}

extension HostConnection {
    /// How long a question may stand. Version 1 viewers come back with the same code, version 2 viewers can't.
    fileprivate var questionTime: Duration {
        if case .version2 = dialog { HostLimits.askingTime } else { HostLimits.strangerTime }
    }
}
