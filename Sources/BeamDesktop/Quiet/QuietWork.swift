import BeamBus
import BeamClock
import BeamMedia

/// Silences the desktop and puts that back; all on its thread, which nothing else waits for: it reads a small file, and
/// runs `gsettings`.
final class QuietWork: BusWork, BusServiceUser {
    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let reason = "Somebody watches this screen"
    /// How long dunst may take to show a question.
    private static let showing = Duration.milliseconds(300)
    /// How long `whenLoud` waits.
    private static let patience = Duration.seconds(2)

    private enum Server { case inhibitable, gnome, dunst, other }

    /// What has been changed, and outlives this program.
    private enum Change: Equatable {
        /// `show-banners` was on.
        case gnome
        /// What the switch of dunst was.
        case dunst(DunstSwitch)

        init?(_ text: String) {
            switch text.split(separator: " ").map(String.init) {
            case ["gnome"]: self = .gnome
            case ["dunst"]: self = .dunst(.paused(false))
            case let words where words.count == 2 && words[0] == "dunst":
                guard let level = UInt32(words[1]) else { return nil }
                self = .dunst(.level(level))
            default: return nil
            }
        }

        var text: String {
            switch self {
            case .gnome: "gnome"
            case .dunst(.paused): "dunst"
            case .dunst(.level(let level)): "dunst \(level)"
            }
        }
    }

    private let loop: BusLoop
    private let bus: Bus?
    private let application: String
    private let settling: Duration
    private let settings: GSettings
    private let claim: () -> (any QuietMemory)?
    private var service: BusService?
    private var server: Server?

    private var isWatched = false
    /// It has been watched for long enough.
    private var isWanted = false
    private var isAsking = false
    private var isEnding = false
    private var (wish, question): (BusTimer?, BusTimer?)
    /// The service is to be started if it doesn't run. Only once for each wish.
    private var isNeeded = false

    /// The number of the wish at a service that takes such.
    private var number: UInt32?
    private var isInhibiting = false
    private var change: Change?
    /// Held as long as `change`.
    private var memory: (any QuietMemory)?
    /// What dunst is to show now is a question, so that `change` is put back meanwhile.
    private var isLifted = false
    /// dunst that runs now has been silenced. If it isn't any more, its person wants it so.
    private var isDunstSet = false
    /// Calls that have to be answered before the end.
    private var calls = 0
    private var waiting: [UInt64: (timer: BusTimer, body: () -> Void)] = [:]
    private var lastWaiting: UInt64 = 0

    init(
        _ loop: BusLoop, _ address: String?, application: String, settling: Duration, settings: GSettings,
        claim: @escaping () -> (any QuietMemory)?
    ) {
        (self.loop, self.application, self.settling) = (loop, application, settling)
        (self.settings, self.claim) = (settings, claim)
        bus = loop.bus(at: address)
    }

    func begin() {
        memory = claim()
        change = memory?.read().flatMap { Change($0) }
        service = bus?.service(Self.name, rules: [], user: self)
        if change == nil {
            memory = nil
        } else {
            release()
        }
    }

    func end() {
        isEnding = true
        set(false)
    }

    var hasEnded: Bool { calls == 0 && !isInhibiting }

    // MARK: For others

    func set(_ isWatched: Bool) {
        guard isWatched != self.isWatched else { return }
        self.isWatched = isWatched
        if isWatched {
            want(after: settling)
        } else {
            wish = nil
            isWanted = false
            release()
        }
    }

    private func want(after pause: Duration) {
        wish = loop.timer(after: pause) { [weak self] in
            guard let self, isWatched else { return }
            isWanted = true
            if isLifted, !isAsking { isLifted = false }
            if service?.owner == nil {
                isNeeded = true
                startService()
            } else {
                follow()
            }
        }
    }

