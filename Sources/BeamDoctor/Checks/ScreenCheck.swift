import BeamBus
import BeamCapture
import Glibc

/// Whether this machine's screen can be shared.
enum ScreenCheck {
    private static let subject = "screen"

    static func findings() -> [Finding] {
        PortalSource.isInWaylandSession ? [portal()] + [compositor()].compactMap { $0 } : screen()
    }

    private static func screen() -> [Finding] {
        do throws(CaptureError) {
            let info = try X11Source(X11Options()).info
            let found = Finding(subject, .good, "This is \(info.description), \(info.size).")
            return info.warnings.isEmpty ? [found] : info.warnings.map { Finding(subject, .improvable, $0) }
        } catch {
            return [Finding(subject, .broken, "\(error)")]
        }
    }

    /// Without asking for consent.
    private static func portal() -> Finding {
        do throws(PortalTrouble) {
            let portal = try PortalSource.portal(buses: .ofThisMachine)
            let words = "This is a Wayland desktop, which shares through its portal (ScreenCast \(portal.version))"
            guard portal.remembers else {
                return Finding(
                    subject, .improvable,
                    "\(words). It can't remember that you agreed, and asks each time: xdg-desktop-portal 1.16 or newer can."
                )
            }
            return Finding(subject, .good, "\(words) and remembers that you agreed.")
        } catch {
            return Finding(subject, .broken, "\(error)")
        }
    }

    /// The other way, on desktops that have it.
    private static func compositor() -> Finding? {
        guard let monitors = try? WlrSource.monitors(), !monitors.isEmpty else { return nil }
        return Finding(
            subject, .good,
            "Without asking, --source wlr can share \(monitors.count == 1 ? "the monitor" : "these monitors"): "
                + monitors.joined(separator: "; ") + ".")
    }
}
