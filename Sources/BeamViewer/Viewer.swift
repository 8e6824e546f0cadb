import BeamClock
import BeamCodec
import BeamDisplay
import BeamIdentity
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamSockets
import BeamSound
import BeamTrust
import BeamWire
import BeamWords

/// Watches a screen: network → session → decoder → latest slot → window.
public final class Viewer: Sendable {
    let options: ViewerOptions
    let shared: ViewerState
    /// The newest decoded picture, for the window.
    let slot: LatestSlot<Picture>
    private let words: ViewerWords
    /// Plays the sound; nil: it isn't played.
    let sound: SoundPlayer?
    private let soundFiles: SoundFiles?
    /// Nil in a room, which finds its members and knows them, and of a sender at a receiver, who has come by itself.
    private let sought: SoughtHost?
    private let loop: NetworkLoop?
    private let onNotice: @Sendable (ViewerNotice) -> Void
    let decode: DecodeStage
    /// Exact patches for the window; nil: they aren't taken.
    let patches: PatchBox?
    /// The pointer for the window; nil: it is to be in the pictures.
    let pointer: PointerBox?
    /// Nil: this viewer is no relay.
    private let passing: PassingStage?
    /// In the order in which they are closed: sound comes before the recording is completed.
    private let sinks: [any ViewerSink]
    private let identity: LocalIdentity

    /// Opens the files. Nothing uses the network before `start`. `onNotice` is called on the viewer's threads.
    public convenience init(_ options: ViewerOptions, onNotice: @escaping @Sendable (ViewerNotice) -> Void) throws {
        try self.init(options, sharing: nil, onNotice: onNotice)
    }

    /// `shared`: what it uses together with other viewers; nil: it has all of its own.
    init(
        _ options: ViewerOptions, sharing resources: ViewerResources?,
        onNotice: @escaping @Sendable (ViewerNotice) -> Void
    ) throws {
        try DescriptorLimit.prepare()
        identity = try options.trust.store.identity()
        let status = Self.firstStatus(options)
        let shared = ViewerState(
            status, wishes: ViewerWishes(quality: options.quality, bounds: options.bounds.largest))
        let slot = LatestSlot<Picture>(replacing: { $0.replacing($1) })
        let files = try ViewerFiles(options, onNotice) { shared.tellClient { $0.decoderFailed() } }
        let decode = try DecodeStage(
            options.decoder, bounds: options.bounds, slot: options.window == nil ? nil : slot, files: files,
            pool: resources?.decoders,
            handlers: DecodeStage.Handlers(
                onPicture: { shared.pictureArrived($0) },
                onSize: { onNotice(shared.isFirstSize() ? .firstFrame($0) : .resized($0)) },
                onBrokenFrame: { shared.tellClient { $0.decoderFailed() } },
                onRefusedStream: { error in shared.updateStatus { $0.streamRefused(error.description) } },
                onWarning: { onNotice(.warning($0)) },
                onFailure: { onNotice(.failed(reason: $0.description)) }))
        let soundFiles = SoundFiles(files) { onNotice(.warning($0.description)) }
        let sound = Self.player(options, shared, isAlone: resources == nil, isKept: soundFiles != nil, onNotice)
        let passing = options.relay.map {
            PassingStage($0, shared) { onNotice(shared.isFirstSize() ? .firstFrame($0) : .resized($0)) }
        }
        self.passing = passing
        let patches =
            options.window != nil && options.takesPatches && passing == nil && !files.haveVideo ? PatchBox(shared) : nil
        self.patches = patches
        let isShown = passing == nil && (options.window != nil || files.haveVideo)
        shared.wish { $0.patchTakers = patches != nil ? .exact : isShown ? .video : [] }
        // In a room others may get the picture from here. They wouldn't see the pointer.
        let pointer = patches == nil || options.member != nil ? nil : PointerBox(shared)
        self.pointer = pointer
        let sinks: [(any ViewerSink)?] = passing.map { [$0] } ?? [patches, pointer, sound, soundFiles, decode]
        self.sinks = sinks.compactMap { $0 }
        self.decode = decode
        self.soundFiles = soundFiles
        self.sound = sound
        words = ViewerWords(files)
        if let path = options.transcriptPath {
            onNotice(.writing(OutputPath(kind: .transcript, path: path), isContinued: false))
        }
        self.options = options
        self.onNotice = onNotice
        loop = resources?.loop
        self.shared = shared
        self.slot = slot
        sought =
            options.member == nil && options.sender == nil
            ? try SoughtHost(options, shared, identity, nearby: resources?.nearby, onNotice) : nil
    }

