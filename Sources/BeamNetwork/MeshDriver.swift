import BeamClock
import BeamIdentity
import BeamMedia
import BeamProtocol
import NIOCore

/// Carries out what a `MeshSession` decides: listens for newcomers and members, dials members, and joins their links with
/// the hosts and viewers of this process (`MeshSource`, `MeshPath`). Confined to its event loop.
final class MeshDriver {
    /// A connection to a member, or to somebody who may be one.
    struct Link {
        var device: DeviceKey
        var remote: SocketAddress?
        /// Nil: the peer has dialled.
        var dialer: ControlDialer?
    }

    /// The member through which this device enters, until it has.
    private struct Entrance {
        var device: DeviceKey
        var endpoint: Endpoint
        var failures = 0
    }

    /// Most links held by unknown peers. One of them may be a newcomer that another member has let in.
    private static let mostUnknownLinks = 8
    /// How often the entrance is dialled, and the pause between.
    private static let entranceTries = 10
    private static let entrancePause = TimeAmount.milliseconds(300)
    /// From a dial to its end, if no connection is secured: a little less than the session waits.
    private static let dialTime = TimeAmount.milliseconds(5500)
    /// Connections to one member that may be open at a time until one is secured.
    private static let connectionsPerDial = 6
    /// Between looks at this machine's addresses, and at which ways the pictures take.
    private static let tickInterval = TimeAmount.seconds(1)

    let loop: any EventLoop
    let identity: LocalIdentity
    private let options: MeshServer.Options
    private let handlers: MeshServer.Handlers
    private let transport: Result<SecureTransport, any Error>
    private let timer: DeadlineTimer
    private let door: HostDriver
    /// This driver from `start` to `shutdown`, for those whom it makes.
    let own: NIOLoopBoundBox<MeshDriver?>
    var listener: ControlListener?
    var session: MeshSession
    private var isPumping = false
    var isShuttingDown = false
    var links: [MeshLinkID: Link] = [:]
    private var dialers: [DeviceKey: ControlDialer] = [:]
    private var entrance: Entrance?
    /// See `MeshServer.setAcquaintances`.
    var acquaintances: [DeviceKey: String] = [:]
    /// Peers of the door's connections.
    private var visitors: [ConnectionID: ControlListener.Peer] = [:]
    /// What is shared from here: this machine's screen, and what others share, for those who can't reach them.
    var ownShare: MeshSource?
    var relays: [DeviceKey: MeshSource] = [:]
    var paths: [MeshPath] = []
    var lastDialog: UInt32 = 0
    private var ticker: RepeatedTask?
    /// What was passed on last.
    var members: [DeviceKey: String] = [:]
    private var isClosed: String??
    private var asksElsewhere = false
    /// The person here is asked about newcomers.
    private var asksPerson: Bool { options.door.acceptance == .ask }
    private var keepsakes = 0
    /// Where members were when this device was here last.
    private var lastAddresses: [DeviceKey: [NetworkAddress]] = [:]
    private var memberAddresses: MemberAddresses
    private var roomName = ""
    /// Through whom pictures come, and what the person has said about that.
    var relaying: MeshServer.Relaying { options.relaying }
    var usedRelays: [DeviceKey: DeviceKey] = [:]
    var relayAnswers: [RelayWay: Bool] = [:]
    /// What the person is asked at present: through whom to see each of these.
    var relayQuestions: [DeviceKey: DeviceKey] = [:]
    var isOwnPaused = false

    init(loop: any EventLoop, options: MeshServer.Options, handlers: MeshServer.Handlers) {
        self.loop = loop
        self.options = options
        self.handlers = handlers
        identity = options.identity
        memberAddresses = MemberAddresses(bindAddress: options.bindAddress)
        memberAddresses.interfaces = MemberAddresses.Interface.all()
        transport = Result { try SecureTransport(options.identity, for: .room) }
        timer = DeadlineTimer(loop: loop)
        session = MeshSession(
            configuration: MeshSession.Configuration(
                own: options.identity.deviceKey, name: options.name, signing: options.identity.roomSigning,
                code: options.door.trust.code, asksPerson: options.door.acceptance == .ask),
            random: SystemRandomNumberGenerator())
        let own = NIOLoopBoundBox.makeEmptyBox(valueType: MeshDriver.self, eventLoop: loop)
        self.own = own
        var doorSession = options.door
        doorSession.trust.code = .ofRoom
        door = HostDriver(
            loop: loop, session: doorSession,
            handlers: HostServer.Handlers(
                onEvent: { own.value?.doorEvent($0) }, requestKeyframe: { _ in }, onDemand: { _, _ in }))
        timer.onDeadline { [unowned self] _ in self.pump() }
    }

