import BeamMedia
import BeamWire

/// Version 1's control connections at the host: lines of JSON, unencrypted.
extension Door {
    mutating func connectionBytes(_ id: ConnectionID, _ bytes: [UInt8], now: MediaTime) {
        guard var dialog = lineDialog(id) else { return }
        guard configuration.allowsUnencrypted else {
            return refuseViewer(
                id, .notTrusted,
                reason:
                    "This host shares its screen only encrypted. Start it with --allow-unencrypted to let older apps in.",
                now: now)
        }
        let (lines, end) = dialog.append(bytes)
        connections[id]?.dialog = .version1(dialog)
        // Each line may close the connection, so it is looked up again for the next one.
        for line in lines {
            guard let connection = connections[id], var dialog = lineDialog(id) else { return }
            guard connections[id]?.messages.admits(now: now) == true else {
                return refuseConnection(id, reason: MessageRate.reason, now: now)
            }
            let action = dialog.line(line, from: connection.viewer, isAsking: connection.isAsking)
            connections[id]?.dialog = .version1(dialog)
            perform(action, on: id, now: now)
        }
        if connections[id] != nil { perform(end, on: id, now: now) }
    }

    private func lineDialog(_ id: ConnectionID) -> LineDialog? {
        switch connections[id]?.dialog {
        case .undecided: LineDialog()
        case .version1(let dialog): dialog
        case .version2, .browser, nil: nil
        }
    }

    private mutating func perform(_ action: LineDialog.Action, on id: ConnectionID, now: MediaTime) {
        switch action {
        case .none:
            break
        case .introduce(let handshake):
            introduce(handshake, on: id, now: now)
        case .replyAgain(let viewer):
            heard(viewer, now: now)
            sendReply(to: viewer, on: id, message: "Already paired")
        case .mediaSource(let viewer, let port):
            heard(viewer, now: now)
            outputs.append(.message(viewer, .mediaSource(port: port)))
        case .alive(let viewer):
            heard(viewer, now: now)
        case .refuse(let reason):
            refuseConnection(id, reason: reason, now: now)
        }
    }

    private mutating func introduce(_ handshake: ControlMessage.Handshake, on id: ConnectionID, now: MediaTime) {
        guard let address = connections[id]?.address else { return }
        guard handshake.app == ControlMessage.Handshake.app, handshake.version == ControlMessage.Handshake.version
        else { return refuseViewer(id, .other, reason: "Incompatible Viewer", now: now) }
        guard handshake.role == ControlMessage.Handshake.viewerRole else {
            return refuseViewer(id, .other, reason: "Invalid role", now: now)
        }
        guard let code = handshake.code.flatMap(PairingCode.init) else {
            return refuseViewer(id, .other, reason: "Invalid code", now: now)
        }
        guard !blocked.addresses.contains(address) else {
            return refuseViewer(id, .declined, reason: Self.blockedText, now: now)
        }
        let known = members.firstIndex { viewer in
            guard case .version1(code) = viewer.peer else { return false }
            return viewer.address == address
        }
        if let known { return resumeVersion1(known, on: id, now: now) }
        switch acceptance {
        case .all: admitVersion1(id, code: code, now: now)
        case .none: refuseViewer(id, .declined, reason: "Declined", now: now)
        case .ask: ask(id, .code(code), now: now)
        }
    }

    mutating func admitVersion1(_ id: ConnectionID, code: PairingCode, now: MediaTime) {
        guard let index = addMember(.version1(code), on: id, now: now) else { return }
        attachVersion1(index, to: id, isResumed: false, now: now)
    }

    /// A viewer that lost its connection has reconnected.
    private mutating func resumeVersion1(_ index: Int, on id: ConnectionID, now: MediaTime) {
        closeControl(of: index, now: now)
        attachVersion1(index, to: id, isResumed: true, now: now)
    }

    private mutating func attachVersion1(_ index: Int, to id: ConnectionID, isResumed: Bool, now: MediaTime) {
        attach(index, to: id, now: now)
        deadlines.set(.heartbeat(id), at: now + HostLimits.firstHeartbeatDelay)
        sendReply(to: members[index].id, on: id, message: nil)
        emit(
            .viewerPaired(
                session: members[index].session.description, from: visitor(index), isResumed: isResumed))
        outputs.append(.admitted(guest(index), isResumed: isResumed))
    }

    /// Sends the reply, the media port, and whether the screen is being shared.
    private mutating func sendReply(to viewer: ViewerID, on id: ConnectionID, message: String?) {
        guard let index = index(of: viewer) else { return }
        send(
            .reply(
                ControlMessage.Reply(
                    isAccepted: true, session: members[index].session.description, mediaPort: mediaPort,
                    message: message,
                    deviceName: configuration.deviceName.map { $0.prefix(utf8: SecureMessage.longestText) })),
            to: id)
        if let mediaPort { send(ControlMessage.mediaPort(mediaPort), to: id) }
        send(ControlMessage.broadcast(isBroadcasting), to: id)
    }

    mutating func sendHeartbeat(_ id: ConnectionID, now: MediaTime) {
        guard connections[id]?.viewer != nil else { return }
        send(.heartbeat, to: id)
        deadlines.set(.heartbeat(id), at: now + HostLimits.heartbeatInterval)
    }
}
