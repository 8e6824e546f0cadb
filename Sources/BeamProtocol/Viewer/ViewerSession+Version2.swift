import BeamMedia

/// Version 2's control plane at the viewer: messages inside TLS, between two keys.
extension ViewerSession {
    /// The other end has proved that it holds this key. Whether it is one to talk to is decided here, on every connection.
    mutating func controlSecured(_ host: DeviceKey, now: MediaTime) {
        let trust = configuration.trust
        secured()
        let isKnown = book.trusts(host)
        hostKey = host
        messages = MessageRate()
        if let required = trust.required, !required.contains(host) {
            return refuse(
                "it shows another key (\(host)) than the one that was paired under this name. If it was set up anew, "
                    + "`beamroom devices forget` it here and pair again; if not, somebody may stand in between")
        }
        guard isKnown || trust.pairs else {
            return refuse("it isn't one that was paired with this machine before")
        }
        hostName = trust.known[host] ?? ""
        dialog = .pairing(
            SecurePairing(own: trust.own, name: trust.name, host: host, isKnown: isKnown, code: code))
        perform(control.connected(now: now), now: now)
    }

    mutating func controlMessage(_ bytes: [UInt8], now: MediaTime) {
        guard control.isConnected else { return }
        control.lineCame(now: now)
        guard messages.admits(now: now) else {
            return perform(control.violated(reason: MessageRate.reason, now: now), now: now)
        }
        do throws(SecureMessageError) {
            let message = try SecureMessage(bytes)
            switch dialog {
            case .pairing(var pairing):
                let action = pairing.handle(message, random: &random)
                dialog = .pairing(pairing)
                if !pairing.hostName.isEmpty { hostName = pairing.hostName }
                perform(action, pairing, now: now)
            case .version2:
                handle(message, now: now)
            case .none, .version1:
                break
            }
        } catch {
            perform(control.violated(reason: "it sent \(error)", now: now), now: now)
        }
    }

    // MARK: Before it has let us in

    private mutating func perform(_ action: SecurePairing.Action, _ pairing: SecurePairing, now: MediaTime) {
        switch action {
        case .none:
            break
        case .send(let message):
            guard configuration.trust.pairs || message == .join else {
                return refuse("it doesn't know this viewer any more. Pair again with `beamroom watch`")
            }
            if case .codeConfirm = message { isCodeSpent = true }
            send(message)
        case .compare(let message, let digits):
            send(message)
            control.asked(now: now)
            emit(.waitingForDecision(code: digits))
        case .needCode:
            askForCode(wasWrong: false)
        case .wrongCode:
            askForCode(wasWrong: true)
        case .wait(let milliseconds):
            let pause = Duration.milliseconds(Int64(milliseconds) + 50)
            perform(
                control.postponed(by: pause, reason: "too many wrong codes were typed there", now: now), now: now)
        case .paired(let isRemembered):
            book.pair(pairing.host)
            // A code is good for one success.
            code = nil
            isCodeSpent = false
            emit(
                .hostPaired(
                    pairing.host, name: pairing.hostName,
                    isToBeRemembered: isRemembered && configuration.trust.remembersNewHosts))
            send(.join)
        case .joined(let session):
            joined(session, host: pairing.hostName, now: now)
        case .refused(.busy, let reason), .refused(.unanswered, let reason):
            perform(control.violated(reason: reason, now: now), now: now)
        case .refused(_, let reason):
            refuse(reason)
        case .violated(let reason):
            perform(control.violated(reason: reason, now: now), now: now)
        }
    }

    private mutating func joined(_ joined: SecureMessage.Session, host: String, now: MediaTime) {
        let isNews = control.accepted(now: now)
        dialog = .version2
        let id = SessionID(joined.id).description
        if id != session { reassembler.reset(canAsk: true) }
        // Every connection has its own key for what the viewer says; the media's stays, or is a later one.
        var ring = id == session ? sealing?.media ?? MediaKeyRing() : MediaKeyRing()
        ring.add(joined.mediaKey)
        sealing = MediaSealing(hellos: DatagramSealer(key: joined.viewerKey), media: ring)
        enter(
            session: id, host: host, mediaPort: joined.mediaPort == 0 ? nil : joined.mediaPort, isNews: isNews,
            isEncrypted: true, now: now)
        broadcastNamed(joined.isBroadcasting, now: now)
        perform(media.helloNow(now: now), now: now)
        clock = HostClock()
        ping(now: now)
    }

    // MARK: The host's clock

    mutating func ping(now: MediaTime) { send(.ping(UInt64(clamping: now.nanoseconds))) }

    private mutating func pong(sent: UInt64, clock microseconds: UInt64, now: MediaTime) {
        guard let sent = Int64(exactly: sent), let host = MediaTime(microseconds: microseconds) else { return }
        clock.pong(sent: MediaTime(nanoseconds: sent), host: host, now: now)
        if let trip = clock.roundTrip { reassembler.requests.expect(roundTrip: trip) }
        if clock.wantsMore { ping(now: now) }
    }

    // MARK: After that

    private mutating func handle(_ message: SecureMessage, now: MediaTime) {
        switch message {
        case .mediaKey(let key):
            sealing?.media.add(key)
            send(.mediaKeyReady(key.number))
        case .mediaPort(let port): mediaPortNamed(port, now: now)
        case .broadcast(let isOn): broadcastNamed(isOn, now: now)
        case .ping(let value): send(.pong(value, clock: now.microseconds))
        case .pong(let sent, let clock): pong(sent: sent, clock: clock, now: now)
        case .refused(_, let reason): refuse(reason)
        case .bye(let reason): perform(control.violated(reason: reason, now: now), now: now)
        default: break
        }
    }
}
