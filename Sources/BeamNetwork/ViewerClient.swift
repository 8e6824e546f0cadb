import BeamIdentity
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// The address of a host's control port.
public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// A name, or a numeric IPv4 or IPv6 address (link-local ones with `%interface`).
    public var host: String
    public var port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A viewer on the network: a control connection and a media socket, driven by a `ViewerSession` on one event loop.
///
/// Its methods may be called from any thread but the event loop's own.
public final class ViewerClient: Sendable {
    /// Called on the event loop: must not block.
    public struct Handlers: Sendable {
        public var onEvent: @Sendable (ViewerEvent) -> Void
        /// They get each frame and each packet of sound, in this order.
        public var sinks: [any ReceivedSink]
        /// All that is wished at present: asked when the client begins, and whenever `wishesChanged` is called.
        public var wishes: @Sendable () -> ViewerWishes = { ViewerWishes() }
        /// The host's present endpoints, the most promising first; called before each attempt. Empty if they aren't
        /// known.
        public var locate: @Sendable () -> [Endpoint]
        /// Further endpoints where the host may be, the most promising first; called before each attempt. They are tried
        /// beside the others once the host's key is known, and prove nothing: another machine that answers there is
        /// passed over.
        public var hints: @Sendable () -> [Endpoint] = { [] }
        /// The host with this key has admitted the viewer at this endpoint, whose host is a numeric address. Called before
        /// `ViewerEvent.hostReached`.
        public var onReached: @Sendable (DeviceKey, Endpoint) -> Void = { _, _ in }
        /// A host that isn't the sought one has answered at this endpoint.
        public var onOtherHost: @Sendable (Endpoint) -> Void = { _ in }

        public init(
            onEvent: @escaping @Sendable (ViewerEvent) -> Void, sinks: [any ReceivedSink] = [],
            locate: @escaping @Sendable () -> [Endpoint]
        ) {
            self.onEvent = onEvent
            self.sinks = sinks
            self.locate = locate
        }
    }

    /// How a viewer uses the network. The defaults are for a viewer that a person watches; the options are for many
    /// viewers in one process, as in benchmarks.
    public struct Options: Sendable {
        /// A loop shared with other viewers, ended by its owner; nil: a loop of its own.
        public var loop: NetworkLoop?
        /// The numeric local address that everything is sent from; nil: the system chooses.
        public var source: String?
        /// Use the times at which the system received datagrams (SIOCGSTAMPNS), not those at which this thread read
        /// them. With many viewers on the thread, its delay isn't the path's.
        public var usesSystemTimes: Bool

        public init(loop: NetworkLoop? = nil, source: String? = nil, usesSystemTimes: Bool = false) {
            self.loop = loop
            self.source = source
            self.usesSystemTimes = usesSystemTimes
        }
    }

    private let handle: LoopHandle<ViewerDriver>

    /// Does nothing before `begin`. `identity` is what the viewer proves to version 2 hosts: its key is
    /// `session.trust.own`.
    public init(
        identity: LocalIdentity, session: ViewerSession.Configuration, handlers: Handlers, options: Options = Options()
    ) {
        handle = LoopHandle(on: options.loop, statistics: ViewerStatistics()) { loop in
            ViewerDriver(loop: loop, session: session, handlers: handlers, options: options) { events in
                DialledPath(
                    ControlDialer(
                        loop: loop, transport: Result { try SecureTransport(identity) }, source: options.source,
                        mayFallBack: session.allowsUnencrypted, events: events),
                    handlers)
            }
        }
    }

    /// For a viewer whose control connection comes from elsewhere.
    init(_ handle: LoopHandle<ViewerDriver>) { self.handle = handle }

    /// Begins to connect. What was called before takes effect now. Once.
    public func begin() { handle.perform { $0.start() } }

    /// Enters the host's code, as typed by the person.
    public func enter(_ code: PairingCode) { handle.perform { $0.handle(.code(code)) } }

    /// The person gives no code: the person at the host is to be asked.
    public func askPerson() { handle.perform { $0.handle(.askPerson) } }

    /// Sets the paired hosts and their names. A session with a host that is missing ends.
    public func setRemembered(_ hosts: [DeviceKey: String]) { handle.perform { $0.handle(.remembered(hosts)) } }

    /// Discovery has found the host, or `hints` has another address: tries to connect at once.
    ///
    /// - Parameter announcedVersion: the protocol version that the host announces; nil: as it was said before.
    public func hostAppeared(announcedVersion: Int? = nil) {
        handle.perform { $0.hostAppeared(announcedVersion: announcedVersion) }
    }

    /// `Handlers.wishes` has another answer.
    public func wishesChanged() { handle.perform { $0.wishesChanged() } }

    /// To a receiver: what is shared here can be watched at this TCP port.
    public func offerScreen(at port: UInt16) { handle.perform { $0.handle(.offerScreen(port: port)) } }

    /// Writes to the room.
    public func write(_ input: LogInput) {
        handle.performInTurn { $0.handle(.room(input)) }
    }

    /// A delivered frame could not be decoded, or was dropped: goes on with the next keyframe.
    public func decoderFailed() { handle.perform { $0.handle(.decoderFailed) } }

    /// Others get the picture and the sound from here: both are asked for in full, whatever is wished.
    public func setRelayed() { handle.perform { $0.handle(.relayed([])) } }

    /// Somebody who gets the picture from here needs a keyframe. What is delivered goes on meanwhile.
    public func wantKeyframe() { handle.perform { $0.handle(.keyframeWanted) } }

    /// These rectangles of tiles (`ExactTiles`) aren't exact here: asks the host for them, if it has such.
    public func wantExact(_ tiles: [PixelRect]) { handle.perform { $0.handle(.exactWanted(tiles)) } }

    /// All is exact here, and is to be compared: asks the host for hashes, if it tells such.
    public func wantHashes() { handle.perform { $0.handle(.hashesWanted) } }

    /// The totals now, or at the end once the client is shut down. Waits for the event loop.
    public var statistics: ViewerStatistics { handle.statistics }

    /// Closes everything; returns when it is closed.
    public func shutdown() { handle.end() }
}

extension ViewerDriver: LoopDriver {}
