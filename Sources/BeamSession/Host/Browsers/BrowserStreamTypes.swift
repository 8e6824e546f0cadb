import BeamMedia
import BeamWire

extension BrowserStream {
    /// What doesn't change while a host shares.
    public struct Configuration: Sendable {
        /// The options' bits a second.
        public var bitRate: Int
        /// Layer 0 is 4:4:4, which WebRTC doesn't promise to decode: browsers that get packets have layer 1.
        public var usesFullChroma: Bool
        public var hasSound: Bool
        /// Somebody encodes layer 1. If not, all have layer 0.
        public var hasReducedLayer: Bool

        public init(bitRate: Int, usesFullChroma: Bool, hasSound: Bool, hasReducedLayer: Bool = true) {
            self.bitRate = bitRate
            self.usesFullChroma = usesFullChroma
            self.hasSound = hasSound
            self.hasReducedLayer = hasReducedLayer
        }
    }

    /// How a browser gets the stream.
    public enum Form: Sendable, Hashable {
        /// RTP from these sources (a page on http, WebRTC).
        case packets(BrowserSources)
        /// Whole access units and Opus packets (a page on https, WebCodecs).
        case units(takesSound: Bool)
    }

    public enum Output: Sendable {
        /// RTP packets in the clear, to be protected and sent in this order, one datagram each.
        case packets(ConnectionID, BrowserBurst)
        /// A compound RTCP packet in the clear, to be protected and sent as one datagram.
        case control(ConnectionID, [UInt8])
        /// A message for a page that takes units.
        case unit(ConnectionID, BrowserUnit)
        /// For the encoder of that simulcast layer. At most one a second for each layer.
        case requestKeyframe(layer: Int)
        /// What the encoder of that simulcast layer has to make for browsers from now on.
        case demand(StreamDemand, layer: Int)
        case soundDemand(SoundDemand)
        case event(BrowserStreamEvent)
        /// Nothing more to do. Call `pollOutput` again at that time, or after the next input; `.distantFuture`: only then.
        case wait(until: MediaTime)
    }
}

public enum BrowserStreamEvent: Sendable, Hashable {
    /// The first picture has left for the browser, that long after it was admitted.
    case started(ConnectionID, after: Duration)
    /// The browser gets nothing until the next keyframe: its path, or the browser itself, is too slow or has stopped.
    case behind(ConnectionID)
    /// It gets pictures again.
    case caughtUp(ConnectionID)
    /// It gets the reduced layer, or the full one again.
    case layer(ConnectionID, isReduced: Bool)
    /// Nothing was heard of it for too long: it is forgotten here, and is to be closed.
    case evict(ConnectionID, reason: BrowserEviction)
}

/// Why a browser is given up.
public enum BrowserEviction: String, Sendable, Hashable {
    /// No RTCP packet has come for 30 s.
    case noReports
    /// The page has acknowledged nothing for 30 s, though there was something.
    case noAcknowledgements
}

/// A browser's totals, and what is known of its path.
public struct BrowserFigures: Sendable, Hashable {
    /// Pictures that were sent, keyframes among them.
    public var frames: UInt64 = 0
    public var keyframes: UInt64 = 0
    /// Pictures that were left out for it.
    public var skipped: UInt64 = 0
    /// RTP packets, or units, with those of sound, without repeated ones.
    public var packets: UInt64 = 0
    /// Their payloads' bytes.
    public var bytes: UInt64 = 0
    /// Packets that were sent again.
    public var resent: UInt64 = 0
    /// The share of packets that didn't arrive the first time, lately: 0 to 1. Nil if nothing is known.
    public var loss: Double?
    /// From a sender report there and back, or from a unit to its acknowledgement, lately.
    public var roundTrip: Duration?
    /// The simulcast layer that it gets.
    public var layer = 0
    /// It gets less because of its path.
    public var isReduced = false
    /// It waits for a keyframe.
    public var isWaiting = true

    public init() {}
}
