import BeamMedia

/// The viewer's version 2 control plane: messages inside TLS.
extension ViewerSession {
    /// TLS has proved that the peer holds this key. Whether it is trusted is decided here, for each connection.
    mutating func controlSecured(_ host: DeviceKey, now: MediaTime) {
        let trust = configuration.trust
        secured()
        let isKnown = book.trusts(host)
        hostKey = host
        messages = MessageRate()
        if let conflict = conflict(with: host) { return mistrust(conflict, now: now) }
        guard isKnown || trust.pairs else { return mistrust(.notPaired, now: now) }
        hostName = book.name(of: host) ?? ""
        dialog = .pairing(
            SecurePairing(
                own: trust.own, name: trust.name, host: host, isKnown: isKnown, code: code, wantsCode: wantsCode,
                letsPersonChoose: configuration.asksForCode && !wantsComparison))
        perform(control.connected(isAnswered: true, now: now), now: now)
    }

    /// Why the host with this key isn't watched; nil if it may be.
    func conflict(with host: DeviceKey) -> ViewerRefusal? {
        if let conflict = configuration.trust.conflict(with: host) { return conflict }
        guard let expected = watchedKey, expected != host else { return nil }
        // An address may belong to another machine now, or somebody is in between.
        let names = [book.name(of: expected)].compactMap { $0 }
        return .otherKey(ViewerRefusal.OtherKey(key: host, expected: names, place: .here))
    }

    mutating func controlMessage(_ bytes: [UInt8], now: MediaTime) {
        guard control.isConnected else { return }
        control.lineArrived(now: now)
        noteHeard(now: now)
        guard messages.admits(now: now) else {
            return perform(control.violated(reason: MessageRate.reason, now: now), now: now)
        }
        do throws(SecureMessageError) {
            let message = try SecureMessage(bytes)
            switch dialog {
            case .pairing(var pairing):
                let action = pairing.handle(message, random: &random)
                dialog = .pairing(pairing)
                nameHost(pairing)
                perform(action, pairing, now: now)
                if pairing.isJoining, !control.isPaired { control.awaitAnswer(now: now) }
            case .version2:
                handle(message, now: now)
            case .none, .version1:
                break
            }
        } catch {
            perform(control.violated(reason: "it sent \(error)", now: now), now: now)
        }
    }

    /// Reports of a changed host name in one run: a host could change its name with each connection.
    private static let mostNewNames = 3

    /// Sets `hostName`: the name that a known host is remembered by, otherwise the name that it claims.
    private mutating func nameHost(_ pairing: SecurePairing) {
        guard !pairing.hostName.isEmpty else { return }
        let claimed = PeerText.name(pairing.hostName)
        let known = book.name(of: pairing.host)
        let name = known ?? claimed
        if name != hostName || !isHostNamed { emit(.hostNamed(name)) }
        isHostNamed = true
        hostName = name
        guard let known else { return }
        let chosen = configuration.trust.newName(of: pairing.host)
        let newName = chosen ?? claimed
        guard chosen != nil || !DeviceNames.isVariant(known, of: claimed, pairing.host), newName != lastNewName,
            newNames < Self.mostNewNames
        else { return }
        lastNewName = newName
        newNames += 1
        emit(.hostCallsItself(newName, known: known, wasChosen: chosen != nil))
    }

    // MARK: Before it has let us in

    private mutating func perform(_ action: SecurePairing.Action, _ pairing: SecurePairing, now: MediaTime) {
        switch action {
        case .none:
            break
        case .send(let message):
            guard configuration.trust.pairs || message == .join else { return refuseForgotten(now: now) }
            if case .codeConfirm = message { isCodeSpent = true }
            send(message)
        case .requestComparison(let message):
            guard configuration.trust.pairs else { return refuseForgotten(now: now) }
            send(message)
            control.personAsked(now: now)
            let takesCode = configuration.asksForCode && pairing.methods.contains(.code)
            isPersonAsked = takesCode
            offersComparison = true
            emit(.waitingForPerson(host: hostName, takesCode: takesCode))
        case .compare(let message, let digits):
            send(message)
            control.comparisonStarted()
            emit(.waitingForDecision(code: digits))
        case .needCode:
            askForCode(nil, now: now)
        case .wrongCode:
            askForCode(.wrong, now: now)
        case .replacedCode:
            askForCode(.replaced, now: now)
        case .uncheckedCode:
            askForCode(.unchecked, now: now)
        case .noCodeTaken:
            refuse(.noCodeTaken, now: now)
        case .wait(let milliseconds):
            let pause = min(max(.milliseconds(Int64(milliseconds) + 50), Self.shortestCodeWait), Self.longestCodeWait)
            perform(
                control.postponed(by: pause, reason: "too many wrong codes were typed there", now: now), now: now)
        case .paired(let isRemembered):
            // Another known host may have this name; the store then marks the new one.
            let name = book.name(of: pairing.host) ?? PeerText.name(pairing.hostName)
            hostName = book.pair(pairing.host, name: name)
            // From here on the keys are enough.
            code = nil
            isCodeSpent = false
            isPersonAsked = false
            emit(
                .hostPaired(
                    pairing.host, name: name,
                    isToBeRemembered: isRemembered && configuration.trust.remembersNewHosts))
            send(.join)
        case .joined(let session):
            takesShownSize = pairing.features.contains(.shownSize)
            joined(session, now: now)
            if shownSize != nil { sendShownSize() }
            joinSound(pairing.features)
            joinRoom(pairing, now: now)
            if book.trusts(pairing.host) { watchedKey = pairing.host }
            emit(.hostReached(pairing.host))
        case .hostEnded(let reason):
            perform(control.hostEnded(reason, now: now), now: now)
        case .refused(.unanswered, _):
            perform(control.violated(reason: ViewerControl.undecided, now: now), now: now)
        case .refused(.busy, let says):
            perform(control.violated(reason: PeerText.reason(says), now: now), now: now)
        case .refused(let refusal, let says):
            refuse(ViewerRefusal(refusal, says: says), now: now)
        case .violated(let reason):
            perform(control.violated(reason: PeerText.sentence(reason), now: now), now: now)
        }
    }

