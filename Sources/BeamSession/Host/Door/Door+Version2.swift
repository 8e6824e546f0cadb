import BeamMedia
import BeamWire

/// Version 2's control connections at the host: messages inside TLS, both ends authenticated by their keys.
extension Door {
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

    var name: String { shownName ?? configuration.deviceName ?? "BeamRoom" }

    /// The ways in which an unknown device can be admitted.
    func methods(for device: DeviceKey) -> SecureMessage.Welcome.Methods {
        guard takesNewViewers, closedToNew == nil else { return [] }
        var methods: SecureMessage.Welcome.Methods = []
        if code.current != nil { methods.insert(.code) }
        if asks { methods.insert(.compare) }
        // `--accept all` doesn't cover a device that the person has forgotten: it has to be paired again.
        if acceptance == .all, !blocked.forgotten.contains(device) { methods.insert(.open) }
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
        guard hello.features.contains(.offersScreen) == configuration.isReceivers else {
            return refuseViewer(
                id, .other, reason: configuration.isReceivers ? Self.onlyReceiver : Self.noReceiver, now: now)
        }
        if let (refusal, reason) = blockReason(of: dialog.device, now: now) {
            return refuseViewer(id, refusal, reason: reason, now: now)
        }
        let isTrusted = book.trusts(dialog.device)
        if !isTrusted, let closedToNew { return refuseViewer(id, .other, reason: closedToNew, now: now) }
        let methods = methods(for: dialog.device)
        if !isTrusted, methods.isEmpty {
            if takesNewViewers, blocked.forgotten.contains(dialog.device), acceptance == .all {
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
        var features = offers.union(.shownSize).union(.relayed(relays))
        if isRoomsDoor { features.insert(.equals) }
        if configuration.isReceivers { features = .receiver }
        return features
    }

    /// Why no new viewer is let in at present.
    var closedRefusal: SecureMessage.Refusal {
        takesNewViewers && code.wasUsed ? .usedCode : .notTrusted
    }

    var closedReason: String {
        if let closedToNew { return closedToNew }
        if !takesNewViewers { return "Only viewers that were paired before are let in" }
        return code.wasUsed ? Self.usedText : "Nobody is there to let new viewers in"
    }

    private static let usedText = "The code was used: it lets in one viewer. A new one has to be set at the host"

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
        if trust.expected[dialog.device] != nil, known == nil,
            members.count(where: { $0.peer.device == dialog.device }) == 1
        {
            emit(.expectedGuest(dialog.device, .here))
        }
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
        if connection.isBrowser { outputs.append(.browser(id, .refused(.violation, reason: reason))) }
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
            case .patchTakers(let takers): outputs.append(.message(viewer, .patchTakers(takers)))
            case .soundWanted(let isWanted): outputs.append(.message(viewer, .soundWanted(isWanted)))
            case .qualityWanted(let wish): outputs.append(.message(viewer, .qualityWanted(wish)))
            case .room(let message): outputs.append(.message(viewer, .room(message)))
            case .screenOffered(let port) where configuration.isReceivers:
                outputs.append(.message(viewer, .screenOffered(port: port)))
            case .bye: left(viewer, reason: Self.goodbye, now: now)
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
