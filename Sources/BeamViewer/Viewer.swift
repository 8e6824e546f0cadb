import BeamClock
import BeamCodec
import BeamDesktop
import BeamIdentity
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamSound
import BeamTrust
import BeamWords
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
    private let words: ViewerWords
    /// Plays the sound; nil: it isn't played.
    let sound: SoundPlayer?
    private let soundFiles: SoundFiles?
    /// What finds the host and keeps it; nil in a room, which does both.
    private let sought: Sought?
    private let loop: NetworkLoop?
    private let onNotice: @Sendable (ViewerNotice) -> Void
    private let queue: BoundedQueue<ReceivedFrame>
    let decode: DecodeStage
    private let identity: LocalIdentity

    /// What finds a host, and keeps it in the store.
    private struct Sought: Sendable {
        var finder: HostFinder
        var keeper: PairedHosts
        var trustWatch: TrustWatch
        var search: HostSearch?
        /// Nil: which host is watched is known.
        var list: PickList?
    }

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
        let status =
            options.member.map { ViewerStatus(connectingTo: PeerText.name($0.name)) }
            ?? Self.firstStatus(options)
        let shared = ViewerState(status, wishes: ViewerWishes(bounds: options.bounds.largest))
        let slot = LatestSlot<Picture>(replacing: { $0.replacing($1) })
        let queue = BoundedQueue<ReceivedFrame>(
            capacity: Self.queueCapacity, weighing: { $0.unit.bytes.count }, atMost: Self.queueBytes)
        let files = try Self.files(options, onNotice) { shared.tellClient { $0.decoderFailed() } }
        decode = try DecodeStage(
            options.decoder, bounds: options.bounds, queue: queue, slot: options.window == nil ? nil : slot,
            files: files, pool: resources?.decoders,
            handlers: DecodeStage.Handlers(
                onPicture: { shared.pictureArrived($0) },
                onSize: { onNotice(shared.isFirstSize() ? .firstFrame($0) : .resized($0)) },
                onBrokenFrame: { shared.tellClient { $0.decoderFailed() } },
                onRefusedStream: { error in shared.updateStatus { $0.streamRefused(error.description) } },
                onWarning: { onNotice(.warning($0)) },
                onFailure: { onNotice(.failed(reason: $0.description)) }))
        let soundFile = try Self.soundFile(options, onNotice)
        soundFiles =
            files.recorder == nil && soundFile == nil
            ? nil
            : SoundFiles(recorder: files.recorder, file: soundFile) { onNotice(.warning($0.description)) }
        sound = Self.player(options, shared, isAlone: resources == nil, isKept: soundFiles != nil, onNotice)
        words = ViewerWords(
            try options.transcriptPath.map { path in
                try TranscriptFile(path: path) {
                    onNotice(.fileFailed(OutputPath(kind: .transcript, path: path), reason: $0.description))
                }
            }, recorder: files.recorder)
        if let path = options.transcriptPath {
            onNotice(.writing(OutputPath(kind: .transcript, path: path), isContinued: false))
        }
        self.options = options
        self.onNotice = onNotice
        loop = resources?.loop
        self.shared = shared
        self.slot = slot
        self.queue = queue
        sought = options.member == nil ? try Self.seek(options, shared, resources?.nearby, onNotice) : nil
    }

    /// Prepares to find the host.
    private static func seek(
        _ options: ViewerOptions, _ shared: ViewerState, _ nearby: NearbyHosts?,
        _ onNotice: @escaping @Sendable (ViewerNotice) -> Void
    ) throws -> Sought {
        let keeper = try PairedHosts(options.trust.store)
        if !options.trust.pairs, case .name(let name, _) = options.target, !keeper.knows(name) {
            throw UnknownHost(name: name)
        }
        let trustWatch = try keeper.watch(
            besides: options.trust.acquaintances, { hosts in shared.setRemembered(hosts) },
            onWarning: { onNotice(.warning($0)) })
        let publish = { @Sendable (choices: [HostChoice]) in
            shared.change { $0.choices = choices }
            shared.updateStatus { if choices.isEmpty { $0.searching() } else { $0.picking() } }
            onNotice(choices.isEmpty ? .searching(name: nil) : .pick(choices))
        }
        let list = options.target == .anyHost ? PickList(onChange: publish) : nil
        let finder = HostFinder(
            options.target, lastKnown: { keeper.addresses(of: $0) },
            handlers: HostFinder.Handlers(
                onChoices: { list?.set($0) },
                onChosen: { name in
                    list?.end()
                    // Of a host that was given up, nothing is left.
                    shared.retireClient()?.shutdown()
                    onNotice(.chosen(name: name))
                    shared.change { $0.choices = nil }
                    shared.updateStatus { $0.chosen(name) }
                },
                onReachable: { version in shared.hostAppeared(announcedVersion: version) },
                onFound: { shared.updateStatus { $0.found() } },
                onSearching: { name in onNotice(.searching(name: name)) },
                onDiscovery: { problem, triesAddresses in
                    shared.updateStatus { $0.discovery(problem: problem, triesAddresses: triesAddresses) }
                }))
        let search =
            options.usesBluetooth
            ? (nearby ?? NearbyHosts()).makeSearch { host in
                // Only a hint where to connect: TLS proves the key.
                guard keeper.knows(keyPrefix: host.keyPrefix) else { return }
                finder.offer(address: host.address, port: host.port)
            } : nil
        return Sought(finder: finder, keeper: keeper, trustWatch: trustWatch, search: search, list: list)
    }

    /// Creates the files that the options ask for. `askForKeyframe` is called when a recording can go on after a gap.
    private static func files(
        _ options: ViewerOptions, _ onNotice: @escaping @Sendable (ViewerNotice) -> Void,
        askForKeyframe: @escaping @Sendable () -> Void
    ) throws -> DecodeStage.Files {
        let recorder = try options.recordPath.map { path throws in
            try BackgroundRecorder(
                path: path, captions: true, sound: .ifExpected, clock: { .now },
                handlers: BackgroundRecorder.Handlers(
                    onFile: { onNotice(.writing(OutputPath(kind: .recording, path: $0), isContinued: $1)) },
                    onGap: { onNotice(.fileBehind(OutputPath(kind: .recording, path: path))) },
                    onKeyframeNeeded: askForKeyframe,
                    onFailure: {
                        onNotice(.fileFailed(OutputPath(kind: .recording, path: $0), reason: $1.description))
                    }))
        }
        let pictures = try options.framesPath.map { path throws in
            try BackgroundPictures(
                path: path, frameRate: Self.nominalFrameRate,
                handlers: BackgroundPictures.Handlers(
                    onFile: { onNotice(.writing(OutputPath(kind: .frames, path: $0), isContinued: $1)) },
                    onBehind: { onNotice(.fileBehind(OutputPath(kind: .frames, path: $0))) },
                    onCaughtUp: { onNotice(.fileCaughtUp(OutputPath(kind: .frames, path: $0), leftOut: $1)) },
                    onFailure: { onNotice(.fileFailed(OutputPath(kind: .frames, path: $0), reason: $1.description)) }))
        }
        return DecodeStage.Files(recorder: recorder, pictures: pictures)
    }

    /// Creates the file for the decoded sound, if there is to be one.
    private static func soundFile(
        _ options: ViewerOptions, _ onNotice: @escaping @Sendable (ViewerNotice) -> Void
    ) throws -> BackgroundSoundFile? {
        try options.sound.path.map { path throws in
            try BackgroundSoundFile(
                path: path,
                handlers: BackgroundSoundFile.Handlers(
                    onFile: { onNotice(.writing(OutputPath(kind: .sound, path: $0), isContinued: $1)) },
                    onBehind: { onNotice(.fileBehind(OutputPath(kind: .sound, path: $0))) },
                    onCaughtUp: { onNotice(.fileCaughtUp(OutputPath(kind: .sound, path: $0), leftOut: $1)) },
                    onFailure: { onNotice(.fileFailed(OutputPath(kind: .sound, path: $0), reason: $1.description)) }))
        }
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
    /// open.
    public func start() {
        defer { if options.window == nil { decode.start() } }
        soundFiles?.start()
        let sought = self.sought
        let queue = self.queue
        let shared = self.shared
        let onNotice = self.onNotice
        let identity = self.identity
        let trust = options.trust
        let buffer = options.buffer
        let isAtRoomDoor = options.isAtRoomDoor
        let words = self.words
        let hasWindow = options.window != nil
        let decode = self.decode
        let (sound, soundFiles) = (self.sound, self.soundFiles)
        let insists = options.sound.insists
        // In a room others may get it from here.
        let takesSound = sound != nil || soundFiles != nil || options.member != nil
        let loop = self.loop
        let wasPlain = trust.allowsUnencrypted && sought.map { $0.keeper.isPlain($0.finder.choice) } ?? false
        shared.setAnnouncer { onNotice(.status($0)) }
        var handlers = ViewerClient.Handlers(
            onEvent: { event in
                if case .room(let event) = event {
                    words.handle(event)
                    if ShareCondition.isConcerned(by: event) { shared.updateStatus { $0.handle(.room(event)) } }
                    if hasWindow { shared.update { $0.words.handle(event, now: .now) } }
                    return onNotice(.session(.room(event)))
                }
                shared.updateStatus { $0.handle(event) }
                if case .hostHasSound = event { soundFiles?.expectSound() }
                switch event {
                // Only when the usual addresses don't answer, so that it costs the first picture nothing.
                case .retrying, .controlLost: sought?.search?.begin()
                case .paired(_, _, let isNewSession, _):
                    sought?.search?.end()
                    // The last picture was removed meanwhile, and a still screen sends no other by itself.
                    if !isNewSession, shared.read({ $0.status.isWaitingForPicture }) {
                        shared.tellClient { $0.decoderFailed() }
                    }
                default: break
                }
                if case .hostPaired(let host, let name, true) = event, let sought {
                    // Reported when the host has been stored.
                    return sought.keeper.remember(host, name: name) { isRemembered, warning in
                        onNotice(.session(.hostPaired(host, name: name, isToBeRemembered: isRemembered)))
                        if let warning { onNotice(.warning(warning)) }
                    }
                }
                switch event {
                case .controlLost, .hostEnded: sought?.finder.lost()
                default: break
                }
                if case .paired(_, _, true, let isEncrypted) = event, wasPlain || !isEncrypted,
                    let sought, let address = sought.finder.choice.address
                {
                    sought.keeper.note(address, isPlain: !isEncrypted)
                }
                onNotice(.session(event))
            },
            onFrame: { frame in
                guard queue.put(frame) == .full else { return decode.frameQueued() }
                // The decoder doesn't keep up, and queued frames are old: continue with a keyframe.
                queue.flush()
                shared.tellClient { $0.decoderFailed() }
            }, locate: { sought?.finder.endpoints() ?? [] })
        handlers.onSound = { packet in
            sound?.put(packet)
            soundFiles?.put(packet)
        }
        handlers.wishes = { shared.read { $0.wishes } }
        handlers.hints = { sought?.finder.hints() ?? [] }
        handlers.onReached = { host, endpoint in
            // What this machine plays would be shared and played again, without end.
            let isThisMachine = host == identity.deviceKey || LocalAddresses.isOwn(endpoint.host)
            if isThisMachine, !insists, sound?.silence() == true { onNotice(.soundIsOwn) }
            guard let sought else { return }
            sought.keeper.note(sought.finder.reached(endpoint), at: endpoint, of: host) { onNotice(.warning($0)) }
        }
        handlers.onOtherHost = { sought?.finder.foundOther(at: $0) }
        if let member = options.member {
            shared.setClientMaker { [handlers] in
                let trust = ViewerTrust(own: identity.deviceKey, name: trust.deviceName, instance: 0)
                var session = ViewerSession.Configuration(trust: trust, buffer: buffer)
                session.takesSound = takesSound
                return ViewerClient(
                    in: member.room, watching: member.device, called: member.name, session: session,
                    handlers: handlers)
            }
            shared.hostAppeared()
        }
        guard let sought else { return }
        let (finder, keeper) = (sought.finder, sought.keeper)
        shared.setClientMaker { [handlers] in
            // The host is chosen by now.
            var trust = trust
            let wish = shared.read { $0.wish }
            if let wish {
                // The person at the window has asked for it.
                (trust.pairs, trust.asksForCode) = (true, true)
                if case .code(let code) = wish { trust.code = code } else { trust.code = nil }
            }
            var configuration = ViewerSession.Configuration(
                trust: keeper.trust(trust, identity: identity, choice: finder.choice), code: trust.code,
                asksForCode: trust.asksForCode, allowsUnencrypted: trust.allowsUnencrypted,
                announcedVersion: finder.announcedVersion, wasUnencrypted: wasPlain, buffer: buffer,
                // A room's door isn't a host: nothing of a host's log is taken there, or signed for it.
                room: isAtRoomDoor ? nil : LogOptions(signing: identity.roomSigning, name: trust.deviceName))
            configuration.takesSound = takesSound
            configuration.asksPerson = wish == .person
            if let hosts = shared.read({ $0.remembered }) { configuration.trust.known = hosts }
            return ViewerClient(
                identity: identity, session: configuration, handlers: handlers,
                options: ViewerClient.Options(loop: loop))
        }
        finder.start()
        sought.list?.start()
    }

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

    /// The person gives no code: the person at the host is to be asked.
    public func askPerson() {
        guard !shared.read({ $0.status.isRefused }) else { return tryAgain(.person) }
        shared.updateStatus { $0.personAsked() }
        shared.tellClient { $0.askPerson() }
    }

    /// After a refusal: begins anew, with what the person wants.
    private func tryAgain(_ wish: ViewerWish) {
        guard let sought, shared.read({ $0.status.retry }) != nil else { return }
        shared.retireClient()?.shutdown()
        shared.change { $0.wish = wish }
        shared.updateStatus { $0.tryingAgain() }
        shared.hostAppeared(announcedVersion: sought.finder.announcedVersion)
    }

    /// Whether the person has picked the host from a list and can go back to that. Files that are written are of one host.
    var canChooseAgain: Bool {
        guard let sought, options.recordPath == nil, options.framesPath == nil, options.sound.path == nil,
            options.transcriptPath == nil
        else { return false }
        return sought.finder.hasPicked
    }

    /// Ends watching the present host, and offers the list of hosts again. Call it on the window's thread.
    func chooseAgain() {
        guard canChooseAgain, let sought else { return }
        sought.finder.forgetChoice()
        shared.retireClient()?.shutdown()
        queue.flush()
        _ = slot.takeIfPresent()
        shared.forgetHost()
        shared.change { $0.wish = nil }
        shared.updateStatus { $0 = ViewerStatus(searchingFor: nil) }
        sought.list?.begin()
        sought.finder.offerAgain()
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
        sought?.trustWatch.cancel()
        sought?.finder.stop()
        sought?.list?.end()
        shared.stop()?.shutdown()
        sound?.stop()
        // Before the recording is completed.
        soundFiles?.stop()
        decode.stop()
        slot.close()
        sought?.search?.stop()
        words.close()
        if let problem = sought?.keeper.finish() { onNotice(.warning(problem)) }
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
                bitsPerSecond: rates.bits, sound: sound?.figures,
                times: decoded.times.merging(window.times) { $1 })
        }
    }

    private static func firstStatus(_ options: ViewerOptions) -> ViewerStatus {
        switch options.target {
        case .endpoint(let endpoint) where options.isAtRoomDoor: .atRoomDoor(endpoint.description)
        case .endpoint(let endpoint): ViewerStatus(connectingTo: endpoint.description, isAddress: true)
        case .name(let name, _): ViewerStatus(searchingFor: name)
        case .anyHost: ViewerStatus(searchingFor: nil)
        }
    }
}
