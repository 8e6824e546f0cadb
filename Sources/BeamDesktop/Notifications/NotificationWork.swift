import BeamBus
import BeamClock
import BeamMedia

/// Speaks with the notification service; all on its thread.
final class NotificationWork: BusWork, BusServiceUser {
    typealias Place = DesktopNotifications.Place
    typealias Notice = DesktopNotifications.Notice

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    /// A notice that couldn't be shown for so long is none any more; a question stays one.
    private static let lifetime = Duration.seconds(10)
    /// In characters.
    private static let (longestTitle, longestText) = (200, 1000)

    private struct Shown {
        var notice: Notice
        /// Tells the answers to calls about this notice from those about the one before.
        var serial: UInt64
        var since = MediaTime.now
        /// The service's number of it; nil: it isn't there, or not yet.
        var id: UInt32?
    }

    private let application: String
    private let icon: String
    private let onButton: @Sendable (Place, String) -> Void
    private let reactionTime: Duration
    private let bus: Bus?
    private let isStopping: () -> Bool
    private var service: BusService?
    /// What the service can do; nil: there is none, or it hasn't said so yet.
    private var capabilities: [String]?
    private var places: [Place: Shown] = [:]
    private var serial: UInt64 = 0
    /// Called once it is known what the service can do, or that there is none.
    private var waiting: [([String]) -> Void] = []
    /// There is something to show, or somebody waits, so that the service is to be started if it doesn't run. Only once for
    /// each wish: a service that ends at each notice isn't started without end.
    private var isNeeded = false
    /// Calls about notices that the service hasn't answered: at the end, none of them may leave a question behind.
    private var calls = 0

    init(
        _ loop: BusLoop, _ address: String?, application: String, icon: String, reactionTime: Duration,
        _ onButton: @escaping @Sendable (Place, String) -> Void
    ) {
        (self.application, self.icon, self.onButton) = (application, icon, onButton)
        self.reactionTime = reactionTime
        isStopping = loop.isStopping
        bus = loop.bus(at: address)
    }

    func begin() {
        service = bus?.service(Self.name, rules: ["interface='\(Self.name)'"], user: self)
    }

    func end() {
        for place in places.keys where places[place]?.notice.isQuestion == true { withdraw(place) }
    }

    var hasEnded: Bool { calls == 0 }

    // MARK: For others

    func show(_ notice: Notice, in place: Place) {
        serial += 1
        var shown = Shown(notice: notice, serial: serial)
        if let before = places[place] {
            // What is pressed on a question that is no more must not answer this one, so that it gets another number.
            if before.notice.isQuestion { close(before.id) } else { shown.id = before.id }
        }
        places[place] = shown
        if capabilities == nil { needService() } else { send(place) }
    }

    func withdraw(_ place: Place) { close(places.removeValue(forKey: place)?.id) }

    /// `then` gets nothing where there is no service.
    func tellCapabilities(_ then: @escaping ([String]) -> Void) {
        if let capabilities { return then(capabilities) }
        guard bus != nil else { return then([]) }
        waiting.append(then)
        needService()
    }

    // MARK: The service

    /// Most services aren't running before they are needed.
    private func needService() {
        isNeeded = true
        startService()
    }

    private func startService() {
        guard isNeeded, let bus, bus.isReady, service?.owner == nil else { return }
        isNeeded = false
        bus.call(
            BusService.busName, "/org/freedesktop/DBus", BusService.busName, "StartServiceByName",
            [.text(Self.name), .unsigned(0)]
        ) { [weak self] reply in
            // Otherwise it appears.
            if case .failed = reply { self?.answerWaiting([]) }
        }
    }

    private func answerWaiting(_ capabilities: [String]) {
        let waiting = self.waiting
        self.waiting = []
        for answer in waiting { answer(capabilities) }
    }

    func serviceAppeared() {
        isNeeded = false
        forgetNumbers()
        service?.call(Self.path, Self.name, "GetCapabilities") { [weak self] reply in
            guard let self else { return }
            var known: [String] = []
            if case .values(let values) = reply { known = values.first?.list?.compactMap(\.text) ?? [] }
            capabilities = known
            answerWaiting(known)
            for (place, shown) in places {
                if shown.notice.isQuestion || .now - shown.since < Self.lifetime {
                    send(place)
                } else {
                    places[place] = nil
                }
            }
        }
    }

    func serviceIsMissing() {
        forgetNumbers()
        startService()
    }

    func busIsLost() {
        forgetNumbers()
        // A question is still to be asked when the bus is back.
        isNeeded = places.values.contains(where: \.notice.isQuestion)
        answerWaiting([])
    }

    private func forgetNumbers() {
        (capabilities, calls) = (nil, 0)
        for place in places.keys { places[place]?.id = nil }
    }

    func serviceSignalled(_ signal: BusSignal) {
        guard signal.interface == Self.name, let id = signal.arguments.first?.unsigned,
            let (place, shown) = places.first(where: { $0.value.id.map(UInt64.init) == id })
        else { return }
        switch signal.member {
        case "NotificationClosed":
            // A question may still be answered elsewhere; another notice is over.
            if shown.notice.isQuestion { places[place]?.id = nil } else { places[place] = nil }
        case "ActionInvoked":
            guard let name = signal.arguments.dropFirst().first?.text,
                shown.notice.buttons.contains(where: { $0.name == name })
            else { return }
            // Whether the press was meant for this one isn't known: it is shown again.
            guard .now - shown.since >= reactionTime else { return send(place) }
            places[place] = nil
            close(shown.id)
            if !isStopping() { onButton(place, name) }
        default: break
        }
    }

    private func send(_ place: Place) {
        guard let shown = places[place], let capabilities else { return }
        let (notice, hasButtons) = (shown.notice, capabilities.contains("actions"))
        let text = hasButtons ? notice.text : notice.textWithoutButtons ?? notice.text
        let cut = String(text.prefix(Self.longestText))
        let buttons: [String] = hasButtons ? notice.buttons.flatMap { [$0.name, $0.label] } : []
        let hints: [(key: String, value: BusArgument)] = [
            // 2: critical, 1: normal.
            ("urgency", .byte(notice.isQuestion ? 2 : 1)), ("desktop-entry", .text(icon)),
            ("transient", .boolean(!notice.isQuestion)),
        ]
        let arguments: [BusArgument] = [
            .text(application), .unsigned(shown.id ?? 0), .text(icon),
            .text(String(notice.title.prefix(Self.longestTitle))),
            .text(capabilities.contains("body-markup") ? Self.escaped(cut) : cut), .texts(buttons),
            .dictionary(hints),
            // In milliseconds. 0: it doesn't go by itself; -1: as the service likes.
            .integer(notice.isQuestion ? 0 : -1),
        ]
        calls += 1
        service?.call(Self.path, Self.name, "Notify", arguments) { [weak self] reply in
            self?.calls -= 1
            guard let self, case .values(let values) = reply, let number = values.first?.unsigned,
                let id = UInt32(exactly: number)
            else { return }
            guard places[place]?.serial == shown.serial else {
                // Withdrawn or replaced meanwhile.
                if places[place]?.id != id { close(id) }
                return
            }
            // Shown again, it isn't new.
            if places[place]?.id == nil { places[place]?.since = .now }
            places[place]?.id = id
        }
    }

    private func close(_ id: UInt32?) {
        guard let id, capabilities != nil else { return }
        calls += 1
        service?.call(Self.path, Self.name, "CloseNotification", [.unsigned(id)]) { [weak self] _ in
            self?.calls -= 1
        }
    }

    /// The text of a notice may have markup, and names come from the network.
    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
    }
}
