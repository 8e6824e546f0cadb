import BeamDisplay
import BeamMedia
import BeamNetwork
import BeamProtocol

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

    public var target: Target
    public var code: PairingCode
    /// Nil: no window.
    public var window: WindowOptions?
    /// The stream as it is, into .mkv or .mp4.
    public var recordPath: String?
    /// The decoded pictures, into .y4m.
    public var framesPath: String?

    public init(
        target: Target, code: PairingCode, window: WindowOptions? = nil, recordPath: String? = nil,
        framesPath: String? = nil
    ) {
        self.target = target
        self.code = code
        self.window = window
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
    /// Decoded pictures, and media bits, a second.
    public var framesPerSecond: Double
    public var bitsPerSecond: Double
    /// From a frame's last datagram to its picture; from the window's taking the picture to its being shown.
    public var decode: LatencyHistogram.Summary?
    public var present: LatencyHistogram.Summary?
    /// Both together, from the last datagram to the window.
    public var total: LatencyHistogram.Summary?
}
