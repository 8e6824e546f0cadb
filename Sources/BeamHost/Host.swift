import BeamCapture
import BeamCodec
import BeamDiscovery
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamSound
import BeamWeb
import BeamWire
import Synchronization

/// Shares a screen: capture → latest slot → encoder → sinks, of which the network is the first.
public final class Host: Sendable {
    public let description: HostDescription
    /// Warnings from the start, for the person.
    public let warnings: [String]

    private let server: HostServer
    private let room: MeshServer?
    private let slot: LatestSlot<Picture>
    private let capture: CaptureStage
    private let encode: EncodeStage
    /// Nil: the source has no exact pixels to send.
    private let patches: PatchStage?
    /// Nil: no sound is shared.
    private let sound: SoundStage?
    private let publisher: ServicePublisher?
    /// Nil in a room.
    private let guests: GuestRegistry?
    private let isStopped = Atomic<Bool>(false)
    private let sinks: [any FrameSink]
    private let recorder: RecorderSink?
    /// Nil: no browsers are let in.
    private let web: WebSink?
    /// Nil: there are none.
    private let gateways: GatewaySink?
    private let words: HostWords
    private let desktop: HostDesktop
    private let wanted: EncoderDemand
    private let onNotice: @Sendable (HostNotice) -> Void

    /// Opens source, encoder and ports, and starts to share. `onNotice` is called on the host's threads.
    public init(_ options: HostOptions, onNotice: @escaping @Sendable (HostNotice) -> Void) throws {
        try DescriptorLimit.prepare()
        let source = try Self.open(options.source)
        let soundSource = try Self.soundSource(options, source, onNotice)
        let info = source.info
        let settings = EncodeStage.Settings(
            encoder: options.encoder, maxSize: options.maxSize, frameRate: info.frameRate, bitRate: options.bitRate,
            chroma: options.chroma)
        let size = settings.outputSize(for: info.size)
        let encoderSettings = settings.encoderSettings(for: size)
        let encoder = try VideoEncoder(encoderSettings)
        let encoderName = encoder.name

        let slot = LatestSlot<Picture>(replacing: { $0.replacing($1) })
        // Made before any consumer can exist.
        let wanted = EncoderDemand(wake: { slot.nudge() })
        let viewers = wanted.addConsumer()
        let keepsFullLayer = RecordingWish()
        let recorder = try Self.recorder(
            options, hasSound: soundSource != nil, wanted, keepsFullLayer, onNotice)
        var isStarted = false
        defer { if !isStarted { recorder?.close() } }

        let words = try HostWords(
            captionsPath: options.captionsPath, transcriptPath: options.transcriptPath, recorder: recorder,
            onNotice: onNotice)
        defer { if !isStarted { words.close() } }
        let guests = options.room == nil ? GuestRegistry(options.store, onNotice) : nil
        let (soundDemand, webSound, gatewaySound, webLink) = (SoundWish(), SoundWish(), SoundWish(), WebSink.Link())
        let repairs = RepairWish()
        let handlers = Self.handlers(words, webLink, guests, viewers, soundDemand, repairs, onNotice)
        let server = try Self.server(
            options, encoderSettings, hasSound: soundSource != nil,
            hasPointer: options.sendsPatches && source.tellsPointer, handlers)
        let network = NetworkSink(server, consumer: viewers)
        defer { if !isStarted { network.close() } }
        keepsFullLayer.follow { server.setFullLayerKept($0) }
        try guests?.connect(server)
        let web = try Self.web(
            options, bitRate: encoderSettings.bitRate, hasSound: soundSource != nil, server, webLink, wanted, webSound,
            onNotice)
        defer { if !isStarted { web?.close() } }
        let gateways = try Self.gateways(
            options, bitRate: encoderSettings.bitRate, hasSound: soundSource != nil, wanted, gatewaySound, web,
            onNotice)
        // The network comes first, because viewers wait for each frame; and on closing it must not wait for the disk. Gateways
        // come last: one that doesn't answer must not hold up the recording's end.
        let sinks = ([network, web, recorder, gateways] as [(any FrameSink)?]).compactMap { $0 }
        source.onVisibility { Self.tell($0, server, web, onNotice) }
        source.onPointer { server.submit($0) }
        let patches =
            options.sendsPatches
            ? PatchStage(
                wanted, wakeEncoder: { slot.nudge() }, submit: { server.submit($0) }, tell: { server.submit($0) }) : nil
        repairs.follow { patches?.answer($0) }
        let capture = CaptureStage(source, patches: patches, into: slot) { onNotice(.ended($0)) }
        let encode = EncodeStage(
            settings, encoder: encoder, size: size, from: slot, wanted: wanted, patches: patches,
            into: sinks, handlers: Self.encodeHandlers(capture, server, onNotice))
        server.setPictureSize(size)
        for sink in sinks { sink.open() }
        let sound = Self.sound(
            soundSource, options, into: sinks, isRecorded: recorder != nil, viewers: soundDemand, browsers: webSound,
            gateways: gatewaySound, onNotice)
        isStarted = true
        words.start { server.write($0) }
        let desktop = HostDesktop(options, server.controlPort, onLock: { source.setScreenLocked($0) }) { input in
            if let room = options.room { room.write(input) } else { server.write(input) }
        }
        desktop.start()

        self.onNotice = onNotice
        room = options.room
        self.words = words
        self.desktop = desktop
        self.wanted = wanted
        self.sinks = sinks
        self.recorder = recorder
        self.web = web
        self.gateways = gateways
        self.guests = guests
        self.server = server
        self.slot = slot
        self.encode = encode
        self.sound = sound
        self.capture = capture
        self.patches = patches
        publisher = Self.publisher(
            name: options.name, isAnnounced: options.isAnnounced && options.room == nil, options.server, server,
            onNotice)
        warnings = info.warnings
        code = options.server.session.door.trust.code.current
        description = HostDescription(
            name: options.name, source: info.description, size: size, frameRate: info.frameRate,
            bitRate: encoderSettings.bitRate, encoder: encoderName, bindAddress: options.server.bindAddress,
            controlPort: server.controlPort, mediaPort: server.mediaPort, web: web?.description)
        webCode = web == nil ? nil : options.server.session.door.webCode?.current
    }

