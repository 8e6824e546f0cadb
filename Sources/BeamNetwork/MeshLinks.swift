import BeamClock
import BeamIdentity
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// The links between a member of a room and the others: dials members, listens for members and newcomers, and finds the
/// way into the room. Connections of newcomers go to the door. Confined to its event loop.
final class MeshLinks {
    /// A connection to a member, or to somebody who may be one.
    private struct Link {
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

    private let loop: any EventLoop
    private let options: MeshServer.Options
    private let transport: Result<SecureTransport, any Error>
    private let locate: (DeviceKey) -> [Endpoint]
    private let door: MeshDoor
    /// Nil before the room's start, and after its end.
    private let own: NIOLoopBoundBox<MeshDriver?>
    private(set) var listener: ControlListener?
    private var links: [MeshLinkID: Link] = [:]
    private var dialers: [DeviceKey: ControlDialer] = [:]
    private var entrance: Entrance?
    /// Where members were when this device was here last.
    private(set) var lastAddresses: [DeviceKey: [NetworkAddress]] = [:]
    private var memberAddresses: MemberAddresses

    /// - Parameter locate: see `MeshServer.Handlers.locate`.
    init(
        _ options: MeshServer.Options, of own: NIOLoopBoundBox<MeshDriver?>, door: MeshDoor, loop: any EventLoop,
        locate: @escaping (DeviceKey) -> [Endpoint]
    ) {
        self.loop = loop
        self.options = options
        self.own = own
        self.door = door
        self.locate = locate
        transport = Result { try SecureTransport(options.identity, for: .room) }
        memberAddresses = MemberAddresses(bindAddress: options.bindAddress)
        memberAddresses.interfaces = MemberAddresses.Interface.all()
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
        self.listener = listener
        door.driver.control = listener
        let options = self.options
        return listener.start(options.bindAddress, port: options.controlPort).assumeIsolated().flatMapError {
            [loop] error -> EventLoopFuture<SocketAddress> in
            guard case .portInUse? = error as? NetworkError, options.controlPort != 0 else {
                return loop.makeFailedFuture(error)
            }
            return listener.start(options.bindAddress, port: 0)
        }.flatMap { [door] local in
            door.driver.bindMedia(local.with(port: 0)).map { UInt16(clamping: local.port ?? 0) }
        }.flatMapErrorThrowing { [door] error in
            door.driver.cancel()
            listener.cancel()
            throw error
        }.nonisolated()
    }

    /// The room was left before.
    func resume(_ addresses: [DeviceKey: [NetworkAddress]]) { lastAddresses = addresses }

    /// Enters the room through this member, which is at this address.
    func enter(through device: DeviceKey, at endpoint: Endpoint) {
        entrance = Entrance(device: device, endpoint: endpoint)
        dial(device, [endpoint])
    }

    func entered() { entrance = nil }

    /// Closes the dialled ones once all that was sent has left. The door's shutdown closes the others.
    func end() {
        entrance = nil
        for dialer in dialers.values { dialer.close() }
        dialers = [:]
    }

    // MARK: Addresses

    /// Where this machine can be reached, by its present interfaces.
    func updateAddresses() -> [NetworkAddress] {
        let port = listener?.localAddress?.port ?? 0
        memberAddresses.interfaces = MemberAddresses.Interface.all()
        return LocalAddresses.reached(boundTo: options.bindAddress).compactMap { text in
            (try? SocketAddress(ipAddress: text, port: port)).flatMap { NetworkAddress($0) }
        }
    }

    /// Only these are members.
    func keepAddresses(of members: [DeviceKey: String]) { memberAddresses.keep { members[$0] != nil } }

    func remoteAddress(of link: MeshLinkID) -> SocketAddress? { links[link]?.remote }

    /// Where a member is, by a link to it.
    private func noteAddress(_ id: MeshLinkID) {
        guard let link = links[id], let room = own.value,
            room.session.belongs(link.device) || link.device == entrance?.device,
            let remote = link.remote.flatMap(IPAddress.init)
        else { return }
        memberAddresses.linked(
            link.device, at: remote, link.dialer == nil ? nil : link.remote.flatMap { Endpoint($0) })
    }

    // MARK: Connections at the listener

    private var connections: ControlListener.Events {
        let door = self.door
        return ControlListener.Events(
            admits: { door.driver.admits($0, from: $1) },
            isKnownAddress: { [unowned self] address in
                door.driver.isKnownAddress(address)
                    || self.links.values.contains { $0.remote.flatMap(IPAddress.init) == address }
            },
            onBytes: { door.driver.handle(.connectionBytes($0, $1)) },
            onSecured: { [unowned self] in self.secured($0, $1) },
            onMessage: { [unowned self] id, bytes in
                let link = MeshLinkID(id.value)
                if self.links[link] == nil {
                    door.driver.handle(.connectionMessage(id, bytes))
                } else {
                    self.received(bytes, on: link)
                }
            },
            onViolation: { [unowned self] id, reason in
                let link = MeshLinkID(id.value)
                guard self.links[link] != nil else {
                    return door.driver.handle(.connectionViolated(id, reason: reason))
                }
                self.listener?.close(id)
                self.linkEnded(link)
            },
            onEnd: { [unowned self] id, failure in
                let link = MeshLinkID(id.value)
                guard self.links[link] == nil else { return self.linkEnded(link) }
                door.closed(id, tlsFailure: failure)
            },
            onExhausted: { [own] in own.value?.emit(.door(.acceptingPaused(reason: $0))) },
            onListeningFailed: { [own] in own.value?.emit(.door(.listeningFailed(reason: $0))) },
            onListeningAgain: { [own] in own.value?.emit(.door(.listeningAgain)) })
    }

