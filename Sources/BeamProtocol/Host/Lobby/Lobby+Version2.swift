import BeamMedia

/// Version 2's control connections at the host: messages inside TLS, both ends authenticated by their keys.
extension Lobby {
    /// TLS is established; the peer has proved that it holds this key.
    mutating func connectionSecured(_ id: ConnectionID, device: DeviceKey, now: MediaTime) {
        guard case .undecided = connections[id]?.dialog else { return }
        connections[id]?.dialog = .version2(SecureDialog(device: device, random: &random))
        guard book.trusts(device) else { return }
        let waiting = connections.values.filter { $0.isUnadmitted && $0.device.map(book.trusts) ?? false }
        guard waiting.count <= HostLimits.knownConnections,
            waiting.count(where: { $0.device == device }) <= HostLimits.knownConnectionsPerDevice
        else { return refuseViewer(id, .busy, reason: "Too many connections of this device", now: now) }
        ledger.identified(id)
    }

    mutating func connectionMessage(_ id: ConnectionID, _ bytes: [UInt8], now: MediaTime) {
        guard let connection = connections[id], case .version2(var dialog) = connection.dialog else { return }
        guard connections[id]?.messages.admits(now: now) == true else {
            return violated(id, reason: MessageRate.reason, now: now)
        }
        if let viewer = connection.viewer { return viewerMessage(viewer, bytes, on: id, now: now) }
        let action = dialog.message(bytes)
        connections[id]?.dialog = .version2(dialog)
        switch action {
        case .none: break
        case .greet(let hello): greet(hello, dialog, on: id, now: now)
        case .beginCode(let share): beginCode(share, on: id, now: now)
        case .checkCode(let confirmation): check(confirmation, on: id, now: now)
        case .requestComparison: requestComparison(id, now: now)
        case .compare(let digits): revealed(digits, on: id, now: now)
        case .join: join(id, now: now)
        case .bye:
            outputs.append(.close(id))
            connectionClosed(id, now: now)
        case .refuse(let reason): refuseConnection(id, reason: reason, now: now)
        }
    }

    private var name: String { shownName ?? configuration.deviceName ?? "BeamRoom" }

    /// The ways in which an unknown device can be admitted.
    private func methods(for device: DeviceKey) -> SecureMessage.Welcome.Methods {
        guard trust.takesNewViewers, closedToNew == nil else { return [] }
        var methods: SecureMessage.Welcome.Methods = []
        if code.current != nil { methods.insert(.code) }
        if asks { methods.insert(.compare) }
        // `--accept all` doesn't cover a device that the person has forgotten: it has to be paired again.
        if configuration.acceptance == .all, !blocked.forgotten.contains(device) { methods.insert(.open) }
        return methods
    }

    private mutating func greet(
        _ hello: SecureMessage.Hello, _ dialog: SecureDialog, on id: ConnectionID, now: MediaTime
    ) {
        guard hello.version >= SecureMessage.Hello.version else {
            return refuseViewer(id, .other, reason: "Incompatible viewer", now: now)
        }
        guard !isRoomsDoor || hello.features.contains(.equals) else {
            return refuseViewer(id, .otherVersion, reason: Self.otherVersion, now: now)
        }
        if let (refusal, reason) = blockReason(of: dialog.device, now: now) {
            return refuseViewer(id, refusal, reason: reason, now: now)
        }
        let isTrusted = book.trusts(dialog.device)
        if !isTrusted, let closedToNew { return refuseViewer(id, .other, reason: closedToNew, now: now) }
        let methods = methods(for: dialog.device)
        if !isTrusted, methods.isEmpty {
            if trust.takesNewViewers, blocked.forgotten.contains(dialog.device), configuration.acceptance == .all {
                let (refusal, reason) = forgottenRefusal
                return refuseViewer(id, refusal, reason: reason, now: now)
            }
            return refuseViewer(id, closedRefusal, reason: closedReason, now: now)
        }
        send(
            .welcome(
                SecureMessage.Welcome(
                    features: features, isTrusted: isTrusted, methods: methods, nonce: dialog.nonce, name: name)),
            to: id)
    }

    /// Newcomers to a room of equals come here.
    private var isRoomsDoor: Bool { code.service == .room }

    private static let otherVersion =
        "This room has members with a newer version of BeamRoom. To meet in a room, install the same version"

    private var features: SecureMessage.Welcome.Features {
        var features: SecureMessage.Welcome.Features = .shownSize
        if isRoomsDoor { features.insert(.equals) }
        if configuration.room != nil { features.insert(.words) }
        if configuration.hasSound { features.insert(.sound) }
        return features
    }

    /// Why no new viewer is let in at present.
    private var closedRefusal: SecureMessage.Refusal {
        trust.takesNewViewers && code.wasUsed ? .usedCode : .notTrusted
    }

