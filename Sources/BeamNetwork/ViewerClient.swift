import BeamIdentity
import BeamMedia
import BeamProtocol
import NIOCore

/// Where a host's control plane may be reached.
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
    /// Called on the event loop: hand on, don't wait.
    public struct Handlers: Sendable {
        public var onEvent: @Sendable (ViewerEvent) -> Void
        /// The next frame to decode.
        public var onFrame: @Sendable (ReceivedFrame) -> Void
        /// Where the host is now, most promising first; asked before each attempt. Empty: not known at the moment.
        public var locate: @Sendable () -> [Endpoint]

        public init(
            onEvent: @escaping @Sendable (ViewerEvent) -> Void,
            onFrame: @escaping @Sendable (ReceivedFrame) -> Void,
            locate: @escaping @Sendable () -> [Endpoint]
        ) {
            self.onEvent = onEvent
            self.onFrame = onFrame
            self.locate = locate
        }
    }

    /// How a viewer uses the network. The defaults suit the one viewer that a person watches; the rest is for many viewers
    /// in one process, as benchmarks have them.
    public struct Options: Sendable {
        /// Shared with other viewers, and ended by whoever made it; nil: a loop of its own.
        public var loop: NetworkLoop?
        /// The numeric address of this machine that everything is sent from; nil: the system chooses.
        public var source: String?
        /// A datagram's time is when the system received it (SIOCGSTAMPNS), not when this thread came to read it. The
        /// thread may be busy with other viewers; that isn't the path's delay.
        public var usesSystemTimes: Bool

        public init(loop: NetworkLoop? = nil, source: String? = nil, usesSystemTimes: Bool = false) {
            self.loop = loop
            self.source = source
            self.usesSystemTimes = usesSystemTimes
        }
    }

    private let handle: LoopHandle<ViewerDriver>

    /// Starts to connect at once. `identity` is what the viewer proves to version 2 hosts: its key is `session.trust.own`.
    public init(
        identity: LocalIdentity, session: ViewerSession.Configuration, handlers: Handlers, options: Options = Options()
    ) {
        handle = LoopHandle(on: options.loop, statistics: ViewerStatistics()) { loop in
            ViewerDriver(loop: loop, identity: identity, session: session, handlers: handlers, options: options)
        }
        handle.perform { $0.start() }
    }

    /// The host's code, as the person has typed it.
    public func enter(_ code: PairingCode) {
        handle.perform { $0.handle(.code(code)) }
    }

    /// The hosts that the store remembers now; a session with one that was forgotten ends.
    public func setRemembered(_ hosts: [DeviceKey: String]) {
        handle.perform { $0.handle(.remembered(hosts)) }
    }

    /// Discovery has seen the host: don't wait for the next try.
    public func hostAppeared() {
        handle.perform { $0.handle(.hostAppeared) }
    }

    /// What was delivered could not be decoded, or was thrown away: go on with the next keyframe.
    public func decoderFailed() {
        handle.perform { $0.handle(.decoderFailed) }
    }

    /// Totals at this moment, or at the end once the client is shut down. Waits for the event loop.
    public var statistics: ViewerStatistics { handle.statistics }

    /// Closes everything; returns when it is closed.
    public func shutdown() { handle.end() }
}

extension ViewerDriver: LoopDriver {}
