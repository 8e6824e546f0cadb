import BeamClock
import BeamDiscovery
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamTrust
import BeamWeb
import BeamWire
import Dispatch
import Synchronization

/// Serves viewers and browsers with frames that another host has encoded: a host without capture and encoder, with codes of its
/// own. Key and remembered viewers are this machine's: who may watch its screen may watch here.
public final class RelayHost: ServingHost {
    public struct Options: Sendable {
        /// What viewers see, in discovery, too.
        public var name: String
        /// Whose picture is passed on, for people.
        public var host: String
        public var store: TrustStore
        public var server: HostServer.Options
        /// What serves browsers; nil: none are let in.
        public var web: WebServer.Options?
        public var isAnnounced = true

        public init(name: String, host: String, store: TrustStore, server: HostServer.Options) {
            (self.name, self.host, self.store, self.server) = (name, host, store, server)
        }
    }

    /// What is asked of the host for those who watch here. Called on any thread.
    public struct Requests: Sendable {
        /// At most once a second.
        public var keyframe: @Sendable () -> Void
        /// Somebody lacks these rectangles of tiles (`ExactTiles`) exactly. It has chosen them: they may lie anywhere.
        public var exact: @Sendable ([PixelRect]) -> Void
        /// Who watches here has changed; nobody does at first.
        public var takers: @Sendable (PatchTakers) -> Void

        public init(
            keyframe: @escaping @Sendable () -> Void, exact: @escaping @Sendable ([PixelRect]) -> Void,
            takers: @escaping @Sendable (PatchTakers) -> Void
        ) {
            (self.keyframe, self.exact, self.takers) = (keyframe, exact, takers)
        }
    }

    private struct State {
        var size: PixelSize
        var isPaused = false
        var frames: UInt64 = 0
        var sounds: UInt64 = 0
        /// For browsers.
        var order = RelayedSoundOrder()
        var picture = RelayedPicture()
    }

    public let description: HostDescription
    public let warnings: [String] = []
    public let code: PairingCode?
    public let webCode: PairingCode?

    private let server: HostServer
    private let web: WebSink?
    private let wanted: EncoderDemand
    private let guests: GuestRegistry
    private let publisher: ServicePublisher?
    private let keyframes: Keyframes
    private let state: Mutex<State>
    private let isStopped = Atomic<Bool>(false)

    /// The stream's highest bit rate isn't known: what is assumed for the first burst of a keyframe, in bits a second.
    private static let assumedBitRate = 20_000_000

    /// Opens the ports.
    ///
    /// - Parameters:
    ///   - size: the pictures' at present.
    ///   - hasPatches: the host may send exact patches.
    ///   - onNotice: called on the host's threads.
    public init(
        _ options: Options, size: PixelSize, hasPatches: Bool, requests: Requests,
        onNotice: @escaping @Sendable (HostNotice) -> Void
    ) throws {
        try DescriptorLimit.prepare()
        let keyframes = Keyframes(requests.keyframe)
        let takers = Takers(requests.takers)
        let guests = GuestRegistry(options.store, onNotice)
        let link = WebSink.Link()
        var network = options.server
        network.session.broadcast = Broadcast.Configuration(
            bitRate: Self.assumedBitRate, hasSound: true, hasPatches: hasPatches, hasReducedLayer: false)
        // Nothing is asked of the encoder but keyframes; who watches says whether patches are wanted.
        let wanted = EncoderDemand(wake: { takers.changed() })
        let viewers = wanted.addConsumer()
        takers.follow(wanted)
        var handlers = HostServer.Handlers(
            onEvent: { event in
                if case .room(let event) = event { link.handle(event) }
                guests.handle(event)
            }, requestKeyframe: { _ in keyframes.wanted() }, onDemand: { viewers.set($0, layer: $1) },
            onBrowser: { link.tell($0, $1) })
        handlers.onExactWanted = requests.exact
        let server = try HostServer(network, handlers: handlers)
        var isStarted = false
        defer { if !isStarted { server.shutdown() } }
        try guests.connect(server)
        if var browsers = options.web {
            browsers.stream = BrowserStream.Configuration(
                bitRate: Self.assumedBitRate, usesFullChroma: false, hasSound: true, hasReducedLayer: false)
            let sink = try WebSink(browsers, door: server, link, onNotice)
            sink.attach(wanted.addConsumer(), sound: SoundWish())
            sink.onKeyframeWanted { keyframes.wanted() }
            web = sink
        } else {
            web = nil
        }
        isStarted = true
        server.setBroadcast(true)
        self.server = server
        self.wanted = wanted
        self.guests = guests
        self.keyframes = keyframes
        publisher = Host.publisher(
            name: options.name, isAnnounced: options.isAnnounced, options.server, server, onNotice)
        state = Mutex(State(size: size))
        code = options.server.session.door.trust.code.current
        webCode = web == nil ? nil : options.server.session.door.webCode?.current
        description = HostDescription(
            name: options.name, source: options.host, size: size, frameRate: 0, bitRate: 0, encoder: "relay",
            bindAddress: options.server.bindAddress, controlPort: server.controlPort, mediaPort: server.mediaPort,
            web: web?.description)
    }

