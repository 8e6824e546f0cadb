import BeamClock
import BeamCodec
import BeamIdentity
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamTrust
import Synchronization

/// Watches a screen: network → session → decoder → latest slot → window.
public final class Viewer: Sendable {
    /// Frames between network and decoder: a third of a second at 60 frames a second.
    private static let queueCapacity = 20
    /// In bytes: two frames of the greatest length.
    private static let queueBytes = 16 << 20

    /// The frame rate in the header of a picture file. Pictures come when the screen changes, which the format can't
    /// express.
    private static let nominalFrameRate = 30.0

    let options: ViewerOptions
    let shared: ViewerState
    /// The newest decoded picture, for the window.
    let slot: LatestSlot<Picture>
    private let onNotice: @Sendable (ViewerNotice) -> Void
    private let queue: BoundedQueue<ReceivedFrame>
    let decode: DecodeStage
    private let finder: HostFinder
    private let identity: LocalIdentity
    private let keeper: HostKeeper
    private let trustWatch: TrustWatch

    /// Opens the files. Nothing uses the network before `start`. `onNotice` is called on the viewer's threads.
    public init(_ options: ViewerOptions, onNotice: @escaping @Sendable (ViewerNotice) -> Void) throws {
        try DescriptorLimit.prepare()
        identity = try options.trust.store.identity()
        keeper = try HostKeeper(options.trust.store)
        if !options.trust.pairs, case .name(let name, _) = options.target, !keeper.knows(name) {
            throw UnknownHost(name: name)
        }
        let shared = ViewerState(Self.firstStatus(options.target))
        trustWatch = try keeper.watch(
            { hosts in shared.setRemembered(hosts) }, onWarning: { onNotice(.warning($0)) })
        let slot = LatestSlot<Picture>(replacing: { $0.replacing($1) })
        let queue = BoundedQueue<ReceivedFrame>(
            capacity: Self.queueCapacity, weighing: { $0.unit.bytes.count }, atMost: Self.queueBytes)
        let files = DecodeStage.Files(
            recorder: try options.recordPath.map { path throws in try StreamRecorder(path: path) },
            frames: try options.framesPath.map { path throws in
                try Y4MWriter(path: path, frameRate: Self.nominalFrameRate)
            })
        decode = try DecodeStage(
            options.decoder, bounds: options.bounds, queue: queue, slot: options.window == nil ? nil : slot,
            files: files,
            handlers: DecodeStage.Handlers(
                onPicture: { shared.pictureArrived() },
                onSize: { onNotice(shared.isFirstSize() ? .firstFrame($0) : .resized($0)) },
                onBrokenFrame: { shared.tellClient { $0.decoderFailed() } },
                onRefusedStream: { error in shared.updateStatus { $0.streamRefused(error.description) } },
                onWarning: { onNotice(.warning($0)) },
                onFile: { onNotice(.writing($0, isContinued: $1)) },
                onFileFailure: { onNotice(.fileFailed($0, reason: $1.description)) },
                onFailure: { onNotice(.failed(reason: $0.description)) }))
        self.options = options
        self.onNotice = onNotice
        self.shared = shared
        self.slot = slot
        self.queue = queue
        finder = HostFinder(
            options.target,
            handlers: HostFinder.Handlers(
                onChoices: { choices in
                    shared.change { $0.choices = choices }
                    shared.updateStatus { if choices.isEmpty { $0.searching() } else { $0.picking() } }
                    onNotice(choices.isEmpty ? .searching(name: nil) : .pick(choices))
                },
                onChosen: { name in
                    onNotice(.chosen(name: name))
                    shared.change { $0.choices = nil }
                    shared.updateStatus { $0.chosen(name) }
                },
                onReachable: { shared.hostAppeared() },
                onFound: { shared.updateStatus { $0.found() } },
                onSearching: { name in onNotice(.searching(name: name)) },
                onDiscovery: { problem in shared.updateStatus { $0.discovery(problem: problem) } }))
    }

