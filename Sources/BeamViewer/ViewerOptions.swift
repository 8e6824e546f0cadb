import BeamCamera
import BeamCodec
import BeamDisplay
import BeamMedia
import BeamNetwork
import BeamPlayout
import BeamSession
import BeamSound
import BeamTrust
import BeamWire

/// What to watch, and where the pictures go.
public struct ViewerOptions: Sendable {
    public enum Target: Sendable, Equatable {
        /// An address or a host name of the network, with its control port.
        case endpoint(Endpoint)
        /// A name as discovery shows it or as a paired host is called, or else this host name of the network. Nil: it
        /// can't be one.
        case name(String, address: Endpoint?)
        /// Any host: the only one, or the one that the person picks.
        case anyHost
    }

    /// Which hosts are trusted, and how others are paired.
    public struct Trust: Sendable {
        /// The store of this machine's identity and the paired hosts.
        public var store: TrustStore
        /// The viewer's name, shown at the host.
        public var deviceName: String
        /// The host's code, if it was given in advance.
        public var code: PairingCode?
        /// A person can be asked to type the code.
        public var asksForCode: Bool
        /// False: only hosts that were paired before are watched.
        public var pairs: Bool
        /// False: a newly paired host is known only until the viewer ends.
        public var remembersNewHosts: Bool
        /// Version 1 may be used with a host that doesn't speak version 2.
        public var allowsUnencrypted: Bool
        /// The address belongs to another machine now: don't require the host that was there the last time.
        public var isNewHost: Bool
        /// Devices that are trusted like paired hosts, and their names; not stored.
        public var acquaintances: [DeviceKey: String] = [:]

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

    /// What a member of a room shares.
    public struct Member: Sendable {
        public var room: MeshServer
        public var device: DeviceKey
        public var name: String

        public init(room: MeshServer, device: DeviceKey, name: String) {
            self.room = room
            self.device = device
            self.name = name
        }
    }

    /// Somebody who shows its screen at this receiver.
    public struct Sender: Sendable {
        /// Where its host listens.
        public var endpoint: Endpoint
        /// The only key that the host may have.
        public var device: DeviceKey
        public var name: String

        public init(endpoint: Endpoint, device: DeviceKey, name: String) {
            (self.endpoint, self.device, self.name) = (endpoint, device, name)
        }
    }

    /// What becomes of the sound.
    public struct Sound: Sendable, Hashable {
        /// It is played.
        public var plays: Bool
        /// The device that plays it; nil: the system's.
        public var output: String?
        /// It is played even if the host is this machine, whose sound is then shared and played in a circle.
        public var insists: Bool
        public var sync: SoundSync.Mode
        /// The .wav file for the decoded sound; nil: none.
        public var path: String?

        public init(
            plays: Bool = false, output: String? = nil, insists: Bool = false, sync: SoundSync.Mode = .picture,
            path: String? = nil
        ) {
            self.plays = plays
            self.output = output
            self.insists = insists
            self.sync = sync
            self.path = path
        }
    }

    /// What a typed address means.
    public enum AddressReading: Sendable {
        /// `doubt`: why it may be mistyped all the same: a sentence.
        case target(Target, doubt: String?)
        /// Why it means nothing, and what to type: a sentence.
        case refused(String)
    }

    public var target: Target
    /// The target is a member of a room, by which this device wants to be let in.
    public var isAtRoomDoor = false
    /// The target is a receiver, which is to show what is shared here: nothing is watched.
    public var isAtReceiver = false
    /// Who shows its screen here, in place of the target: nothing is sought, paired or stored.
    public var sender: Sender?
    /// Whose share in a room is watched, in place of the target: nothing is sought, paired or stored.
    public var member: Member?
    public var trust: Trust
    /// Takes what is received as it is, in place of a decoder: nothing is decoded, shown, played or written here. Nil: this
    /// viewer is no relay.
    public var relay: (any ReceivedSink)?
    /// Nil: no window.
    public var window: WindowOptions?
    /// Which decoder to use.
    public var decoder: DecoderChoice
    /// Limits on the decoder's memory.
    public var bounds = StreamBounds()
    /// The most that the host is to send here.
    public var quality = QualityWish.any
    /// The playout delay; nil: adaptive.
    public var buffer: Duration?
    /// The .mkv or .mp4 file for the recording; nil: none.
    public var recordPath: String?
    /// The .y4m file for the decoded pictures; nil: none.
    public var framesPath: String?
    /// Where other programs are shown the decoded pictures as a camera.
    public var cameras: [Camera.Place] = []
    /// The size of the cameras' pictures; nil: that of the pictures.
    public var cameraSize: PixelSize?
    public var sound = Sound()
    /// The .txt, .srt, .vtt or .jsonl file for the transcript; nil: none.
    public var transcriptPath: String?
    /// Reads what a person types in the window in place of a name in the list of hosts; nil: nothing can be typed there.
    public var readAddress: (@Sendable (String) -> AddressReading)?
    /// Look for known hosts over Bluetooth, too, if there is an adapter.
    public var usesBluetooth = true
    /// The window shows exact pixels where the host sends them.
    public var takesPatches = true

