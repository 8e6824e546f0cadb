import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix
import NIOSSL

/// Serves browsers by a gateway (Janus): makes a mountpoint there, and sends it the stream once, for all who watch. Has an
/// event loop and a thread of its own.
///
/// Its methods may be called from any thread but the event loop's own.
public final class WebGateway: Sendable {
    public struct Options: Sendable {
        public var address: GatewayAddress
        public var credentials: GatewayCredentials
        /// A PEM file with certificates that are trusted instead of the system's; nil: the system's.
        public var certificate: String?
        public var mountpoint: GatewayMountpoint
        /// Mountpoints of killed hosts, to be destroyed.
        public var leftovers: [GatewayMountpoint]
        public var stream: BrowserStream.Configuration

        public init(
            address: GatewayAddress, credentials: GatewayCredentials = GatewayCredentials(), certificate: String? = nil,
            mountpoint: GatewayMountpoint, leftovers: [GatewayMountpoint] = [], stream: BrowserStream.Configuration
        ) {
            self.address = address
            self.credentials = credentials
            self.certificate = certificate
            self.mountpoint = mountpoint
            self.leftovers = leftovers
            self.stream = stream
        }
    }

    /// Called on the event loop: must not block, and must not wait for the gateway.
    public struct Handlers: Sendable {
        public var requestKeyframe: @Sendable (_ layer: Int) -> Void
        public var onDemand: @Sendable (StreamDemand, _ layer: Int) -> Void
        public var onSoundDemand: @Sendable (SoundDemand) -> Void
        public var onEvent: @Sendable (GatewayEvent) -> Void
        /// The gateway hasn't got that mountpoint any more.
        public var onCleared: @Sendable (GatewayMountpoint) -> Void

        public init(
            requestKeyframe: @escaping @Sendable (_ layer: Int) -> Void,
            onDemand: @escaping @Sendable (StreamDemand, _ layer: Int) -> Void,
            onSoundDemand: @escaping @Sendable (SoundDemand) -> Void = { _ in },
            onEvent: @escaping @Sendable (GatewayEvent) -> Void = { _ in },
            onCleared: @escaping @Sendable (GatewayMountpoint) -> Void = { _ in }
        ) {
            self.requestKeyframe = requestKeyframe
            self.onDemand = onDemand
            self.onSoundDemand = onSoundDemand
            self.onEvent = onEvent
            self.onCleared = onCleared
        }
    }

    static let connectTimeout = TimeAmount.seconds(8)

    let handle: LoopHandle<GatewayDriver>

    /// Begins to connect, and returns at once: a gateway that can't be reached is tried again until `shutdown`.
    ///
    /// - Throws: `WebError`, if the file of certificates can't be used.
    public convenience init(_ options: Options, handlers: Handlers) throws(WebError) {
        try self.init(options, handlers: handlers, resolver: nil)
    }

    /// `resolver` finds the gateway's addresses instead of the system, in tests.
    init(_ options: Options, handlers: Handlers, resolver: (any Resolver & Sendable)?) throws(WebError) {
        let tls = options.address.isSecure ? try Self.tls(options.certificate) : nil
        handle = LoopHandle(on: nil, statistics: GatewayFigures(options.address)) { loop in
            GatewayDriver(loop: loop, options, tls: tls, resolver: resolver, handlers: handlers)
        }
        // It can't fail.
        try? handle.start { $0.start() }
    }

    private static func tls(_ file: String?) throws(WebError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        // A gateway that hangs must not hold up the end.
        configuration.shutdownTimeout = .seconds(1)
        if let file {
            guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty else {
                throw .certificateUnusable(file: file, reason: "there is no certificate in it")
            }
            configuration.trustRoots = .certificates(certificates)
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw .certificateUnusable(file: file, reason: "the certificates that this machine trusts can't be read")
        }
    }

    /// Passes the next encoded frame to the gateway.
    public func submit(_ frame: EncodedFrame) { handle.perform { $0.submit(frame) } }

    /// Passes the next encoded sound to the gateway.
    public func submit(_ sound: EncodedSound) { handle.perform { $0.submit(sound) } }

    /// Those at the end once it is shut down. Waits for the event loop.
    public var figures: GatewayFigures { handle.statistics }

    /// Begins what `shutdown` waits for, so that several can end at the same time.
    public func beginShutdown() { handle.perform { _ = $0.shutdown() } }

    /// Destroys the mountpoint, which ends the streams of all who watch there; returns when that is done, after 2 s at the
    /// latest.
    public func shutdown() { handle.end() }
}

/// Totals of what a gateway was sent.
public struct GatewayFigures: Sendable, Hashable {
    /// Its address.
    public var gateway: String
    /// Its host, with the port if that isn't the usual one.
    public var authority: String
    /// So many watch there.
    public var viewers: Int = 0
    /// Others can watch there.
    public var isReady = false
    public var frames: UInt64 = 0
    public var keyframes: UInt64 = 0
    /// RTP packets with those of sound, and their payloads' bytes.
    public var packets: UInt64 = 0
    public var bytes: UInt64 = 0

    package init(_ address: GatewayAddress) { (gateway, authority) = (address.description, address.authority) }
}