    /// The least pause, in case the host says 0 ms.
    private static let shortestCodeWait = Duration.milliseconds(500)
    /// The most pause: longer than our own hosts ever ask for (60 s).
    private static let longestCodeWait = Duration.seconds(600)

    private mutating func refuseForgotten(now: MediaTime) {
        refuse(.unknownThere, now: now)
    }

    private mutating func joined(_ joined: SecureMessage.Session, now: MediaTime) {
        let isNews = control.accepted(now: now)
        dialog = .version2
        let id = SessionID(joined.id).description
        // Each connection has a new key for the viewer's datagrams. The media key stays, or is a later one.
        var ring = MediaKeyRing()
        if let membership, membership.id == id, let media = membership.sealing?.media { ring = media }
        ring.add(joined.mediaKey)
        let sealing = MediaSealing(hellos: DatagramSealer(key: joined.viewerKey), media: ring)
        enter(
            session: id, host: hostName, mediaPort: joined.mediaPort == 0 ? nil : joined.mediaPort, isNews: isNews,
            sealing: sealing, now: now)
        broadcastNamed(joined.isBroadcasting, now: now)
        perform(media.helloNow(now: now), now: now)
        clock = HostClock()
        ping(now: now)
    }

    // MARK: The size in which the picture is shown

    mutating func show(in size: PixelSize?) {
        guard size != shownSize else { return }
        shownSize = size
        sendShownSize()
    }

    private mutating func sendShownSize() {
        guard case .version2 = dialog, takesShownSize else { return }
        guard let shownSize else { return send(.shownSize(width: 0, height: 0)) }
        send(
            .shownSize(
                width: UInt16(clamping: max(1, shownSize.width)), height: UInt16(clamping: max(1, shownSize.height))))
    }

    /// The most changes of the full picture's size that are reported: a host costs the person no more lines.
    private static let mostFullSizes = 50

    private mutating func fullSizeNamed(_ size: PixelSize?) {
        guard size != fullSize, fullSizeChanges < Self.mostFullSizes else { return }
        fullSizeChanges += 1
        fullSize = size
        emit(.pictureLimited(full: size))
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
            membership?.sealing?.media.add(key)
            send(.mediaKeyReady(key.number))
        case .mediaPort(let port): mediaPortNamed(port, now: now)
        case .broadcast(let isOn): broadcastNamed(isOn, now: now)
        case .sourceVisibility(let visibility): sourceVisibilityNamed(visibility, now: now)
        case .fullSize(let width, let height):
            fullSizeNamed(width > 0 && height > 0 ? PixelSize(width: Int(width), height: Int(height)) : nil)
        case .ping(let value): send(.pong(value, clock: now.microseconds))
        case .pong(let sent, let clock): pong(sent: sent, clock: clock, now: now)
        case .refused(let refusal, let says): refuse(ViewerRefusal(refusal, says: says), now: now)
        case .bye(let reason): perform(control.hostEnded(reason, now: now), now: now)
        case .room(let message): room?.received(message, from: Self.keeper, now: now)
        default: break
        }
    }

    // MARK: The room

    /// A viewer's room has one other member that it is connected to: its host.
    static let keeper = LogMemberID(0)

    private mutating func joinRoom(_ pairing: SecurePairing, now: MediaTime) {
        guard pairing.features.contains(.words) else {
            let isNews = !hasOtherWords
            hasOtherWords = pairing.features.contains(.firstWords)
            if hasOtherWords, isNews, room != nil { emit(.room(.otherVersion(of: hostName))) }
            return
        }
        hasOtherWords = false
        room?.metKeeper(Self.keeper, device: pairing.host, name: hostName, now: now)
    }

    /// Carries out what the room has decided.
    mutating func settleRoom(now: MediaTime) {
        room?.settle(now: now)
        while let output = room?.pollOutput() {
            switch output {
            case .send(_, let message):
                // Of a connection that is being replaced nothing is sent any more.
                if case .version2 = dialog { send(.room(message)) }
            case .event(let event): emit(.room(event))
            case .violation(_, let reason): perform(control.violated(reason: reason, now: now), now: now)
            }
        }
    }
}

extension ViewerRefusal {
    /// What a host's refusal means; `says` are its words.
    init(_ refusal: SecureMessage.Refusal, says: String) {
        self =
            switch refusal {
            case .declined: .declined
            case .notTrusted: .notTrusted(says: says)
            case .usedCode: .usedCode
            case .forgotten: .forgotten(says: says)
            case .sentAway: .sentAway(says: says)
            case .other, .wrongCode, .replacedCode, .busy, .unanswered, .otherVersion: .other(says: says)
            }
    }
}
