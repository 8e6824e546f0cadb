import BeamCapture
import BeamCodec
import BeamDiscovery
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamSound
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
    /// Nil: no sound is shared.
    private let sound: SoundStage?
    private let publisher: ServicePublisher?
    /// Nil in a room.
    private let guests: GuestRegistry?
    private let isStopped = Atomic<Bool>(false)
    private let sinks: [any FrameSink]
    private let recorder: RecorderSink?
    private let words: HostWords
    private let desktop: HostDesktop
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
        let recorder = try options.recordPath.map { path throws in
            try RecorderSink(
                path: path, captions: true, sound: soundSource != nil, consumer: wanted.addConsumer(),
                handlers: RecorderSink.Handlers(
                    onFile: { onNotice(.recordingInto(path: $0)) }, onGap: { onNotice(.recordingHasGaps) },
                    onRecording: { keepsFullLayer.set($0) },
                    onFailure: { onNotice(.recordingFailed(reason: $0.description)) }))
        }
        var isStarted = false
        defer { if !isStarted { recorder?.close() } }

        let words = try HostWords(
            captionsPath: options.captionsPath, transcriptPath: options.transcriptPath, recorder: recorder,
            onNotice: onNotice)
        defer { if !isStarted { words.close() } }
        let guests = options.room == nil ? GuestRegistry(options.store, onNotice) : nil
        var network = options.server
        network.session.broadcast.bitRate = encoderSettings.bitRate
        network.session.broadcast.hasSound = soundSource != nil
        network.session.broadcast.usesFullChroma = options.chroma != .subsampled
        let soundDemand = SoundWish()
        let handlers = HostServer.Handlers(
            onEvent: { event in
                if case .room(let event) = event { words.handle(event) }
                if let guests { guests.handle(event) } else { onNotice(.session(event)) }
            }, requestKeyframe: { viewers.requestKeyframe(layer: $0) },
            onDemand: { viewers.set($0, layer: $1) }, onSoundDemand: { soundDemand.set($0) })
        let server =
            if let room = options.room {
                try HostServer(
                    in: room, mediaPort: network.mediaPort, name: network.session.door.deviceName,
                    broadcast: network.session.broadcast, handlers: handlers)
            } else {
                try HostServer(network, handlers: handlers)
            }
        keepsFullLayer.follow { server.setFullLayerKept($0) }
        try guests?.connect(server)
        // The network comes first, because viewers wait for each frame; and on closing it must not wait for the disk.
        let sinks: [any FrameSink] = [NetworkSink(server, consumer: viewers)] + (recorder.map { [$0] } ?? [])
        source.onVisibility { visibility in
            server.setSourceVisibility(visibility)
            onNotice(.sourceVisibility(visibility))
        }
        let capture = CaptureStage(source, into: slot) { error in
            onNotice(.ended(reason: error.description, farewell: Self.farewell(error)))
        }
        let encode = EncodeStage(
            settings, encoder: encoder, size: size, from: slot, wanted: wanted, into: sinks,
            handlers: EncodeStage.Handlers(
                onActivity: { capture.setActive($0) },
                onResize: { size in
                    server.setPictureSize(size)
                    onNotice(.resized(size))
                },
                onFallback: { name, error in
                    onNotice(
                        .warning("The encoder \(name) has failed, and libx264 goes on in its place. \(error)"))
                },
                onFailure: { onNotice(.ended(reason: $0.description, farewell: nil)) }))
        server.setPictureSize(size)
        for sink in sinks { sink.open() }
        let sound = soundSource.map { source in
            SoundStage(source, bitRate: options.soundBitRate, into: sinks) {
                onNotice(.soundFailed(reason: $0.description))
            }
        }
        if let sound {
            sound.start()
            if recorder != nil { sound.want(SoundDemand(full: true), by: .recorder) }
            soundDemand.follow { sound.want($0, by: .viewers) }
        }
        isStarted = true
        words.start { server.write($0) }
        let desktop = HostDesktop(options, server.controlPort) { input in
            if let room = options.room { room.write(input) } else { server.write(input) }
        }
        desktop.start()

        self.onNotice = onNotice
        room = options.room
        self.words = words
        self.desktop = desktop
        self.sinks = sinks
        self.recorder = recorder
        self.guests = guests
        self.server = server
        self.slot = slot
        self.encode = encode
        self.sound = sound
        self.capture = capture
        publisher =
            options.isAnnounced && options.room == nil
            ? Self.announce(
                options.name, bindAddress: options.server.bindAddress, port: server.controlPort,
                versions: options.server.session.door.allowsUnencrypted ? "1,2" : "2", onNotice: onNotice) : nil
        warnings = info.warnings
        code = options.server.session.door.trust.code.current
        description = HostDescription(
            name: options.name, source: info.description, size: size, frameRate: info.frameRate,
            bitRate: encoderSettings.bitRate, encoder: encoderName, bindAddress: options.server.bindAddress,
            controlPort: server.controlPort, mediaPort: server.mediaPort)
    }

    /// Answers `HostEvent.viewerAsks`.
    public func decide(_ connection: ConnectionID, accept: Bool) { server.decide(connection, accept: accept) }

    /// While the host is paused nothing is captured, and viewers keep the last picture.
    public var isPaused: Bool { capture.isPaused }

    public func setPaused(_ isPaused: Bool) {
        guard capture.setPaused(isPaused) else { return }
        sound?.setPaused(isPaused)
        if let room { room.setPaused(isPaused) } else { server.write(.alert(isPaused ? .paused : .resumed)) }
        onNotice(.paused(isPaused))
    }

    /// Reads this machine's addresses again, for what is announced over Bluetooth. Call it now and then.
    public func updateAddresses() { desktop.updateAddresses() }

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

    /// The code for unknown viewers at the start; nil: none is accepted.
    public let code: PairingCode?

    /// Replaces the code for unknown viewers.
    public func setCode(_ code: PairingCode) { server.setCode(code) }

    /// Replaces it by a random one, if there is one.
    public func renewCode() { server.renewCode() }

    /// Totals; the stages' times since the last report, or since the start.
    public func report(sinceStart: Bool = false) -> HostReport {
        let encoded = encode.report(sinceStart: sinceStart)
        return HostReport(
            time: .now, session: server.statistics, viewers: server.viewers, captured: capture.captured,
            encoded: encoded.encoded,
            replaced: slot.replaced + encoded.leftOut, size: encoded.size, layers: encoded.layers,
            soundPackets: sound?.report.packets, recording: recorder?.report, capture: encoded.capture,
            encode: encoded.encode)
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
        for sink in sinks { sink.close() }
        words.close()
        publisher?.withdraw()
    }

    /// The sound that is shared with what `source` shows; nil: none.
    private static func soundSource(
        _ options: HostOptions, _ source: any PictureSource, _ onNotice: @escaping @Sendable (HostNotice) -> Void
    ) throws(SoundError) -> (any SoundSource)? {
        let target: SoundTarget
        switch options.sound {
        case .off: return nil
        case .automatic:
            // A film or pattern has its own sound, or none.
            guard case .x11 = options.source else { return source.sound }
            target = .automatic
        case .microphone: target = .microphone
        case .named(let name):
            target = .named(name)
            do throws(SoundError) {
                try SoundDevices.find(name)
            } catch {
                // A server that isn't there now is waited for.
                if case .noDevice = error { throw error }
            }
        }
        let capture = PulseCapture(target)
        capture.onState { onNotice(.sound($0)) }
        return capture
    }

    private static func farewell(_ error: CaptureError) -> String? {
        switch error {
        case .windowClosed: "The shared window was closed"
        case .serverGone: "The shared display has gone"
        default: nil
        }
    }

    private static func open(_ source: HostOptions.Source) throws(CaptureError) -> any PictureSource {
        switch source {
        case .x11(let options): try X11Source(options)
        case .pattern(let options): try PatternSource(options)
        case .file(let path): try FileSource(path: path)
        }
    }

    private static func announce(
        _ name: String, bindAddress: String?, port: UInt16, versions: String,
        onNotice: @escaping @Sendable (HostNotice) -> Void
    ) -> ServicePublisher {
        ServicePublisher(
            name: name, type: ServiceType.control, port: port,
            txt: [(key: "deviceName", value: name), (key: "beam", value: versions)]
        ) { event in
            switch event {
            case .published(let name): onNotice(.announced(name: name))
            case .renamed(let from, let to):
                onNotice(.warning("Another machine here is called “\(from)”; viewers find this one as “\(to)”."))
            case .unavailable(let reason), .failed(let reason):
                let address = bindAddress ?? LocalAddresses.list().first
                onNotice(.notDiscoverable(address: address.map { Endpoint(host: $0, port: port) }, reason: reason))
            }
        }
    }
}