    /// Answers `HostEvent.viewerAsks`.
    public func decide(_ connection: ConnectionID, accept: Bool) { server.decide(connection, accept: accept) }

    /// While the host is paused nothing is captured, and viewers keep the last picture.
    public var isPaused: Bool { capture.isPaused }

    public func setPaused(_ isPaused: Bool) {
        guard capture.setPaused(isPaused) else { return }
        sound?.setPaused(isPaused)
        web?.setPaused(isPaused)
        if let room { room.setPaused(isPaused) } else { server.write(.alert(isPaused ? .paused : .resumed)) }
        onNotice(.paused(isPaused))
    }

    /// Reads this machine's addresses again, for what is announced over Bluetooth, and keeps the machine awake while
    /// somebody watches or it is recorded. Call it once a second.
    public func refresh() {
        desktop.updateAddresses()
        desktop.setWatched(wanted.isWatched)
    }

    /// Writes to the room: a caption, a note, an alert, a message.
    public func write(_ input: LogInput) { server.write(input) }

    /// The admitted viewers, in the order of admission. Not on the event loop.
    public var viewers: [Guest] { server.guests }

    /// Ends the viewer's stream. It may come again a minute later; `forGood`: it is kept out until this host ends, and has
    /// to be paired anew after that.
    public func sendAway(_ viewer: Guest.Identity, forGood: Bool) {
        guard forGood else { return server.sendAway(viewer) }
        server.block(viewer)
        if case .device(let device) = viewer { guests?.forget(device) }
    }

    /// Says how those who come from now on are let in: unknown viewers without a code, and unknown viewers at all.
    public func setPolicy(_ acceptance: Door.Acceptance, takesNewViewers: Bool) {
        server.setPolicy(acceptance, takesNewViewers: takesNewViewers)
        web?.setAsksPerson(takesNewViewers && acceptance != .none)
    }

    /// Reads the list of paired devices again. It is followed in any case where the file system tells of changes.
    public func reloadDevices() { guests?.reload() }

    /// The code for unknown viewers at the start; nil: none is accepted.
    public let code: PairingCode?

    /// Replaces the code for unknown viewers.
    public func setCode(_ code: PairingCode) { server.setCode(code) }

    /// Replaces it by a random one, if there is one.
    public func renewCode() { server.renewCode() }

    /// The code for browsers at the start; nil: none is accepted.
    public let webCode: PairingCode?

    /// Replaces the code for browsers.
    public func setWebCode(_ code: PairingCode) { server.setWebCode(code) }

    /// Replaces it by a random one, if there is one.
    public func renewWebCode() { server.renewWebCode() }

    /// The gateways by which browsers can watch now.
    public var gatewayDoors: [GatewayDoor] { gateways?.doors ?? [] }

    /// Totals; the stages' times since the last report, or since the start.
    public func report(sinceStart: Bool = false) -> HostReport {
        let encoded = encode.report(sinceStart: sinceStart)
        var (session, viewers) = (server.statistics, server.viewers)
        web?.complete(&viewers)
        session.watching += viewers.count { $0.isBrowser && $0.isWatching }
        return HostReport(
            time: .now, session: session, viewers: viewers, captured: capture.captured,
            encoded: encoded.encoded,
            replaced: slot.replaced + encoded.leftOut, size: encoded.size, layers: encoded.layers,
            soundPackets: sound?.report.packets, recording: recorder?.report, capture: encoded.capture,
            encode: encoded.encode, gateways: gateways?.figures ?? [])
    }

    /// What was written into the transcript; nil: there is none, or its failure was reported.
    public var transcript: TranscriptReport? { words.report }

    /// Stops in this order: trust store, sound, capture, encoder, sinks, announcement. Returns when all have ended.
    ///
    /// The network is the first sink: viewers are told that the host has ended, and nothing else before.
    ///
    /// - Parameter reason: for the viewers' persons, without a full stop; nil: the host has ended.
    public func stop(because reason: String? = nil) {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        recorder?.markEnd()
        if let reason { server.setFarewell(reason) }
        guests?.stop()
        words.stopReading()
        desktop.stop()
        sound?.stop()
        capture.stop()
        slot.close()
        encode.join()
        patches?.stop()
        for sink in sinks { sink.close() }
        words.close()
        publisher?.withdraw()
    }
}