    /// What plays the sound, if it is to be played and can be decoded.
    ///
    /// - Parameters:
    ///   - isAlone: no other viewer is in the window, so this one is heard.
    ///   - isKept: files want the sound, too.
    private static func player(
        _ options: ViewerOptions, _ shared: ViewerState, isAlone: Bool, isKept: Bool,
        _ onNotice: @escaping @Sendable (ViewerNotice) -> Void
    ) -> SoundPlayer? {
        guard options.sound.plays else { return nil }
        do throws(SoundError) {
            let player = try SoundPlayer(
                output: options.sound.output, mode: options.sound.sync, pictureBuffer: options.buffer ?? .zero,
                handlers: SoundPlayer.Handlers(
                    onHold: { hold in shared.wish { $0.pictureHold = hold } },
                    onAudible: { isAudible in shared.wish { $0.sound = isAudible || isKept } },
                    onState: { onNotice(.sound($0)) }))
            // A wall's or a room's window says which one is heard.
            player.setAudible(isAlone)
            return player
        } catch {
            onNotice(.warning(error.description))
            return nil
        }
    }

    /// Finds the host, or connects at once if its address is given. With a window, decoding begins when the window is
    /// open. It lives until `stop`.
    public func start() {
        for sink in sinks where sink !== decode { sink.open() }
        shared.setAnnouncer { [onNotice] in onNotice(.status($0)) }
        let cameras = decode.cameras
        if !cameras.isEmpty {
            shared.setPictureWatch { isCurrent in for camera in cameras { camera.setHidden(!isCurrent) } }
        }
        shared.setClientMaker { [self] in makeClient() }
        if let sought { sought.start() } else { shared.hostAppeared() }
        if options.window == nil, passing == nil { decode.open() }
    }

    // MARK: The session

    private func makeClient() -> ViewerClient {
        let fixed = options.sender.map { [$0.endpoint] } ?? []
        var handlers = ViewerClient.Handlers(
            onEvent: { [self] in handle($0) }, sinks: sinks,
            locate: { [sought] in sought?.finder.endpoints() ?? fixed })
        handlers.wishes = { [shared] in shared.read { $0.wishes } }
        handlers.hints = { [sought] in sought?.finder.hints() ?? [] }
        handlers.onReached = { [self] in reached($0, at: $1) }
        handlers.onOtherHost = { [sought] in sought?.finder.foundOther(at: $0) }
        var session =
            sought?.session
            ?? ViewerSession.Configuration(
                trust: trustWithoutStore, buffer: options.buffer,
                // A room has words of its own.
                room: options.member == nil
                    ? LogOptions(signing: identity.roomSigning, name: options.trust.deviceName) : nil)
        // In a room others may get it from here.
        session.takesSound = sound != nil || soundFiles != nil || options.member != nil || passing != nil
        // In a room others may get them from here.
        session.takesPatches = patches != nil || options.member != nil || passing != nil
        session.takesPointer = pointer != nil
        // All who watch there can decode 4:2:0.
        if passing != nil { session.decodesFullChroma = false }
        guard let member = options.member else {
            let client = ViewerClient(
                identity: identity, session: session, handlers: handlers, options: ViewerClient.Options(loop: loop))
            if passing != nil { client.setRelayed() }
            return client
        }
        return ViewerClient(
            in: member.room, watching: member.device, called: member.name, session: session, handlers: handlers)
    }

    /// The sender's key is known; in a room its session has the trust.
    private var trustWithoutStore: ViewerTrust {
        var trust = ViewerTrust(
            own: identity.deviceKey, name: options.trust.deviceName, instance: .random(in: 0 ... .max))
        if let sender = options.sender {
            (trust.known, trust.required) = ([sender.device: sender.name], [sender.device])
            (trust.pairs, trust.remembersNewHosts) = (false, false)
        }
        return trust
    }

    private func handle(_ event: ViewerEvent) {
        if case .room(let words) = event {
            self.words.handle(words)
            if ShareCondition.isConcerned(by: words) { shared.updateStatus { $0.handle(event) } }
            if options.window != nil { shared.update { $0.words.handle(words, now: .now) } }
            return onNotice(.session(event))
        }
        shared.updateStatus { $0.handle(event) }
        switch event {
        case .hostHasSound: soundFiles?.expectSound()
        // The last picture was removed meanwhile, and a still screen sends no other by itself.
        case .paired(_, _, false, _) where shared.read({ $0.status.isWaitingForPicture }):
            shared.tellClient { $0.decoderFailed() }
        default: break
        }
        if let sought { sought.handle(event) } else { onNotice(.session(event)) }
    }