    private var closedReason: String {
        if let closedToNew { return closedToNew }
        if !trust.takesNewViewers { return "Only viewers that were paired before are let in" }
        return code.wasUsed ? Self.usedText : "Nobody is there to let new viewers in"
    }

    private static let usedText = "The code was used: it lets in one viewer. A new one has to be set at the host"

    // MARK: A typed code

    /// A viewer begins to prove that it knows the code.
    ///
    /// If the code was replaced a moment ago, the viewer's proof is compared with the one before first. That tests
    /// nothing of the present one, so it isn't a try. The viewer's share stays the same for both: whoever makes it has
    /// made it for one code, and can't prove another with it.
    private mutating func beginCode(_ share: [UInt8], on id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog else { return }
        guard trust.takesNewViewers, closedToNew == nil, let current = code.current else {
            return refuseViewer(id, closedRefusal, reason: closedReason, now: now)
        }
        if let pause = codeGuard.pause(now: now) { return postponeCode(id, by: pause, now: now) }
        if dialog.features.contains(.replacedCodes), let previous = code.takePrevious(now: now) {
            prove(previous, isPrevious: true, share, on: id, now: now)
        } else {
            prove(current, isPrevious: false, share, on: id, now: now)
        }
    }

    private mutating func postponeCode(_ id: ConnectionID, by pause: Duration, now: MediaTime) {
        send(.codeWait(UInt32(clamping: pause.inNanoseconds / 1_000_000)), to: id)
        refuseConnection(id, reason: "too many wrong codes were typed", now: now)
    }

    /// Sends the host's share for this code.
    private mutating func prove(
        _ code: PairingCode, isPrevious: Bool, _ share: [UInt8], on id: ConnectionID, now: MediaTime
    ) {
        guard case .version2(var dialog) = connections[id]?.dialog else { return }
        do throws(PairingFailure) {
            let pace = try CPaceHost(
                code: code, context: dialog.context(host: trust.own, name: name), viewerShare: share)
            dialog.provesCode(SecureDialog.CodeProof(pace: pace, isPrevious: isPrevious))
            connections[id]?.dialog = .version2(dialog)
            send(.codeShare(pace.share), to: id)
        } catch {
            refuseConnection(id, reason: "\(error)", now: now)
        }
    }

    /// Checks a viewer's proof: here, and only here, something is learnt of the code that was typed.
    private mutating func check(_ confirmation: [UInt8], on id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog, let proof = dialog.codeProof else { return }
        if proof.isPrevious {
            guard proof.pace.answer(to: confirmation) == nil else { return codeReplaced(id, now: now) }
            guard let current = code.current else {
                return refuseViewer(id, closedRefusal, reason: closedReason, now: now)
            }
            return prove(current, isPrevious: false, proof.pace.viewerShare, on: id, now: now)
        }
        if code.service == .room {
            guard connections[id]?.heldProof == nil else {
                return refuseConnection(id, reason: "it sent a message out of turn", now: now)
            }
            connections[id]?.heldProof = confirmation
            return emit(.codeTried(id))
        }
        // Others' wrong codes since the viewer began.
        if let pause = codeGuard.pause(now: now) { return postponeCode(id, by: pause, now: now) }
        guard let answer = proof.pace.answer(to: confirmation) else { return codeWrong(id, now: now) }
        proved(answer, on: id, now: now)
    }

    /// The room of equals allows to check the proof, or doesn't for so long.
    mutating func codeVerdict(_ id: ConnectionID, pause: Duration?, now: MediaTime) {
        guard let connection = connections[id], case .version2(let dialog) = connection.dialog,
            let confirmation = connection.heldProof, let proof = dialog.codeProof
        else { return emit(.codeChecked(id, isRight: nil)) }
        connections[id]?.heldProof = nil
        if let pause {
            emit(.codeChecked(id, isRight: nil))
            return postponeCode(id, by: pause, now: now)
        }
        let answer = proof.pace.answer(to: confirmation)
        emit(.codeChecked(id, isRight: answer != nil))
        if let answer { proved(answer, on: id, now: now) } else { codeWrong(id, now: now) }
    }

    private mutating func proved(_ answer: [UInt8], on id: ConnectionID, now: MediaTime) {
        guard case .version2(var dialog) = connections[id]?.dialog else { return }
        dialog.accepted()
        connections[id]?.dialog = .version2(dialog)
        if code.used(random: &random, now: now) { codeChanged(.used, but: id, now: now) }
        send(.codeConfirm(answer), to: id)
        paired(dialog, on: id, byCode: true)
    }

