import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire

/// A room is entered.
extension Meeting {
    func entered(_ room: String) {
        let name = PeerText.name(room)
        let entrance = state.withLock { state in
            state.room = name
            return state.entrance
        }
        guard let server else { return }
        var wasMade = false
        if case .found? = entrance?.beginning { wasMade = true }
        let doubt = entrance?.proof.reason
        neighbours.entered(name, wasMade: wasMade, isProved: doubt == nil)
        let sharesAtOnce = settings.sharesAtOnce && doubt == nil
        if sharesAtOnce { neighbours.noteOwnShare() }
        letInAcquaintances()
        sayEntered(name, wasMade: wasMade)
        let addresses = AddressText(
            purpose: "To enter it", command: "room --at", bindAddress: settings.server.bindAddress,
            port: server.controlPort)
        context.say(addresses.sentence())
        if !addresses.isReachable() { state.withLock { $0.addressless = addresses } }
        sayHowToEnter()
        beginWeb()
        showStatus(room)
        context.events.write(
            .room(
                .ready(
                    room: name, name: settings.server.name, key: own, port: server.controlPort, isProved: doubt == nil,
                    web: browsers?.description, metricsPort: context.metricsPort))
        )
        early.release { words.handle($0) }
        if doubt == nil { beginWords() }
        context.actions.connect(
            ProgramActions.Handlers(
                write: { [weak self] in self?.write($0) }, pause: { [weak self] in self?.setPaused($0) },
                kick: kicking, room: self))
        if let doubt { return holdShare(doubt) }
        guard sharesAtOnce else { return }
        // Without `setSharing`: as long as nobody else is here, this doesn't count as use.
        parts?.share.set(true)
    }

    /// Lets in those with whom this device was in a room of this name, as long as nobody has shared or written here. They
    /// prove their keys. Others are asked about, or need the code.
    func letInAcquaintances() {
        guard settings.invitation.acceptance == .ask else { return }
        let showsNothing = neighbours.showsNothing
        let (room, server, hasChanged) = state.withLock { state in
            defer { state.letsInAcquaintances = showsNothing }
            return (state.room, state.parts?.server, state.letsInAcquaintances != showsNothing)
        }
        guard hasChanged, let room, let server else { return }
        // Which ones is on the disk.
        store.perform { [neighbours, settings] _ in
            server.setAcquaintances(showsNothing && neighbours.showsNothing ? settings.acquaintances(room) : [:])
        }
    }

    private func sayHowToEnter() {
        door.sayCode()
        let keys =
            person.takesCommands
            ? "s shares your screen, n writes a note, w says who is here, x puts somebody out, c makes a new code, p pauses, ? lists the keys, Ctrl-C ends."
            : "Ctrl-C ends."
        context.say(settings.invitation.wordsInRoom(keys: keys, hasWindow: settings.hasWindow))
    }
}
