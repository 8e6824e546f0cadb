import BeamBus

/// Whether a screen saver or locker on the session bus is active. Used on the loop's thread only.
final class ScreenSaver: BusServiceUser {
    /// Names that are interfaces, too, with the path of their object: KDE and others (the first), GNOME, and its
    /// descendants in Cinnamon, MATE and Xfce. All have the method `GetActive` and the signal `ActiveChanged`.
    static let all = [
        (name: "org.freedesktop.ScreenSaver", path: "/org/freedesktop/ScreenSaver"),
        (name: "org.gnome.ScreenSaver", path: "/org/gnome/ScreenSaver"),
        (name: "org.cinnamon.ScreenSaver", path: "/org/cinnamon/ScreenSaver"),
        (name: "org.mate.ScreenSaver", path: "/org/mate/ScreenSaver"),
        (name: "org.xfce.ScreenSaver", path: "/org/xfce/ScreenSaver"),
    ]

    private let name: String
    private let path: String
    /// Gets nil when the screen saver has gone.
    private let hear: (Bool?) -> Void
    private var service: BusService?

    init(_ name: String, path: String, on bus: Bus, hear: @escaping (Bool?) -> Void) {
        self.name = name
        self.path = path
        self.hear = hear
        service = bus.service(name, rules: ["interface='\(name)',member='ActiveChanged'"], user: self)
    }

    func serviceAppeared() {
        service?.call(path, name, "GetActive") { [weak self] reply in
            guard case .values(let values) = reply, let isActive = values.first?.boolean else { return }
            self?.hear(isActive)
        }
    }

    func serviceIsMissing() { hear(nil) }

    /// What it said stays true until the bus is back.
    func busIsLost() {}

    func serviceSignalled(_ signal: BusSignal) {
        guard signal.interface == name, signal.member == "ActiveChanged", let isActive = signal.arguments.first?.boolean
        else { return }
        hear(isActive)
    }
}
