import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamWeb
import BeamWire
import Synchronization

/// Lets browsers in: a host's server, or the door for browsers alone.
protocol BrowserAdmission: AnyObject, Sendable {
    func browser(_ input: Door.Input)
}

extension HostServer: BrowserAdmission {}
extension BrowserDoor: BrowserAdmission {}

/// Browsers at a host: a sink of the stream, beside the network's. Joins what serves their pages with the door that lets
/// them in.
final class WebSink: FrameSink {
    private let web: WebServer
    private let link: Link
    /// It serves one share after another, and isn't closed with a share.
    private let isLasting: Bool
    private let encoder = Mutex(Encoder())

    /// What makes the stream at present, and what browsers want of it.
    private struct Encoder {
        var consumer: EncoderDemand.Consumer?
        var sound: SoundWish?
        var demands = Array(repeating: StreamDemand(), count: StreamDemand.layerCount)
        var soundDemand = SoundDemand()
        var onKeyframeWanted: (@Sendable () -> Void)?
    }

    /// Between the door's server and the one for browsers, each of which tells the other.
    final class Link: Sendable {
        private struct State {
            var web: WebServer?
            /// The sessions of the browsers that were let in, by their connections; never more than the host admits.
            var sessions: [ConnectionID: String] = [:]
            /// Why connections have failed, until they are closed.
            var failures: [ConnectionID: String] = [:]
        }

        private let state = Mutex(State())

        /// What the door says to a browser. On the event loop of the door's server.
        func tell(_ id: ConnectionID, _ verdict: BrowserVerdict) {
            let web = state.withLock { state in
                switch verdict {
                case .admitted(let session): state.sessions[id] = session
                // Its page may have gone before it was admitted.
                case .closed: state.sessions[id] = nil
                default: break
                }
                return state.web
            }
            web?.tell(verdict, to: id)
        }

        /// Captions and notes.
        func handle(_ event: LogEvent) {
            let web = state.withLock { $0.web }
            switch event {
            case .partial(_, _, let partial): web?.tellAll(.caption(partial?.text ?? ""))
            case .lines(let lines):
                for line in lines where !line.isHistory {
                    switch line.content {
                    case .caption(let text, _): web?.tellAll(.caption(text))
                    case .note(let text): web?.tellAll(.note(sender: line.isOwn ? nil : line.name, text))
                    default: break
                    }
                }
            default: break
            }
        }

        fileprivate func connect(_ web: WebServer?) { state.withLock { $0.web = web } }

        fileprivate func session(_ id: ConnectionID) -> String? { state.withLock { $0.sessions[id] } }

        fileprivate func failed(_ id: ConnectionID, reason: String) {
            state.withLock { if $0.sessions[id] != nil { $0.failures[id] = reason } }
        }

        /// Answers why, if that is known.
        fileprivate func closed(_ id: ConnectionID) -> String? {
            state.withLock { state in
                state.sessions[id] = nil
                return state.failures.removeValue(forKey: id)
            }
        }
    }

    /// Opens the ports. The door's handlers tell `link` what it says to browsers.
    ///
    /// - Parameter isLasting: it serves one share after another: `close` ends a share, `shutdown` all.
    init(
        _ options: WebServer.Options, door: any BrowserAdmission, _ link: Link, isLasting: Bool = false,
        _ onNotice: @escaping @Sendable (HostNotice) -> Void
    ) throws(WebError) {
        self.link = link
        self.isLasting = isLasting
        let target = Target()
        web = try WebServer(
            options,
            handlers: WebServer.Handlers(
                onOpened: { door.browser(.browserOpened($0, from: $1)) },
                onHello: { door.browser(.browserHello($0, $1)) },
                onClosed: { door.browser(.browserClosed($0, reason: link.closed($0))) },
                requestKeyframe: { layer in target.sink?.requestKeyframe(layer) },
                onDemand: { demand, layer in target.sink?.want(demand, layer: layer) },
                onSoundDemand: { demand in target.sink?.want(demand) },
                onEvent: { event in Self.report(event, link, onNotice) }))
        target.set(self)
        link.connect(web)
        if isLasting { web.tellAll(.idle) }
    }

    /// The sink, for handlers that are made before it.
    private final class Target: Sendable {
        private struct Reference: Sendable {
            weak var sink: WebSink?
        }

        private let reference = Mutex(Reference())

        var sink: WebSink? { reference.withLock { $0.sink } }

        func set(_ sink: WebSink) { reference.withLock { $0.sink = sink } }
    }

    // MARK: The encoder

    /// A share begins. Before its first frame.
    ///
    /// - Parameter bitRate: the options' bits a second; nil: the server knows them already.
    func attach(_ consumer: EncoderDemand.Consumer, sound: SoundWish, bitRate: Int? = nil) {
        encoder.withLock { encoder in
            (encoder.consumer, encoder.sound) = (consumer, sound)
            for (layer, demand) in encoder.demands.enumerated() { consumer.set(demand, layer: layer) }
            sound.set(encoder.soundDemand)
        }
        guard let bitRate else { return }
        // Whoever waits asks for a keyframe now.
        web.restart(bitRate: bitRate)
        web.tellAll(.shared)
    }

