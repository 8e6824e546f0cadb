import BeamClock
import BeamMedia
import BeamNetwork
import BeamSession
import Synchronization

/// One viewer: a `ViewerClient` that records its frames instead of decoding them.
final class LightViewer: Sendable {
    /// A frame that a real viewer would decode.
    struct Frame {
        var number: UInt32
        var layer: UInt8
        var isKeyframe: Bool
        /// In bytes, without headers.
        var length: Int
        /// When its last datagram arrived.
        var completed: MediaTime
        /// The capture time, as this viewer estimates it.
        var captured: MediaTime?
    }

    struct State {
        var paired: MediaTime?
        var firstKeyframe: MediaTime?
        var frames: [Frame] = []
        /// Why it ended by itself; nil if it didn't.
        var ended: String?
        /// Other events: control connections lost and restored, stalls.
        var troubles: [String] = []
    }

    /// Most entries of `State.troubles`.
    fileprivate static let mostTroubles = 20

    let number: Int
    let group: String
    /// When it began to connect.
    let start: MediaTime
    private let state: State.Shared
    private let client: ViewerClient

    init(
        number: Int, group: String, host: String, port: UInt16, population: Population, options: ViewerClient.Options
    ) throws {
        self.number = number
        self.group = group
        let (identity, trust) = try population.viewer(number)
        let state = State.Shared()
        self.state = state
        start = .now
        let endpoint = Endpoint(host: host, port: port)
        client = ViewerClient(
            identity: identity, session: ViewerSession.Configuration(trust: trust),
            handlers: ViewerClient.Handlers(
                onEvent: { event in state.value.withLock { $0.note(event) } }, sinks: [state], locate: { [endpoint] }),
            options: options)
        client.begin()
    }

    /// Leaves, and returns its frames and events.
    func end() -> (state: State, statistics: ViewerStatistics) {
        client.shutdown()
        return (state.value.withLock { $0 }, client.statistics)
    }
}

extension LightViewer.State {
    /// The network's thread writes, the main thread reads at the end.
    final class Shared: ReceivedSink {
        let value = Mutex(LightViewer.State())

        func push(_ frame: ReceivedFrame) { value.withLock { $0.note(frame) } }
    }

    fileprivate mutating func note(_ frame: ReceivedFrame) {
        if frame.isKeyframe, firstKeyframe == nil { firstKeyframe = frame.lastArrival }
        frames.append(
            LightViewer.Frame(
                number: frame.number, layer: UInt8(clamping: frame.layer), isKeyframe: frame.isKeyframe,
                length: frame.unit.range.count, completed: frame.lastArrival, captured: frame.captureTime))
    }

    fileprivate mutating func note(_ event: ViewerEvent) {
        switch event {
        case .paired: paired = paired ?? .now
        case .refused(let refusal): ended = refusal.reason
        case .controlLost(let reason): note("the control connection was lost: \(reason)")
        case .retrying(_, let reason): note("retrying: \(reason)")
        case .stalled: note("stalled")
        case .mediaReconnecting: note("the media socket was replaced")
        default: break
        }
    }

    private mutating func note(_ trouble: String) {
        if troubles.count < LightViewer.mostTroubles { troubles.append(trouble) }
    }
}
