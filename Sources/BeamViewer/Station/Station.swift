import BeamCodec
import BeamDiscovery
import BeamDisplay
import BeamIdentity
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamTrust
import BeamWire
import Dispatch
import Synchronization

/// A receiver (`beamroom watch --wait`): waits for senders, and shows the screen of one at a time.
///
/// What is decided is in `StationSession`, on the event loop of a `StationServer`. A viewer is begun and ended on a queue
/// of its own, because that waits for threads.
public final class Station: Sendable {
    public struct Options: Sendable {
        /// As senders read it.
        public var name: String
        public var store: TrustStore
        /// A numeric address or a name of this machine; nil: all.
        public var bindAddress: String?
        public var port: UInt16
        /// A code can be shown: unknown senders may type it.
        public var showsCode: Bool
        /// Whoever has typed the code needn't type it again.
        public var remembersSenders: Bool
        public var isAnnounced: Bool
        /// How a screen is shown; what it says of hosts and trust is replaced.
        public var viewing: ViewerOptions

        public init(
            name: String, store: TrustStore, bindAddress: String?, port: UInt16, showsCode: Bool,
            remembersSenders: Bool, isAnnounced: Bool, viewing: ViewerOptions
        ) {
            (self.name, self.store, self.bindAddress, self.port) = (name, store, bindAddress, port)
            (self.showsCode, self.remembersSenders, self.isAnnounced) = (showsCode, remembersSenders, isAnnounced)
            self.viewing = viewing
        }
    }

    public enum Notice: Sendable {
        case state(StationSession.State)
        case ended(StationSession.Sender, StationSession.End)
        /// It was told that another screen is shown.
        case busy(StationSession.Sender)
        /// About the door.
        case door(HostEvent)
        /// About the screen that is shown: the number of that, and whose it is.
        case viewer(Int, StationSession.Sender, ViewerNotice)
        case warning(String)
    }

    /// A screen that is shown, or about to be.
    struct Shown: Sendable {
        /// Never that of another one.
        var number: Int
        var sender: StationSession.Sender
        var viewer: Viewer
    }

    /// What the window shows.
    struct Content: Sendable {
        var state = StationSession.State.waiting(code: nil)
        /// As it is announced, which another machine's name may have changed.
        var name: String
        var isAnnounced = false
        /// Where this machine can be reached; the likeliest.
        var address: String?
        var port: UInt16 = 0
        var shown: Shown?
        /// Why the last screen isn't shown any more, and its number.
        var last: (number: Int, words: String)?
        var isOver = false
        fileprivate var wake: (@Sendable () -> Void)?
    }

    let options: Options
    private let onNotice: @Sendable (Notice) -> Void
    private let identity: LocalIdentity
    private let senders: KnownSenders
    private let queue = DispatchQueue(label: "beam-station")
    private let content: Mutex<Content>
    private let parts = Mutex(Parts())

    private struct Parts {
        var server: StationServer?
        var publisher: ServicePublisher?
        var watch: TrustWatch?
        var isStopped = false
    }

    /// Nothing uses the network before `start`. `onNotice` is called on its threads, and must not block.
    public init(_ options: Options, onNotice: @escaping @Sendable (Notice) -> Void) throws {
        try DescriptorLimit.prepare()
        self.options = options
        self.onNotice = onNotice
        identity = try options.store.identity()
        senders = KnownSenders(options.store)
        content = Mutex(Content(name: options.name))
    }

    /// Binds the port and begins to wait. It lives until `stop`.
    ///
    /// - Returns: the port.
    public func start() throws -> UInt16 {
        let trust = HostTrust(
            own: identity.deviceKey, remembered: try senders.all(), code: options.showsCode ? .random() : .none,
            takesNewViewers: options.showsCode, remembersNewViewers: options.remembersSenders)
        let server = try StationServer(
            StationServer.Options(
                bindAddress: options.bindAddress, port: options.port, identity: identity,
                door: Door.Configuration(acceptance: .none, deviceName: options.name, trust: trust))
        ) { [self] in happened($0) }
        let watch = try senders.watch { [self] in learn($0, server) }
        change { $0.port = server.port }
        parts.withLock { ($0.server, $0.watch) = (server, watch) }
        refresh()
        if options.isAnnounced { announce(server.port) }
        return server.port
    }

    private func learn(_ devices: Result<[DeviceKey: String], TrustStoreError>, _ server: StationServer) {
        switch devices {
        case .success(let devices): server.setRemembered(devices)
        case .failure(let error):
            server.setRememberedUnreadable()
            onNotice(.warning("No remembered sender is let in until this is corrected. \(error)"))
        }
    }

    private func announce(_ port: UInt16) {
        let publisher = ServicePublisher(
            name: options.name, type: ServiceType.receiver, port: port, txt: [(key: "beam", value: "2")]
        ) { [self] event in
            switch event {
            case .published(let name): change { ($0.name, $0.isAnnounced) = (name, true) }
            case .renamed(let from, let to):
                onNotice(.warning("Another receiver here is called “\(from)”; senders find this one as “\(to)”."))
            case .unavailable(let reason), .failed(let reason):
                change { $0.isAnnounced = false }
                onNotice(.warning("Senders can't find this receiver by its name. \(reason)"))
            }
        }
        parts.withLock { $0.publisher = publisher }
    }

