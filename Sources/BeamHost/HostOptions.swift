import BeamCapture
import BeamCodec
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamTrust

/// What to share, how, and with whom.
public struct HostOptions: Sendable {
    public enum Source: Sendable {
        case x11(X11Options)
        case pattern(PatternOptions)
        /// Anything that libavformat opens, in a loop.
        case file(path: String)
    }

    public var source: Source
    /// The longer side of what is sent, at most, in pixels; nil: as large as the source.
    public var maxSize: Int?
    /// In bits a second; nil: what suits size and frame rate.
    public var bitRate: Int?
    /// How much of the colour is coded, for viewers that can decode it; the others get 4:2:0.
    public var chroma: ChromaFormat
    /// One of libavcodec's H.264 encoders; nil: what does best on this machine.
    public var encoder: String?
    /// What people see in their list of hosts.
    public var name: String
    /// Where the paired viewers are kept.
    public var store: TrustStore
    public var server: HostServer.Options
    /// What is sent to everybody, as it is, into .mkv or .mp4; nil: nothing is recorded.
    public var recordPath: String?
    /// Whether to announce the service through Avahi.
    public var isAnnounced: Bool

    public init(
        source: Source, maxSize: Int? = nil, bitRate: Int? = nil, encoder: String? = nil,
        chroma: ChromaFormat = .subsampled, name: String, store: TrustStore, server: HostServer.Options,
        recordPath: String? = nil, isAnnounced: Bool = true
    ) {
        self.source = source
        self.maxSize = maxSize
        self.bitRate = bitRate
        self.encoder = encoder
        self.chroma = chroma
        self.name = name
        self.store = store
        self.server = server
        self.recordPath = recordPath
        self.isAnnounced = isAnnounced
    }
}

/// What a host tells whoever runs it. Delivered on threads of the host's own: hand on, don't wait.
public enum HostNotice: Sendable {
    case session(HostEvent)
    /// What viewers find in their list: the name may have been changed to be unique.
    case announced(name: String)
    /// Something to know, that stops nothing.
    case warning(String)
    /// No automatic discovery on this machine: viewers connect by address, for example `address`. `reason` is for a person.
    case notDiscoverable(address: Endpoint, reason: String)
    /// The picture has another size from here on.
    case resized(PixelSize)
    /// A file of the recording begins: the first, or the next where what is sent has another size.
    case recordingInto(path: String)
    /// The disk is slower than the stream, and the recording has gaps. Told once.
    case recordingHasGaps
    /// Nothing more is recorded. The host goes on for its viewers. In words for a person.
    case recordingFailed(reason: String)
    /// The source has ended, or nothing can be encoded any more: the host is to be stopped. In words for a person.
    case ended(reason: String)
}

/// What a person needs to know to watch.
public struct HostDescription: Sendable {
    public var name: String
    public var source: String
    public var size: PixelSize
    public var frameRate: Double
    /// In bits a second.
    public var bitRate: Int
    public var encoder: String
    /// The one address that it listens on; nil: all of the machine's.
    public var bindAddress: String?
    public var controlPort: UInt16
    public var mediaPort: UInt16
}

/// Totals since the start, and times since the last report.
public struct HostReport: Sendable {
    public var time: MediaTime
    public var session: HostStatistics
    /// One for each viewer, in the order of their coming; empty once the host has ended.
    public var viewers: [ViewerFigures]
    /// Pictures taken from the source, frames encoded, pictures replaced by newer ones before anybody looked.
    public var captured: UInt64
    public var encoded: UInt64
    public var replaced: UInt64
    public var size: PixelSize
    /// What each layer's encoder does at the moment: the first for everybody, the second for those who need less.
    public var layers: [Layer]
    /// Nil where nothing is to be recorded.
    public var recording: Recording?
    /// From the screen's change to the encoder's taking it, and the conversion and encoding.
    public var capture: LatencyHistogram.Summary?
    public var encode: LatencyHistogram.Summary?

    /// One of the streams that leave the host.
    public struct Layer: Sendable, Hashable {
        public var isWatched = false
        /// Nil while none is open.
        public var encoder: String?
        /// The rate in use, in bits a second: the options' bound, or what the viewers' paths carry.
        public var bitRateLimit = 0
        /// The viewers' paths carry less than the options allow.
        public var isPathBound = false
        /// Frames a second at most, as far as the rate allows them.
        public var frameRateLimit = 0.0
        public var sentSize = PixelSize(width: 0, height: 0)
        /// The last frame's (H.264's QP, 0…51); nil where the encoder doesn't tell.
        public var quantiser: Int?
    }

    /// The recorder's part.
    public struct Recording: Sendable, Hashable {
        /// The file that was asked for, and the newest of those that follow it where the size has changed.
        public var path: String
        public var lastPath: String
        /// Frames written, and frames left out because the disk was too slow.
        public var frames: UInt64 = 0
        public var dropped: UInt64 = 0

        public init(path: String) {
            self.path = path
            lastPath = path
        }
    }
}
