import BeamMedia

/// The host's control plane: who may come in, and what is said to whom.
extension HostSession {
    // MARK: Connections

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

    mutating func connectionBytes(_ id: ConnectionID, _ bytes: [UInt8], now: MediaTime) {
        guard let (lines, end) = connections[id]?.append(bytes) else { return }
        // Any of them may be the connection's last.
        for line in lines {
            guard let action = connections[id]?.line(line) else { return }
            perform(action, on: id, now: now)
        }
        if connections[id] != nil { perform(end, on: id, now: now) }
    }

    private mutating func perform(_ action: HostConnection.Action, on id: ConnectionID, now: MediaTime) {
        switch action {
        case .none:
            break
        case .introduce(let handshake):
            introduce(handshake, on: id, now: now)
        case .replyAgain(let viewer):
            signOfLife(viewer, now: now)
            sendReply(to: viewer, on: id, message: "Already paired")
        case .mediaSource(let viewer, let port):
            signOfLife(viewer, now: now)
            mediaSourceAnnounced(viewer, port: port, now: now)
        case .alive(let viewer):
            signOfLife(viewer, now: now)
        case .refuse(let reason):
            refuseConnection(id, reason: reason, now: now)
        }
    }

    mutating func connectionClosed(_ id: ConnectionID, now: MediaTime) {
        guard let connection = forget(id, now: now) else { return }
        if let viewer = connection.viewer, let index = index(of: viewer) {
            viewers[index].control = nil
            emit(.controlLost(session: viewers[index].session))
        }
    }

    private mutating func refuseConnection(_ id: ConnectionID, reason: String, now: MediaTime) {
        guard let address = connections[id]?.address else { return }
        outputs.append(.close(id))
        emit(.connectionRefused(from: address, reason: reason))
        connectionClosed(id, now: now)
    }

    /// Takes a connection off all lists. Whether it is closed is another matter.
    private mutating func forget(_ id: ConnectionID, now: MediaTime) -> HostConnection? {
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
        let seconds = Int(HostLimits.strangerTime.inSeconds)
        refuseConnection(
            id,
            reason: connection.isAsking
                ? "nobody answered within \(seconds) s" : "it didn't ask to watch within \(seconds) s",
            now: now)
    }

    mutating func sendHeartbeat(_ id: ConnectionID, now: MediaTime) {
        guard connections[id]?.viewer != nil else { return }
        send(.heartbeat, to: id)
        deadlines.set(.heartbeat(id), at: now + HostLimits.heartbeat)
    }

    // MARK: Pairing

    private mutating func introduce(_ handshake: ControlMessage.Handshake, on id: ConnectionID, now: MediaTime) {
        guard let address = connections[id]?.address else { return }
        guard handshake.app == ControlMessage.Handshake.app, handshake.version == ControlMessage.Handshake.version
        else { return refuseViewer(id, reason: "Incompatible Viewer", now: now) }
        guard handshake.role == ControlMessage.Handshake.viewerRole else {
            return refuseViewer(id, reason: "Invalid role", now: now)
        }
        guard let code = handshake.code.flatMap(PairingCode.init) else {
            return refuseViewer(id, reason: "Invalid code", now: now)
        }
        if let index = viewers.firstIndex(where: { $0.address == address && $0.code == code }) {
            return resume(index, on: id, now: now)
        }
        switch configuration.acceptance {
        case .all: admit(id, code: code, now: now)
        case .none: refuseViewer(id, reason: "Declined", now: now)
        case .ask: ask(id, from: address, code: code, now: now)
        }
    }

    private mutating func ask(_ id: ConnectionID, from address: IPAddress, code: PairingCode, now: MediaTime) {
        switch desk.arrive(id, from: address, code: code, now: now) {
        case .accept:
            admit(id, code: code, now: now)
        case .decline:
            refuseViewer(id, reason: "Declined", now: now)
        case .busy:
            refuseViewer(id, reason: "Too many requests", now: now)
        case .ask(let withdrawn):
            for question in withdrawn { emit(.askWithdrawn(question)) }
            connections[id]?.asks()
            emit(.viewerAsks(id, code: code.description, from: address))
        case .wait(let previous):
            connections[id]?.asks()
            if let previous, connections[previous] != nil {
                outputs.append(.close(previous))
                _ = forget(previous, now: now)
            }
        }
        armQuestions()
    }

