import BeamCapture
import BeamCodec
import BeamMedia
import BeamNetwork
import BeamSession
import BeamSound
import BeamTrust
import BeamWeb
import BeamWire

/// What to share, and how.
public struct HostOptions: Sendable {
    public enum Source: Sendable {
        case x11(X11Options)
        /// Opened already: its person has chosen.
        case portal(PortalSource)
        case wlr(WlrOptions)
        case pattern(PatternOptions)
        /// Any file that libavformat opens, in a loop.
        case file(path: String)

        /// A desktop, whose sound is what the machine plays.
        var isScreen: Bool {
            switch self {
            case .x11, .portal, .wlr: true
            case .pattern, .file: false
            }
        }
    }

    /// Which sound is shared.
    public enum Sound: Sendable, Hashable {
        case off
        /// A film's or the test pattern's own; else what this machine plays, if there is a sound server. Never a microphone.
        case automatic
        case microphone
        /// The device with this name or description: an input, or what an output plays.
        case named(String)
    }

    public var source: Source
    public var sound = Sound.off
    /// Of the sound, in bits a second: 16,000 to 256,000.
    public var soundBitRate = 128_000
    /// The longest side of the sent picture in pixels; nil: the source's.
    public var maxSize: Int?
    /// In bits a second; nil: the default for size and frame rate.
    public var bitRate: Int?
    /// Chroma format for viewers that can decode it; the others get 4:2:0.
    public var chroma: ChromaFormat
    /// Small changes, and what is at rest, are also sent exactly to viewers that take that.
    public var sendsPatches = true
    /// One of libavcodec's H.264 encoders; nil: the fastest on this machine.
    public var encoder: String?
    /// The host's name in discovery.
    public var name: String
    /// The store of paired viewers.
    public var store: TrustStore
    public var server: HostServer.Options
    /// What serves browsers, without what this host adds; nil: none are let in.
    public var web: WebServer.Options?
    /// The gateways by which browsers watch, too; nil: none.
    public var gateways: HostGateways?
    /// In place of `web`: browsers that stay from one share to the next.
    public var browsers: Browsers?
    /// The .mkv or .mp4 file for the recording of layer 0; nil: none.
    public var recordPath: String?
    /// A file, a pipe or `-` (standard input) to read captions from; nil: none.
    public var captionsPath: String?
    /// The .txt, .srt, .vtt or .jsonl file for the transcript; nil: none.
    public var transcriptPath: String?
    /// Whether to announce the service through Avahi, and over Bluetooth if `usesBluetooth`.
    public var isAnnounced = true
    /// Announce this host's address over Bluetooth, if there is an adapter.
    public var usesBluetooth = true
    /// Told when the picture begins to be watched or recorded, and when that ends.
    public var onWatched: (@Sendable (Bool) -> Void)?
    /// The room whose members watch; nil: viewers connect to this host. In a room there are no captions, no transcript,
    /// no announcement and no list of viewers: these are the room's.
    public var room: MeshServer?

    public init(
        source: Source, maxSize: Int? = nil, bitRate: Int? = nil, encoder: String? = nil,
        chroma: ChromaFormat = .subsampled, name: String, store: TrustStore, server: HostServer.Options
    ) {
        self.source = source
        self.maxSize = maxSize
        self.bitRate = bitRate
        self.encoder = encoder
        self.chroma = chroma
        self.name = name
        self.store = store
        self.server = server
    }
}

/// Gateways (Janus) by which browsers watch.
public struct HostGateways: Sendable {
    public var addresses: [GatewayAddress]
    /// For all of them.
    public var credentials: GatewayCredentials
    /// A PEM file with the certificates that are trusted instead of the system's.
    public var certificate: String?

    public init(addresses: [GatewayAddress], credentials: GatewayCredentials, certificate: String?) {
        self.addresses = addresses
        self.credentials = credentials
        self.certificate = certificate
    }
}

