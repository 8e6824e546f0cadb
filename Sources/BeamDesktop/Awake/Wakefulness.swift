import BeamBus
import Glibc

/// Keeps the screen saver, the dimming of the screen and sleep that comes by itself away, as long as that is wanted: at
/// logind, the screen saver and GNOME's session, whichever are there. A person can still put the machine to sleep. Used on the
/// loop's thread only.
final class Wakefulness {
    private let holds: [AwakeHold]

    init(system: Bus?, session: Bus?) {
        var holds: [AwakeHold] = []
        if let system { holds.append(AwakeHold(.logind, on: system)) }
        if let session { holds += [.screenSaver, .gnome].map { AwakeHold($0, on: session) } }
        self.holds = holds
    }

    func set(_ isWanted: Bool) { for hold in holds { hold.set(isWanted) } }
}

/// The wish at one service.
final class AwakeHold: BusServiceUser {
    enum Kind {
        /// Its token is a descriptor, whose end takes the wish back (systemd, "Inhibitor Locks").
        case logind
        /// org.freedesktop.ScreenSaver of KDE and others; its token is a number.
        case screenSaver
        /// Its token is a number, too.
        case gnome
    }

    private enum Token {
        case descriptor(CInt)
        case number(UInt32)
    }

    private static let (application, reason) = ("BeamRoom", "Somebody watches this screen")

    private let kind: Kind
    private var service: BusService?
    private var isWanted = false
    private var token: Token?
    /// A wish is on its way.
    private var isAsking = false

    init(_ kind: Kind, on bus: Bus) {
        self.kind = kind
        service = bus.service(kind.name, rules: [], user: self)
    }

    deinit {
        // Without the service, the token is nothing to others.
        if case .descriptor(let descriptor)? = token { close(descriptor) }
    }

    func set(_ isWanted: Bool) {
        self.isWanted = isWanted
        if isWanted { ask() } else { release() }
    }

    func serviceAppeared() {
        forget()
        if isWanted { ask() }
    }

    func serviceIsMissing() { forget() }
    func busIsLost() { forget() }
    func serviceSignalled(_ signal: BusSignal) {}

    private func ask() {
        guard token == nil, !isAsking, let service, service.owner != nil else { return }
        isAsking = true
        service.call(kind.path, kind.interface, "Inhibit", kind.arguments(Self.application, Self.reason)) {
            [weak self] reply in
            guard let self else { return }
            isAsking = false
            guard case .values(let values) = reply else { return }
            switch (kind, values.first) {
            case (.logind, .integer(let number)?):
                // The message's own is closed with it.
                let descriptor = CInt(exactly: number).map { fcntl($0, F_DUPFD_CLOEXEC, 3) } ?? -1
                if descriptor >= 0 { token = .descriptor(descriptor) }
            case (.screenSaver, .unsigned(let number)?), (.gnome, .unsigned(let number)?):
                token = UInt32(exactly: number).map { .number($0) }
            default: break
            }
            if !isWanted { release() }
        }
    }

    private func release() {
        switch token {
        case .descriptor(let descriptor)?: close(descriptor)
        case .number(let number)?: service?.call(kind.path, kind.interface, kind.release, [.unsigned(number)])
        case nil: break
        }
        token = nil
    }

    /// The service, or the connection to it, has gone, and with it what it was told.
    private func forget() {
        if case .descriptor(let descriptor)? = token { close(descriptor) }
        (token, isAsking) = (nil, false)
    }
}

extension AwakeHold.Kind {
    fileprivate var name: String {
        switch self {
        case .logind: "org.freedesktop.login1"
        case .screenSaver: "org.freedesktop.ScreenSaver"
        case .gnome: "org.gnome.SessionManager"
        }
    }

    fileprivate var path: String {
        switch self {
        case .logind: "/org/freedesktop/login1"
        case .screenSaver: "/org/freedesktop/ScreenSaver"
        case .gnome: "/org/gnome/SessionManager"
        }
    }

    fileprivate var interface: String { self == .logind ? "org.freedesktop.login1.Manager" : name }
    fileprivate var release: String { self == .screenSaver ? "UnInhibit" : "Uninhibit" }

    fileprivate func arguments(_ application: String, _ reason: String) -> [BusArgument] {
        switch self {
        case .logind: [.text("idle"), .text(application), .text(reason), .text("block")]
        case .screenSaver: [.text(application), .text(reason)]
        // No window; 8: not idle, and so no sleep that comes by itself. 4 would keep a person from it, too.
        case .gnome: [.text(application), .unsigned(0), .text(reason), .unsigned(8)]
        }
    }
}