    /// Asks for keyframes, at most once a second.
    private final class Keyframes: Sendable {
        private let state = Mutex(RelayedKeyframes())
        private let ask: @Sendable () -> Void

        init(_ ask: @escaping @Sendable () -> Void) { self.ask = ask }

        func wanted() {
            switch state.withLock({ $0.wanted(now: .now) }) {
            case .ask: ask()
            case .wait(let time):
                let pause = max(0, (time - .now).inSeconds)
                DispatchQueue.global().asyncAfter(deadline: .now() + pause) { [weak self] in self?.due() }
            case .nothing: break
            }
        }

        private func due() {
            if state.withLock({ $0.due(now: .now) }) { ask() }
        }

        func came() { state.withLock { $0.came() } }
    }

    /// Says who watches here, in the order in which that changes.
    private final class Takers: Sendable {
        private struct State {
            weak var demand: EncoderDemand?
            var told: PatchTakers = []
        }

        private let state = Mutex(State())
        private let tell: @Sendable (PatchTakers) -> Void

        init(_ tell: @escaping @Sendable (PatchTakers) -> Void) { self.tell = tell }

        func follow(_ demand: EncoderDemand) { state.withLock { $0.demand = demand } }

        func changed() {
            state.withLock { state in
                let takers = state.demand.map { PatchTakers($0.demand(layer: 0)) } ?? []
                guard takers != state.told else { return }
                state.told = takers
                tell(takers)
            }
        }
    }

    // MARK: What is passed on

    /// Takes the next frame of the host, in order. Doesn't block.
    public func push(_ frame: ReceivedFrame) {
        if frame.isKeyframe { keyframes.came() }
        // Which of its layers the host sends is its own affair: here there is one.
        let encoded = state.withLock { state in
            state.frames += 1
            state.size = frame.unit.size
            return state.picture.frame(frame, now: .now)
        }
        server.submit(encoded)
        web?.push(encoded)
    }

    /// Takes exact pixels of the host. Doesn't block.
    public func push(_ patch: ReceivedPatch) {
        if let patch = state.withLock({ $0.picture.patch(patch) }) { server.submit(patch) }
    }

    /// Takes sound of the host. Doesn't block.
    public func push(_ sound: ReceivedSound) {
        let isInOrder = state.withLock { state in
            state.sounds += 1
            return state.order.takes(sound.number, begins: sound.begins)
        }
        let encoded = EncodedSound(relaying: sound, now: .now)
        server.submit(encoded, number: sound.number)
        // Browsers get no number, and would hear a packet that comes late in the wrong place.
        if isInOrder { web?.push(encoded) }
    }

    /// What has become of the host, or was written there.
    public func tell(_ change: RelayCondition.Change) {
        switch change {
        case .visibility(let visibility):
            server.setSourceVisibility(visibility)
            web?.setVisibility(visibility)
        case .paused(let isPaused):
            state.withLock { $0.isPaused = isPaused }
            server.write(.alert(isPaused ? .paused : .resumed))
            web?.setPaused(isPaused)
        case .relays(let count): server.setRelays(count + 1)
        case .patches(let isSo): server.setPassesPatches(isSo)
        case .write(let input): server.write(input)
        }
    }

    /// Writes to the viewers.
    public func write(_ input: LogInput) { server.write(input) }

    // MARK: The person

    public var isPaused: Bool { state.withLock { $0.isPaused } }

    public func decide(_ connection: ConnectionID, accept: Bool) { server.decide(connection, accept: accept) }

    public var viewers: [Guest] { server.guests }

    public func sendAway(_ viewer: Guest.Identity, forGood: Bool) {
        guard forGood else { return server.sendAway(viewer) }
        server.block(viewer)
        if case .device(let device) = viewer { guests.forget(device) }
    }

    public func setCode(_ code: PairingCode) { server.setCode(code) }

    public func renewCode() { server.renewCode() }

    public func setWebCode(_ code: PairingCode) { server.setWebCode(code) }

    public func renewWebCode() { server.renewWebCode() }

    public var transcript: TranscriptReport? { nil }

    public func report(sinceStart: Bool) -> HostReport {
        var (session, viewers) = (server.statistics, server.viewers)
        web?.complete(&viewers)
        session.watching += viewers.count { $0.isBrowser && $0.isWatching }
        let (size, frames, sounds) = state.withLock { ($0.size, $0.frames, $0.sounds) }
        return HostReport(
            time: .now, session: session, viewers: viewers, captured: 0, encoded: frames, replaced: 0, size: size,
            layers: [], soundPackets: sounds, recording: nil, capture: nil, encode: nil, isPassedOn: true)
    }

    /// Tells the viewers that this is the end, and closes all connections.
    ///
    /// - Parameter reason: for the viewers' persons, without a full stop; nil: the relay has ended.
    public func stop(because reason: String? = nil) {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        if let reason { server.setFarewell(reason) }
        guests.stop()
        server.shutdown()
        web?.shutdown()
        publisher?.withdraw()
    }
}
