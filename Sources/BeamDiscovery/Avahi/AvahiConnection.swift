import CAvahi

/// The way to the machine's Avahi daemon, made anew whenever the daemon or the message bus goes away.
///
/// Lives on Avahi's thread: every function is to be called there, or with the loop's lock held.
final class AvahiConnection {
    enum Event {
        /// The daemon answers, and services can be announced.
        case ready(AvahiClient)
        /// The daemon answers; nothing can be announced until it has settled its host name.
        case settling(AvahiClient)
        /// Whatever was made with the client has to go now.
        case broken
        /// There is a daemon: the first time, and after `unavailable`.
        case available
        /// There is no daemon; reported once until there is one. A sentence's beginning that says why.
        case unavailable(String)
    }

    /// A restart of the daemon takes less; only a longer absence is worth a person's attention.
    private static let patience: UInt32 = 2500
    /// Without a message bus nobody tells when there is one: time from try to try, in milliseconds.
    private static let retryInterval: UInt32 = 3000

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

    /// Connects; from then on there are events.
    func connect() {
        nextTry = nil
        client = AvahiClient(loop) { [weak self] in self?.stateChanged() }
        stateChanged()
    }

    /// Starts over in a while, since the daemon refused something that it shouldn't.
    func refused(_ error: AvahiError) {
        absent("The Avahi daemon of this machine refused (\(error))")
        // Not from inside a callback of what is going to be freed.
        nextTry = AvahiTimer(loop, after: 0) { [weak self] in self?.startOver(after: Self.retryInterval) }
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
            nextTry = AvahiTimer(loop, after: 0) { [weak self] in self?.startOver(after: Self.retryInterval) }
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
            pendingReport = AvahiTimer(loop, after: Self.patience) { [weak self] in
                guard let self else { return }
                pendingReport = nil
                report = .unavailable
                onEvent(.unavailable(cause))
            }
        }
    }
}
