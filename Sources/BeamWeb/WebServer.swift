import BeamClock
import BeamIdentity
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// Serves browsers: the page, its WebSocket and the stream, on one TCP port and one UDP port. Has an event loop and a thread
/// of its own, so that native viewers don't wait for it.
///
/// Its methods may be called from any thread but the event loop's own.
public final class WebServer: Sendable {
    /// What https shows.
    public enum Certificate: Sendable {
        /// This machine's own, which browsers warn of.
        case lasting(WebIdentity)
        /// PEM files: the certificate with those that vouch for it, and its key without a passphrase.
        case files(certificate: String, key: String)

        var isOwn: Bool { if case .lasting = self { true } else { false } }
    }

    /// Whom the code for browsers serves. Raw values: the page's `data-code`.
    public enum Code: String, Sendable {
        /// There is none.
        case no
        /// Each code lets in one browser.
        case one
        /// The code lets in any number.
        case any
    }

    public struct Options: Sendable {
        /// A numeric address or a name of this machine; nil: all addresses, IPv4 and IPv6.
        public var bindAddress: String?
        /// Used if they are free; otherwise one of the next ones is. 0: any.
        public var port: UInt16
        public var mediaPort: UInt16
        /// A page that is asked for by http is sent on to https.
        public var isHTTPSOnly: Bool
        public var certificate: Certificate
        /// The machine's name, by which browsers may come.
        public var hostName: String
        /// What the page says is shared; nil: `hostName`.
        public var shownName: String?
        /// Further names, such as those of a certificate.
        public var names: [String]
        public var stream: BrowserStream.Configuration
        /// At the start: without a code a browser can ask, so that the person is asked, or all are let in.
        public var asksPerson: Bool
        public var code: Code
        /// The gateways that the page may speak to (`GatewayAddress.origin`).
        public var gatewayOrigins: [String] = []

        public init(
            bindAddress: String? = nil, port: UInt16 = 52347, mediaPort: UInt16 = 52348, isHTTPSOnly: Bool = false,
            certificate: Certificate, hostName: String, shownName: String? = nil, names: [String] = [],
            stream: BrowserStream.Configuration, asksPerson: Bool, code: Code
        ) {
            self.bindAddress = bindAddress
            self.port = port
            self.mediaPort = mediaPort
            self.isHTTPSOnly = isHTTPSOnly
            self.certificate = certificate
            self.hostName = hostName
            self.shownName = shownName
            self.names = names
            self.stream = stream
            self.asksPerson = asksPerson
            self.code = code
        }
    }

    /// Called on the event loop: must not block, and must not wait for the server.
    public struct Handlers: Sendable {
        /// A page wants to watch, for the first time on this connection; `onHello` follows.
        public var onOpened: @Sendable (ConnectionID, IPAddress) -> Void
        /// To be answered by `tell`. Comes again after a wrong code.
        public var onHello: @Sendable (ConnectionID, BrowserHello) -> Void
        /// The browser has left, is lost or was refused. Once for each that was opened.
        public var onClosed: @Sendable (ConnectionID) -> Void
        /// The layer's next frame has to be a keyframe.
        public var requestKeyframe: @Sendable (_ layer: Int) -> Void
        public var onDemand: @Sendable (StreamDemand, _ layer: Int) -> Void
        public var onSoundDemand: @Sendable (SoundDemand) -> Void
        public var onEvent: @Sendable (WebEvent) -> Void

        public init(
            onOpened: @escaping @Sendable (ConnectionID, IPAddress) -> Void,
            onHello: @escaping @Sendable (ConnectionID, BrowserHello) -> Void,
            onClosed: @escaping @Sendable (ConnectionID) -> Void,
            requestKeyframe: @escaping @Sendable (_ layer: Int) -> Void,
            onDemand: @escaping @Sendable (StreamDemand, _ layer: Int) -> Void,
            onSoundDemand: @escaping @Sendable (SoundDemand) -> Void = { _ in },
            onEvent: @escaping @Sendable (WebEvent) -> Void = { _ in }
        ) {
            self.onOpened = onOpened
            self.onHello = onHello
            self.onClosed = onClosed
            self.requestKeyframe = requestKeyframe
            self.onDemand = onDemand
            self.onSoundDemand = onSoundDemand
            self.onEvent = onEvent
        }
    }

