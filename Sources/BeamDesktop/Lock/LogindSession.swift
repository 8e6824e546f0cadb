import BeamBus

/// Whether logind says that the session is locked. Used on the loop's thread only.
final class LogindSession: BusServiceUser {
    enum Event {
        /// The property `LockedHint`.
        case state(isLocked: Bool)
        /// The signal `Lock` or `Unlock`: somebody has asked for it. Not every desktop sets `LockedHint` then.
        case happened(isLocked: Bool)
        /// The session has ended.
        case gone
    }

    /// How a process finds its session.
    struct Identity: Sendable {
        var process: UInt32
        /// Of `XDG_SESSION_ID`.
        var session: String?
        var user: UInt32
    }

    private enum Lookup {
        case process(UInt32)
        case session(String)
        /// The user's graphical session: for processes that belong to none, such as services of the user.
        case display(user: UInt32)
    }

    private static let name = "org.freedesktop.login1"
    private static let managerPath = "/org/freedesktop/login1"
    private static let manager = "org.freedesktop.login1.Manager"
    private static let sessionInterface = "org.freedesktop.login1.Session"
    private static let properties = "org.freedesktop.DBus.Properties"

    private let identity: Identity
    private let hear: (Event) -> Void
    private var service: BusService?
    /// The object path of the session.
    private var session: String?
    /// Counts searches, so that the answers of an earlier one are recognised.
    private var search = 0

    init(on bus: Bus, identity: Identity, hear: @escaping (Event) -> Void) {
        self.identity = identity
        self.hear = hear
        service = bus.service(
            Self.name,
            rules: [
                "interface='\(Self.manager)',path='\(Self.managerPath)'",
                "interface='\(Self.sessionInterface)'",
                "interface='\(Self.properties)',arg0='\(Self.sessionInterface)'",
            ], user: self)
    }

    func serviceAppeared() { find() }

    // What logind said stays true: it keeps the hint when it is restarted, for example by an upgrade.
    func serviceIsMissing() { forget() }
    func busIsLost() { forget() }

    func serviceSignalled(_ signal: BusSignal) {
        switch (signal.interface, signal.member) {
        case (Self.manager, "SessionNew"):
            if session == nil { find() }
        case (Self.manager, "SessionRemoved"):
            guard let session, signal.arguments.last?.text == session else { return }
            hear(.gone)
            find()
        case (Self.sessionInterface, "Lock"):
            if signal.path == session { hear(.happened(isLocked: true)) }
        case (Self.sessionInterface, "Unlock"):
            if signal.path == session { hear(.happened(isLocked: false)) }
        default:
            if signal.path == session, signal.changedProperties?.interface == Self.sessionInterface { read() }
        }
    }

    private func forget() {
        session = nil
        search += 1
    }

    private func find() {
        forget()
        var lookups = [Lookup.process(identity.process)]
        if let id = identity.session { lookups.append(.session(id)) }
        lookups.append(.display(user: identity.user))
        look(lookups[...], search: search, fallback: nil)
    }

    /// The first graphical session among those that are found, or else the first: a program that was started over SSH
    /// shares the screen of the graphical one.
    private func look(_ lookups: ArraySlice<Lookup>, search: Int, fallback: String?) {
        guard let lookup = lookups.first else { return found(fallback) }
        let rest = lookups.dropFirst()
        resolve(lookup) { [weak self] path in
            guard let self, search == self.search else { return }
            guard let path else { return look(rest, search: search, fallback: fallback) }
            service?.call(path, Self.properties, "Get", [.text(Self.sessionInterface), .text("Type")]) {
                [weak self] reply in
                guard let self, search == self.search else { return }
                if case .values(let values) = reply, ["x11", "wayland", "mir"].contains(values.first?.text) {
                    found(path)
                } else {
                    look(rest, search: search, fallback: fallback ?? path)
                }
            }
        }
    }

    private func resolve(_ lookup: Lookup, then: @escaping (String?) -> Void) {
        let path = { (reply: BusReply) -> String? in
            guard case .values(let values) = reply, let path = values.first?.text, path != "/" else { return nil }
            return path
        }
        switch lookup {
        case .process(let id):
            service?.call(Self.managerPath, Self.manager, "GetSessionByPID", [.unsigned(id)]) { then(path($0)) }
        case .session(let id):
            service?.call(Self.managerPath, Self.manager, "GetSession", [.text(id)]) { then(path($0)) }
        case .display(let id):
            service?.call(Self.managerPath, Self.manager, "GetUser", [.unsigned(id)]) { [weak self] reply in
                guard let self, let user = path(reply) else { return then(nil) }
                service?.call(user, Self.properties, "Get", [.text("org.freedesktop.login1.User"), .text("Display")]) {
                    // The session's name and path.
                    guard case .values(let values) = $0, let display = values.first?.list, display.count == 2,
                        let session = display[1].text, session != "/"
                    else { return then(nil) }
                    then(session)
                }
            }
        }
    }

    private func found(_ path: String?) {
        session = path
        if path != nil { read() }
    }

    private func read() {
        guard let session else { return }
        service?.readProperties(session, Self.sessionInterface) { [weak self] properties in
            guard let self, self.session == session, let isLocked = properties?["LockedHint"]?.boolean else { return }
            hear(.state(isLocked: isLocked))
        }
    }
}
