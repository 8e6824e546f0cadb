import BeamHost
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamViewer
import BeamWire
import Dispatch
import Synchronization

/// Watches a host, and serves on what it receives, without decoding it: a `Viewer` whose frames go to a `RelayHost`.
///
/// It serves from the first frame on: before, it doesn't know what to serve; and relays that wait for one another in a circle,
/// into which no frame can come, never serve anybody.
public final class Relay: Sendable {
    /// The most relays one after another, this one among them.
    public static let mostRelays = 3

    public struct Handlers: Sendable {
        /// What the viewer of the host tells. Called on its threads: hand on, don't block.
        public var onViewer: @Sendable (ViewerNotice) -> Void
        /// What happens to those that watch here. Called on the host's threads: hand on, don't block.
        public var onHost: @Sendable (HostNotice) -> Void
        /// It begins to serve. Once.
        public var onServing: @Sendable (Relay, RelayHost) -> Void
        /// It can't serve, for this reason; a sentence for a person. Stop it.
        public var onFailure: @Sendable (String) -> Void

        public init(
            onViewer: @escaping @Sendable (ViewerNotice) -> Void, onHost: @escaping @Sendable (HostNotice) -> Void,
            onServing: @escaping @Sendable (Relay, RelayHost) -> Void, onFailure: @escaping @Sendable (String) -> Void
        ) {
            (self.onViewer, self.onHost, self.onServing, self.onFailure) = (onViewer, onHost, onServing, onFailure)
        }
    }

    private struct State {
        var viewer: Viewer?
        var host: RelayHost?
        var hasBegun = false
        var isStopped = false
        var hostName: String?
        /// The host takes notes.
        var takesNotes = false
    }

    private let own: DeviceKey
    private let serving: @Sendable (_ host: String, _ relays: Int) throws -> RelayHost.Options
    private let handlers: Handlers
    private let queue: DispatchQueue
    private let telling: RelayTelling
    private let state = Mutex(State())

    /// - Parameters:
    ///   - viewing: which host, and how it lets this machine in. `relay` is set here.
    ///   - own: this machine's key.
    ///   - serving: how what comes is served; called once, with the host's name and through how many relays the picture
    ///     comes, this one among them.
    public init(
        _ viewing: ViewerOptions, own: DeviceKey,
        serving: @escaping @Sendable (_ host: String, _ relays: Int) throws -> RelayHost.Options, handlers: Handlers
    ) throws {
        (self.own, self.serving, self.handlers) = (own, serving, handlers)
        queue = DispatchQueue(label: "beam-relay")
        telling = RelayTelling(on: queue)
        var viewing = viewing
        // What comes goes on at once; whoever shows it evens out the jitter of the whole way.
        (viewing.window, viewing.buffer) = (nil, .zero)
        let intake = Intake()
        viewing.relay = intake
        let viewer = try Viewer(viewing) { [weak self] in self?.handle($0) }
        state.withLock { $0.viewer = viewer }
        intake.connect(self)
    }

    /// The viewer of the host.
    public var viewer: Viewer { state.withLock { $0.viewer! } }

    /// Nil before it serves.
    public var host: RelayHost? { state.withLock { $0.host } }

    /// Begins to look for the host.
    public func start() { viewer.start() }

    /// Writes to those that watch here; a note to the host and its viewers, too.
    public func write(_ input: LogInput) {
        host?.write(input)
        if case .note = input { viewer.write(input) }
    }

    /// Ends: first those that watch here are told, then the host is left.
    ///
    /// - Parameter reason: for them, without a full stop; nil: the relay has ended.
    public func stop(because reason: String? = nil) {
        state.withLock { $0.isStopped = true }
        // A host that was just about to serve is there then.
        queue.sync {}
        host?.stop(because: reason)
        viewer.stop()
    }

    // MARK: What comes

    /// Takes frames for a relay that is made after it.
    private final class Intake: ReceivedSink {
        private struct Target: Sendable {
            weak var relay: Relay?
        }

        private let target = Mutex(Target())

        func connect(_ relay: Relay) { target.withLock { $0.relay = relay } }

        func push(_ frame: ReceivedFrame) { target.withLock { $0.relay }?.take(frame) }

        func push(_ sound: ReceivedSound) { target.withLock { $0.relay }?.host?.push(sound) }

        func push(_ patch: ReceivedPatch) { target.withLock { $0.relay }?.host?.push(patch) }
    }

    private func take(_ frame: ReceivedFrame) {
        telling.frameArrived()
        let (host, begins) = state.withLock { state in
            let begins = !state.hasBegun && !state.isStopped
            if begins { state.hasBegun = true }
            return (state.host, begins)
        }
        host?.push(frame)
        if begins { queue.async { [self] in serve(frame.unit.size) } }
    }

    // MARK: Serving

    private func serve(_ size: PixelSize) {
        let (name, isStopped) = state.withLock { ($0.hostName, $0.isStopped) }
        guard !isStopped else { return }
        do {
            let host = try RelayHost(
                try serving(name ?? PeerText.unnamed, telling.relays + 1), size: size, hasPatches: telling.hasPatches,
                requests: RelayHost.Requests(
                    keyframe: { [weak self] in self?.viewer.wantKeyframe() },
                    exact: { [weak self] in self?.viewer.wantExact($0) },
                    takers: { [weak self] in self?.viewer.setPatchTakers($0) }),
                onNotice: { [weak self] in self?.handle($0) })
            state.withLock { $0.host = host }
            telling.begin { host.tell($0) }
            handlers.onServing(self, host)
        } catch {
            handlers.onFailure("\(error)")
        }
    }

    /// What viewers here have written is passed on to the host, with their names.
    private func handle(_ notice: HostNotice) {
        if case .session(.room(.lines(let lines))) = notice, state.withLock({ $0.takesNotes }) {
            for line in lines where !line.isOwn && !line.isHistory {
                guard case .note(let text) = line.content else { continue }
                viewer.write(.note(RelayCondition.note(text, by: line.name)))
            }
        }
        handlers.onHost(notice)
    }

    // MARK: The host

    private func handle(_ notice: ViewerNotice) {
        if case .chosen(let name) = notice { state.withLock { $0.hostName = name } }
        if case .session(let event) = notice { handle(event) }
        handlers.onViewer(notice)
    }

    private func handle(_ event: ViewerEvent) {
        switch event {
        case .hostReached(let device):
            if device == own {
                handlers.onFailure(
                    "That host is this machine itself: what it shares, its viewers get from it. Run the relay on another machine."
                )
            }
        case .hostRelays(let count):
            if count >= Self.mostRelays {
                handlers.onFailure(
                    "That host is a relay, and its picture comes through \(count) of them already, which is the most. Relay the first host, or one nearer to it."
                )
            }
        case .room(.began(_, let takesNotes)): state.withLock { $0.takesNotes = takesNotes }
        case .hostNamed(let name): state.withLock { $0.hostName = PeerText.name(name) }
        case .paired(_, let name?, _, _):
            state.withLock { $0.hostName = $0.hostName ?? PeerText.name(name) }
        default: break
        }
        telling.handle(event)
    }
}
