import BeamIdentity
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// A member of a room of equals on the network: one TCP port for newcomers and for the other members, and the connections
/// to these. What members share goes over the same connections (control) and UDP ports of its own (pictures).
///
/// Its methods may be called from any thread but the event loop's own.
public final class MeshServer: Sendable {
    public struct Options: Sendable {
        /// A numeric address or a name of this machine; nil: all addresses, IPv4 and IPv6.
        public var bindAddress: String?
        /// Used if it is free; otherwise the system chooses another. (Several members may be on one machine.)
        public var controlPort: UInt16
        public var identity: LocalIdentity
        /// How newcomers are let in. They belong to the room from then on. Its code is the room's, if that has none
        /// yet; otherwise the room's code is taken.
        public var door: Door.Configuration
        /// This member's name.
        public var name: String
        public var relaying: Relaying

        public init(
            bindAddress: String? = nil, controlPort: UInt16 = 52345, identity: LocalIdentity,
            door: Door.Configuration, name: String, relaying: Relaying = .ask
        ) {
            self.relaying = relaying
            self.bindAddress = bindAddress
            self.controlPort = controlPort
            self.identity = identity
            self.door = door
            self.name = name
        }
    }

    /// Whether pictures of members that can't be reached directly are taken from another member, who could show something
    /// else in their place.
    public enum Relaying: String, Sendable, CaseIterable {
        /// Once the person has agreed, for each member and each that serves it on: `Event.relayNeeded`, `answerRelay`.
        case ask
        case all
        case none
    }

    /// How the room begins for this member.
    public enum Beginning: Sendable {
        /// A new room with this name.
        case found(name: String)
        /// A room in which it was before.
        case resume(KeptRoom)
        /// The room of this member, which is at this address and has let this device in.
        case enter(through: DeviceKey, at: Endpoint)
    }

    public enum Event: Sendable {
        case mesh(MeshEvent)
        /// About newcomers: questions, codes, refusals.
        case door(HostEvent)
        /// What is to be kept of the room has changed.
        case keep(KeptRoom)
        /// The door has let somebody in whom the room doesn't take.
        case notAdmitted(DeviceKey, MeshRefusal)
        /// What the first one shares can't be got directly, but through the second one: `answerRelay` says whether it is to
        /// be. Withdrawn by `relayNotNeeded`, or by another question about the first one.
        case relayNeeded(DeviceKey, through: DeviceKey)
        case relayNotNeeded(DeviceKey)
        /// The pictures of the first one come through the second one from now on; nil: directly. Said before the first of
        /// them. At first they come directly.
        case relayed(DeviceKey, through: DeviceKey?)
        /// The member through which this device was to enter can't be reached, or doesn't let it in.
        case notEntered
    }

    /// Called on the event loop: must not block.
    public struct Handlers: Sendable {
        public var onEvent: @Sendable (Event) -> Void
        /// Where the member may be, besides the addresses that it tells itself: discovery's, and those of the last time.
        public var locate: @Sendable (DeviceKey) -> [Endpoint]

        public init(
            onEvent: @escaping @Sendable (Event) -> Void, locate: @escaping @Sendable (DeviceKey) -> [Endpoint]
        ) {
            self.onEvent = onEvent
            self.locate = locate
        }
    }

    /// The port in use.
    public let controlPort: UInt16

    let handle: LoopHandle<MeshDriver>
    let network: NetworkLoop
    let identity: LocalIdentity
    private let name: String

    /// Binds the port. Nothing else happens before `begin`.
    public init(_ options: Options, handlers: Handlers) throws(NetworkError) {
        let network = NetworkLoop()
        self.network = network
        identity = options.identity
        name = options.name
        handle = LoopHandle(on: network, statistics: ()) { loop in
            MeshDriver(loop: loop, options: options, handlers: handlers)
        }
        do {
            controlPort = try handle.start { $0.start() }
        } catch {
            handle.end()
            network.shutdown()
            throw error as? NetworkError
                ?? NetworkError(binding: options.bindAddress ?? "any address", port: Int(options.controlPort), error)
        }
    }

    /// Makes, enters or takes up the room. Once.
    public func begin(_ beginning: Beginning) { handle.perform { $0.begin(beginning) } }

    /// Writes to the room: a caption, a note, an alert, a message.
    public func write(_ input: LogInput) { handle.performInTurn { $0.handle(.write(input)) } }

    /// The person's answer to a question of the door: `HostEvent.comparisonAsked` or `.digitsShown`.
    public func decide(_ connection: ConnectionID, accept: Bool) {
        handle.perform { $0.door.decide(connection, accept: accept) }
    }