    public init(
        target: Target, trust: Trust, window: WindowOptions? = nil, decoder: DecoderChoice = .automatic,
        buffer: Duration? = nil, recordPath: String? = nil, framesPath: String? = nil,
        transcriptPath: String? = nil
    ) {
        self.target = target
        self.trust = trust
        self.window = window
        self.decoder = decoder
        self.buffer = buffer
        self.recordPath = recordPath
        self.framesPath = framesPath
        self.transcriptPath = transcriptPath
    }
}

/// A viewer's notices to its owner. Delivered on the viewer's threads: hand on, don't block.
public enum ViewerNotice: Sendable {
    case session(ViewerEvent)
    /// Looking for hosts; none was found yet, or not the requested one.
    case searching(name: String?)
    /// The person has to pick one of several hosts, by `Viewer.choose`. Sent again whenever the list changes.
    case pick([HostChoice])
    case chosen(name: String)
    case firstFrame(PixelSize)
    case resized(PixelSize)
    case warning(String)
    /// Where the sound is played has changed, or whether it can be.
    case sound(SoundOutputState)
    /// The host is this machine: its sound isn't played, because it would be shared again.
    case soundIsOwn
    /// The person has taken a screenshot in the window.
    case screenshot(ScreenshotOutcome)
    /// What the viewer is doing has changed; nil: the picture is live.
    case status(ViewerAnnouncement?)
    /// A file begins: the first, or `isContinued`, another one because the picture's size or format has changed.
    case writing(OutputPath, isContinued: Bool)
    /// A disk or a pipe takes less than what comes: a recording has a gap from here to a keyframe (sent once), pictures
    /// are left out until `fileCaughtUp`.
    case fileBehind(OutputPath)
    case fileCaughtUp(OutputPath, leftOut: Int)
    /// Such a file can't be written any more, because of a full disk for example. What was written is kept, and the
    /// viewer goes on.
    case fileFailed(OutputPath, reason: String)
    /// The viewer can't go on: stop it.
    case failed(reason: String)
}

/// A file that the viewer writes.
public struct OutputPath: Sendable, Hashable {
    public enum Kind: String, Sendable {
        /// The stream as it is received.
        case recording
        /// The decoded pictures.
        case frames
        /// Captions, notes and alerts.
        case transcript
        /// The decoded sound.
        case sound
        /// Other programs see the decoded pictures as a camera. The path is the device's, or the camera's name.
        case camera
    }

    public var kind: Kind
    public var path: String
}

/// A host in the list to pick from, or a room, which is entered by another command.
public struct HostChoice: Sendable, Hashable {
    public var name: String
    public var addresses: [String]
    public var port: UInt16
    /// How many members of the room are announced; nil: it is a host.
    public var members: Int?
    /// A known host that isn't found at present; nil: it is.
    public var away: Absence?

    /// When a host was there last.
    public struct Absence: Sendable, Hashable {
        /// In seconds since 1970.
        public var since: Int
        /// It was watched then; otherwise that is when it was paired.
        public var wasWatched: Bool
    }

    /// How the room is entered; nil: it is a host.
    public var roomCommand: String? {
        members == nil ? nil : "beamroom room \(PeerText.shellWord(name))"
    }
}

/// How exact the picture in the window is.
public struct Exactness: Sendable, Equatable {
    /// The share that counts as exact, 0 to 1.
    public var share: Double
    /// All of it is, and the host's hashes say the same of the pixels.
    public var isVerified: Bool
    /// Rows of tiles that counted as exact, and whose hashes were others: an error somewhere. They are shown anew.
    public var wrongRows: UInt64

    public init(share: Double, isVerified: Bool = false, wrongRows: UInt64 = 0) {
        self.share = share
        self.isVerified = isVerified
        self.wrongRows = wrongRows
    }
}

/// Totals since the start; times since the last report.
public struct ViewerReport: Sendable {
    public var session: ViewerStatistics
    /// Pictures decoded, shown in the window, and replaced by newer ones before they were shown.
    public var decoded: UInt64
    public var shown: UInt64
    public var replaced: UInt64
    /// The last decoded picture's size; nil before the first.
    public var size: PixelSize?
    /// The decoder of the last picture: `software`, or `vaapi:` and the device's path.
    public var decoder: String?
    /// Exact patches that have arrived, and how exact the picture in the window is now; nil: the host sends nothing exactly.
    public var patches: UInt64?
    public var exactness: Exactness?
    /// Decoded pictures, and media bits, a second.
    public var framesPerSecond: Double
    public var bitsPerSecond: Double
    /// The sound; nil: none is played.
    public var sound: SoundFigures?
    /// How long frames took for each span that is known. In version 1 the host's stages and the network are missing; in
    /// version 2 the network's time is known to within `session.clockError`.
    public var times: [FrameSpan: LatencyHistogram.Summary]
    /// A relay passes the frames on as they come: `decoded` are these, and none is shown or replaced.
    public var isPassedOn = false
}