    /// The ports in use.
    public let port: UInt16
    public let mediaPort: UInt16
    /// Why no browser can be sent packets, so that all have to come by https; the end of a sentence. Nil: they can.
    public let packetsUnavailable: String?
    /// SHA-256 of the certificate that https shows, for a person to compare: 32 bytes.
    public let certificateFingerprint: [UInt8]

    let handle: LoopHandle<WebDriver>

    /// Binds both ports; the host can be reached once this returns.
    public convenience init(_ options: Options, handlers: Handlers) throws(WebError) {
        try self.init(options, times: WebListener.Times(), handlers: handlers)
    }

    init(_ options: Options, times: WebListener.Times, handlers: Handlers) throws(WebError) {
        let tls = try WebTLS.context(options.certificate)
        certificateFingerprint = WebTLS.fingerprint(options.certificate)
        handle = LoopHandle(on: nil, statistics: ()) { loop in
            WebDriver(loop: loop, options, tls: tls, times: times, handlers: handlers)
        }
        do {
            (port, mediaPort, packetsUnavailable) = try handle.start { $0.start() }
        } catch {
            handle.end()
            throw error as? WebError
                ?? .cannotBind(address: options.bindAddress ?? "all addresses", reason: networkReason(error))
        }
    }

    /// Passes the next encoded frame to the browsers.
    public func submit(_ frame: EncodedFrame) { handle.perform { $0.submit(frame) } }

    /// Passes the next encoded sound to the browsers.
    public func submit(_ sound: EncodedSound) { handle.perform { $0.submit(sound) } }

    /// Another encoder begins, whose options say so many bits a second, or nothing comes for now: browsers begin anew with
    /// the next keyframe.
    public func restart(bitRate: Int) { handle.perform { $0.restart(bitRate: bitRate) } }

    /// What the door says to a page. After a refusal, whenever it comes, the browser gets nothing more.
    public func tell(_ verdict: BrowserVerdict, to id: ConnectionID) { handle.perform { $0.tell(verdict, to: id) } }

    /// Tells all pages that were let in, and those that come later as far as it still holds.
    public func tellAll(_ notice: PageNotice) { handle.perform { $0.tellAll(notice) } }

    /// Whether a browser can ask without a code: pages that are opened from now on say so.
    public func setAsksPerson(_ asksPerson: Bool) { handle.perform { $0.setAsksPerson(asksPerson) } }

    /// The gateways that carry the stream from now on: browsers that come are sent there.
    public func setGateways(_ gateways: [GatewayDoor]) { handle.perform { $0.gateways = gateways } }

    /// The browsers that were let in, in the order of their connections; none once the server is shut down. Waits for the
    /// event loop.
    public var figures: [WebFigures] { handle.ask { $0.figures } ?? [] }

    /// Tells the pages that the host has ended, unless they were told otherwise, and closes all connections; returns when
    /// that is done, after 2 s at the latest.
    public func shutdown() { handle.end() }
}

/// A browser that was let in.
public struct WebFigures: Sendable, Hashable {
    public enum Way: String, Sendable, Hashable {
        /// WebRTC; by which of SRTP's profiles.
        case packets = "RTP (AES-CM)"
        case packetsGCM = "RTP (AES-GCM)"
        /// WebCodecs.
        case units = "WebSocket"
    }

    public var id: ConnectionID
    /// Nil before its stream has begun.
    public var way: Way?
    public var isSecure: Bool
    /// The host's own; nil before it has begun, and for those at a gateway.
    public var stream: BrowserFigures?
    /// The address of the gateway by which it watches.
    public var gateway: String?
    /// It has said that it shows that gateway's picture.
    public var isWatching = false
}

public enum WebEvent: Sendable, Hashable {
    /// What happened to a browser's stream.
    case stream(BrowserStreamEvent)
    /// A browser's stream or connection has failed, or it has sent what the page doesn't send; a sentence without a full
    /// stop.
    case failed(ConnectionID, reason: String)
    /// A browser shows the picture of a gateway, that long after it was let in.
    case startedAtGateway(ConnectionID, address: String, after: Duration)
    /// The system is out of descriptors or memory; its words.
    case acceptingPaused(reason: String)
    /// The listening socket was closed by the system, and is opened again.
    case listeningFailed(reason: String)
    case listeningAgain
}