    /// Replaces the room's code for newcomers, at all members.
    public func setCode(_ code: PairingCode) { handle.perform { $0.handle(.giveCode(code)) } }

    /// Replaces it by a random one, if there is one.
    public func renewCode() { handle.perform { $0.handle(.renewCode) } }

    /// Sets the devices that are let in without a code or a question, and their names. This machine knows their keys, which
    /// they have to prove like everybody.
    public func setAcquaintances(_ devices: [DeviceKey: String]) { handle.perform { $0.door.acquaintances = devices } }

    /// Puts out a member that came after this one, and perhaps also those that it has let in. `onResult` gets nil, or why
    /// it wasn't; on the event loop.
    public func putOut(
        _ device: DeviceKey, alsoThoseLetIn: Bool = false, onResult: @escaping @Sendable (MeshRefusal?) -> Void
    ) {
        handle.perform { onResult($0.putOut(device, alsoThoseLetIn: alsoThoseLetIn)) }
    }

    /// Members that belong to the room only by `device`'s word: let in by it, or by a member that it has let in. On the
    /// event loop.
    public func findLetIn(
        by device: DeviceKey, onResult: @escaping @Sendable ([(device: DeviceKey, name: String)]) -> Void
    ) {
        handle.perform { onResult($0.letIn(by: device)) }
    }

    /// Discovery has found the member, or it may be at another address: it is dialled soon.
    public func appeared(_ device: DeviceKey) { handle.perform { $0.handle(.appeared(device)) } }

    /// The person's answer to `Event.relayNeeded`, which may be changed later.
    public func answerRelay(_ source: DeviceKey, through relay: DeviceKey, accept: Bool) {
        handle.perform { $0.answerRelay(source, through: relay, accept: accept) }
    }

    /// What this member shares is held, or goes on.
    public func setPaused(_ isPaused: Bool) { handle.perform { $0.setPaused(isPaused) } }

    /// Leaves and closes all connections; returns when that is done, after 2 s at the latest. The hosts and viewers in the
    /// room have to be shut down before.
    public func shutdown() {
        handle.end()
        network.shutdown()
    }

    /// How a viewer in the room trusts: what it is sent comes over links whose ends have proved who they are.
    func trust(watching device: DeviceKey, called known: String) -> ViewerTrust {
        ViewerTrust(
            own: identity.deviceKey, name: name, instance: UInt64.random(in: 0 ... .max), known: [device: known],
            required: [device], pairs: false, remembersNewHosts: false)
    }
}

extension HostServer {
    /// Shares with the members of a room, over its connections. One at a time; ended by `shutdown`.
    ///
    /// - Parameters:
    ///   - mediaPort: used if it is free; otherwise the system chooses another.
    ///   - name: as members read it. All of them may watch, and nobody else.
    public convenience init(
        in room: MeshServer, mediaPort: UInt16 = 52346, name: String?, broadcast: Broadcast.Configuration,
        handlers: Handlers
    ) throws(NetworkError) {
        let session = MeshDriver.serving(broadcast, by: room.identity, called: name)
        let handle = LoopHandle(on: room.network, statistics: HostStatistics()) { loop in
            HostDriver(loop: loop, session: session, handlers: handlers)
        }
        let driver = room.handle.driver
        let port: UInt16
        do {
            port = try handle.start { driver.value.share($0, mediaPort: mediaPort) }
        } catch {
            handle.end()
            throw error as? NetworkError ?? NetworkError(binding: "any address", port: Int(mediaPort), error)
        }
        self.init(handle, controlPort: room.controlPort, mediaPort: port)
    }
}

extension ViewerClient {
    /// Watches what a member of a room shares, directly or through another member. Does nothing before `begin`.
    ///
    /// - Parameters:
    ///   - member: its name in the room.
    ///   - session: its trust is replaced by the room's.
    public convenience init(
        in room: MeshServer, watching device: DeviceKey, called member: String, session: ViewerSession.Configuration,
        handlers: Handlers
    ) {
        var session = session
        session.trust = room.trust(watching: device, called: member)
        session.room = nil
        session.allowsUnencrypted = false
        var handlers = handlers
        let driver = room.handle.driver
        handlers.sinks.insert(RelaySink(device, in: driver), at: 0)
        let (finished, finishedSession) = (handlers, session)
        self.init(
            LoopHandle(on: room.network, statistics: ViewerStatistics()) { loop in
                var made: MeshPath?
                let viewer = ViewerDriver(
                    loop: loop, session: finishedSession, handlers: finished, options: Options()
                ) { events in
                    let path = MeshPath(to: device, in: driver, loop: loop, events: events)
                    made = path
                    return path
                }
                made?.viewer = viewer
                return viewer
            })
    }
}
