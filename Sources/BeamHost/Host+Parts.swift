import BeamCapture
import BeamCodec
import BeamDiscovery
import BeamMedia
import BeamNetwork
import BeamSession
import BeamSound
import BeamWeb

/// What a host is made of, and what its parts tell each other and the person.
extension Host {
    typealias Notify = @Sendable (HostNotice) -> Void

    /// A server of its own, or a member's share in its room.
    static func server(
        _ options: HostOptions, _ encoder: EncoderSettings, hasSound: Bool, hasPointer: Bool,
        _ handlers: HostServer.Handlers
    ) throws -> HostServer {
        var network = options.server
        network.session.broadcast.bitRate = encoder.bitRate
        network.session.broadcast.frameRate = encoder.frameRate
        network.session.broadcast.hasSound = hasSound
        network.session.broadcast.hasPatches = options.sendsPatches
        network.session.broadcast.hasHashes = options.sendsPatches
        network.session.broadcast.hasPointer = hasPointer
        network.session.broadcast.usesFullChroma = options.chroma != .subsampled
        guard let room = options.room else { return try HostServer(network, handlers: handlers) }
        return try HostServer(
            in: room, mediaPort: network.mediaPort, name: network.session.door.deviceName,
            broadcast: network.session.broadcast, handlers: handlers)
    }

    /// What the host's server tells: the words, the browsers, the list of viewers and the encoder.
    static func handlers(
        _ words: HostWords, _ browsers: WebSink.Link, _ guests: GuestRegistry?, _ viewers: EncoderDemand.Consumer,
        _ sound: SoundWish, _ repairs: RepairWish, _ onNotice: @escaping Notify
    ) -> HostServer.Handlers {
        var handlers = HostServer.Handlers(
            onEvent: { event in
                if case .room(let event) = event {
                    words.handle(event)
                    browsers.handle(event)
                }
                if let guests { guests.handle(event) } else { onNotice(.session(event)) }
            }, requestKeyframe: { viewers.requestKeyframe(layer: $0) },
            onDemand: { viewers.set($0, layer: $1) }, onSoundDemand: { sound.set($0) },
            onBrowser: { browsers.tell($0, $1) })
        handlers.onExactWanted = { repairs.tell(.tiles($0)) }
        handlers.onHashesWanted = { repairs.tell(.hashes) }
        return handlers
    }

    /// Whether what is shared can be seen.
    static func tell(
        _ visibility: SourceVisibility, _ server: HostServer, _ web: WebSink?, _ onNotice: Notify
    ) {
        server.setSourceVisibility(visibility)
        web?.setVisibility(visibility)
        onNotice(.sourceVisibility(visibility))
    }

    /// Nil: no browsers are let in.
    static func web(
        _ options: HostOptions, bitRate: Int, hasSound: Bool, _ server: HostServer, _ link: WebSink.Link,
        _ wanted: EncoderDemand, _ sound: SoundWish, _ onNotice: @escaping Notify
    ) throws -> WebSink? {
        if let sink = options.browsers?.sink {
            sink.attach(wanted.addConsumer(), sound: sound, bitRate: bitRate)
            return sink
        }
        guard var web = options.web else { return nil }
        web.stream = BrowserStream.Configuration(
            bitRate: bitRate, usesFullChroma: options.chroma != .subsampled, hasSound: hasSound)
        web.gatewayOrigins = options.gateways?.addresses.map(\.origin) ?? []
        let sink = try WebSink(web, door: server, link, onNotice)
        sink.attach(wanted.addConsumer(), sound: sound)
        return sink
    }

    /// Nil: there are none.
    static func gateways(
        _ options: HostOptions, bitRate: Int, hasSound: Bool, _ wanted: EncoderDemand, _ sound: SoundWish,
        _ web: WebSink?, _ onNotice: @escaping Notify
    ) throws -> GatewaySink? {
        guard let gateways = options.gateways, !gateways.addresses.isEmpty else { return nil }
        let stream = BrowserStream.Configuration(
            bitRate: bitRate, usesFullChroma: options.chroma != .subsampled, hasSound: hasSound)
        return try GatewaySink(
            gateways, stream: stream, wanted, sound: sound, store: options.store, onChange: { web?.setGateways($0) },
            onNotice)
    }