    func setAsking(_ isAsking: Bool) {
        guard isAsking != self.isAsking else { return }
        self.isAsking = isAsking
        question = nil
        if isAsking {
            question = loop.timer(after: Self.showing) { [weak self] in self?.liftIfHidden() }
        } else if isWatched, server == .dunst {
            // After the notices that follow: of digits to compare, of who watches.
            want(after: settling)
        }
    }

    func whenLoud(_ body: @escaping () -> Void) {
        guard number != nil || isInhibiting || change != nil, !isEnding else { return body() }
        lastWaiting += 1
        let key = lastWaiting
        let timer = loop.timer(after: Self.patience) { [weak self] in self?.waiting.removeValue(forKey: key)?.body() }
        waiting[key] = (timer, body)
    }

    private func isLoud() {
        let bodies = waiting.sorted { $0.key < $1.key }.map(\.value.body)
        waiting = [:]
        for body in bodies { body() }
    }

    // MARK: The service

    /// On many desktops it isn't running before the first notice.
    private func startService() {
        guard isNeeded, let bus, bus.isReady, service?.owner == nil else { return }
        isNeeded = false
        bus.call(
            BusService.busName, "/org/freedesktop/DBus", BusService.busName, "StartServiceByName",
            [.text(Self.name), .unsigned(0)])
    }

    func serviceAppeared() {
        forget()
        isNeeded = false
        service?.call(Self.path, Self.name, "GetServerInformation") { [weak self] reply in
            guard let self else { return }
            var name: String?
            if case .values(let values) = reply { name = values.first?.text }
            service?.call(Self.path, Self.name, "GetCapabilities") { [weak self] reply in
                guard let self else { return }
                var capabilities: [String] = []
                if case .values(let values) = reply { capabilities = values.first?.list?.compactMap(\.text) ?? [] }
                server =
                    switch name {
                    case _ where capabilities.contains("inhibitions"): .inhibitable
                    case "gnome-shell": .gnome
                    case "dunst": .dunst
                    default: .other
                    }
                if isWanted { follow() } else { release() }
            }
        }
    }

    func serviceIsMissing() {
        forget()
        // A dunst that starts anew isn't paused.
        if case .dunst? = change, !isWanted { forgetChange() }
        startService()
    }

    func busIsLost() { forget() }
    func serviceSignalled(_ signal: BusSignal) {}

    /// The service, or the connection to it, has gone.
    private func forget() {
        (server, number, isInhibiting, isLifted, isDunstSet, calls) = (nil, nil, false, false, false, 0)
    }

    /// It is wanted: does what the service can.
    private func follow() {
        switch server {
        case .inhibitable: inhibit()
        case .gnome: hideBanners()
        case .dunst: readDunst()
        case .other, nil: break
        }
    }

    private func release() {
        if let number {
            self.number = nil
            call(Self.name, "UnInhibit", [.unsigned(number)]) { [weak self] _ in self?.isLoud() }
        }
        switch change {
        case .gnome: showBanners()
        case .dunst: if server == .dunst { readDunst() }
        case nil: if !isInhibiting { isLoud() }
        }
    }

    private func call(
        _ interface: String, _ member: String, _ arguments: [BusArgument],
        then: @escaping (BusReply) -> Void = { _ in }
    ) {
        calls += 1
        service?.call(Self.path, interface, member, arguments) { [weak self] reply in
            self?.calls -= 1
            then(reply)
        }
    }

    private func inhibit() {
        guard number == nil, !isInhibiting else { return }
        isInhibiting = true
        call(Self.name, "Inhibit", [.text(application), .text(Self.reason), .dictionary([])]) { [weak self] reply in
            guard let self else { return }
            isInhibiting = false
            if case .values(let values) = reply, let value = values.first?.unsigned { number = UInt32(exactly: value) }
            if !isWanted { release() }
        }
    }

    // MARK: What outlives this program

    /// False: another program of this user has silenced the desktop, or nothing can be remembered.
    private func remember(_ change: Change) -> Bool {
        guard let memory = claim(), memory.keep(change.text) else { return false }
        (self.memory, self.change) = (memory, change)
        return true
    }

