import BeamClock
import BeamIdentity
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// A host on the network: a TCP control port and a UDP media port, driven by a `HostSession` on one event loop.
///
/// Its methods may be called from any thread but the event loop's own.
public final class HostServer: Sendable {
    public struct Options: Sendable {
        /// A numeric address or a name of this machine; nil: all addresses, IPv4 and IPv6.
        public var bindAddress: String?
        public var controlPort: UInt16
        /// Used if it is free; otherwise the system chooses another.
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

    /// Called on the event loop: must not block.
    public struct Handlers: Sendable {
        public var onEvent: @Sendable (HostEvent) -> Void
        /// The layer's next frame has to be a keyframe.
        public var requestKeyframe: @Sendable (_ layer: Int) -> Void
        /// The demand on the layer's encoder has changed.
        public var onDemand: @Sendable (StreamDemand, _ layer: Int) -> Void
        /// Which encodings of the sound viewers want has changed; none at first.
        public var onSoundDemand: @Sendable (SoundDemand) -> Void
        /// A viewer lacks these rectangles of tiles (`ExactTiles`) exactly. It has chosen them: they may lie anywhere.
        public var onExactWanted: @Sendable ([PixelRect]) -> Void = { _ in }
        /// A viewer wants hashes of the newest picture.
        public var onHashesWanted: @Sendable () -> Void = {}
        /// What the door says to a browser, by its connection.
        public var onBrowser: @Sendable (ConnectionID, BrowserVerdict) -> Void

        public init(
            onEvent: @escaping @Sendable (HostEvent) -> Void,
            requestKeyframe: @escaping @Sendable (_ layer: Int) -> Void,
            onDemand: @escaping @Sendable (StreamDemand, _ layer: Int) -> Void,
            onSoundDemand: @escaping @Sendable (SoundDemand) -> Void = { _ in },
            onBrowser: @escaping @Sendable (ConnectionID, BrowserVerdict) -> Void = { _, _ in }
        ) {
            self.onEvent = onEvent
            self.requestKeyframe = requestKeyframe
            self.onDemand = onDemand
            self.onSoundDemand = onSoundDemand
            self.onBrowser = onBrowser
        }
    }

    /// The ports in use.
    public let controlPort: UInt16
    public let mediaPort: UInt16

    private let handle: LoopHandle<HostDriver>

    /// Binds both ports; the host can be reached once this returns.
    public init(_ options: Options, handlers: Handlers) throws(NetworkError) {
        do {
            handle = LoopHandle(on: nil, statistics: HostStatistics()) { loop in
                HostDriver(loop: loop, session: options.session, handlers: handlers)
            }
            do {
                (controlPort, mediaPort) = try handle.start { $0.start(options, handlers) }
            } catch {
                handle.end()
                throw error
            }
        } catch {
            throw error as? NetworkError
                ?? NetworkError(binding: options.bindAddress ?? "any address", port: Int(options.controlPort), error)
        }
    }

    /// For a host whose control connections come from elsewhere.
    init(_ handle: LoopHandle<HostDriver>, controlPort: UInt16, mediaPort: UInt16) {
        self.handle = handle
        self.controlPort = controlPort
        self.mediaPort = mediaPort
    }

    /// Passes the next encoded frame to the network.
    public func submit(_ frame: EncodedFrame) {
        let now = MediaTime.now
        handle.perform { $0.submit(frame, handedOver: now) }
    }

    /// Passes the next encoded sound to the network. `number`: the one that it has already, because it is passed on for
    /// another host.
    public func submit(_ sound: EncodedSound, number: UInt32? = nil) {
        handle.perform { $0.submit(sound, number: number) }
    }

    /// Passes exact pixels to the network.
    public func submit(_ patch: ExactPatch) { handle.perform { $0.submit(patch) } }

    /// Passes on hashes of all rows of the newest picture.
    public func submit(_ hashes: PictureHashes) { handle.perform { $0.submit(hashes) } }

    /// Passes on where the pointer is.
    public func submit(_ pointer: ScreenPointer) { handle.perform { $0.submit(pointer) } }

    /// What a browser's page does, whose connection somebody else has: `.browserOpened`, `.browserHello` or
    /// `.browserClosed`.
    public func browser(_ input: Door.Input) { handle.perform { $0.handle(input) } }

    /// The person's answer to `HostEvent.viewerAsks`, `.comparisonAsked`, `.browserAsks` or `.digitsShown`.
    public func decide(_ connection: ConnectionID, accept: Bool) {
        handle.perform { $0.handle(.decision(connection, accept: accept)) }
    }

    /// Sets the paired devices and their names. A device that is missing is evicted.
    public func setRemembered(_ devices: [DeviceKey: String]) {
        handle.perform { $0.handle(.remembered(devices)) }
    }

    /// The list of paired devices has changed and can't be read: until it can, no device counts as paired unless it is
    /// watching.
    public func setRememberedUnreadable() {
        handle.perform { $0.handle(.rememberedUnreadable) }
    }

    /// Evicts this viewer; it may come again a minute later.
    public func sendAway(_ viewer: Guest.Identity) { handle.perform { $0.handle(.sendAway(viewer)) } }