    /// Refuses the viewers that are proving a code that was just replaced. Nothing of what they typed was looked at.
    mutating func withdrawProofs(but id: ConnectionID?, now: MediaTime) {
        for (other, connection) in connections where other != id {
            guard case .version2(let dialog) = connection.dialog, dialog.codeProof != nil else { continue }
            codeReplaced(other, now: now)
        }
    }

    /// The viewer's person has typed a code that isn't shown any more: that isn't a wrong try.
    private mutating func codeReplaced(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog else { return }
        let takesOne = if case .one = code.service { true } else { false }
        let reason = takesOne ? "That code has just let in somebody else" : "That code was replaced a moment ago"
        refuseViewer(
            id, dialog.features.contains(.replacedCodes) ? .replacedCode : .wrongCode,
            reason: code.current == nil ? reason : "\(reason). Type the one that is shown now", now: now)
    }

    private mutating func codeWrong(_ id: ConnectionID, now: MediaTime) {
        // Of a room's code the room counts.
        if code.service != .room { codeGuard.failed(now: now) }
        let isReplaced = code.failed()
        emit(.wrongCode(from: visitor(id), pause: codeGuard.pause(now: now)))
        if isReplaced || code.service == .room && isBeforeLastTry, case .version2(let dialog) = connections[id]?.dialog,
            dialog.features.contains(.replacedCodes)
        {
            refuseViewer(
                id, .replacedCode,
                reason: "That isn't the code, and it is another one now, after \(HostCode.mostWrongTries) wrong tries. "
                    + "Type the one that is shown now", now: now)
            if isReplaced { renewCode(.wrongTries, now: now) }
            return
        }
        // Which code was typed isn't known: nothing of it is sent.
        let hint =
            switch code.service {
            case .one where code.hasBeenReplaced: ". A code lets in one viewer: type the one that the host shows now"
            case .everybody where code.wasReplaced(now: now), .room where code.wasReplaced(now: now):
                ". Type the one that the host shows now"
            default: ""
            }
        refuseViewer(id, .wrongCode, reason: "That isn't the code\(hint)", now: now)
        if isReplaced { renewCode(.wrongTries, now: now) }
    }

    /// The code that has just let in somebody lets in others, too.
    private var codeStillServes: Bool {
        if case .one = code.service { false } else { true }
    }

    // MARK: Compared digits

    private mutating func requestComparison(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog else { return }
        guard methods(for: dialog.device).contains(.compare) else {
            return refuseViewer(id, closedRefusal, reason: closedReason, now: now)
        }
        ask(id, code: nil, now: now)
    }

    /// The person agrees to compare digits with this viewer: sends the host's nonce.
    mutating func compare(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(var dialog) = connections[id]?.dialog else { return }
        do throws(PairingFailure) {
            let length = comparisonGuard.length(now: now)
            guard let nonce = try dialog.compare(host: trust.own, name: name, length, random: &random) else { return }
            connections[id]?.dialog = .version2(dialog)
            // An honest viewer reveals its nonce within a round trip. More time would let an attacker try several
            // viewers against one nonce.
            deadlines.set(.unadmitted(id), at: now + HostLimits.revealTimeout)
            send(nonce, to: id)
        } catch {
            refuseConnection(id, reason: "\(error)", now: now)
        }
    }

    /// The viewer has revealed its nonce: both screens show these digits now.
    private mutating func revealed(_ digits: PairingCode, on id: ConnectionID, now: MediaTime) {
        deadlines.set(.unadmitted(id), at: now + HostLimits.comparisonTimeout)
        questions.digitsShown(id)
        emit(.digitsShown(id, digits: digits, from: visitor(id)))
    }

    /// Counts a comparison that ended without acceptance. Each is one chance that the digits agree for an attacker.
    mutating func noteFailedComparison(_ id: ConnectionID, now: MediaTime) {
        guard let connection = connections[id], case .version2(let dialog) = connection.dialog,
            case .begun = dialog.comparing
        else { return }
        let reason =
            connection.isDeclined
            ? "the digits differ" : dialog.isRevealing ? "it left before it showed its digits" : "it left meanwhile"
        emit(.comparisonFailed(from: visitor(id), reason: reason, failures: comparisonGuard.failed(now: now)))
    }

    mutating func comparisonAccepted(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(var dialog) = connections[id]?.dialog, case .begun = dialog.comparing, !dialog.isRevealing
        else { return }
        dialog.accepted()
        connections[id]?.dialog = .version2(dialog)
        deadlines.set(.unadmitted(id), at: now + HostLimits.admissionTimeout)
        paired(dialog, on: id, byCode: false)
    }

