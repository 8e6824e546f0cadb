/// What a `DesktopWatch` reports. Each is reported when it changes; at the start, only if the screen is locked or the
/// battery low.
public enum DesktopEvent: Sendable, Hashable {
    /// The screen was locked (true) or unlocked (false).
    case screenLocked(Bool)
    /// The battery has fallen below 15 % and isn't charging.
    ///
    /// - Parameter percent: what is left, 0…14, rounded down.
    case batteryLow(percent: Int)
    /// After `batteryLow`: the battery is charging, has more than 20 %, or isn't there any more.
    case batteryFine
}