    // MARK: Beginning and end

    /// Binds the control port; the one that is asked for if it is free.
    func start() -> EventLoopFuture<UInt16> {
        let listener: ControlListener
        do {
            listener = ControlListener(loop: loop, transport: try transport.get(), events: connections)
        } catch {
            return loop.makeFailedFuture(error)
        }
        own.value = self
        self.listener = listener
        door.setControl(listener)
        let bound = NIOLoopBound((self, listener), eventLoop: loop)
        let options = self.options
        return listener.start(options.bindAddress, port: options.controlPort).flatMapError { error in
            guard case .portInUse? = error as? NetworkError, options.controlPort != 0 else {
                return bound.eventLoop.makeFailedFuture(error)
            }
            return bound.value.1.start(options.bindAddress, port: 0)
        }.flatMap { local in
            // Its port is told to newcomers, who get no pictures from the door.
            bound.value.0.door.bindMedia(local.with(port: 0)).map { _ in UInt16(clamping: local.port ?? 0) }
        }.flatMapErrorThrowing { error in
            bound.value.0.door.cancel()
            bound.value.1.cancel()
            throw error
        }
    }

    func begin(_ beginning: MeshServer.Beginning) {
        guard !isShuttingDown, ticker == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        ticker = loop.scheduleRepeatedTask(initialDelay: .zero, delay: Self.tickInterval) { _ in bound.value.tick() }
        switch beginning {
        case .found(let name): handle(.begin(.found(name: name)))
        case .resume(let room):
            lastAddresses = room.addresses
            handle(.begin(.resume(room)))
        case .enter(let device, let endpoint):
            entrance = Entrance(device: device, endpoint: endpoint)
            handle(.begin(.enter(through: device)))
            dial(device, [endpoint])
        }
    }

    func shutdown() -> EventLoopFuture<Void> {
        isShuttingDown = true
        ticker?.cancel()
        entrance = nil
        handle(.leave)
        for source in relays.values { _ = source.driver.shutdown() }
        relays = [:]
        for dialer in dialers.values { dialer.close() }
        dialers = [:]
        timer.cancel()
        own.value = nil
        return door.shutdown()
    }

    var statistics: HostStatistics { door.statistics }

    // MARK: Inputs

    func handle(_ input: MeshSession.Input) {
        session.handle(input, now: .now)
        pump()
    }

    func setPaused(_ isPaused: Bool) {
        isOwnPaused = isPaused
        if ownShare != nil { handle(.sharing(true, isPaused: isPaused)) }
    }

    func letIn(by device: DeviceKey) -> [(device: DeviceKey, name: String)] { session.letIn(by: device) }

    func putOut(_ device: DeviceKey, alsoThoseLetIn: Bool) -> MeshRefusal? {
        defer { pump() }
        do throws(MeshRefusal) {
            try session.putOut(device, alsoThoseLetIn: alsoThoseLetIn, now: .now)
            return nil
        } catch {
            return error
        }
    }

    /// The person here has answered a newcomer's question, at the own door or at another member's.
    func decide(_ connection: ConnectionID, accept: Bool) {
        if MeshQuestion.isElsewhere(connection.value) {
            handle(.answerElsewhere(connection.value, accept: accept))
        } else {
            let counts = session.questionAnswered(connection.value, accept: accept, now: .now)
            pump()
            if counts { door.handle(.decision(connection, accept: accept)) }
        }
    }

    private func tick() {
        let port = listener?.localAddress?.port ?? 0
        let own = LocalAddresses.reached(boundTo: options.bindAddress)
        memberAddresses.interfaces = MemberAddresses.Interface.all()
        handle(
            .addresses(
                own.compactMap { text in
                    (try? SocketAddress(ipAddress: text, port: port)).flatMap { NetworkAddress($0) }
                }))
        for path in paths { path.preferDirectLink() }
        updateRelayQuestions()
        for (device, source) in relays where source.isIdle || !paths.contains(where: { $0.source == device }) {
            endRelay(device)
        }
    }

    // MARK: The door

