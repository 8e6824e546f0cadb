import BeamBus
import BeamMedia
import CLateLibraries
import Glibc
import Synchronization

/// Follows the desktop around the program: whether the screen is locked (logind, and the session's screen saver), and
/// whether the battery is low (UPower, or else the kernel). And keeps it awake while that is wanted.
///
/// All of it may be missing: the buses, a service, libsystemd. Then nothing is reported of that, and it is used as soon
/// as it is there (libsystemd: at the next start).
public final class DesktopWatch: Sendable {
    /// Where to look. The defaults are for use, the others for tests.
    public struct Options: Sendable {
        public var buses: BusAddresses
        /// The kernel's folder of batteries.
        public var powerSupplies: String
        /// How often that folder is read while UPower tells nothing.
        public var powerSupplyInterval: Duration
        /// The process whose session counts.
        public var processID: UInt32
        /// The session's name at logind, for a process that logind doesn't know.
        public var sessionID: String?
        /// The user whose graphical session counts, for a process without a session.
        public var userID: UInt32

        public init(
            buses: BusAddresses = .ofThisMachine, powerSupplies: String = "/sys/class/power_supply",
            powerSupplyInterval: Duration = .seconds(30)
        ) {
            self.buses = buses
            self.powerSupplies = powerSupplies
            self.powerSupplyInterval = powerSupplyInterval
            processID = UInt32(clamping: getpid())
            sessionID = BusAddresses.environment("XDG_SESSION_ID")
            userID = getuid()
        }
    }

    private let options: Options
    private let isLibraryThere: @Sendable () -> Bool
    private let onEvent: @Sendable (DesktopEvent) -> Void
    private let runner = Mutex<BusRunner<DesktopWork>?>(nil)

    /// - Parameter onEvent: called on the watch's own thread, one event at a time; may call `stop`.
    public convenience init(options: Options = Options(), onEvent: @escaping @Sendable (DesktopEvent) -> Void) {
        self.init(options: options, isLibraryThere: { beam_load_libsystemd() == nil }, onEvent: onEvent)
    }

    init(
        options: Options, isLibraryThere: @escaping @Sendable () -> Bool,
        onEvent: @escaping @Sendable (DesktopEvent) -> Void
    ) {
        self.options = options
        self.isLibraryThere = isLibraryThere
        self.onEvent = onEvent
    }

    deinit { stop() }

    /// Starts the thread. Does nothing if the watch has been started.
    public func start() {
        let started = runner.withLock { runner in
            let started =
                runner
                ?? BusRunner("desktop", isLibraryThere: isLibraryThere) { [options, onEvent] loop in
                    DesktopWork(loop, options, onEvent)
                }
            runner = started
            return started
        }
        started.start()
    }

    /// Whether the screen saver and sleep that comes by itself are kept away; not at first. Call it after `start`.
    public func keepAwake(_ isWanted: Bool) { runner.withLock { $0 }?.perform { $0.keepAwake(isWanted) } }

    /// Ends the thread; after this returns, no event is reported. If an event is being handled, waits for that at most
    /// 3 s. May be started again.
    public func stop() { runner.withLock { $0.take() }?.stop() }
}

/// The watch's work; all on its thread.
private final class DesktopWork: BusWork {
    /// How long UPower may take to answer before the kernel is asked.
    private static let upowerTimeout = Duration.seconds(1)

    private let loop: BusLoop
    private let interval: Duration
    private let supplies: PowerSupplies
    private let onEvent: @Sendable (DesktopEvent) -> Void
    private let system: Bus?
    private let session: Bus?
    private var users: [any BusServiceUser] = []
    private var wakefulness: Wakefulness?
    private var locks = LockState()
    private var alarm = BatteryAlarm()
    private var isToldByUPower = false
    private var hasReadSupplies = false
    private var nextReading: BusTimer?
    private var isEnding = false
    private let identity: LogindSession.Identity

    init(_ loop: BusLoop, _ options: DesktopWatch.Options, _ onEvent: @escaping @Sendable (DesktopEvent) -> Void) {
        self.loop = loop
        interval = options.powerSupplyInterval
        supplies = PowerSupplies(folder: options.powerSupplies)
        self.onEvent = onEvent
        identity = LogindSession.Identity(
            process: options.processID, session: options.sessionID, user: options.userID)
        system = loop.bus(at: options.buses.system)
        session = loop.bus(at: options.buses.session)
    }

    func begin() {
        if let system {
            users.append(LogindSession(on: system, identity: identity) { [weak self] in self?.heard($0) })
            users.append(UPower(on: system) { [weak self] in self?.heard($0) })
        }
        if let session {
            for (name, path) in ScreenSaver.all {
                users.append(
                    ScreenSaver(name, path: path, on: session) { [weak self] isActive in
                        self?.heard(.screenSaver(name), isLocked: isActive)
                    })
            }
        }
        wakefulness = Wakefulness(system: system, session: session)
        readSupplies(after: system == nil ? .zero : Self.upowerTimeout)
    }

    func end() {
        isEnding = true
        nextReading = nil
        // The services notice that the connection ends, as far as this doesn't reach them.
        wakefulness?.set(false)
    }

    /// Nobody needs a goodbye.
    var hasEnded: Bool { isEnding }

    func keepAwake(_ isWanted: Bool) { wakefulness?.set(isWanted) }

    private func report(_ event: DesktopEvent?) {
        if let event, !loop.isStopping() { onEvent(event) }
    }

    // MARK: The lock

    private func heard(_ event: LogindSession.Event) {
        switch event {
        case .state(let isLocked): heard(.logind, isLocked: isLocked)
        case .happened(let isLocked): report(locks.happened(isLocked: isLocked).map(DesktopEvent.screenLocked))
        case .gone: heard(.logind, isLocked: nil)
        }
    }

    private func heard(_ source: LockState.Source, isLocked: Bool?) {
        let change = isLocked.map { locks.hear(source, isLocked: $0) } ?? locks.lose(source)
        report(change.map(DesktopEvent.screenLocked))
    }

    // MARK: The battery

    private func heard(_ reading: BatteryReading?) {
        if let reading {
            isToldByUPower = true
            nextReading = nil
            report(alarm.hear(reading))
        } else if isToldByUPower || !hasReadSupplies {
            // UPower has gone, or isn't there.
            isToldByUPower = false
            readSupplies(after: .zero)
        }
    }

    private func readSupplies(after pause: Duration) {
        nextReading = loop.timer(after: pause) { [weak self] in
            guard let self else { return }
            hasReadSupplies = true
            if let reading = supplies.read() { report(alarm.hear(reading)) }
            readSupplies(after: interval)
        }
    }
}
