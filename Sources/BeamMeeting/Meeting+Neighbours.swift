import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire

/// Other rooms of this one's name, and of names that are near.
extension Meeting {
    /// Says that the room is entered, and which others the person may have meant.
    func sayEntered(_ name: String, wasMade: Bool) {
        guard wasMade else { return context.say("You are in the room “\(name)”.") }
        let near = MeetingNeighbours.near(name, in: presence?.found ?? [])
        guard let first = near.first else { return context.say("You made the room “\(name)”.") }
        let words =
            "You made the room “\(name)”. Also here: \(near.map { "“\($0)”" }.joined(separator: ", "))."
        context.say(words + " To enter that: `beamroom room \(CommonText.shellWord(first))`.")
        context.events.write(.room(.nearRooms(room: name, near: near)))
        board.tell(words)
    }

    /// Looks whether another room of this name is announced. Once a second.
    func lookAround() {
        guard let presence, state.withLock({ $0.room != nil && $0.move == nil && !$0.hasEnded }) else { return }
        let found = presence.found
        switch neighbours.look(at: found, own: presence.ownStanding) {
        case .move(let room):
            context.say(
                "Another room “\(PeerText.name(room.room))” was made on this network at the same time. This one gives way."
            )
            move(.ask(room))
        case .offer(let room):
            offer(room)
            probe(room)
        case .withdraw: board.setOffer(nil)
        case nil: break
        }
    }

    private func offer(_ room: MeshPresence.Found) {
        let name = PeerText.name(room.room)
        let people = room.standing?.members ?? 1
        let words = "There is another “\(name)”, with \(CommonText.count(people, "person", "people")) in it"
        let how =
            person.takesCommands
            ? ": j joins it." : ". To enter it: `beamroom room --at \(room.doors.first?.description ?? "ADDRESS")`."
        context.tell(
            .room(.otherRoom(name: name, members: people, address: room.doors.first)), words + how)
        board.setOffer("\(words): Enter joins it, Esc stays here")
    }

    /// Moves by itself to a room in which somebody is known here, as long as nobody has shared or written in this one.
    private func probe(_ room: MeshPresence.Found) {
        guard neighbours.isUnused, let mark = room.standing?.mark,
            state.withLock({ $0.probed.insert(mark).inserted })
        else { return }
        probes.async { [self] in
            guard
                let entrance = entry.enterQuietly(
                    MeetingEntry.FoundRoom(name: room.room, mark: room.standing?.mark, doors: room.doors)),
                neighbours.isUnused, neighbours.offered?.standing?.mark == room.standing?.mark
            else { return }
            context.say("Somebody whom you know is in the other room “\(PeerText.name(room.room))”. You enter it.")
            move(.enter(entrance, room))
        }
    }

    /// The person wants to enter the room that was offered. Returns why that isn't possible.
    @discardableResult public func joinOffered() -> String? {
        guard let room = neighbours.offered, state.withLock({ $0.room }) != nil else {
            return "no other room of this name is here"
        }
        move(.ask(room))
        return nil
    }

    /// The person stays here.
    func declineOffer() {
        guard let room = neighbours.offered else { return }
        neighbours.avoid(room.standing?.mark)
        board.setOffer(nil)
    }

    func move(_ move: Move) {
        let onMove = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.move == nil else { return nil }
            state.move = move
            return state.onMove
        }
        var room: String?
        switch move {
        case .ask(let found):
            room = PeerText.name(found.room)
            sayCodeIsDead()
        case .enter(_, let found): room = PeerText.name(found.room)
        case .search: break
        }
        context.events.write(.room(.moving(to: room)))
        onMove?()
    }

    /// This room's code stands above, and the next question is for that of the other room.
    private func sayCodeIsDead() {
        guard settings.invitation.showsCode, door.code != nil else { return }
        context.say("The code above isn't valid any more: type the one that another member's screen shows.")
    }

    /// `action` is called once this device is to leave its room (`wantedMove`), on any thread.
    func whenMoving(_ action: (@Sendable () -> Void)?) {
        let isDue = state.withLock { state in
            state.onMove = action
            return state.move != nil
        }
        if isDue { action?() }
    }

    /// Where this device is to go; nil: it stays.
    var wantedMove: Move? { state.withLock { $0.move } }
}