    /// Evicts this viewer and refuses it until the host ends.
    public func block(_ viewer: Guest.Identity) {
        handle.perform {
            switch viewer {
            case .device(let key): $0.handle(.block(key))
            case .address(let address): $0.handle(.blockAddress(address))
            case .browser(let session): $0.handle(.blockBrowser(session: session))
            }
        }
    }

    /// Says how those who come from now on are let in.
    public func setPolicy(_ acceptance: Door.Acceptance, takesNewViewers: Bool) {
        handle.perform { $0.handle(.policy(acceptance, takesNewViewers: takesNewViewers)) }
    }

    /// Replaces the code for unknown viewers.
    public func setCode(_ code: PairingCode) {
        handle.perform { $0.handle(.code(code)) }
    }

    /// Replaces it by a random one, if there is one.
    public func renewCode() {
        handle.perform { $0.handle(.renewCode) }
    }

    /// Replaces the code for browsers.
    public func setWebCode(_ code: PairingCode) { handle.perform { $0.handle(.webCode(code)) } }

    /// Replaces it by a random one, if there is one.
    public func renewWebCode() { handle.perform { $0.handle(.renewWebCode) } }

    /// Tells the viewers whether the screen is being shared.
    public func setBroadcast(_ isOn: Bool) {
        handle.perform { $0.handle(.broadcast(isOn)) }
    }

    /// Tells the viewers whether what is shared can be seen.
    public func setSourceVisibility(_ visibility: SourceVisibility) {
        handle.perform { $0.handle(.sourceVisibility(visibility)) }
    }

    /// Tells viewers that come from now on through how many relays the picture comes.
    public func setRelays(_ count: Int) {
        handle.perform { $0.handle(.relays(count)) }
    }

    /// At a relay: says whether there may be exact patches from now on. Viewers that come from now on are offered them.
    public func setPassesPatches(_ isSo: Bool) {
        handle.perform { $0.handle(.passesPatches(isSo)) }
    }

    /// Sets the size of the full layer's pictures at full quality, so that viewers that show them smaller can get less.
    public func setPictureSize(_ size: PixelSize) {
        handle.perform { $0.handle(.pictureSize(size)) }
    }

    /// Says whether the full layer is also recorded, so that it keeps its size and rate whatever the viewers' paths carry.
    public func setFullLayerKept(_ isKept: Bool) {
        handle.perform { $0.handle(.fullLayerKept(isKept)) }
    }

    /// Writes to the room.
    public func write(_ input: LogInput) {
        handle.performInTurn { $0.handle(.room(input)) }
    }

    /// Sets what the viewers are told at the end; a sentence without a full stop.
    public func setFarewell(_ reason: String) {
        handle.perform { $0.handle(.farewell(reason)) }
    }

    /// The totals now, or at the end once the server is shut down. Waits for the event loop.
    public var statistics: HostStatistics { handle.statistics }

    /// One for each viewer; none once the server is shut down. Waits for the event loop.
    public var viewers: [ViewerFigures] { handle.ask { $0.viewers } ?? [] }

    /// The admitted viewers; none once the server is shut down. Waits for the event loop.
    public var guests: [Guest] { handle.ask { $0.guests } ?? [] }

    /// Tells the viewers and closes all connections; returns when that is done, after 2 s at the latest.
    public func shutdown() { handle.end() }
}

extension HostDriver: LoopDriver {
    /// Listens for viewers, and binds the media port.
    fileprivate func start(
        _ options: HostServer.Options, _ handlers: HostServer.Handlers
    ) -> EventLoopFuture<(control: UInt16, media: UInt16)> {
        let listener: ControlListener
        do {
            listener = ControlListener(
                loop: loop, transport: try SecureTransport(options.identity), events: connections(handlers))
        } catch {
            return loop.makeFailedFuture(error)
        }
        control = listener
        return listener.start(options.bindAddress, port: options.controlPort).assumeIsolated().flatMap {
            [self] local in
            bindMedia(local.with(port: options.mediaPort)).map {
                (control: UInt16(clamping: local.port ?? 0), media: $0)
            }
        }.flatMapErrorThrowing { [self] error in
            cancel()
            listener.cancel()
            throw error
        }.nonisolated()
    }

    /// What happens on a listening socket's connections.
    private func connections(_ handlers: HostServer.Handlers) -> ControlListener.Events {
        ControlListener.Events(
            admits: { [unowned self] in self.admits($0, from: $1) },
            isKnownAddress: { [unowned self] in self.isKnownAddress($0) },
            onBytes: { [unowned self] in self.handle(.connectionBytes($0, $1)) },
            onSecured: { [unowned self] in self.handle(.connectionSecured($0, $1.device)) },
            onMessage: { [unowned self] in self.handle(.connectionMessage($0, $1)) },
            onViolation: { [unowned self] in self.handle(.connectionViolated($0, reason: $1)) },
            onEnd: { [unowned self] in self.handle(.connectionClosed($0, tlsFailure: $1)) },
            onExhausted: { handlers.onEvent(.acceptingPaused(reason: $0)) },
            onListeningFailed: { handlers.onEvent(.listeningFailed(reason: $0)) },
            onListeningAgain: { handlers.onEvent(.listeningAgain) })
    }
}