    // MARK: Other threads

    func read<Result: Sendable>(_ body: (Content) -> Result) -> Result { content.withLock { body($0) } }

    private func change(_ body: (inout Content) -> Void) {
        let wake = content.withLock { content in
            body(&content)
            return content.wake
        }
        wake?()
    }

    /// Sets who is told that the content has changed; on any thread.
    func setWindow(_ wake: (@Sendable () -> Void)?) { content.withLock { $0.wake = wake } }

    /// Reads this machine's address again. Call it now and then.
    public func refresh() {
        let address = options.bindAddress ?? LocalAddresses.list().first
        if address != read({ $0.address }) { change { $0.address = address } }
    }

    /// The name under which it is found.
    public var name: String { read { $0.name } }

    /// What watches the screen that is shown, and its number; nil: none is.
    public var watched: (number: Int, viewer: Viewer)? { read { $0.shown }.map { ($0.number, $0.viewer) } }

    /// Writes to the host whose screen is shown, if there is one.
    public func write(_ input: LogInput) { watched?.viewer.write(input) }

    /// The person wants nothing more of the present sender. False: there is none.
    @discardableResult public func endShowing() -> Bool {
        guard read({ if case .waiting = $0.state { false } else { true } }) else { return false }
        parts.withLock { $0.server }?.endShowing()
        return true
    }

    /// Reads the list of known senders again, on another thread.
    public func reloadDevices() {
        guard let server = parts.withLock({ $0.server }) else { return }
        senders.read { [self] in learn($0, server) }
    }

    /// Waits until the network's event loop answers. False: it doesn't run.
    public var answers: Bool { parts.withLock { $0.server }?.answers ?? false }

    /// Replaces the code.
    public func renewCode() { parts.withLock { $0.server }?.renewCode() }

    /// Makes `StationWindow.run` return. Call it from any thread.
    public func endWindow() { change { $0.isOver = true } }

    /// Ends what is shown, says goodbye to senders, and withdraws the announcement. Returns when that is done.
    public func stop() {
        let parts = self.parts.withLock { parts in
            defer { (parts.server, parts.publisher, parts.watch) = (nil, nil, nil) }
            parts.isStopped = true
            return parts
        }
        parts.watch?.cancel()
        queue.sync { unwatch(nil) }
        parts.server?.shutdown()
        parts.publisher?.withdraw()
        senders.finish()
    }

    // MARK: What happens

    /// On the event loop.
    private func happened(_ event: StationServer.Event) {
        switch event {
        case .door(.devicePaired(let device, let name, true)): remember(device, name)
        case .door(let event): onNotice(.door(event))
        case .state(let state):
            change { $0.state = state }
            onNotice(.state(state))
        case .ended(let sender, let end):
            change { content in
                content.last = ((content.last?.number ?? 0) + 1, StationText.ended(sender, end))
            }
            onNotice(.ended(sender, end))
        case .busy(let sender): onNotice(.busy(sender))
        case .watch(let number, let sender, let endpoint):
            queue.async { [self] in watch(number, sender, at: endpoint) }
        case .unwatch(let number): queue.async { [self] in unwatch(number) }
        }
    }

    private func remember(_ device: DeviceKey, _ name: String) {
        senders.remember(device, name: name) { [onNotice] warning in
            onNotice(.door(.devicePaired(device, name: name, isToBeRemembered: warning == nil)))
            if let warning { onNotice(.warning(warning)) }
        }
    }

    // MARK: On the queue

    private func watch(_ number: Int, _ sender: StationSession.Sender, at endpoint: Endpoint) {
        guard !parts.withLock({ $0.isStopped }) else { return }
        var viewing = options.viewing
        viewing.sender = ViewerOptions.Sender(endpoint: endpoint, device: sender.device, name: sender.name)
        do {
            let viewer = try Viewer(viewing) { [self] in noticed($0, number, sender) }
            change { $0.shown = Shown(number: number, sender: sender, viewer: viewer) }
            viewer.start()
            if viewing.window != nil { viewer.decode.open() }
        } catch {
            report(number, .refused(reason: "\(error)"))
        }
    }

    private func noticed(_ notice: ViewerNotice, _ number: Int, _ sender: StationSession.Sender) {
        switch notice {
        case .session(.paired), .session(.controlRestored): report(number, .connected)
        case .session(.controlLost): report(number, .lost)
        case .session(.hostEnded): report(number, .ended)
        case .session(.refused(let refusal)): report(number, .refused(reason: refusal.reason))
        case .session(.mistrusted(let refusal)): report(number, .unreached(reason: refusal.reason))
        case .session(.retrying(_, let reason)): report(number, .unreached(reason: PeerText.reason(reason)))
        case .failed(let reason): report(number, .refused(reason: reason))
        default: break
        }
        onNotice(.viewer(number, sender, notice))
    }

    private func report(_ number: Int, _ report: StationSession.Report) {
        parts.withLock { $0.server }?.report(number, report)
    }

    /// Nil: whatever is shown.
    private func unwatch(_ number: Int?) {
        guard let shown = read({ $0.shown }), number == nil || shown.number == number else { return }
        // The window lets go of it first.
        change { $0.shown = nil }
        shown.viewer.shared.setWindow(nil)
        shown.viewer.stop()
    }
}