    /// Nil: nothing is recorded.
    static func recorder(
        _ options: HostOptions, hasSound: Bool, _ wanted: EncoderDemand, _ keepsFullLayer: RecordingWish,
        _ onNotice: @escaping Notify
    ) throws -> RecorderSink? {
        guard let path = options.recordPath else { return nil }
        return try RecorderSink(
            path: path, captions: true, sound: hasSound, consumer: wanted.addConsumer(),
            handlers: RecorderSink.Handlers(
                onFile: { onNotice(.recordingInto(path: $0)) }, onGap: { onNotice(.recordingHasGaps) },
                onRecording: { keepsFullLayer.set($0) },
                onFailure: { onNotice(.recordingFailed(reason: $0.description)) }))
    }

    /// Starts to share the sound; nil: there is none.
    static func sound(
        _ source: (any SoundSource)?, _ options: HostOptions, into sinks: [any FrameSink], isRecorded: Bool,
        viewers: SoundWish, browsers: SoundWish, gateways: SoundWish, _ onNotice: @escaping Notify
    ) -> SoundStage? {
        guard let source else { return nil }
        let sound = SoundStage(source, bitRate: options.soundBitRate, into: sinks) {
            onNotice(.soundFailed(reason: $0.description))
        }
        sound.start()
        if isRecorded { sound.want(SoundDemand(full: true), by: .recorder) }
        viewers.follow { sound.want($0, by: .viewers) }
        browsers.follow { sound.want($0, by: .browsers) }
        gateways.follow { sound.want($0, by: .gateways) }
        return sound
    }

    static func encodeHandlers(
        _ capture: CaptureStage, _ server: HostServer, _ onNotice: @escaping Notify
    ) -> EncodeStage.Handlers {
        EncodeStage.Handlers(
            onActivity: { capture.setActive($0) },
            onPointerApart: { capture.setPointerApart($0) },
            onResize: { size in
                server.setPictureSize(size)
                onNotice(.resized(size))
            },
            onFallback: { name, error in
                onNotice(.warning("The encoder \(name) has failed, and libx264 goes on in its place. \(error)"))
            },
            onFailure: { onNotice(.ended(reason: $0.description, farewell: nil, isWish: false)) })
    }

    /// The sound that is shared with what `source` shows; nil: none.
    static func soundSource(
        _ options: HostOptions, _ source: any PictureSource, _ onNotice: @escaping Notify
    ) throws(SoundError) -> (any SoundSource)? {
        let target: SoundTarget
        switch options.sound {
        case .off: return nil
        case .automatic:
            // A film or pattern has its own sound, or none.
            guard options.source.isScreen else { return source.sound }
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

    static func open(_ source: HostOptions.Source) throws(CaptureError) -> any PictureSource {
        switch source {
        case .x11(let options): try X11Source(options)
        case .portal(let source): source
        case .wlr(let options): try WlrSource(options)
        case .pattern(let options): try PatternSource(options)
        case .file(let path): try FileSource(path: path)
        }
    }

    /// Announces the host; nil: it isn't to be found, or its room announces itself.
    static func publisher(
        name: String, isAnnounced: Bool, _ network: HostServer.Options, _ server: HostServer,
        _ onNotice: @escaping Notify
    ) -> ServicePublisher? {
        guard isAnnounced else { return nil }
        let (bindAddress, port) = (network.bindAddress, server.controlPort)
        let versions = network.session.door.allowsUnencrypted ? "1,2" : "2"
        return ServicePublisher(
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

extension HostNotice {
    /// The source ends by itself. Viewers are told why if it is of use to them.
    static func ended(_ error: CaptureError) -> HostNotice {
        let farewell: String? =
            switch error {
            case .windowClosed: "The shared window was closed"
            case .serverGone, .compositorGone: "The shared display has gone"
            case .portal(.ended): "The sharing was ended at the desktop"
            case .portal(.lost): "The shared desktop has gone"
            default: nil
            }
        return .ended(reason: error.description, farewell: farewell, isWish: error.isWish)
    }
}
