import BeamLog
import BeamMedia
import BeamSession
import BeamWire
import NIOCore

/// A member's door, at which newcomers to the room are let in: joins the `Door` with the room's session, which has the
/// code, counts wrong tries, passes questions on to other members, and vouches for newcomers that were let in. Confined to
/// the room's event loop.
final class MeshDoor {
    let driver: DoorDriver
    /// See `MeshServer.setAcquaintances`.
    var acquaintances: [DeviceKey: String] = [:]
    private let loop: any EventLoop
    /// Nil before the room's start, and after its end.
    private let own: NIOLoopBoundBox<MeshDriver?>
    /// The person here is asked about newcomers.
    private let asksPerson: Bool
    /// Peers of the door's connections.
    private var visitors: [ConnectionID: ControlListener.Peer] = [:]
    private var roomName = ""
    // What the door was told last.
    private var isClosed: String??
    private var asksElsewhere = false

    init(_ configuration: Door.Configuration, of own: NIOLoopBoundBox<MeshDriver?>, loop: any EventLoop) {
        self.loop = loop
        self.own = own
        asksPerson = configuration.acceptance == .ask
        var configuration = configuration
        configuration.trust.code = .ofRoom
        driver = DoorDriver(loop: loop, configuration: configuration) { own.value?.door.happened($0) }
    }

    // MARK: Connections

    func secured(_ id: ConnectionID, _ peer: ControlListener.Peer) {
        let listener = own.value?.links.listener
        visitors = visitors.filter { listener?.remoteAddress(of: $0.key) != nil }
        visitors[id] = peer
        admitAcquaintance(peer)
        driver.handle(.connectionSecured(id, peer.device))
    }

    func closed(_ id: ConnectionID, tlsFailure: String?) {
        visitors[id] = nil
        driver.handle(.connectionClosed(id, tlsFailure: tlsFailure))
    }

    // MARK: What the door says

    private func happened(_ event: HostEvent) {
        guard let room = own.value else { return }
        switch event {
        case .devicePaired, .viewerPaired: soon { $0.admitVisitors() }
        case .comparisonAsked(let id, let visitor):
            tellRoomSoon(.questionAsked(id.value, visitor))
            guard asksPerson else { return }
        case .askWithdrawn(let id):
            tellRoomSoon(.questionEnded(id.value))
            guard asksPerson else { return }
        case .digitsShown(let id, let digits, _): return soon { $0.digitsShown(id, digits, event) }
        case .codeTried(let id): return tellRoomSoon(.codeTried(id.value))
        case .codeChecked(let id, let isRight): return tellRoomSoon(.codeChecked(id.value, isRight: isRight))
        default: break
        }
        room.emit(.door(event))
    }

    private func digitsShown(_ id: ConnectionID, _ digits: PairingCode, _ event: HostEvent) {
        guard let room = own.value else { return }
        let isHere = room.session.digitsShown(id.value, digits, now: .now)
        room.pump()
        if isHere { room.emit(.door(event)) }
    }

    /// The person here has answered a newcomer's question, at this door or at another member's.
    func decide(_ connection: ConnectionID, accept: Bool) {
        guard let room = own.value else { return }
        if MeshQuestion.isElsewhere(connection.value) {
            room.handle(.answerElsewhere(connection.value, accept: accept))
        } else {
            let counts = room.session.questionAnswered(connection.value, accept: accept, now: .now)
            room.pump()
            if counts { driver.handle(.decision(connection, accept: accept)) }
        }
    }

    /// Vouches for those whom the door has let in.
    private func admitVisitors() {
        guard let room = own.value, !room.isShuttingDown else { return }
        for guest in driver.guests {
            guard case .device(let device) = guest.identity, !room.session.belongs(device),
                let key = visitors.values.first(where: { $0.device == device })?.publicKey
            else { continue }
            do throws(MeshRefusal) {
                try room.session.admit(publicKey: key, name: guest.name ?? PeerText.unnamed, now: .now)
            } catch {
                room.emit(.notAdmitted(device, error))
                // The door sends away those that don't belong to the room.
                driver.handle(.remembered(room.members))
            }
        }
        room.pump()
    }

    /// Vouches for a device that is known already, before the door asks it for anything.
    private func admitAcquaintance(_ peer: ControlListener.Peer) {
        guard let room = own.value, let name = acquaintances[peer.device], !room.session.members.isEmpty,
            !room.session.belongs(peer.device), !room.session.wasPutOut(peer.device), !room.session.isFull,
            !room.isShuttingDown
        else { return }
        do throws(MeshRefusal) {
            try room.session.admit(publicKey: peer.publicKey, name: name, now: .now)
        } catch {
            // The door asks as it asks everybody.
            return
        }
        room.pump()
    }

    // MARK: What the room says

    /// The room is known: newcomers are told its name. An unknown peer learns nobody's name.
    func entered(_ room: String) {
        roomName = room
        tellSoon(.named(PeerText.name(room)))
    }

    /// Tells the door whether anybody can be let in, and whether there is somebody to ask.
    func follow(_ session: MeshSession) {
        let reason: String? =
            if session.members.isEmpty {
                "This member isn't in a room yet"
            } else if session.isFull {
                "The room “\(PeerText.name(roomName))” is full: \(MeshLimits.members) members are here"
            } else {
                nil
            }
        if asksElsewhere != session.asksElsewhere {
            asksElsewhere = session.asksElsewhere
            driver.handle(.asksElsewhere(asksElsewhere))
        }
        if isClosed != .some(reason) {
            isClosed = .some(reason)
            driver.handle(.closedToNew(reason: reason))
        }
    }

    /// About newcomers who ask, here or at another member's door.
    func report(_ question: MeshQuestion) {
        guard let room = own.value else { return }
        switch question {
        case .asked(let number, let visitor) where asksPerson:
            room.emit(.door(.comparisonAsked(ConnectionID(number), from: visitor)))
        case .digits(let number, let digits, let visitor):
            room.emit(.door(.digitsShown(ConnectionID(number), digits: digits, from: visitor)))
        case .withdrawn(let number) where asksPerson: room.emit(.door(.askWithdrawn(ConnectionID(number))))
        case .taken(let number, let name) where asksPerson:
            room.emit(.door(.askTaken(ConnectionID(number), by: name)))
        case .decided(let number, let accept): tellSoon(.decision(ConnectionID(number), accept: accept))
        case .asked, .withdrawn, .taken: break
        }
    }

    // MARK: Later

    /// Tells the door something that comes from within the room's session, which is being polled, or perhaps the door's.
    func tellSoon(_ input: Door.Input) { soon { $0.driver.handle(input) } }

    /// Not from within the door's session, which is being polled.
    private func tellRoomSoon(_ input: MeshSession.Input) {
        soon { door in
            if let room = door.own.value, !room.isShuttingDown { room.handle(input) }
        }
    }

    private func soon(_ action: @escaping (MeshDoor) -> Void) {
        loop.assumeIsolated().execute { [self] in action(self) }
    }
}
