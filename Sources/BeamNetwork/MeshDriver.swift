import BeamClock
import BeamIdentity
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// Carries out what a `MeshSession` decides: joins the links with other members (`MeshLinks`) with the door, and with the
/// hosts and viewers of this process (`MeshSource`, `MeshPath`). Confined to its event loop.
final class MeshDriver {
    /// Between looks at this machine's addresses, and at which ways the pictures take.
    private static let tickInterval = TimeAmount.seconds(1)

    let loop: any EventLoop
    let identity: LocalIdentity
    private let options: MeshServer.Options
    private let handlers: MeshServer.Handlers
    private let timer: DeadlineTimer
    let door: MeshDoor
    let links: MeshLinks
    /// This driver from `start` to `shutdown`, for the objects that it makes.
    let own: NIOLoopBoundBox<MeshDriver?>
    var session: MeshSession
    private var isPumping = false
    var isShuttingDown = false
    /// What is shared from here: this machine's screen, and what others share, for those who can't reach them.
    var ownShare: MeshSource?
    var relays: [DeviceKey: MeshSource] = [:]
    var paths: [MeshPath] = []
    var lastDialog: UInt32 = 0
    private var ticker: RepeatedTask?
    /// What was passed on last.
    var members: [DeviceKey: String] = [:]
    private var keepsakes = 0
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
        timer = DeadlineTimer(loop: loop)
        session = MeshSession(
            configuration: MeshSession.Configuration(
                own: options.identity.deviceKey, name: options.name, signing: options.identity.roomSigning,
                code: options.door.trust.code, asksPerson: options.door.acceptance == .ask),
            random: SystemRandomNumberGenerator())
        let own = NIOLoopBoundBox.makeEmptyBox(valueType: MeshDriver.self, eventLoop: loop)
        self.own = own
        door = MeshDoor(options.door, of: own, loop: loop)
        links = MeshLinks(options, of: own, door: door, loop: loop, locate: handlers.locate)
        timer.onDeadline { [unowned self] _ in self.pump() }
    }

    // MARK: Beginning and end

    /// Binds the control port; the one that is asked for if it is free.
    func start() -> EventLoopFuture<UInt16> {
        own.value = self
        return links.start()
    }

    func begin(_ beginning: MeshServer.Beginning) {
        guard !isShuttingDown, ticker == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        ticker = loop.scheduleRepeatedTask(initialDelay: .zero, delay: Self.tickInterval) { _ in bound.value.tick() }
        switch beginning {
        case .found(let name): handle(.begin(.found(name: name)))
        case .resume(let room):
            links.resume(room.addresses)
            handle(.begin(.resume(room)))
        case .enter(let device, let endpoint):
            handle(.begin(.enter(through: device)))
            links.enter(through: device, at: endpoint)
        }
    }

    func shutdown() -> EventLoopFuture<Void> {
        isShuttingDown = true
        ticker?.cancel()
        handle(.leave)
        for source in relays.values { _ = source.driver.shutdown() }
        relays = [:]
        links.end()
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
        handle(.addresses(links.updateAddresses()))
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
            links.keepAddresses(of: now)
            forgetRelayAnswers()
            door.driver.handle(.remembered(now))
            ownShare?.driver.handle(.remembered(now))
            for source in relays.values { source.driver.handle(.remembered(now)) }
        }
        door.follow(session)
    }

    /// Hosts and viewers that used the link.
    func linkEnded(_ id: MeshLinkID) {
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
            case .send(let id, let bytes): links.send(bytes, on: id)
            case .close(let id, _): links.close(id)
            case .resume(let id): links.resumeSoon(id)
            case .dial(let device, let addresses): links.dialSoon(device, told: addresses)
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
            links.entered()
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
        room.addresses.merge(links.lastAddresses.filter { session.belongs($0.key) }) { new, _ in new }
        emit(.keep(room))
    }
}

extension MeshDriver: LoopDriver {
    typealias Statistics = Void
}
