/// What a person, or the rest of the viewer, wants to know.
public enum ViewerEvent: Sendable, Equatable {
    /// Trying to reach the host; attempts are counted from 1 since the last session.
    case connecting(attempt: Int)
    /// The person at the host is asked whether to compare digits; there are none before.
    case waitingForPerson(host: String)
    /// The person at the host is looking at the same digits, and decides.
    case waitingForDecision(code: PairingCode)
    /// The host shows a code, which has to be typed here: answer with `ViewerSession.Input.code`. `wasWrong`: the last one
    /// wasn't the host's.
    case codeNeeded(host: String, wasWrong: Bool)
    /// The host has proved who it is: to be stored if it `isToBeRemembered`.
    case hostPaired(DeviceKey, name: String, isToBeRemembered: Bool)
    /// A known host calls itself `name` now. It goes on under the name that it is remembered by.
    case hostCallsItself(_ name: String, known: String)
    /// This known host has let us in: that is who is at the address now.
    case hostReached(DeviceKey)
    /// `deviceName` where the host gives one; `isNewSession` is false when an earlier session goes on. Without encryption
    /// (version 1) everybody on the network can see the picture.
    case paired(session: String, deviceName: String?, isNewSession: Bool, isEncrypted: Bool)
    /// The host said no; the session has ended, there is no retry.
    case refused(reason: String)
    /// This attempt has failed; the next follows after `delay`.
    case retrying(after: Duration, reason: String)
    /// The screen is (not) being shared; said when it changes.
    case broadcast(Bool)
    /// No datagram for this long, longer than a host may leave between two: the picture stands.
    case stalled(Duration)
    /// A fresh media socket is being opened because the old one has gone silent.
    case mediaReconnecting
    /// Data after a stall.
    case mediaResumed
    /// The control connection is gone; the picture goes on, and the connection is being mended.
    case controlLost(reason: String)
    /// It stands again, in the same session.
    case controlRestored
}

/// Totals since the session began.
public struct ViewerStatistics: Sendable, Equatable {
    /// Media datagrams and their bytes that arrived, whatever became of them.
    public var datagrams: UInt64 = 0
    public var bytes: UInt64 = 0
    /// Of those, refused: malformed, forged or damaged.
    public var malformed: UInt64 = 0
    /// Of those, duplicates or too late.
    public var duplicates: UInt64 = 0
    /// Fragments that were missed when what was sent after them had come; those that came because they were asked for again, and
    /// those that parity brought back (version 2).
    public var missed: UInt64 = 0
    public var resent: UInt64 = 0
    public var repaired: UInt64 = 0
    /// Keyframes that were asked for, because nothing else could mend the picture (version 2).
    public var keyframesRequested: UInt64 = 0
    /// Fragments that never came, of frames that were begun or skipped (a frame of which nothing came counts as one).
    public var lost: UInt64 = 0
    /// Frames handed to the decoder; keyframes among them.
    public var frames: UInt64 = 0
    public var keyframes: UInt64 = 0
    /// Frames that arrived, whole or in part, and could not be shown. Without those in `skipped`.
    public var dropped: UInt64 = 0
    /// Frames that nothing refers to and that didn't come, or not in time: the host left them out for this viewer, or they were
    /// lost. The picture is none the worse for it (version 2).
    public var skipped: UInt64 = 0
    /// Frames whose fragments arrived in another order than sent.
    public var reordered: UInt64 = 0
    /// Of the last ping on the control connection (version 2).
    public var roundTrip: Duration?
    /// What the host takes the path to carry, and what it uses of that, in bits a second (version 2).
    public var estimatedRate: Int?
    public var usedRate: Int?
    /// How long frames wait at the moment, so that those that take longer than others come in step.
    public var buffer = Duration.zero
    /// By how much `ReceivedFrame.captureTime` may be off (version 2).
    public var clockError: Duration?

    public init() {}
}
