import BeamLog
import BeamMedia
import BeamWire

/// What the session tells the rest of the viewer and the person.
public enum ViewerEvent: Sendable, Equatable {
    /// What was written in the room, here or elsewhere.
    case room(LogEvent)
    /// A connection attempt begins; counted from 1 since the last session.
    case connecting(attempt: Int)
    /// The host's person is asked whether to compare digits. There are none yet. `takesCode`: the host's code can still
    /// be typed here.
    case waitingForPerson(host: String, takesCode: Bool)
    /// The host's person sees these digits, too, and decides.
    case waitingForDecision(code: PairingCode)
    /// The host shows a code that has to be typed here: pass it in `ViewerSession.Input.code`. If the question says so,
    /// the person at the host can be asked instead (`.askPerson`).
    case codeNeeded(CodeQuestion)
    /// The host was paired. Store its key if it `isToBeRemembered`.
    case hostPaired(DeviceKey, name: String, isToBeRemembered: Bool)
    /// The host has this name: the one that it is remembered by, otherwise the one that it claims.
    case hostNamed(String)
    /// A known host now calls itself `name`. It keeps the name that it is remembered by, `known`.
    /// `wasChosen`: it was chosen by that name.
    case hostCallsItself(_ name: String, known: String, wasChosen: Bool)
    /// This host has admitted the viewer, which confirms who is at the address.
    case hostReached(DeviceKey)
    /// The receiver waits for `ViewerSession.Input.offerScreen`. Said on each connection.
    case screenAwaited
    /// Admitted. `deviceName` is nil if the host gives none; `isNewSession` is false when an earlier session continues.
    /// Without encryption (version 1) everybody on the network can see the picture.
    case paired(session: String, deviceName: String?, isNewSession: Bool, isEncrypted: Bool)
    /// The host refused, or this viewer did. The session has ended and isn't retried.
    case refused(ViewerRefusal)
    /// Another host than the expected one has answered. The expected one is waited for.
    case mistrusted(ViewerRefusal)
    /// The attempt has failed; the next one follows after this pause.
    case retrying(after: Duration, reason: String)
    /// The host has ended its share. It is watched again when it is back. `says`: its reason, not cleaned; nil: it has
    /// just ended.
    case hostEnded(says: String?)
    /// The host's picture comes through so many relays; 0: it is none. Version 2 only, at each admission.
    case hostRelays(Int)
    /// Whether the host may send exact patches. At each admission, if this viewer takes some.
    case hostHasPatches(Bool)
    /// The host may send sound, and this viewer takes it. Before the first picture of a session.
    case hostHasSound
    /// Whether the host is sharing has changed.
    case broadcast(Bool)
    /// Whether what the host shares can be seen there has changed: no while its window is minimised. The last picture
    /// stays.
    case sourceVisibility(SourceVisibility)
    /// The host's picture has this size, which is beyond this viewer's bounds: the host sends a smaller one. Nil: it
    /// sends all of it again.
    case pictureLimited(full: PixelSize?)
    /// The host was told the most that it is to send here. Not `isTaken`: it can't send less to one viewer, because it is a
    /// relay, speaks version 1, or is older than that.
    case quality(QualityWish, isTaken: Bool)
    /// The picture has stood still for this long, although the host shows newer ones or isn't heard. Repeated while it
    /// lasts.
    case stalled(Duration, StallCause)
    /// The media socket is replaced because it has been silent.
    case mediaReconnecting
    /// The picture goes on after a stall, or data arrives by a replaced socket.
    case mediaResumed
    /// The control connection has ended and is being reconnected. Media continues.
    case controlLost(reason: String)
    /// The control connection is back, in the same session.
    case controlRestored
    /// How dependable the control connection is has changed. At first it is `.connecting`.
    case connection(ConnectionState)
}

/// Why the picture stands still.
public enum StallCause: Sendable, Hashable {
    /// No datagram arrives.
    case nothingArrives
    /// Datagrams arrive, and many are lost.
    case loss
    /// Little is lost, but too little arrives for a picture: the path is too slow, or the host is.
    case tooSlow

    /// As events for programs name it.
    public var word: String {
        switch self {
        case .nothingArrives: "nothing-arrives"
        case .loss: "loss"
        case .tooSlow: "too-slow"
        }
    }
}

/// Totals since the viewer started.
public struct ViewerStatistics: Sendable, Equatable {
    /// Media datagrams that arrived, and their bytes.
    public var datagrams: UInt64 = 0
    public var bytes: UInt64 = 0
    /// Datagrams refused because they are malformed, forged or damaged.
    public var malformed: UInt64 = 0
    /// Datagrams that are duplicates or too late.
    public var duplicates: UInt64 = 0
    /// Parts found missing after a later one had arrived; parts recovered by request; parts reconstructed from parity
    /// (version 2).
    public var missed: UInt64 = 0
    public var recovered: UInt64 = 0
    public var reconstructed: UInt64 = 0
    /// How many times only a keyframe could restore the picture, and one was requested (version 2).
    public var keyframesRequested: UInt64 = 0
    /// Parts that never arrived. A frame of which nothing arrived counts as one.
    public var lost: UInt64 = 0
    /// Frames delivered to the decoder, and keyframes among them.
    public var frames: UInt64 = 0
    public var keyframes: UInt64 = 0
    /// Frames that arrived, whole or in part, and couldn't be delivered. Those in `skipped` don't count.
    public var dropped: UInt64 = 0
    /// Disposable frames that didn't arrive in time: the host skipped them for this viewer, or they were lost. The
    /// picture stays intact (version 2).
    public var skipped: UInt64 = 0
    /// Frames whose parts arrived out of order.
    public var reordered: UInt64 = 0
    /// Round trip of the last ping on the control connection (version 2).
    public var roundTrip: Duration?
    /// The host's bandwidth estimate for this viewer's path, and the rate it sends at; bits a second (version 2).
    public var estimatedRate: Int?
    public var usedRate: Int?
    /// The present playout delay.
    public var buffer = Duration.zero
    /// How the sound has arrived (version 2).
    public var sound = SoundArrivals()
    /// The largest error of `ReceivedFrame.captureTime` (version 2).
    public var clockError: Duration?

    public init() {}
}
