import BeamIdentity
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// What is shared in the room: this machine's screen, and for those who can't reach them, what others share.
extension MeshDriver {
    func take(_ carried: MeshSession.Carried, from link: MeshLinkID) {
        guard let member = session.member(on: link), let remote = links.remoteAddress(of: link).flatMap(IPAddress.init)
        else { return }
        if carried.isToHost {
            if let source = source(carried.source, for: member) {
                source.take(carried, of: member, from: link, at: remote)
            } else if !carried.message.isEmpty {
                carry(
                    MeshSession.Carried(
                        source: carried.source, dialog: carried.dialog, message: [], isToHost: false), on: link)
            }
        } else {
            for path in paths where path.source == carried.source { path.received(carried, from: link) }
        }
    }

    /// The member that serves what `device` shares; nil: nobody here.
    private func source(_ device: DeviceKey, for member: DeviceKey) -> MeshSource? {
        if device == identity.deviceKey { return ownShare }
        if let relay = relays[device] { return relay }
        // What comes from this member can't be served to it; and nothing is served that isn't received here.
        guard device != member, let path = paths.first(where: { $0.source == device && $0.link != nil }),
            path.link.flatMap({ session.member(on: $0) }) != member, let local = links.listener?.localAddress
        else { return nil }
        let own = own
        var handlers = HostServer.Handlers(
            onEvent: { _ in }, requestKeyframe: { _ in own.value?.relayNeedsKeyframe(of: device) },
            onDemand: { demand, _ in own.value?.relayDemandChanged(to: demand, of: device) })
        handlers.onExactWanted = { own.value?.relayNeedsExact($0, of: device) }
        let driver = HostDriver(
            loop: loop,
            // It goes by the name of the member whose screen it is, as on a connection to that member.
            session: Self.serving(
                Broadcast.Configuration(hasSound: true, hasReducedLayer: false), by: identity, called: name(of: device)),
            handlers: handlers)
        let relay = MeshSource(device, driver, in: self)
        relays[device] = relay
        driver.control = relay
        driver.handle(.remembered(members))
        driver.handle(.broadcast(true))
        driver.bindMedia(local.with(port: 0)).whenFailure { _ in own.value?.endRelay(device) }
        relayChanged(device)
        return relay
    }

    /// What is asked for of a source depends on whether it is served on.
    private func relayChanged(_ device: DeviceKey) {
        for path in paths where path.source == device { path.viewer?.handle(.relayed(takers(of: device))) }
    }

    private func relayNeedsKeyframe(of device: DeviceKey) { tellViewers(of: device, .keyframeWanted) }

    private func relayNeedsExact(_ tiles: [PixelRect], of device: DeviceKey) {
        tellViewers(of: device, .exactWanted(tiles))
    }

    /// Who watches there may take patches, or not.
    private func relayDemandChanged(to demand: StreamDemand, of device: DeviceKey) {
        guard let relay = relays[device] else { return }
        relay.takers = PatchTakers(demand)
        tellViewers(of: device, .relayed(relay.takers))
    }

    private func tellViewers(of device: DeviceKey, _ input: ViewerSession.Input) {
        // Later: it may be asked for while a frame is delivered.
        loop.assumeIsolated().execute { [self] in
            for path in paths where path.source == device { path.viewer?.handle(input) }
        }
    }

    func endRelay(_ device: DeviceKey) {
        guard let relay = relays.removeValue(forKey: device) else { return }
        _ = relay.driver.shutdown()
        relayChanged(device)
    }

    /// The viewer here of what this member shares.
    func viewer(of device: DeviceKey) -> ViewerDriver? {
        paths.first { $0.source == device && $0.link != nil }?.viewer
    }

    /// Who gets from here what this member shares; nil: nobody can.
    func takers(of device: DeviceKey) -> PatchTakers? { relays[device]?.takers }

    /// A frame of what `device` shares has arrived: it is served on as it is.
    func relay(_ frame: ReceivedFrame, of device: DeviceKey) {
        guard let relay = relays[device], !relay.isIdle else { return }
        relay.driver.submit(relay.picture.frame(frame, now: .now))
    }

    /// Exact pixels of what `device` shares have arrived: they are served on as they are.
    func relay(_ patch: ReceivedPatch, of device: DeviceKey) {
        guard let relay = relays[device], !relay.isIdle, let patch = relay.picture.patch(patch) else { return }
        relay.driver.submit(patch)
    }

    /// Sound of what `device` shares has arrived: it is served on as it is, with its number.
    func relay(_ sound: ReceivedSound, of device: DeviceKey) {
        guard let relay = relays[device], !relay.isIdle else { return }
        relay.driver.submit(EncodedSound(relaying: sound, now: .now), number: sound.number)
    }

    /// A picture that is served in a room: all members watch, and nobody else. The log isn't its business.
    static func serving(
        _ broadcast: Broadcast.Configuration, by identity: LocalIdentity, called name: String?
    ) -> HostSession.Configuration {
        HostSession.Configuration(door: .known(to: identity.deviceKey, deviceName: name), broadcast: broadcast)
    }

    /// Begins to share with the members. Returns the media port.
    func share(_ driver: HostDriver, mediaPort: UInt16) -> EventLoopFuture<UInt16> {
        guard let local = links.listener?.localAddress, !isShuttingDown else {
            return loop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        let source = MeshSource(identity.deviceKey, driver, in: self)
        driver.control = source
        driver.handle(.remembered(members))
        return driver.bindMedia(local.with(port: mediaPort)).assumeIsolated().map { [self] port in
            ownShare = source
            isOwnPaused = false
            handle(.sharing(true, isPaused: false))
            return port
        }.nonisolated()
    }

    /// What this member shares has ended.
    func ended(_ source: MeshSource) {
        guard ownShare === source else { return }
        ownShare = nil
        handle(.sharing(false, isPaused: false))
    }

    // MARK: For sources and paths

    func carry(_ carried: MeshSession.Carried, on link: MeshLinkID) {
        session.carry(carried, on: link, now: .now)
        pump()
    }

    func connectionID() -> ConnectionID { links.listener?.nextID() ?? ConnectionID(0) }

    func nextDialog() -> UInt32 {
        lastDialog &+= 1
        return lastDialog
    }

    func directLink(to device: DeviceKey) -> MeshLinkID? { session.link(to: device) }

    func name(of device: DeviceKey) -> String? { members[device] }

    func add(_ path: MeshPath) {
        if !paths.contains(where: { $0 === path }) { paths.append(path) }
    }

    func remove(_ path: MeshPath) {
        paths.removeAll { $0 === path }
        if !paths.contains(where: { $0.source == path.source }) { forgetWay(to: path.source) }
        updateRelayQuestions()
    }
}

/// Serves what a member of a room shares on to those who can't reach it.
final class RelaySink: ReceivedSink {
    private let room: NIOLoopBoundBox<MeshDriver>
    private let device: DeviceKey

    init(_ device: DeviceKey, in room: NIOLoopBoundBox<MeshDriver>) {
        self.room = room
        self.device = device
    }

    func push(_ frame: ReceivedFrame) { room.value.relay(frame, of: device) }
    func push(_ sound: ReceivedSound) { room.value.relay(sound, of: device) }
    func push(_ patch: ReceivedPatch) { room.value.relay(patch, of: device) }
}