    mutating func decided(_ question: ConnectionID, accept: Bool, now: MediaTime) {
        defer { armQuestions() }
        guard let (id, code) = desk.decide(question, accept: accept, now: now) else { return }
        if accept {
            admit(id, code: code, now: now)
        } else {
            refuseViewer(id, reason: "Declined", now: now)
        }
    }

    private mutating func refuseViewer(_ id: ConnectionID, reason: String, now: MediaTime) {
        guard let connection = forget(id, now: now) else { return }
        send(.reply(ControlMessage.Reply(isAccepted: false, message: reason)), to: id)
        outputs.append(.close(id))
        emit(.viewerRefused(from: connection.address, reason: reason))
    }

    private mutating func admit(_ id: ConnectionID, code: PairingCode, now: MediaTime) {
        guard let address = connections[id]?.address else { return }
        guard viewers.count < HostLimits.viewers else {
            return refuseViewer(id, reason: "Too many viewers", now: now)
        }
        lastViewer += 1
        let viewer = PairedViewer(
            id: ViewerID(value: lastViewer), session: makeSessionID(&random), address: address, code: code,
            control: nil, lastSign: now)
        viewers.append(viewer)
        deadlines.set(.viewerSilence(viewer.id), at: viewer.silenceDeadline)
        attach(viewers.count - 1, to: id, isResumed: false, now: now)
    }

    /// A viewer that lost its connection is back.
    private mutating func resume(_ index: Int, on id: ConnectionID, now: MediaTime) {
        if let previous = viewers[index].control {
            outputs.append(.close(previous))
            _ = forget(previous, now: now)
        }
        viewers[index].lastSign = now
        attach(index, to: id, isResumed: true, now: now)
    }

    private mutating func attach(_ index: Int, to id: ConnectionID, isResumed: Bool, now: MediaTime) {
        viewers[index].control = id
        connections[id]?.paired(viewers[index].id)
        deadlines.cancel(.stranger(id))
        deadlines.set(.heartbeat(id), at: now + HostLimits.firstHeartbeat)
        sendReply(to: viewers[index].id, on: id, message: nil)
        emit(
            .viewerPaired(session: viewers[index].session, from: viewers[index].address, isResumed: isResumed))
    }

    /// The reply, then the media port, then whether the screen is shared.
    private mutating func sendReply(to viewer: ViewerID, on id: ConnectionID, message: String?) {
        guard let index = index(of: viewer) else { return }
        send(
            .reply(
                ControlMessage.Reply(
                    isAccepted: true, session: viewers[index].session, mediaPort: mediaPort, message: message,
                    deviceName: configuration.deviceName.map(Self.shortened))),
            to: id)
        if let mediaPort { send(.mediaPort(mediaPort), to: id) }
        send(.broadcast(isBroadcasting), to: id)
    }

    /// A name that leaves room for the rest of its line.
    private static func shortened(_ name: String) -> String {
        var name = name
        while name.utf8.count > 255 { name.removeLast() }
        return name
    }

    // MARK: Life signs

    mutating func signOfLife(_ viewer: ViewerID, now: MediaTime) {
        guard let index = index(of: viewer) else { return }
        viewers[index].lastSign = now
    }

    mutating func checkViewer(_ id: ViewerID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        let deadline = viewers[index].silenceDeadline
        guard deadline <= now else { return deadlines.set(.viewerSilence(id), at: deadline) }
        var viewer = viewers.remove(at: index)
        if let control = viewer.control {
            outputs.append(.close(control))
            _ = forget(control, now: now)
        }
        if let address = viewer.stream.stop() { pacer.remove(address) }
        deadlines.cancel(.streamSilence(id))
        let seconds = Int(HostLimits.viewerSilence.inSeconds)
        emit(
            .viewerLeft(
                session: viewer.session, from: viewer.address,
                reason: viewer.control == nil
                    ? "its connection has ended" : "nothing came from it for \(seconds) s"))
        audienceChanged()
    }

    // MARK: What is announced

    mutating func mediaPortChanged(_ port: UInt16) {
        guard port != 0, port != mediaPort else { return }
        mediaPort = port
        announce(.mediaPort(port))
    }

    mutating func broadcastChanged(_ isOn: Bool, now: MediaTime) {
        guard isOn != isBroadcasting else { return }
        isBroadcasting = isOn
        announce(.broadcast(isOn))
        for index in viewers.indices { viewers[index].stream.interrupt() }
        if isOn {
            if audience > 0 { perform(keyframes.need(now: now)) }
        } else {
            _ = pacer.dropWaiting()
            keyframes.stop()
            armKeyframe()
        }
    }
}
