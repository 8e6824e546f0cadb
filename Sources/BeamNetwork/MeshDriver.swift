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
    let door: MeshDoor
    /// This driver from `start` to `shutdown`, for those whom it makes.
    let own: NIOLoopBoundBox<MeshDriver?>
    var listener: ControlListener?
    var session: MeshSession
    private var isPumping = false
    var isShuttingDown = false
    var links: [MeshLinkID: Link] = [:]
    private var dialers: [DeviceKey: ControlDialer] = [:]
    private var entrance: Entrance?
    /// What is shared from here: this machine's screen, and what others share, for those who can't reach them.
    var ownShare: MeshSource?
    var relays: [DeviceKey: MeshSource] = [:]
    var paths: [MeshPath] = []
    var lastDialog: UInt32 = 0
    private var ticker: RepeatedTask?
    /// What was passed on last.
    var members: [DeviceKey: String] = [:]
    private var keepsakes = 0
    /// Where members were when this device was here last.
    private var lastAddresses: [DeviceKey: [NetworkAddress]] = [:]
    private var memberAddresses: MemberAddresses
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
        door = MeshDoor(options.door, of: own, loop: loop)
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
        door.driver.setControl(listener)
        let bound = NIOLoopBound((self, listener), eventLoop: loop)
        let options = self.options
        return listener.start(options.bindAddress, port: options.controlPort).flatMapError { error in
            guard case .portInUse? = error as? NetworkError, options.controlPort != 0 else {
                return bound.eventLoop.makeFailedFuture(error)
            }
            return bound.value.1.start(options.bindAddress, port: 0)
        }.map { local in
            UInt16(clamping: local.port ?? 0)
        }.flatMapErrorThrowing { error in
            bound.value.0.door.driver.cancel()
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
        return door.driver.shutdown()
    }

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

    // MARK: Members

    /// Tells the door and those who share who belongs to the room.
    private func passOnMembers() {
        let now = session.members.filter { $0.key != identity.deviceKey }
        if now != members {
            members = now
            memberAddresses.keep { now[$0] != nil }
            forgetRelayAnswers()
            door.driver.handle(.remembered(now))
            ownShare?.driver.handle(.remembered(now))
            for source in relays.values { source.driver.handle(.remembered(now)) }
        }
        door.follow(session)
    }

    // MARK: Connections

    private var connections: ControlListener.Events {
        ControlListener.Events(
            admits: { [unowned self] in self.door.driver.admits($0, from: $1) },
            isKnownAddress: { [unowned self] address in
                self.door.driver.isKnownAddress(address)
                    || self.links.values.contains { $0.remote.flatMap(IPAddress.init) == address }
            },
            onBytes: { [unowned self] in self.door.driver.handle(.connectionBytes($0, $1)) },
            onSecured: { [unowned self] in self.secured($0, $1) },
            onMessage: { [unowned self] id, bytes in
                let link = MeshLinkID(id.value)
                if self.links[link] == nil {
                    self.door.driver.handle(.connectionMessage(id, bytes))
                } else {
                    self.received(bytes, on: link)
                }
            },
            onViolation: { [unowned self] id, reason in
                let link = MeshLinkID(id.value)
                guard self.links[link] != nil else {
                    return self.door.driver.handle(.connectionViolated(id, reason: reason))
                }
                self.listener?.close(id)
                self.linkEnded(link)
            },
            onEnd: { [unowned self] id, failure in
                let link = MeshLinkID(id.value)
                guard self.links[link] == nil else { return self.linkEnded(link) }
                self.door.closed(id, tlsFailure: failure)
            },
            onExhausted: { [unowned self] in self.emit(.door(.acceptingPaused(reason: $0))) },
            onListeningFailed: { [unowned self] in self.emit(.door(.listeningFailed(reason: $0))) },
            onListeningAgain: { [unowned self] in self.emit(.door(.listeningAgain)) })
    }

    private func secured(_ id: ConnectionID, _ peer: ControlListener.Peer) {
        guard peer.speaksRoom else { return door.secured(id, peer) }
        // It isn't a viewer's connection: the door doesn't count it any more.
        door.driver.handle(.connectionClosed(id))
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
            return emit(.notEntered)
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
            case .codeVerdict(let id, let pause): door.tellSoon(.codeVerdict(ConnectionID(id), pause: pause))
            case .question(let question): door.report(question)
            case .event(.code(let state)): door.tellSoon(.roomCode(state))
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
            door.entered(room)
        }
        emit(.mesh(event))
        guard case .people(let people) = event else { return }
        for path in paths where people.contains(where: { $0.device == path.source && $0.isHere }) { path.appeared() }
        for person in people where !(person.isHere && person.isSharing) { endRelay(person.device) }
        updateRelayQuestions()
    }

    func emit(_ event: MeshServer.Event) { handlers.onEvent(event) }

    private func keep() {
        guard session.keepsakes != keepsakes, !isShuttingDown, var room = session.kept(now: .now) else { return }
        keepsakes = session.keepsakes
        room.addresses.merge(lastAddresses.filter { session.belongs($0.key) }) { new, _ in new }
        emit(.keep(room))
    }
}

extension MeshDriver: LoopDriver {
    typealias Statistics = Void
}