/// A host's notices to its owner. Delivered on the host's threads: hand on, don't block.
public enum HostNotice: Sendable {
    case session(HostEvent)
    /// The host is announced; its name may have been changed to be unique.
    case announced(name: String)
    case warning(String)
    /// No automatic discovery on this machine: viewers connect by address, for example `address`. `reason` is for a person.
    case notDiscoverable(address: Endpoint?, reason: String)
    /// The sent size at full quality has changed.
    case resized(PixelSize)
    /// A file of the recording begins: the first, or another after a change of size.
    case recordingInto(path: String)
    /// The disk is too slow, and the recording has gaps. Sent once.
    case recordingHasGaps
    /// The recording has ended; sharing goes on. `reason` is for a person.
    case recordingFailed(reason: String)
    /// A browser gets the picture, that long after it was let in. `gateway`: by which, as its page says; nil: by this host.
    case browserStarted(session: String, after: Duration, gateway: String?)
    /// What has become of a gateway; its address.
    case gateway(String, GatewayEvent)
    /// What the sound is captured from, and whether it can be. Sent first when that is known, then on each change.
    case sound(SoundCaptureState)
    /// Sound can't be encoded on this machine. Sharing goes on without. `reason` is for a person.
    case soundFailed(reason: String)
    /// The host was paused, or goes on.
    case paused(Bool)
    /// A line of the captions can't be used.
    case captionLineRefused(number: Int, reason: String)
    /// No more captions come. Sharing goes on.
    case captionsEnded
    /// The transcript has ended; sharing goes on. `reason` is for a person.
    case transcriptFailed(reason: String)
    /// What is shared can't be seen any more, or again.
    case sourceVisibility(SourceVisibility)
    /// The source has ended, or nothing can be encoded any more: stop the host. `reason` is for a person; `farewell` for
    /// the viewers, nil if the host's end says enough. `isWish`: a person wants it, who has ended the sharing at the desktop.
    case ended(reason: String, farewell: String?, isWish: Bool)
}

/// What a person needs to know in order to watch.
public struct HostDescription: Sendable {
    public var name: String
    public var source: String
    public var size: PixelSize
    public var frameRate: Double
    /// In bits a second.
    public var bitRate: Int
    public var encoder: String
    /// The address that it listens on; nil: all.
    public var bindAddress: String?
    public var controlPort: UInt16
    public var mediaPort: UInt16
    /// Where browsers come; nil: nowhere.
    public var web: Web?

    /// `source` is the host whose picture is passed on. Frame rate and bit rate aren't known.
    public var isRelay: Bool { encoder == "relay" }

    /// Where browsers come.
    public struct Web: Sendable {
        /// Of the page, by http and https.
        public var port: UInt16
        public var mediaPort: UInt16
        /// Why browsers have to come by https; the end of a sentence. Nil: they don't.
        public var packetsUnavailable: String?
        /// SHA-256 of the certificate that https shows: 32 bytes.
        public var fingerprint: [UInt8]
    }
}

/// Totals since the start; times since the last report.
public struct HostReport: Sendable {
    public var time: MediaTime
    public var session: HostStatistics
    /// One for each viewer, in the order in which they joined; empty once the host has ended.
    public var viewers: [ViewerFigures]
    /// Pictures captured, frames of layer 0 encoded, and pictures replaced by newer ones before they were encoded.
    public var captured: UInt64
    public var encoded: UInt64
    public var replaced: UInt64
    public var size: PixelSize
    /// The state of each layer's encoder: layer 0 for everybody, layer 1 for viewers that can't have that.
    public var layers: [Layer]
    /// Packets of sound made (10 ms each); nil if no sound is shared.
    public var soundPackets: UInt64?
    /// Nil without a recording.
    public var recording: BackgroundRecorder.Report?
    /// From the screen's change to the start of encoding; and conversion and encoding.
    public var capture: LatencyHistogram.Summary?
    public var encode: LatencyHistogram.Summary?
    /// What gateways were sent, in the order of the options.
    public var gateways: [GatewayFigures] = []
    /// A relay passes frames on as they came: `encoded` are these, and nothing is captured or replaced.
    public var isPassedOn = false
    /// Those who watch at gateways by a link, and so aren't among `viewers`. Gateways tell every 2 s how many they have.
    public var viewersAtGateways: Int {
        let own = Dictionary(grouping: viewers.filter(\.isWatching)) { $0.gateway }
        return gateways.reduce(0) { $0 + max(0, $1.viewers - (own[$1.gateway]?.count ?? 0)) }
    }

    /// A simulcast layer.
    public struct Layer: Sendable, Hashable {
        public var isWatched = false
        /// Nil while no encoder is open.
        public var encoder: String?
        /// The rate limit in bits a second: the options', or the viewers' paths'.
        public var bitRateLimit = 0
        /// The viewers' paths limit the rate, not the options.
        public var isPathBound = false
        /// The limit on frames a second.
        public var frameRateLimit = 0.0
        public var sentSize = PixelSize(width: 0, height: 0)
        /// The last frame's quantiser (QP, 0…51); nil if the encoder doesn't say.
        public var quantiser: Int?
    }
}