    /// Finds the host, or connects at once if its address is given. With a window, decoding begins when the window is
    /// open.
    public func start() {
        defer { if options.window == nil { decode.start() } }
        let finder = self.finder
        let queue = self.queue
        let shared = self.shared
        let onNotice = self.onNotice
        let identity = self.identity
        let keeper = self.keeper
        let trust = options.trust
        let buffer = options.buffer
        let wasPlain = trust.allowsUnencrypted && keeper.isPlain(finder.choice)
        shared.setAnnouncer { onNotice(.status($0)) }
        let handlers = ViewerClient.Handlers(
            onEvent: { event in
                shared.updateStatus { $0.handle(event) }
                if case .hostPaired(let host, let name, true) = event {
                    // Reported when the host has been stored.
                    return keeper.remember(host, name: name) { isRemembered, warning in
                        onNotice(.session(.hostPaired(host, name: name, isToBeRemembered: isRemembered)))
                        if let warning { onNotice(.warning(warning)) }
                    }
                }
                if case .hostReached(let host) = event, let address = finder.choice.address {
                    keeper.note(address, of: host) { onNotice(.warning($0)) }
                }
                if case .paired(_, _, true, let isEncrypted) = event, wasPlain || !isEncrypted,
                    let address = finder.choice.address
                {
                    keeper.note(address, isPlain: !isEncrypted)
                }
                onNotice(.session(event))
            },
            onFrame: { frame in
                guard queue.put(frame) == .full else { return }
                // The decoder doesn't keep up, and queued frames are old: continue with a keyframe.
                queue.flush()
                shared.tellClient { $0.decoderFailed() }
            },
            locate: { finder.endpoints() })
        shared.setClientMaker {
            // The host is chosen by now.
            let configuration = ViewerSession.Configuration(
                trust: keeper.trust(trust, identity: identity, choice: finder.choice), code: trust.code,
                asksForCode: trust.asksForCode, allowsUnencrypted: trust.allowsUnencrypted,
                announcedVersion: finder.announcedVersion, wasUnencrypted: wasPlain, buffer: buffer)
            return ViewerClient(identity: identity, session: configuration, handlers: handlers)
        }
        finder.start()
    }

    /// Takes the person's choice among several hosts.
    public func choose(_ choice: HostChoice) { finder.choose(choice) }

    /// Passes on the host's code, which the person has typed.
    public func enter(_ code: PairingCode) {
        shared.updateStatus { $0.codeEntered() }
        shared.tellClient { $0.enter(code) }
    }

    /// The person gives no code: the person at the host is to be asked.
    public func askPerson() {
        shared.updateStatus { $0.personAsked() }
        shared.tellClient { $0.askPerson() }
    }

    /// The present figures, with rates and times since the last call. Call it about once a second; the window's overlay
    /// shows the result.
    public func takeReport() -> ViewerReport {
        let report = makeReport(sinceStart: false)
        shared.update { $0.report = report }
        return report
    }

    /// Totals, and times since the start.
    public func summary() -> ViewerReport { makeReport(sinceStart: true) }

    /// Whether the host has refused, or this viewer has.
    public var isRefused: Bool { shared.read { $0.status.refusal != nil } }

    /// For how many seconds the picture has stood still; nil if it doesn't.
    public var stalledSeconds: Int? { shared.read { $0.status.stalledSeconds } }

    /// Makes `ViewerWindow.run` return. Call it from any thread.
    public func endWindow() { shared.endWindow() }

    /// Ends the session, decodes queued frames, completes the files.
    public func stop() {
        trustWatch.cancel()
        finder.stop()
        shared.stop()?.shutdown()
        decode.stop()
        slot.close()
        if let problem = keeper.finish() { onNotice(.warning(problem)) }
    }

    private func makeReport(sinceStart: Bool) -> ViewerReport {
        let decoded = decode.report(sinceStart: sinceStart)
        let session = shared.client?.statistics ?? shared.read { $0.lastStatistics }
        let replaced = slot.replaced
        return shared.change { state in
            let window = state.presentation.report(sinceStart: sinceStart)
            let rates = state.rates.measure(
                frames: decoded.decoded, bytes: session.bytes, now: .now, sinceStart: sinceStart)
            return ViewerReport(
                session: session, decoded: decoded.decoded, shown: window.shown, replaced: replaced,
                size: decoded.size, decoder: decoded.decoder, framesPerSecond: rates.frames,
                bitsPerSecond: rates.bits,
                times: decoded.times.merging(window.times) { $1 })
        }
    }

    private static func firstStatus(_ target: ViewerOptions.Target) -> ViewerStatus {
        switch target {
        case .endpoint(let endpoint): ViewerStatus(connectingTo: endpoint.description)
        case .name(let name, _): ViewerStatus(searchingFor: name)
        case .anyHost: ViewerStatus(searchingFor: nil)
        }
    }
}
