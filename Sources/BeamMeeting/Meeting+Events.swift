import BeamLog
import BeamNetwork
import BeamSession
import BeamTerminal
import BeamTrust
import BeamViewer
import BeamWire
import Synchronization

/// What happens in the room, at the door and at its members.
extension Meeting {
    func handle(_ event: MeshServer.Event) {
        switch event {
        case .mesh(let event): handle(event)
        case .door(let event): handle(event)
        case .keep(let room): keep(room)
        case .notAdmitted(let device, let refusal):
            // With --accept all, strangers can cause this as often as they like.
            guard context.floods.allows(.refusal) else { break }
            context.tell(
                .room(.notAdmitted(device, reason: Self.words(refusal))),
                "Somebody was let in, but doesn't get into the room: \(Self.words(refusal)).")
        case .relayNeeded(let source, let relay): relays.needed(source, through: relay, viewers)
        case .relayNotNeeded(let source): relays.notNeeded(source, viewers)
        case .relayed(let source, let relay): relays.came(source, through: relay, viewers)
        case .notEntered where state.withLock({ $0.entrance?.isFound }) == true: move(.search)
        case .notEntered:
            context.latch.end(
                .peerLost(
                    "The room wasn't entered: the member that let this device in doesn't answer any more. Try again."))
        }
    }

    private func handle(_ event: MeshEvent) {
        board.handle(event)
        switch event {
        case .log(let event):
            state.withLock { $0.words }?.handle(event)
            browsers?.handle(event, own: own)
            if case .lines(let lines) = event, lines.contains(where: \.isWritten) {
                neighbours.noteUse()
                letInAcquaintances()
            }
            if !early.hold(event) { words.handle(event) }
        case .entered(let room): entered(room)
        case .people(let people):
            self.people.update(people)
            if people.contains(where: { $0.device != own }) { neighbours.noteCompany() }
            if people.contains(where: { $0.isHere && $0.isSharing && $0.device != own }) { neighbours.noteUse() }
            if !neighbours.isUnused { letInAcquaintances() }
            if settings.watches { viewers?.update(people.filter { $0.device != own }) }
            if let id = store.id { presence?.setRoom(id, members: people.map(\.device), own: own) }
        case .violated(let device, let what):
            let reason = PeerText.sentence(what)
            context.tell(
                .room(.violated(device, reason: reason)),
                "Warning: “\(people.name(of: device))” breaks the room's rules: \(reason).", as: .violation)
        case .forked(let device, let name):
            let name = PeerText.name(name)
            context.tell(
                .room(.forked(.init(device, name))),
                "Warning: “\(name)” has told different members different things; what it has signed proves "
                    + "it. Nothing more of its words is taken. Members that were here before it can put it out: x.",
                as: .violation)
        case .otherVersion(let device):
            context.tell(
                .room(.otherVersion(device)),
                "“\(people.name(of: device))” has a version of BeamRoom that can't meet this one in a room: install the "
                    + "same version on both.", as: .violation)
        case .refused(let device, let pause): refused(by: device, pause)
        case .putOut(let name):
            end(
                "“\(PeerText.name(name))” has put this device out of the room.", inShort: "you were put out",
                isPutOut: true)
        case .memberPutOut(let device, let author, let name):
            people.notePutOut(device, by: author == own ? nil : PeerText.name(name))
        case .full:
            end(
                "The room is full: \(MeshLimits.members) members are here. Come back when somebody has left.",
                inShort: "the room is full", forgets: false)
        case .notResumed:
            end(
                "This device doesn't belong to the room any more. Start again, and a member can let it in anew.",
                inShort: "you don't belong to it any more", forgets: true)
        case .code: break
        }
    }

    private func end(_ reason: String, inShort farewell: String, isPutOut: Bool = false, forgets: Bool = true) {
        context.events.write(.room(isPutOut ? .wasPutOut(reason: reason) : .notIn(reason: reason)))
        if forgets { store.forget() }
        shareReporter.end()
        parts?.share.set(false)
        viewers?.update([])
        guard settings.hasWindow else { return context.latch.end(.peerLost(reason)) }
        // The person reads it there before the program ends.
        state.withLock { ($0.hasEnded, $0.farewell) = (true, farewell) }
        context.say("\(reason) Ctrl-C ends, or q in the window.")
        board.setFarewell(reason)
        if let room = state.withLock({ $0.room }) { showStatus(room) }
    }

    func showCode(_ code: PairingCode?) {
        door.setCode(code)
        board.setCode(settings.invitation.acceptance == .all ? nil : code)
    }

    private func handle(_ event: HostEvent) {
        switch event {
        case .comparisonAsked, .viewerAsks, .digitsShown: board.call()
        default: break
        }
        switch event {
        case .codeChanged(let change):
            board.setCode(settings.invitation.acceptance == .all ? nil : change.code)
            // Otherwise the person has done it, or reads why elsewhere.
            if change.member.map({ $0 != own }) ?? false, let why = door.why(change),
                context.floods.allows(.windowCode)
            {
                board.tell("\(why) There is a new one (w)")
            }
        case .comparisonAsked(let connection, let visitor): board.ask(connection, from: visitor)
        case .digitsShown(let connection, let digits, _): board.compare(connection, digits: digits)
        case .askWithdrawn(let connection), .askTaken(let connection, _): board.settle(connection, isAgreed: false)
        default: break
        }
        _ = door.handle(event)
    }
}

extension LogLine {
    /// Somebody has said or written it. The others are sent by programs.
    fileprivate var isWritten: Bool {
        switch content {
        case .caption, .note: true
        case .alert, .message, .shareBegan, .shareEnded, .member: false
        }
    }
}
