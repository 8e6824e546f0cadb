import CAvahi

/// The connection to the machine's Avahi daemon, renewed whenever the daemon or D-Bus goes away.
///
/// Must be used on Avahi's thread, or with the loop's lock held.
final class AvahiConnection {
    enum Event {
        /// The daemon runs, and services can be announced.
        case ready(AvahiClient)
        /// The daemon runs, but nothing can be announced until it has registered its host name.
        case settling(AvahiClient)
        /// Everything made with the client must be freed now.
        case broken
        /// The daemon is available: reported first, and after `unavailable`.
        case available
        /// There is no daemon; reported once until there is one. The text is the beginning of a sentence that says why.
        case unavailable(String)
    }

    /// Milliseconds of absence before it is reported. Restarting the daemon takes less.
    private static let graceMilliseconds: UInt32 = 2500
    /// Milliseconds between connection attempts. Without D-Bus there is no notification when it becomes available.
    private static let retryMilliseconds: UInt32 = 3000

    private enum Report {
        case none
        case available
        case unavailable
    }

    private let loop: AvahiLoop
    private let onEvent: (Event) -> Void
    private var client: AvahiClient?
    private var nextTry: AvahiTimer?
    private var pendingReport: AvahiTimer?
    private var report = Report.none

    init(_ loop: AvahiLoop, onEvent: @escaping (Event) -> Void) {
        self.loop = loop
        self.onEvent = onEvent
    }

    /// Connects. Events are reported from then on.
    func connect() {
        nextTry = nil
        client = AvahiClient(loop) { [weak self] in self?.stateChanged() }
        stateChanged()
    }

    /// Starts over after a while, because the daemon refused a request that it should accept.
    func refused(_ error: AvahiError) {
        absent("The Avahi daemon of this machine refused (\(error))")
        // Deferred, because this may run in a callback of an object that will be freed.
        nextTry = AvahiTimer(loop, after: 0) { [weak self] in self?.startOver(after: Self.retryMilliseconds) }
    }

    private func stateChanged() {
        guard let client else { return }
        switch client.state {
        case .running:
            present()
            onEvent(.ready(client))
        case .settling:
            present()
            onEvent(.settling(client))
        case .waiting:
            absent("The Avahi daemon isn't running on this machine")
        case .failed(.disconnected) where report != .none:
            nextTry = AvahiTimer(loop, after: 0) { [weak self] in self?.startOver(after: 0) }
        case .failed(let error):
            absent("The message bus (D-Bus) of this machine, and with it Avahi, can't be reached (\(error))")
            nextTry = AvahiTimer(loop, after: 0) { [weak self] in self?.startOver(after: Self.retryMilliseconds) }
        }
    }

    private func startOver(after milliseconds: UInt32) {
        onEvent(.broken)
        client = nil
        if milliseconds == 0 {
            connect()
        } else {
            nextTry = AvahiTimer(loop, after: milliseconds) { [weak self] in self?.connect() }
        }
    }

    private func present() {
        pendingReport = nil
        guard report != .available else { return }
        report = .available
        onEvent(.available)
    }

    private func absent(_ cause: String) {
        switch report {
        case .unavailable: break
        case .none:
            report = .unavailable
            onEvent(.unavailable(cause))
        case .available:
            guard pendingReport == nil else { return }
            pendingReport = AvahiTimer(loop, after: Self.graceMilliseconds) { [weak self] in
                guard let self else { return }
                pendingReport = nil
                report = .unavailable
                onEvent(.unavailable(cause))
            }
        }
    }
}
