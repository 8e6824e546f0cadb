import BeamBus
import BeamMedia
import Synchronization

/// Where it is remembered what has to be put back at the desktop. One program of a user has it at a time, until it is
/// released. Used on the thread of a `DesktopQuiet`.
public protocol QuietMemory: AnyObject, Sendable {
    /// What an earlier program has left; nil: nothing.
    func read() -> String?
    /// Nil: nothing is left. False if it can't be remembered.
    func keep(_ text: String?) -> Bool
}

/// Keeps other programs' notices from popping up, where the desktop has a switch for that which still shows questions
/// (urgency *critical*): somebody watches the screen, or it is recorded.
///
/// | notification service | switch |
/// | --- | --- |
/// | one that says `inhibitions`, as KDE's | `Inhibit`, which ends with the connection |
/// | GNOME's | the setting `show-banners`, by `gsettings` |
/// | dunst | its pause level, or `paused` |
///
/// What was quiet before is left alone, and stays so. What outlives this program is remembered, and put back by the next
/// one. If the person changes it meanwhile, that stays.
public final class DesktopQuiet: Sendable {
    /// How long somebody has watched before it gets quiet, so that the notice of who watches can be read.
    private static let settling = Duration.seconds(5)

    private let isOn: Bool
    private let runner: BusRunner<QuietWork>

    /// - Parameters:
    ///   - isOn: otherwise nothing is silenced, and only what an earlier program has left is put back.
    ///   - application: its desktop entry's ID.
    ///   - claim: called on the thread; nil: another program of this user has the memory.
    public convenience init(
        buses: BusAddresses = .ofThisMachine, isOn: Bool = true, application: String,
        claim: @escaping @Sendable () -> (any QuietMemory)?
    ) {
        self.init(buses: buses, isOn: isOn, application: application, settling: Self.settling, claim: claim)
    }

    init(
        buses: BusAddresses, isOn: Bool = true, application: String, settling: Duration,
        settings: GSettings = GSettings(), claim: @escaping @Sendable () -> (any QuietMemory)?
    ) {
        self.isOn = isOn
        runner = BusRunner("quiet") { loop in
            QuietWork(
                loop, buses.session, application: application, settling: settling, settings: settings, claim: claim)
        }
        runner.start()
    }

    /// Whether somebody watches.
    public func set(_ isWatched: Bool) { if isOn { runner.perform { $0.set(isWatched) } } }

    /// Whether a question of this program is shown as a notice. A switch that hides it is put back meanwhile.
    public func setAsking(_ isAsking: Bool) { if isOn { runner.perform { $0.setAsking(isAsking) } } }

    /// Calls `body` on the thread, once the desktop isn't silenced any more; after two seconds in any case.
    public func whenLoud(_ body: @escaping @Sendable () -> Void) { runner.perform { $0.whenLoud(body) } }

    /// Puts everything back, and ends. Waits at most 3 s.
    public func stop() { runner.stop() }
}