    /// Tells somebody else that a keyframe is needed, because no encoder asks.
    func onKeyframeWanted(_ tell: @escaping @Sendable () -> Void) { encoder.withLock { $0.onKeyframeWanted = tell } }

    private func requestKeyframe(_ layer: Int) {
        let (consumer, tell) = encoder.withLock { ($0.consumer, $0.onKeyframeWanted) }
        consumer?.requestKeyframe(layer: layer)
        tell?()
    }

    private func want(_ demand: StreamDemand, layer: Int) {
        encoder.withLock { encoder in
            encoder.demands[layer] = demand
            encoder.consumer?.set(demand, layer: layer)
        }
    }

    private func want(_ demand: SoundDemand) {
        encoder.withLock { encoder in
            encoder.soundDemand = demand
            encoder.sound?.set(demand)
        }
    }

    /// Where browsers come.
    var description: HostDescription.Web {
        HostDescription.Web(
            port: web.port, mediaPort: web.mediaPort, packetsUnavailable: web.packetsUnavailable,
            fingerprint: web.certificateFingerprint)
    }

    private static func report(_ event: WebEvent, _ link: Link, _ onNotice: (HostNotice) -> Void) {
        switch event {
        case .stream(.started(let id, let time)):
            if let session = link.session(id) {
                onNotice(.browserStarted(session: session, after: time, gateway: nil))
            }
        case .stream(.layer(let id, let isReduced)):
            if let session = link.session(id) {
                onNotice(.session(.layerChanged(session: session, isReduced: isReduced)))
            }
        case .stream(.evict(let id, let reason)):
            link.failed(
                id,
                reason: reason == .noReports
                    ? "nothing has come from its player for 30 s" : "it has shown nothing for 30 s")
        // Told by the figures.
        case .stream(.behind), .stream(.caughtUp): break
        case .failed(let id, let reason): link.failed(id, reason: reason)
        case .startedAtGateway(let id, let gateway, let time):
            if let session = link.session(id) {
                onNotice(.browserStarted(session: session, after: time, gateway: gateway))
            }
        case .acceptingPaused(let reason): onNotice(.session(.acceptingPaused(reason: reason)))
        case .listeningFailed(let reason): onNotice(.session(.listeningFailed(reason: reason)))
        case .listeningAgain: onNotice(.session(.listeningAgain))
        }
    }

    // MARK: The stream

    func open() {}

    func push(_ frame: EncodedFrame) {
        if encoder.withLock({ $0.consumer })?.takes(frame) ?? false { web.submit(frame) }
    }

    func push(_ sound: EncodedSound) { web.submit(sound) }

    /// The share ends. At a host the pages were told by its door.
    func close() {
        guard isLasting else { return shutdown() }
        encoder.withLock { ($0.consumer, $0.sound) = (nil, nil) }
        // What is told now holds until something else is said, and another share begins unpaused.
        for notice: PageNotice in [.resumed, .sourceVisibility(.visible), .caption(""), .idle] { web.tellAll(notice) }
        web.restart(bitRate: 0)
    }

    /// The pages were told by the door that this is the end.
    func shutdown() {
        web.shutdown()
        link.connect(nil)
    }

    // MARK: What pages are told

    func setAsksPerson(_ asksPerson: Bool) { web.setAsksPerson(asksPerson) }

    func setPaused(_ isPaused: Bool) { web.tellAll(isPaused ? .paused : .resumed) }

    func setVisibility(_ visibility: SourceVisibility) { web.tellAll(.sourceVisibility(visibility)) }

    /// Those that carry the stream at present.
    func setGateways(_ gateways: [GatewayDoor]) { web.setGateways(gateways) }

    // MARK: Figures

    /// Enters what is known of the browsers' streams.
    func complete(_ viewers: inout [ViewerFigures]) {
        let known = Dictionary(
            web.figures.compactMap { figures in link.session(figures.id).map { ($0, figures) } },
            uniquingKeysWith: { $1 })
        for index in viewers.indices where viewers[index].isBrowser {
            guard let figures = known[viewers[index].session] else { continue }
            (viewers[index].gateway, viewers[index].isWatching) = (figures.gateway, figures.isWatching)
            guard let stream = figures.stream else { continue }
            viewers[index].isWatching = stream.frames > 0
            viewers[index].isReduced = stream.isReduced
            (viewers[index].frames, viewers[index].keyframes) = (stream.frames, stream.keyframes)
            (viewers[index].skipped, viewers[index].datagrams) = (stream.skipped, stream.packets + stream.resent)
            (viewers[index].bytes, viewers[index].retransmissions) = (stream.bytes, stream.resent)
            (viewers[index].loss, viewers[index].roundTrip) = (stream.loss, stream.roundTrip)
        }
    }
}