    private func doorEvent(_ event: HostEvent) {
        switch event {
        case .devicePaired, .viewerPaired:
            // On the loop, but not from within the door's session, which is being polled.
            let bound = NIOLoopBound(self, eventLoop: loop)
            loop.execute { bound.value.admitVisitors() }
        case .comparisonAsked(let id, let visitor):
            handleSoon(.questionAsked(id.value, visitor))
            guard asksPerson else { return }
        case .askWithdrawn(let id):
            handleSoon(.questionEnded(id.value))
            guard asksPerson else { return }
        case .digitsShown(let id, let digits, _):
            let bound = NIOLoopBound(self, eventLoop: loop)
            return loop.execute { bound.value.digitsShown(id, digits, event) }
        case .codeTried(let id): return handleSoon(.codeTried(id.value))
        case .codeChecked(let id, let isRight): return handleSoon(.codeChecked(id.value, isRight: isRight))
        default: break
        }
        handlers.onEvent(.door(event))
    }

    private func digitsShown(_ id: ConnectionID, _ digits: PairingCode, _ event: HostEvent) {
        let isHere = session.digitsShown(id.value, digits, now: .now)
        pump()
        if isHere { handlers.onEvent(.door(event)) }
    }

    /// About newcomers who ask, here or at another member's door.
    private func report(_ question: MeshQuestion) {
        switch question {
        case .asked(let number, let visitor) where asksPerson:
            handlers.onEvent(.door(.comparisonAsked(ConnectionID(number), from: visitor)))
        case .digits(let number, let digits, let visitor):
            handlers.onEvent(.door(.digitsShown(ConnectionID(number), digits: digits, from: visitor)))
        case .withdrawn(let number) where asksPerson: handlers.onEvent(.door(.askWithdrawn(ConnectionID(number))))
        case .taken(let number, let name) where asksPerson:
            handlers.onEvent(.door(.askTaken(ConnectionID(number), by: name)))
        case .decided(let number, let accept): tellDoorSoon(.decision(ConnectionID(number), accept: accept))
        case .asked, .withdrawn, .taken: break
        }
    }

