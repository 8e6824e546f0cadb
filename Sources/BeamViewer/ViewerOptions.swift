import BeamCodec
import BeamDisplay
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamTrust

/// What to watch, and where the pictures go.
public struct ViewerOptions: Sendable {
    public enum Target: Sendable, Equatable {
        /// An address or a host name of the network, with its control port.
        case endpoint(Endpoint)
        /// A name as discovery shows it, or else a host name of the network on this port.
        case name(String, port: UInt16)
        /// Whoever is there: the only host, or the one that the person picks.
        case anyHost
    }

    /// Which hosts are known, and how others may become so.
    public struct Trust: Sendable {
        /// Where this machine's identity and the paired hosts are kept.
        public var store: TrustStore
        /// What a host's person sees.
        public var deviceName: String
        /// The host's code, as far as it was given beforehand.
        public var code: PairingCode?
        /// Somebody is here who can type it.
        public var asksForCode: Bool
        /// False: only hosts that were paired before are watched.
        public var pairs: Bool
        /// False: a host that is paired now is known until the viewer ends.
        public var remembersNewHosts: Bool
        /// A host that speaks no version 2 may be watched in version 1.
        public var allowsUnencrypted: Bool
        /// The address belongs to another machine than the last time: who was there then doesn't matter.
        public var isNewHost: Bool

        public init(
            store: TrustStore, deviceName: String, code: PairingCode? = nil, asksForCode: Bool = false,
            pairs: Bool = true, remembersNewHosts: Bool = true, allowsUnencrypted: Bool = false,
            isNewHost: Bool = false
        ) {
            self.store = store
            self.deviceName = deviceName
            self.code = code
            self.asksForCode = asksForCode
            self.pairs = pairs
            self.remembersNewHosts = remembersNewHosts
            self.allowsUnencrypted = allowsUnencrypted
            self.isNewHost = isNewHost
        }
    }

    public var target: Target
    public var trust: Trust
    /// Nil: no window.
    public var window: WindowOptions?
    /// What decodes: the processor, a device, or the better of the two.
    public var decoder: DecoderChoice
    /// What a stream may ask of the decoder.
    public var bounds = StreamBounds()
    /// How long frames wait, so that those that take longer than others come in step; nil: as long as is needed.
    public var buffer: Duration?
    /// The stream as it is, into .mkv or .mp4.
    public var recordPath: String?
    /// The decoded pictures, into .y4m.
    public var framesPath: String?

    public init(
        target: Target, trust: Trust, window: WindowOptions? = nil, decoder: DecoderChoice = .automatic,
        buffer: Duration? = nil, recordPath: String? = nil, framesPath: String? = nil
    ) {
        self.target = target
        self.trust = trust
        self.window = window
        self.decoder = decoder
        self.buffer = buffer
        self.recordPath = recordPath
        self.framesPath = framesPath
    }
}

/// What a viewer tells whoever runs it. Delivered on threads of the viewer's own: hand on, don't wait.
public enum ViewerNotice: Sendable {
    case session(ViewerEvent)
    /// Looking for hosts; nobody is there yet, or not the one that was asked for.
    case searching(name: String?)
    /// Several hosts are there: the person has to pick, by `Viewer.choose`. Sent again whenever the list changes.
    case pick([HostChoice])
    /// This host it is.
    case chosen(name: String)
    case firstFrame(PixelSize)
    case resized(PixelSize)
    case warning(String)
    /// Something that a person asked for cannot be done any more (a full disk, say): the viewer is to be stopped.
    case failed(reason: String)
}

/// One host of a list to pick from.
public struct HostChoice: Sendable, Hashable {
    public var name: String
    public var addresses: [String]
    public var port: UInt16
}

/// Totals since the start, and times since the last report.
public struct ViewerReport: Sendable {
    public var session: ViewerStatistics
    /// Pictures decoded, shown in the window, and replaced by newer ones before they were shown.
    public var decoded: UInt64
    public var shown: UInt64
    public var replaced: UInt64
    /// Of the last decoded picture; nil before the first.
    public var size: PixelSize?
    /// Where it was decoded: `software`, or `vaapi:` and the device's path.
    public var decoder: String?
    /// Decoded pictures, and media bits, a second.
    public var framesPerSecond: Double
    public var bitsPerSecond: Double
    /// How long frames took over each part of their way, as far as it is known: what the host tells of its own, and
    /// what lies between the machines (to within `session.clockError`), isn't in version 1.
    public var times: [FrameSpan: LatencyHistogram.Summary]
}
