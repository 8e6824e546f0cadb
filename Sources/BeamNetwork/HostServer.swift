import BeamIdentity
import BeamMedia
import BeamProtocol
import NIOCore
import NIOPosix
import Synchronization

/// A host on the network: a TCP control port and a UDP media port, driven by a `HostSession` on one event loop.
///
/// Its methods may be called from any thread but the event loop's own.
public final class HostServer: Sendable {
    public struct Options: Sendable {
        /// A numeric address or a name of this machine; nil: all of them, IPv4 and IPv6.
        public var bindAddress: String?
        public var controlPort: UInt16
        /// Taken if free, else any other.
        public var mediaPort: UInt16
        /// What the host proves to version 2 viewers: its key is `session.trust.own`.
        public var identity: LocalIdentity
        public var session: HostSession.Configuration

        public init(
            bindAddress: String? = nil, controlPort: UInt16 = 52345, mediaPort: UInt16 = 52346,
            identity: LocalIdentity, session: HostSession.Configuration
        ) {
            self.bindAddress = bindAddress
            self.controlPort = controlPort
            self.mediaPort = mediaPort
            self.identity = identity
            self.session = session
        }
    }

    /// Called on the event loop: hand on, don't wait.
    public struct Handlers: Sendable {
        public var onEvent: @Sendable (HostEvent) -> Void
        /// The lane's next frame is to be a keyframe.
        public var requestKeyframe: @Sendable (_ lane: Int) -> Void
        /// What the lane's encoder is to make from now on.
        public var onDemand: @Sendable (StreamDemand, _ lane: Int) -> Void

        public init(
            onEvent: @escaping @Sendable (HostEvent) -> Void,
            requestKeyframe: @escaping @Sendable (_ lane: Int) -> Void,
            onDemand: @escaping @Sendable (StreamDemand, _ lane: Int) -> Void
        ) {
            self.onEvent = onEvent
            self.requestKeyframe = requestKeyframe
            self.onDemand = onDemand
        }
    }

    /// The ports in use.
    public let controlPort: UInt16
    public let mediaPort: UInt16

    private let group: MultiThreadedEventLoopGroup
    private let loop: any EventLoop
    private let driver: NIOLoopBound<HostDriver>
    private let lastStatistics = Mutex(HostStatistics())
    private let isShutDown = Mutex(false)

    /// Binds both ports; the host can be reached when this returns.
    public init(_ options: Options, handlers: Handlers) throws(NetworkError) {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        do {
            let started = try loop.submit {
                ThreadPriority.raise()
                DescriptorLimit.raise()
                let driver = try HostDriver(loop: loop, options: options, handlers: handlers)
                let bound = NIOLoopBound(driver, eventLoop: loop)
                return driver.start(options).map { ports in (driver: bound, ports: ports) }
            }.flatMap { $0 }.wait()
            self.group = group
            self.loop = loop
            driver = started.driver
            controlPort = started.ports.control
            mediaPort = started.ports.media
        } catch {
            // The group has no channels left; its end cannot fail in a way that matters more than `error`.
            try? group.syncShutdownGracefully()
            throw error as? NetworkError
                ?? NetworkError(binding: options.bindAddress ?? "any address", port: Int(options.controlPort), error)
        }
    }

    /// Hands the next encoded frame to the network.
    public func submit(_ unit: AccessUnit) {
        perform { $0.submit(unit) }
    }

    /// The person's answer to `HostEvent.viewerAsks`.
    public func decide(_ connection: ConnectionID, accept: Bool) {
        perform { $0.handle(.decision(connection, accept: accept)) }
    }

    /// The viewers that the store remembers now; who is missing was forgotten, and is sent away.
    public func setRemembered(_ devices: [DeviceKey: String]) {
        perform { $0.handle(.remembered(devices)) }
    }

    /// What the store remembers has changed and can't be read: nobody who isn't connected is taken as known meanwhile.
    public func setRememberedUnreadable() {
        perform { $0.handle(.rememberedUnreadable) }
    }

    /// This viewer is out, and stays out until the host ends.
    public func sendAway(_ viewer: Guest.Identity) {
        perform {
            switch viewer {
            case .device(let key): $0.handle(.sendAway(key))
            case .address(let address): $0.handle(.sendAwayAddress(address))
            }
        }
    }

    /// Another code for viewers that aren't known.
    public func setCode(_ code: PairingCode) {
        perform { $0.handle(.code(code)) }
    }

    /// Tells the viewers whether the screen is being shared.
    public func setBroadcast(_ isOn: Bool) {
        perform { $0.handle(.broadcast(isOn)) }
    }

    /// On the event loop, as long as it runs.
    private func perform(_ action: @escaping @Sendable (HostDriver) -> Void) {
        guard !isShutDown.withLock({ $0 }) else { return }
        loop.execute { [driver] in action(driver.value) }
    }

    /// Totals at this moment, or at the end once the server is shut down.
    public var statistics: HostStatistics {
        if !isShutDown.withLock({ $0 }),
            let fresh = try? loop.submit({ [driver] in driver.value.statistics }).wait()
        {
            lastStatistics.withLock { $0 = fresh }
        }
        return lastStatistics.withLock { $0 }
    }

    /// One for each viewer, at this moment; none once the server is shut down. Waits for the event loop.
    public var viewers: [ViewerFigures] {
        guard !isShutDown.withLock({ $0 }) else { return [] }
        return (try? loop.submit { [driver] in driver.value.viewers }.wait()) ?? []
    }

    /// Those who were let in, at this moment; none once the server is shut down. Waits for the event loop.
    public var guests: [Guest] {
        guard !isShutDown.withLock({ $0 }) else { return [] }
        return (try? loop.submit { [driver] in driver.value.guests }.wait()) ?? []
    }

    /// Broadcast off, viewers told, connections closed; returns when that is done, after 2 s at the latest.
    public func shutdown() {
        _ = statistics
        guard !isShutDown.exchange(true) else { return }
        // A failure to close is the system's; there is nothing left to be done about it.
        try? loop.submit { [driver] in driver.value.shutdown() }.flatMap { $0 }.wait()
        try? group.syncShutdownGracefully()
    }
}

extension Mutex where Value == Bool {
    /// Stores `value` and returns what was there.
    borrowing func exchange(_ value: Bool) -> Bool {
        withLock { stored in
            defer { stored = value }
            return stored
        }
    }
}