    /// Not from within the door's session, which is being polled.
    private func handleSoon(_ input: MeshSession.Input) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.execute { if !bound.value.isShuttingDown { bound.value.handle(input) } }
    }

    /// Not from within the room's session, which is being polled, or perhaps the door's.
    private func tellDoorSoon(_ input: HostSession.Input) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.execute { bound.value.door.handle(input) }
    }

    /// Vouches for those whom the door has let in.
    private func admitVisitors() {
        guard !isShuttingDown else { return }
        for guest in door.guests {
            guard case .device(let device) = guest.identity, !session.belongs(device),
                let key = visitors.values.first(where: { $0.device == device })?.publicKey
            else { continue }
            do throws(MeshRefusal) {
                try session.admit(publicKey: key, name: guest.name ?? PeerText.unnamed, now: .now)
            } catch {
                handlers.onEvent(.notAdmitted(device, error))
                // Whoever doesn't belong to the room is sent away from the door.
                door.handle(.remembered(members))
            }
        }
        pump()
    }

    /// Vouches for a device that is known already, before the door asks it for anything.
    private func admitAcquaintance(_ peer: ControlListener.Peer) {
        guard let name = acquaintances[peer.device], !session.members.isEmpty, !session.belongs(peer.device),
            !session.wasPutOut(peer.device), !session.isFull, !isShuttingDown
        else { return }
        do throws(MeshRefusal) {
            try session.admit(publicKey: peer.publicKey, name: name, now: .now)
        } catch {
            // The door asks as it asks everybody.
            return
        }
        pump()
    }

    /// Tells the door and those who share who belongs to the room.
    private func passOnMembers() {
        let now = session.members.filter { $0.key != identity.deviceKey }
        if now != members {
            members = now
            memberAddresses.keep { now[$0] != nil }
            forgetRelayAnswers()
            door.handle(.remembered(now))
            ownShare?.driver.handle(.remembered(now))
            for source in relays.values { source.driver.handle(.remembered(now)) }
        }
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
            door.handle(.asksElsewhere(asksElsewhere))
        }
        if isClosed != .some(reason) {
            isClosed = .some(reason)
            door.handle(.closedToNew(reason: reason))
        }
    }

    // MARK: Connections

    private var connections: ControlListener.Events {
        ControlListener.Events(
            admits: { [unowned self] in self.door.admits($0, from: $1) },
            isKnownAddress: { [unowned self] address in
                self.door.isKnownAddress(address)
                    || self.links.values.contains { $0.remote.flatMap(IPAddress.init) == address }
            },
            onBytes: { [unowned self] in self.door.handle(.connectionBytes($0, $1)) },
            onSecured: { [unowned self] in self.secured($0, $1) },
            onMessage: { [unowned self] id, bytes in
                let link = MeshLinkID(id.value)
                if self.links[link] == nil {
                    self.door.handle(.connectionMessage(id, bytes))
                } else {
                    self.received(bytes, on: link)
                }
            },
            onViolation: { [unowned self] id, reason in
                let link = MeshLinkID(id.value)
                guard self.links[link] != nil else {
                    return self.door.handle(.connectionViolated(id, reason: reason))
                }
                self.listener?.close(id)
                self.linkEnded(link)
            },
            onEnd: { [unowned self] id, failure in
                self.visitors[id] = nil
                let link = MeshLinkID(id.value)
                guard self.links[link] == nil else { return self.linkEnded(link) }
                self.door.handle(.connectionClosed(id, tlsFailure: failure))
            },
            onExhausted: { [unowned self] in self.handlers.onEvent(.door(.acceptingPaused(reason: $0))) },
            onListeningFailed: { [unowned self] in self.handlers.onEvent(.door(.listeningFailed(reason: $0))) },
            onListeningAgain: { [unowned self] in self.handlers.onEvent(.door(.listeningAgain)) })
    }

    private func secured(_ id: ConnectionID, _ peer: ControlListener.Peer) {
        guard peer.speaksRoom else {
            visitors = visitors.filter { listener?.remoteAddress(of: $0.key) != nil }
            visitors[id] = peer
            admitAcquaintance(peer)
            return door.handle(.connectionSecured(id, peer.device))
        }
        // It isn't a viewer's connection: the door doesn't count it any more.
        door.handle(.connectionClosed(id))
        let isKnown = session.belongs(peer.device) || peer.device == entrance?.device
        guard isKnown || session.unknownLinks < Self.mostUnknownLinks else {
            listener?.close(id)
            return
        }
        let link = MeshLinkID(id.value)
        links[link] = Link(device: peer.device, remote: listener?.remoteAddress(of: id), dialer: nil)
        noteAddress(link)
        handle(.opened(link, peer.device, isOutgoing: false))
    }

    private func dial(_ device: DeviceKey, _ endpoints: [Endpoint]) {
        dialers.removeValue(forKey: device)?.close()
        guard !endpoints.isEmpty, let listener else { return dialFailed(device) }
        let link = MeshLinkID(listener.nextID().value)
        let dialer = ControlDialer(
            loop: loop, transport: transport, source: nil, mayFallBack: false, mostOpen: Self.connectionsPerDial,
            admits: { [unowned self] endpoint in
                // Those of the entrance were given by the person.
                self.entrance?.endpoint == endpoint
                    || self.memberAddresses.admits(endpoint, of: device, now: .now)
            },
            events: ControlDialer.Events(
                onConnected: { _ in }, onBytes: { _ in },
                onSecured: { [unowned self] _, address in
                    self.links[link] = Link(device: device, remote: address, dialer: self.dialers[device])
                    self.noteAddress(link)
                    self.handle(.opened(link, device, isOutgoing: true))
                },
                onMessage: { [unowned self] in self.received($0, on: link) },
                onEnd: { [unowned self] _, _ in
                    if self.links[link] == nil {
                        self.dialers[device] = nil
                        self.dialFailed(device)
                    } else {
                        self.linkEnded(link)
                    }
                }, onOtherHost: { _ in }))
        dialers[device] = dialer
        dialer.dial(endpoints, expecting: [device], .version2)
        let bound = NIOLoopBound((self, dialer), eventLoop: loop)
        loop.scheduleTask(in: Self.dialTime) {
            let (driver, dialer) = bound.value
            guard driver.dialers[device] === dialer, driver.links[link] == nil else { return }
            driver.dialers[device] = nil
            dialer.close()
            driver.dialFailed(device)
        }
    }

    /// Where a member is, by a link to it.
    private func noteAddress(_ id: MeshLinkID) {
        guard let link = links[id], session.belongs(link.device) || link.device == entrance?.device,
            let remote = link.remote.flatMap(IPAddress.init)
        else { return }
        memberAddresses.linked(
            link.device, at: remote, link.dialer == nil ? nil : link.remote.flatMap { Endpoint($0) })
    }

    /// A message on a link: it is handled, and what that costs is counted.
    private func received(_ bytes: [UInt8], on id: MeshLinkID) {
        guard let device = links[id]?.device else { return }
        let start = ThreadTime.now
        handle(.message(id, bytes))
        guard session.spent(ThreadTime.now - start, bytes: bytes.count, on: id, of: device, now: .now) else { return }
        hold(id, true)
        // Its end is one of the session's deadlines.
        pump()
    }

    private func hold(_ id: MeshLinkID, _ isHeld: Bool) {
        guard let link = links[id] else { return }
        if let dialer = link.dialer {
            dialer.hold(isHeld)
        } else {
            listener?.hold(ConnectionID(id.value), isHeld)
        }
    }

    private func dialFailed(_ device: DeviceKey) {
        handle(.dialFailed(device))
        tryEntranceAgain(device)
    }

    /// The first connection of a newcomer is made again if it is lost before the room is known.
    private func tryEntranceAgain(_ device: DeviceKey) {
        guard var entrance, entrance.device == device, session.members.isEmpty, !isShuttingDown else { return }
        entrance.failures += 1
        self.entrance = entrance
        guard entrance.failures < Self.entranceTries else {
            self.entrance = nil
            return handlers.onEvent(.notEntered)
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: Self.entrancePause) {
            let driver = bound.value
            guard driver.session.members.isEmpty, !driver.isShuttingDown, let entrance = driver.entrance else { return }
            driver.dial(device, [entrance.endpoint])
        }
    }

    private func linkEnded(_ id: MeshLinkID) {
        guard let link = links.removeValue(forKey: id) else { return }
        if link.dialer != nil, dialers[link.device] === link.dialer { dialers[link.device] = nil }
        forget(id)
        handle(.closed(id))
        tryEntranceAgain(link.device)
    }

    private func close(_ id: MeshLinkID) {
        guard let link = links.removeValue(forKey: id) else { return }
        if let dialer = link.dialer {
            if dialers[link.device] === dialer { dialers[link.device] = nil }
            dialer.close()
        } else {
            listener?.close(ConnectionID(id.value))
        }
        forget(id)
        let bound = NIOLoopBound(self, eventLoop: loop)
        let device = link.device
        loop.execute { bound.value.tryEntranceAgain(device) }
    }

    /// Hosts and viewers that used the link.
    private func forget(_ id: MeshLinkID) {
        ownShare?.linkEnded(id)
        for source in relays.values { source.linkEnded(id) }
        for path in paths { path.linkEnded(id) }
    }

    // MARK: Outputs of the session

    func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            switch session.pollOutput(now: .now) {
            case .send(let id, let bytes):
                guard let link = links[id] else { break }
                if let dialer = link.dialer {
                    dialer.send(bytes)
                } else {
                    listener?.send(bytes, on: ConnectionID(id.value))
                }
            case .close(let id, _): close(id)
            case .resume(let id):
                // Later: messages that have come already are handled at once.
                let bound = NIOLoopBound(self, eventLoop: loop)
                loop.execute { bound.value.hold(id, false) }
            case .dial(let device, let addresses):
                let told = (addresses.isEmpty ? lastAddresses[device] ?? [] : addresses).map {
                    Endpoint(host: "\($0.ip)", port: $0.port)
                }
                let endpoints = memberAddresses.candidates(for: device, told: told, found: handlers.locate(device))
                // Later: the session can't take an event while it is being polled.
                let bound = NIOLoopBound(self, eventLoop: loop)
                loop.execute { if !bound.value.isShuttingDown { bound.value.dial(device, endpoints) } }
            case .carried(let id, let carried): take(carried, from: id)
            case .codeVerdict(let id, let pause): tellDoorSoon(.codeVerdict(ConnectionID(id), pause: pause))
            case .question(let question): report(question)
            case .event(.code(let state)): tellDoorSoon(.roomCode(state))
            case .event(let event): report(event)
            case .wait(let deadline):
                passOnMembers()
                keep()
                return timer.arm(deadline)
            }
        }
    }

    private func report(_ event: MeshEvent) {
        if case .entered(let room) = event {
            entrance = nil
            roomName = room
            // A stranger who comes to the door learns nobody's name. Later: the door may be the one that is being polled.
            let bound = NIOLoopBound(self, eventLoop: loop)
            loop.execute { bound.value.door.handle(.named(PeerText.name(room))) }
        }
        handlers.onEvent(.mesh(event))
        guard case .people(let people) = event else { return }
        for path in paths where people.contains(where: { $0.device == path.source && $0.isHere }) { path.appeared() }
        for person in people where !(person.isHere && person.isSharing) { endRelay(person.device) }
        updateRelayQuestions()
    }

    func onRelay(_ event: MeshServer.Event) { handlers.onEvent(event) }

    private func keep() {
        guard session.keepsakes != keepsakes, !isShuttingDown, var room = session.kept(now: .now) else { return }
        keepsakes = session.keepsakes
        room.addresses.merge(lastAddresses.filter { session.belongs($0.key) }) { new, _ in new }
        handlers.onEvent(.keep(room))
    }
}

extension MeshDriver: LoopDriver {}