    private func secured(_ id: ConnectionID, _ peer: ControlListener.Peer) {
        guard peer.speaksRoom else { return door.secured(id, peer) }
        // It isn't a viewer's connection: the door doesn't count it any more.
        door.driver.handle(.connectionClosed(id))
        guard let room = own.value,
            room.session.belongs(peer.device) || peer.device == entrance?.device
                || room.session.unknownLinks < Self.mostUnknownLinks
        else {
            listener?.close(id)
            return
        }
        let link = MeshLinkID(id.value)
        links[link] = Link(device: peer.device, remote: listener?.remoteAddress(of: id), dialer: nil)
        noteAddress(link)
        room.handle(.opened(link, peer.device, isOutgoing: false))
    }

    // MARK: Dialling

    /// Dials a member where it may be: at the addresses that others have told, and at those that are known here.
    func dialSoon(_ device: DeviceKey, told addresses: [NetworkAddress]) {
        let told = (addresses.isEmpty ? lastAddresses[device] ?? [] : addresses).map {
            Endpoint(host: "\($0.ip)", port: $0.port)
        }
        let endpoints = memberAddresses.candidates(for: device, told: told, found: locate(device))
        // Later: the session can't take an event while it is being polled.
        loop.assumeIsolated().execute { [self] in
            if own.value != nil { dial(device, endpoints) }
        }
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
                    self.own.value?.handle(.opened(link, device, isOutgoing: true))
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
        loop.assumeIsolated().scheduleTask(in: Self.dialTime) { [self] in
            guard dialers[device] === dialer, links[link] == nil else { return }
            dialers[device] = nil
            dialer.close()
            dialFailed(device)
        }
    }

    private func dialFailed(_ device: DeviceKey) {
        own.value?.handle(.dialFailed(device))
        tryEntranceAgain(device)
    }

    /// The first connection of a newcomer is made again if it is lost before the room is known.
    private func tryEntranceAgain(_ device: DeviceKey) {
        guard let room = own.value, entrance?.device == device, room.session.members.isEmpty else { return }
        entrance?.failures += 1
        guard let failures = entrance?.failures, failures < Self.entranceTries else {
            entrance = nil
            return room.emit(.notEntered)
        }
        loop.assumeIsolated().scheduleTask(in: Self.entrancePause) { [self] in
            guard let room = own.value, room.session.members.isEmpty, let entrance else { return }
            dial(device, [entrance.endpoint])
        }
    }

    // MARK: Links

    func send(_ bytes: [UInt8], on id: MeshLinkID) {
        guard let link = links[id] else { return }
        if let dialer = link.dialer {
            dialer.send(bytes)
        } else {
            listener?.send(bytes, on: ConnectionID(id.value))
        }
    }

    /// A message on a link: it is handled, and what that costs is counted.
    private func received(_ bytes: [UInt8], on id: MeshLinkID) {
        guard let device = links[id]?.device, let room = own.value else { return }
        let start = ThreadTime.now
        room.handle(.message(id, bytes))
        guard room.session.spent(ThreadTime.now - start, bytes: bytes.count, on: id, of: device, now: .now) else {
            return
        }
        hold(id, true)
        // Its end is one of the session's deadlines.
        room.pump()
    }

    /// Goes on to read. Later: messages that have come already are handled at once.
    func resumeSoon(_ id: MeshLinkID) { loop.assumeIsolated().execute { [self] in hold(id, false) } }

    private func hold(_ id: MeshLinkID, _ isHeld: Bool) {
        guard let link = links[id] else { return }
        if let dialer = link.dialer {
            dialer.hold(isHeld)
        } else {
            listener?.hold(ConnectionID(id.value), isHeld)
        }
    }

    func close(_ id: MeshLinkID) {
        guard let link = remove(id) else { return }
        if let dialer = link.dialer { dialer.close() } else { listener?.close(ConnectionID(id.value)) }
        loop.assumeIsolated().execute { [self] in tryEntranceAgain(link.device) }
    }

    private func linkEnded(_ id: MeshLinkID) {
        guard let link = remove(id) else { return }
        own.value?.handle(.closed(id))
        tryEntranceAgain(link.device)
    }

    private func remove(_ id: MeshLinkID) -> Link? {
        guard let link = links.removeValue(forKey: id) else { return nil }
        if let dialer = link.dialer, dialers[link.device] === dialer { dialers[link.device] = nil }
        own.value?.linkEnded(id)
        return link
    }
}
