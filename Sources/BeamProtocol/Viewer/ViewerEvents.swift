/// What a person, or the rest of the viewer, wants to know.
public enum ViewerEvent: Sendable, Equatable {
    /// Trying to reach the host; attempts are counted from 1 since the last session.
    case connecting(attempt: Int)
    /// The handshake is out: the person at the host is looking at this code.
    case waitingForDecision(code: PairingCode)
    /// `deviceName` where the host gives one; `isNewSession` is false when an earlier session goes on.
    case paired(session: String, deviceName: String?, isNewSession: Bool)
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
    /// Of those, refused as malformed.
    public var malformed: UInt64 = 0
    /// Of those, duplicates or too late.
    public var duplicates: UInt64 = 0
    /// Fragments that never came, of frames that were begun or skipped (a frame of which nothing came counts as one).
    public var lost: UInt64 = 0
    /// Frames handed to the decoder; keyframes among them.
    public var frames: UInt64 = 0
    public var keyframes: UInt64 = 0
    /// Frames that arrived, whole or in part, and could not be shown.
    public var dropped: UInt64 = 0
    /// Frames whose fragments arrived in another order than sent.
    public var reordered: UInt64 = 0

    public init() {}
}
