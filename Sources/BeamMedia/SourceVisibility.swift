/// Whether what a host shares can be seen there, and if not, why. While it can't, viewers keep the last picture.
public enum SourceVisibility: UInt8, Sendable, Hashable, CaseIterable {
    case visible
    /// The shared window is minimised, or on another workspace.
    case windowHidden
    /// The shared monitor sleeps, or was switched off or unplugged.
    case monitorOff
    /// The screen has become smaller, and the shared region lies outside.
    case regionOutside
    /// The screen is locked, and the desktop shares nothing meanwhile.
    case screenLocked
    /// The desktop asks its person once more what to share.
    case consentAwaited
    /// It comes through a relay, whose host can't be reached.
    case hostLost
    /// It comes through a relay, whose host has ended its share, or isn't sharing.
    case hostEnded
}
