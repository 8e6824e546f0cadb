import BeamBus
import BeamMedia

/// Whether the screen is locked, by what the screen saver on the session bus says; and the wait for its end. Used by one
/// thread at a time.
///
/// While GNOME's screen is locked, its portal ignores a consent that it has given, and uses it up: it asks again, with a
/// dialog behind the lock. Other desktops' dialogs wait there, too.
struct PortalLock {
    private static let savers = [
        (name: "org.gnome.ScreenSaver", path: "/org/gnome/ScreenSaver"),
        (name: "org.freedesktop.ScreenSaver", path: "/org/freedesktop/ScreenSaver"),
    ]
    private static let bus = "org.freedesktop.DBus"
    /// A screen saver that doesn't answer says nothing.
    private static let timeout = Duration.seconds(2)
    private static let interval = Duration.milliseconds(500)
    /// The desktop may need a moment after the unlock, until it shares again.
    private static let pause = Duration.seconds(1)

    let connection: PortalBus
    /// XDG_CURRENT_DESKTOP.
    let desktop: String?
    let say: (String) -> Void

    /// Nothing can be begun while it is locked.
    var forbidsSharing: Bool {
        (desktop ?? "").lowercased().split(separator: ":").contains { ["gnome", "ubuntu", "unity"].contains($0) }
    }

    func isLocked() throws(PortalTrouble) -> Bool {
        for saver in Self.savers {
            // Asking one that isn't there could start it.
            guard try boolean(Self.bus, "/org/freedesktop/DBus", Self.bus, "NameHasOwner", [.text(saver.name)]) else {
                continue
            }
            if try boolean(saver.name, saver.path, saver.name, "GetActive") { return true }
        }
        return false
    }

    /// False: it hasn't answered, or doesn't know.
    private func boolean(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument] = []
    ) throws(PortalTrouble) -> Bool {
        do throws(PortalBus.Failure) {
            let reply = try connection.call(destination, path, interface, member, arguments, timeout: Self.timeout)
            return reply.first?.boolean ?? false
        } catch {
            return try ignore(error)
        }
    }

    private func ignore(_ failure: PortalBus.Failure) throws(PortalTrouble) -> Bool {
        switch failure {
        case .abandoned: throw .abandoned
        case .lost: throw .noSessionBus(reason: "the connection was lost")
        case .error, .timeout: return false
        }
    }

    /// Returns whether it was locked, once it no longer is. The person is told.
    func waitForUnlock() throws(PortalTrouble) -> Bool {
        guard try isLocked() else { return false }
        say(
            "The screen is locked, and this desktop shares nothing until it is unlocked. Sharing begins by itself then."
        )
        repeat { try rest(Self.interval) } while try isLocked()
        try rest(Self.pause)
        return true
    }

    private func rest(_ duration: Duration) throws(PortalTrouble) {
        do throws(PortalBus.Failure) {
            _ = try connection.signal(until: .now + duration) { _ in false }
        } catch {
            _ = try ignore(error)
        }
    }

    /// Tells the person that the desktop asks.
    func sayThatItAsks() {
        let isLocked = (try? isLocked()) ?? false
        say(
            isLocked
                ? "The desktop asks what to share, but its screen is locked: unlock it and answer the dialog behind the lock, on "
                    + "this machine's screen. Sharing begins then."
                : "The desktop asks what to share: answer its dialog, on this machine's screen.")
    }
}