    private func forgetChange() {
        _ = memory?.keep(nil)
        letGo()
    }

    /// The next program puts it back.
    private func letGo() {
        (memory, change, isLifted, isDunstSet) = (nil, nil, false, false)
        isLoud()
    }

    // MARK: GNOME

    private func hideBanners() {
        guard change == nil, settings.showsBanners == true, remember(.gnome) else { return }
        if !settings.setShowsBanners(false) { showBanners() }
    }

    private func showBanners() {
        switch settings.showsBanners {
        case false?: if settings.setShowsBanners(true) { forgetChange() } else { letGo() }
        // The person has switched it on.
        case true?: forgetChange()
        case nil: letGo()
        }
    }

    // MARK: dunst

    private func readDunst() {
        call(DunstSwitch.properties, "GetAll", [.text(DunstSwitch.interface)]) { [weak self] reply in
            guard let self, case .values(let values) = reply, let entries = values.first?.entries,
                let current = DunstSwitch(entries)
            else { return }
            dunstIs(current)
        }
    }

    private func dunstIs(_ current: DunstSwitch) {
        guard isWanted else {
            guard case .dunst(let before)? = change else { return }
            // Otherwise the person has changed it.
            guard current.isAsSet else { return forgetChange() }
            return setDunst(before) { [weak self] in self?.forgetChange() }
        }
        guard !isAsking else { return }
        if change == nil {
            // Otherwise it was quiet before.
            guard !current.isQuiet, remember(.dunst(current)) else { return }
        }
        guard case .dunst? = change, !isDunstSet else { return }
        isDunstSet = true
        if !current.isAsSet { setDunst(current.asSet) }
    }

    private func setDunst(_ value: DunstSwitch, then: @escaping () -> Void = {}) {
        call(
            DunstSwitch.properties, "Set", [.text(DunstSwitch.interface), .text(value.property), .variant(value.value)]
        ) { reply in if case .values = reply { then() } }
    }

    /// Not every dunst shows critical notices while it is paused.
    private func liftIfHidden() {
        guard isWanted, server == .dunst, case .dunst(let before)? = change, !isLifted else { return }
        call(DunstSwitch.properties, "Get", [.text(DunstSwitch.interface), .text("displayedLength")]) {
            [weak self] reply in
            guard let self, isAsking, change == .dunst(before), case .values(let values) = reply,
                values.first?.unsigned == 0
            else { return }
            (isLifted, isDunstSet) = (true, false)
            setDunst(before)
        }
    }
}

/// dunst's switch.
enum DunstSwitch: Equatable {
    /// 0…100: notices of a lower level than this aren't shown.
    case level(UInt32)
    /// Of a dunst that has no levels: nothing is shown.
    case paused(Bool)

    static let interface = "org.dunstproject.cmd0"
    static let properties = "org.freedesktop.DBus.Properties"
    /// dunst's own settings give critical notices the level 60, and others 30.
    private static let quiet: UInt32 = 50

    /// Nil: none is among the properties.
    init?(_ values: [String: BusValue]) {
        if let level = values["pauseLevel"]?.unsigned.flatMap({ UInt32(exactly: $0) }) {
            self = .level(level)
        } else if let paused = values["paused"]?.boolean {
            self = .paused(paused)
        } else {
            return nil
        }
    }

    var isQuiet: Bool {
        switch self {
        case .level(let level): level >= Self.quiet
        case .paused(let paused): paused
        }
    }

    /// What is set to silence it.
    var asSet: DunstSwitch {
        switch self {
        case .level: .level(Self.quiet)
        case .paused: .paused(true)
        }
    }

    var isAsSet: Bool { self == asSet }

    var property: String {
        switch self {
        case .level: "pauseLevel"
        case .paused: "paused"
        }
    }

    var value: BusArgument {
        switch self {
        case .level(let level): .unsigned(level)
        case .paused(let paused): .boolean(paused)
        }
    }
}
