/// Why a desktop can't be shared through its portal, or no longer. Each description is a person-facing sentence: what
/// happened, and what to install or do.
public enum PortalTrouble: Error, Hashable, CustomStringConvertible, Sendable {
    /// A library can't be loaded.
    case noLibrary(name: String, package: String, reason: String)
    /// No session bus answers.
    case noSessionBus(reason: String)
    /// Nobody on the bus is the portal.
    case noPortal(desktop: String?)
    /// The portal runs, but no backend shares screens. `desktop`: XDG_CURRENT_DESKTOP.
    case noBackend(desktop: String?)
    case notOffered(PortalOptions.Choice, offersWindows: Bool)
    /// The person said no.
    case declined
    /// A request ended without consent and without a refusal.
    case failed(call: String, desktop: String?)
    /// The portal refused a call.
    case refused(call: String, reason: String)
    /// The portal ended instead of an answer.
    case portalGone(call: String)
    /// The portal didn't answer a call in time.
    case noAnswer(call: String, seconds: Int)
    /// The person has given up waiting.
    case abandoned
    /// PipeWire can't be reached.
    case noPipeWire(reason: String)
    /// The stream gives no pictures.
    case noPictures(reason: String)
    /// The person has ended the sharing at the desktop, or the window was closed.
    case ended
    /// The stream broke off, and couldn't be begun again.
    case lost(reason: String)

    public var description: String {
        switch self {
        case .noLibrary(let name, let package, let reason):
            "A Wayland desktop is shared through \(name), which can't be loaded: \(reason). Install the package \(package)."
        case .noSessionBus(let reason):
            "This is a Wayland desktop, but its session bus can't be reached (\(reason)), so the desktop can't be asked for its "
                + "picture. Start beamroom from within the desktop, or set DBUS_SESSION_BUS_ADDRESS; --window shares a "
                + "window of an X program."
        case .noPortal(let desktop):
            "This Wayland desktop can't be asked for its picture, because xdg-desktop-portal doesn't run here. Install "
                + "xdg-desktop-portal and \(Self.backend(desktop)), and log in again."
        case .noBackend(let desktop):
            "xdg-desktop-portal runs, but has no part that shares this desktop's screen (XDG_CURRENT_DESKTOP is "
                + "\(desktop ?? "not set")). Install \(Self.backend(desktop)); set XDG_CURRENT_DESKTOP where the portal is started, "
                + "or name the part in portals.conf. Then log in again."
        case .notOffered(let choice, let offersWindows):
            "This desktop's portal doesn't share \(choice == .window ? "windows" : "monitors"), only "
                + "\(offersWindows ? "windows" : "monitors"). Use --choose \(offersWindows ? "window" : "monitor")"
                + (choice == .window ? ", or share a window of an X program with --window." : ".")
        case .declined:
            "Sharing was declined in the desktop's dialog."
        case .failed(let call, let desktop):
            "The desktop's portal has ended the request without an answer (\(call)). "
                + (Self.isWlroots(desktop)
                    ? "Its dialog needs slurp, wofi or bemenu: install one of them, or set chooser_type=none and output_name in "
                        + "~/.config/xdg-desktop-portal-wlr/config."
                    : "Try again; if that doesn't help, restart \(Self.backend(desktop)).")
        case .refused(let call, let reason):
            "The desktop's portal has refused the call \(call): \(reason)."
        case .portalGone(let call):
            "The desktop's portal has ended during the call \(call). Share again; if that doesn't help, restart it with "
                + "“systemctl --user restart xdg-desktop-portal”."
        case .noAnswer(let call, let seconds):
            "The desktop's portal hasn't answered the call \(call) for \(seconds) s. Restart it with "
                + "“systemctl --user restart xdg-desktop-portal”, or log in again."
        case .abandoned:
            "The desktop's dialog wasn't answered, so nothing is shared."
        case .noPipeWire(let reason):
            "PipeWire, through which a Wayland desktop hands out its picture, can't be used: \(reason). Start it with "
                + "“systemctl --user start pipewire wireplumber”."
        case .noPictures(let reason):
            "The desktop has agreed, but sends no pictures: \(reason)."
        case .ended:
            "The sharing was ended at the desktop, or what was shared is gone."
        case .lost(let reason):
            "The desktop's picture broke off: \(reason). Share again when it is back."
        }
    }

    /// The packages that share the screen of a desktop, by the names in XDG_CURRENT_DESKTOP.
    private static func backend(_ desktop: String?) -> String {
        let names = (desktop ?? "").lowercased().split(separator: ":").map(String.init)
        for name in names {
            switch name {
            case "gnome", "ubuntu", "unity": return "xdg-desktop-portal-gnome"
            case "kde": return "xdg-desktop-portal-kde"
            case "hyprland": return "xdg-desktop-portal-hyprland"
            case "cosmic": return "xdg-desktop-portal-cosmic"
            default: if isWlroots(name) { return "xdg-desktop-portal-wlr" }
            }
        }
        return "the part for your desktop (xdg-desktop-portal-gnome, -kde, or -wlr for sway and labwc)"
    }

    private static func isWlroots(_ desktop: String?) -> Bool {
        let names = ["sway", "wlroots", "labwc", "river", "wayfire"]
        return (desktop ?? "").lowercased().split(separator: ":").contains { names.contains(String($0)) }
    }
}