    private func reached(_ host: DeviceKey, at endpoint: Endpoint) {
        // What this machine plays would be shared and played again, without end.
        let isThisMachine = host == identity.deviceKey || LocalAddresses.isOwn(endpoint.host)
        if isThisMachine, !options.sound.insists, sound?.silence() == true { onNotice(.soundIsOwn) }
        sought?.reached(host, at: endpoint)
    }

    // MARK: The person

    /// The host that was named is a paired one.
    public var knowsHost: Bool {
        guard case .name(let name, _) = options.target else { return false }
        return sought?.keeper.knows(name) ?? false
    }

    /// Takes the person's choice among several hosts.
    public func choose(_ choice: HostChoice) {
        guard choice.roomCommand == nil else { return }
        sought?.finder.choose(choice)
    }

    /// Takes what the person has typed in the list of hosts. Nothing happens if it is no address.
    func choose(typed text: String) {
        guard case .target(let target, _)? = options.readAddress?(text) else { return }
        sought?.finder.choose(target)
    }

    /// In a room of equals: whether the member has paused what it shares.
    func setHeldByMember(_ isHeld: Bool) { shared.updateStatus { $0.heldByMember(isHeld) } }

    /// In a room of equals: through whom its pictures come, or can only be got.
    func setRelay(_ name: String?, needed: String?) {
        shared.updateStatus { $0.relayed(by: name, needed: needed) }
    }

    /// Passes on the host's code, which the person has typed.
    public func enter(_ code: PairingCode) {
        guard !shared.read({ $0.status.isRefused }) else { return tryAgain(.code(code)) }
        shared.updateStatus { $0.codeEntered() }
        shared.tellClient { $0.enter(code) }
    }

    /// Tells the receiver that what is shared here can be watched at this TCP port.
    public func offerScreen(at port: UInt16) { shared.tellClient { $0.offerScreen(at: port) } }

    /// Writes to the room: a note, a message. What is written before the host is found is kept for its room; if that
    /// is too much, a room event says that it isn't written.
    public func write(_ input: LogInput) {
        guard !shared.write(input) else { return }
        switch input {
        case .message(let id, _, _): onNotice(.session(.room(.undelivered(id: id, reason: .full))))
        case .note(let text): onNotice(.session(.room(.unwritten(.note(text), reason: .full))))
        case .caption, .partial, .alert: break
        }
    }

    /// At a relay: somebody there needs a keyframe.
    public func wantKeyframe() { shared.tellClient { $0.wantKeyframe() } }

    /// At a relay: who watches there.
    public func setPatchTakers(_ takers: PatchTakers) { shared.wish { $0.patchTakers = takers } }

    /// Whether its sound is heard: of several viewers in a window, one's.
    func setAudible(_ isAudible: Bool) { sound?.setAudible(isAudible) }

    /// A picture was shown in the window, at `time`.
    func pictureShown(_ picture: Picture, at time: MediaTime) {
        shared.change { $0.presentation.record(picture, at: time) }
        sound?.pictureShown(picture, at: time)
    }

    /// Tells the host that the picture is shown in at most this size, in pixels: it may send a smaller one. Nil: as large
    /// as there is.
    func setShownSize(_ size: PixelSize?) { shared.wish { $0.shownSize = size } }

    /// These rectangles of tiles (`ExactTiles`) aren't exact in the window, or at a relay's viewers.
    public func wantExact(_ tiles: [PixelRect]) { shared.tellClient { $0.wantExact(tiles) } }

    /// The window shows all exactly: asks the host for hashes to compare it with.
    func wantHashes() { shared.tellClient { $0.wantHashes() } }

    /// The most that the host is to send here from now on. What becomes of it is told by `ViewerEvent.quality`. Call it from
    /// any thread, as often as you like.
    public func setQuality(_ wish: QualityWish) { shared.wish { $0.quality = wish } }

    /// The most that the host is to send here at present.
    public var quality: QualityWish { shared.read { $0.wishes.quality } }

    /// The person gives no code: the person at the host is to be asked.
    public func askPerson() {
        guard !shared.read({ $0.status.isRefused }) else { return tryAgain(.person) }
        shared.updateStatus { $0.personAsked() }
        shared.tellClient { $0.askPerson() }
    }