    private mutating func paired(_ dialog: SecureDialog, on id: ConnectionID, byCode: Bool) {
        let name = book.pair(dialog.device, name: PeerText.name(dialog.name))
        ledger.identified(id)
        send(.paired(isRemembered: trust.remembersNewViewers), to: id)
        if byCode { emit(.codeServed(to: visitor(id), isStillValid: codeStillServes)) }
        emit(.devicePaired(dialog.device, name: name, isToBeRemembered: trust.remembersNewViewers))
    }

    // MARK: Joining

    private mutating func join(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog else { return }
        // The list of devices may have become unreadable since the welcome.
        if let (refusal, reason) = blockReason(of: dialog.device, now: now) {
            return refuseViewer(id, refusal, reason: reason, now: now)
        }
        // A viewer that isn't trusted gets no answer: the welcome told it so.
        guard book.trusts(dialog.device) || methods(for: dialog.device).contains(.open) else { return }
        let known = members.firstIndex {
            $0.peer.device == dialog.device && $0.peer.instance == dialog.instance
        }
        guard known != nil || admissions.allows(dialog.device, now: now) else {
            keepOut(dialog.device, reason: Self.exceededText, now: now)
            return refuseViewer(id, .busy, reason: "This viewer has connected too often within a short time", now: now)
        }
        let peer = Member.Peer.version2(
            device: dialog.device, instance: dialog.instance, name: visitor(id).name ?? PeerText.unnamed)
        let index: Int
        if let known {
            closeControl(of: known, now: now)
            members[known].peer = peer
            members[known].address = connections[id]?.address ?? members[known].address
            index = known
        } else if let added = addMember(peer, on: id, now: now) {
            admissions.began(dialog.device, now: now)
            index = added
        } else {
            return
        }
        members[index].features = dialog.features
        members[index].bounds = dialog.bounds
        attach(index, to: id, now: now)
        welcome(index, on: id, isResumed: known != nil)
    }

    /// Sends an admitted viewer its session, keys and media port.
    private mutating func welcome(_ index: Int, on id: ConnectionID, isResumed: Bool) {
        let key = SealingKey(number: freeKeyNumber(), random: &random)
        members[index].key = key
        send(
            .session(
                SecureMessage.Session(
                    id: members[index].session.bytes, mediaPort: mediaPort ?? 0, isBroadcasting: isBroadcasting,
                    viewerKey: key, mediaKey: mediaKeys.current)),
            to: id)
        if let next = mediaKeys.next { send(.mediaKey(next), to: id) }
        // In a session that continues, it may have changed meanwhile.
        if sourceVisibility != .visible || isResumed { send(.sourceVisibility(sourceVisibility), to: id) }
        emit(
            .viewerPaired(
                session: members[index].session.description, from: visitor(index), isResumed: isResumed))
        outputs.append(.admitted(guest(index), isResumed: isResumed))
    }

    /// A key number that no other viewer's key has.
    private mutating func freeKeyNumber() -> UInt16 {
        repeat { lastKeyNumber &+= 1 } while members.contains { $0.key?.number == lastKeyNumber }
        return lastKeyNumber
    }

    // MARK: A viewer's messages

    /// The peer broke the protocol or exceeded a limit. An admitted viewer is evicted, any other connection refused.
    mutating func violated(_ id: ConnectionID, reason: String, now: MediaTime) {
        guard let connection = connections[id] else { return }
        if let viewer = connection.viewer { return evict(viewer, reason: reason, now: now) }
        if case .version2 = connection.dialog { send(.bye(reason), to: id) }
        refuseConnection(id, reason: reason, now: now)
    }

    private mutating func viewerMessage(_ viewer: ViewerID, _ bytes: [UInt8], on id: ConnectionID, now: MediaTime) {
        heard(viewer, now: now)
        do {
            switch try SecureMessage(bytes) {
            case .ping(let value): send(.pong(value, clock: now.microseconds), to: id)
            case .mediaKeyReady(let number): outputs.append(.message(viewer, .mediaKeyReady(number: number)))
            case .shownSize(let width, let height):
                let size = width > 0 && height > 0 ? PixelSize(width: Int(width), height: Int(height)) : nil
                outputs.append(.message(viewer, .shownSize(size)))
            case .soundWanted(let isWanted): outputs.append(.message(viewer, .soundWanted(isWanted)))
            case .room(let message): outputs.append(.message(viewer, .room(message)))
            case .bye: left(viewer, reason: "its program has ended", now: now)
            default: break
            }
        } catch {
            violated(id, reason: "it sent \(error)", now: now)
        }
    }

    /// The list of paired devices has changed: evicts the devices that were removed from it.
    mutating func rememberedChanged(_ devices: [DeviceKey: String], now: MediaTime) {
        for device in book.update(devices) {
            blocked.forgotten.insert(device)
            let (refusal, message) = forgottenRefusal
            evict(device, refusal, message: message, reason: "it was forgotten", now: now)
        }
    }
}