    /// Connects at once, in place of waiting for the next attempt; after a refusal, asks to be let in once more.
    func tryAgain() {
        guard !shared.read({ $0.status.isRefused }) else { return tryAgain(.person) }
        shared.hostAppeared(announcedVersion: sought?.finder.announcedVersion)
    }

    /// The window's person has taken a screenshot of it.
    func tell(_ screenshot: ScreenshotOutcome) { onNotice(.screenshot(screenshot)) }

    /// After a refusal: begins anew, with what the person wants.
    private func tryAgain(_ wish: ViewerWish) {
        guard let sought, shared.read({ $0.status.retry }) != nil else { return }
        shared.retireClient()?.shutdown()
        shared.change { $0.wish = wish }
        shared.updateStatus { $0.tryingAgain() }
        shared.hostAppeared(announcedVersion: sought.finder.announcedVersion)
    }

    /// Whether there is a list of hosts to which the person can go back. Files that are written are of one host.
    var canChooseAgain: Bool {
        guard let sought, options.recordPath == nil, options.framesPath == nil, options.sound.path == nil,
            options.transcriptPath == nil
        else { return false }
        return sought.finder.hasList
    }

    /// Ends watching the present host, and offers the list of hosts again. Call it on the window's thread.
    func chooseAgain() {
        guard canChooseAgain, let sought else { return }
        sought.finder.forgetChoice()
        shared.retireClient()?.shutdown()
        decode.flush()
        _ = slot.takeIfPresent()
        _ = pointer?.take()
        shared.forgetHost()
        shared.change { $0.wish = nil }
        shared.updateStatus { $0 = ViewerStatus(searchingFor: nil) }
        sought.offerAgain()
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

    /// What was recorded; nil: there is no recording.
    public var recording: BackgroundRecorder.Report? { decode.recording }

    /// What was written into the transcript; nil: there is none, or its failure was reported.
    public var transcript: TranscriptReport? { words.report }

    /// Whether the host has refused, or this viewer has.
    public var isRefused: Bool { shared.read { $0.status.refusal != nil } }

    /// For how many seconds the picture has stood still; nil if it doesn't.
    public var stalledSeconds: Int? { shared.read { $0.status.stalledSeconds } }

    /// Makes `ViewerWindow.run` return. Call it from any thread.
    public func endWindow() { shared.endWindow() }

    /// Ends the session, decodes queued frames, completes the files.
    public func stop() {
        decode.endRecording()
        sought?.end()
        shared.stop()?.shutdown()
        for sink in sinks { sink.close() }
        slot.close()
        words.close()
        sought?.finish()
    }

    private func makeReport(sinceStart: Bool) -> ViewerReport {
        let decoded = decode.report(sinceStart: sinceStart)
        let session = shared.client?.statistics ?? shared.read { $0.lastStatistics }
        let replaced = slot.replaced
        return shared.change { state in
            let window = state.presentation.report(sinceStart: sinceStart)
            let rates = state.rates.measure(
                frames: passing?.frames ?? decoded.decoded, bytes: session.bytes, now: .now, sinceStart: sinceStart)
            return ViewerReport(
                session: session, decoded: passing?.frames ?? decoded.decoded, shown: window.shown, replaced: replaced,
                size: passing?.size ?? decoded.size, decoder: decoded.decoder,
                patches: state.exactness == nil ? nil : patches?.total, exactness: state.exactness,
                framesPerSecond: rates.frames, bitsPerSecond: rates.bits, sound: sound?.figures,
                times: decoded.times.merging(window.times) { $1 }, isPassedOn: passing != nil)
        }
    }

    static func firstStatus(_ options: ViewerOptions) -> ViewerStatus {
        let come = options.member?.name ?? options.sender?.name
        var status = come.map { ViewerStatus(connectingTo: PeerText.name($0)) } ?? statusOfSearch(options)
        status.isAtReceiver = options.isAtReceiver
        status.isSentHere = options.sender != nil
        return status
    }

    private static func statusOfSearch(_ options: ViewerOptions) -> ViewerStatus {
        switch options.target {
        case .endpoint(let endpoint) where options.isAtRoomDoor: .atRoomDoor(endpoint.description)
        case .endpoint(let endpoint): ViewerStatus(connectingTo: endpoint.description, isAddress: true)
        case .name(let name, _): ViewerStatus(searchingFor: name)
        case .anyHost: ViewerStatus(searchingFor: nil)
        }
    }
}
