import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension FuzzBodies {
    /// A host that gets any messages in any order from an admitted viewer and from unauthenticated peers: the session
    /// comes to rest, what it holds is bounded, and its path estimates stay plausible.
    static func hostSession(_ bytes: [UInt8], onEnd: (HostSession) -> Void = { _ in }) -> String? {
        var run = HostFuzzRun(bytes)
        defer { onEnd(run.session) }
        return run.run()
    }
}

/// A host's run, as `FuzzInput` decides it.
private struct HostFuzzRun {
    private var input: FuzzInput
    private(set) var session: HostSession
    private var now = MediaTime.at(1)
    private var error: String?
    /// The newest frame that was sent, as its receiver knows.
    private var newest: UInt32 = 0
    private var frames: UInt32 = 0
    private var lastClock: UInt64 = 1_000_000
    /// The admitted viewer's keys, of all its connections.
    private var sealers: [DatagramSealer] = []
    /// Opens the host's datagrams; below, the last token that proves an address.
    private var opener: DatagramOpener?
    private var token: UInt64?
    /// Pairings in progress of unauthenticated peers.
    private var nonces: [ConnectionID: [UInt8]] = [:]
    private var codes: [ConnectionID: CPaceViewer] = [:]
    private var confirmed: [ConnectionID: CPaceViewer.Confirmed] = [:]
    private var comparisons: [ConnectionID: ComparisonViewer] = [:]
    private var hostShares: [ConnectionID: [UInt8]] = [:]
    private var hostNonces: [ConnectionID: (nonce: [UInt8], digits: Int)] = [:]
    /// The viewer takes part in the host's room; nil: there is none.
    private let room: LogFuzz?
    /// The host's room, by its greeting.
    private var roomID: [UInt8] = []

    private static let code = PairingCode("482913")!
    private static let viewer = ConnectionID(0)
    private static let mostSteps = 400

    init(_ bytes: [UInt8]) {
        input = FuzzInput(bytes)
        let first = input.byte()
        let acceptance = Door.Acceptance.allCases[Int(first) % 3]
        room = first >= 192 ? LogFuzz(number: 0xB0, run: 3, isKeeper: false) : nil
        let rate = 200_000 << input.choice(10)
        session = HostSession(
            configuration: HostSession.Configuration(
                door: Door.Configuration(
                    acceptance: acceptance,
                    trust: HostTrust(
                        own: .host, remembered: [.viewer: "viewer", .made(1): "other"],
                        code: Self.hostCode(&input), takesNewViewers: input.chance(200)),
                    allowsUnencrypted: true),
                broadcast: Broadcast.Configuration(
                    pacing: Pacing(bitsPerSecond: max(1_000_000, 4 * rate), queueBytes: 200_000),
                    bitRate: rate, usesFullChroma: input.chance(64), hasPatches: true, hasPointer: true),
                room: room.map { _ in LogOptions(signing: LogSigning.simulated(0xA0).signing, name: "host") }),
            random: SeededGenerator(seed: 1))
    }

    mutating func run() -> String? {
        session.handle(.mediaPort(52346), now: now)
        session.handle(.broadcast(true), now: now)
        admit(Self.viewer, device: .viewer, instance: 1)
        say(.hello, SealedHello(time: now).plaintext)
        for _ in 0..<Self.mostSteps where !input.isAtEnd && error == nil {
            step()
            drain()
            answerChallenge()
            check()
        }
        return error
    }

    private mutating func admit(_ id: ConnectionID, device: DeviceKey, instance: UInt64) {
        session.handle(.connectionOpened(id, from: .v4(1)), now: now)
        session.handle(.connectionSecured(id, device), now: now)
        var features: SecureMessage.Hello.Features = [.fullChroma, .patches, .pointer]
        if room != nil { features.insert(.words) }
        let hello = SecureMessage.Hello(
            features: features, instance: instance, name: "viewer", bounds: input.chance(64) ? bounds() : nil)
        for message in [SecureMessage.hello(hello), .join] {
            session.handle(.connectionMessage(id, message.bytes), now: now)
            drain()
        }
        // With the entries that it has of others, as if it had been here before.
        guard let room, let log = session.room?.log, !roomID.isEmpty, device == .viewer else { return }
        say(room.greeting(&input, room: roomID, log: log), on: id)
    }

    private mutating func say(_ message: LogMessage, on id: ConnectionID) {
        var bytes = SecureMessage.room(message).bytes
        if input.chance(8) { bytes[1 + input.choice(bytes.count - 1)] = input.byte() }
        session.handle(.connectionMessage(id, bytes), now: now)
        drain()
    }

    /// The viewer, or the host itself, writes to the room.
    private mutating func write(_ room: LogFuzz) {
        guard let log = session.room?.log else { return }
        guard input.chance(200) else { return session.handle(.room(room.writing(&input)), now: now) }
        say(room.message(&input, room: roomID, log: log), on: Self.viewer)
    }

    /// Proves the viewer's address. Otherwise nothing but challenges would leave.
    private mutating func answerChallenge() {
        guard let token, input.chance(250) else { return }
        self.token = nil
        say(.hello, SealedHello(time: now, token: token).plaintext)
    }

    /// Each kind of code that a host or a door can have.
    private static func hostCode(_ input: inout FuzzInput) -> HostCode {
        switch input.choice(4) {
        case 0: HostCode(given: code)
        case 1: .ofRoom
        default: HostCode(given: code, isRenewed: input.chance(128))
        }
    }

    /// What the person at the host, or a room, decides.
    private mutating func doorInput(_ id: ConnectionID) -> Door.Input {
        switch input.choice(10) {
        case 0: return .renewCode
        case 1: return .sendAway(input.chance(128) ? .device(.viewer) : .address(.v4(1)))
        case 2...3: return .codeVerdict(id, pause: input.chance(128) ? nil : .nanoseconds(input.step()))
        case 4:
            return .roomCode(
                MeshCodeState(
                    code: input.chance(64) ? nil : Self.code, service: .everybody, reason: .byMember, left: nil,
                    wrongTries: Int(input.choice(20)), pause: .nanoseconds(input.step())))
        default: return .decision(id, accept: input.chance(128))
        }
    }

    // MARK: Inputs

    private mutating func step() {
        if let room, input.chance(160) { return write(room) }
        let id = ConnectionID(UInt64(input.choice(6)))
        let address = NetworkAddress(ip: .v4(UInt32(1 + input.choice(3))), port: UInt16(40000 + input.choice(3)))
        switch input.choice(32) {
        case 0...7: say(.feedback, feedback().plaintext)
        case 8: say(.hello, SealedHello(time: MediaTime(nanoseconds: input.integer(near: now.nanoseconds))).plaintext)
        case 9:
            let kinds = SealedHeader.Kind.allCases
            say(kinds[input.choice(kinds.count)], input.bytes(input.choice(64)))
        case 10...13: frame()
        case 14...17: now = min(now + .nanoseconds(input.step()), FuzzInput.latest)
        case 18: session.handle(.connectionOpened(id, from: address.ip), now: now)
        case 19: session.handle(.connectionSecured(id, input.chance(128) ? .viewer : .made(input.byte())), now: now)
        case 20...22: session.handle(.connectionMessage(id, message(id).bytes), now: now)
        case 23: session.handle(.connectionBytes(id, line()), now: now)
        case 24: session.handle(.connectionClosed(id), now: now)
        case 25: session.handle(doorInput(id), now: now)
        case 26:
            let isKept = input.chance(160)
            session.handle(.remembered(isKept ? [.viewer: "viewer", .made(1): "other"] : [:]), now: now)
        case 27: session.handle(.broadcast(input.chance(200)), now: now)
        case 28: session.handle(input.chance(128) ? .mediaPort(input.integer()) : .sendFailed(address), now: now)
        case 29: admit(id, device: input.chance(128) ? .viewer : .made(1), instance: UInt64(input.choice(3)))
        case 30: MediaLimits.hello.withUnsafeBytes { session.handleDatagram($0, from: address, now: now) }
        default:
            let bytes = input.bytes(input.choice(80))
            bytes.withUnsafeBytes { session.handleDatagram($0, from: address, now: now) }
        }
    }

    private mutating func frame() {
        frames += 1
        let isKeyframe = frames == 1 || input.chance(40)
        let length = 13 + input.choice(1 << 15) << (input.chance(30) ? 5 : 0)
        var frame = TestFrame.make(frames, reference: isKeyframe ? nil : frames - 1, bytes: length, time: now)
        frame.layer = input.chance(40) ? 1 : 0
        session.handleFrame(frame, now: now)
        besidePictures()
    }

    /// Patches and the pointer: by the frame's number, so that older inputs keep their meaning.
    private mutating func besidePictures() {
        let size = PixelSize(width: 640, height: 360)
        switch frames % 8 {
        case 1, 3, 5:
            let content = [UInt8](repeating: 7, count: frames % 16 == 5 ? 100_000 : 100)
            let patch = ExactPatch(
                content: content, captureTime: now, pictureSize: size, isRepair: frames % 8 == 3)
            session.handlePatch(patch, now: now)
        case 2:
            let pixels = [UInt32](repeating: frames, count: 64 * 64)
            let look = PointerLook(
                size: PixelSize(width: 64, height: 64), hotspot: PixelPoint(x: 1, y: 1), pixels: pixels)
            guard let look else { return }
            session.handlePointer(.shown(look, at: PixelPoint(x: Int(frames), y: 3), in: size), now: now)
        case 4: session.handlePointer(frames % 16 == 4 ? .hidden : .inPicture, now: now)
        default: break
        }
    }

    /// An authentic datagram, sealed with one of the viewer's own keys.
    private mutating func say(_ kind: SealedHeader.Kind, _ plaintext: [UInt8]) {
        guard !sealers.isEmpty else { return }
        let sealer = input.chance(230) ? sealers[sealers.count - 1] : sealers[input.choice(sealers.count)]
        let isMoved = input.chance(8)
        let address = NetworkAddress(ip: .v4(1), port: isMoved ? 40001 : 40000)
        guard let datagram = try? sealer.seal(kind, plaintext) else { return }
        datagram.withUnsafeBytes { session.handleDatagram($0, from: address, now: now) }
        drain()
    }

    private mutating func feedback() -> Feedback {
        var feedback = Feedback(
            layer: input.chance(220) ? UInt8(session.broadcast.layers.places.first?.layer ?? 0) : input.integer())
        if input.chance(40) { feedback.keyframeAfter = SequenceNumber(input.integer(near: newest)) }
        for _ in 0..<input.choice(4) {
            var missing = Feedback.Missing(frame: SequenceNumber(input.integer(near: newest)))
            for _ in 0..<input.choice(3) {
                let first = Int(input.integer(near: 3, UInt16.self))
                missing.parts.append(first..<first + max(1, Int(input.integer(near: 8, UInt16.self))))
            }
            feedback.missing.append(missing)
        }
        // By the frame's number, so that older inputs keep their meaning.
        switch frames % 4 {
        case 1: feedback.missingChanges = [.init(number: frames / 8), .init(number: frames / 4, parts: 3..<90)]
        case 2: feedback.inexact = [TileRect(x: 2, y: 0, width: .max, height: 1)]
        case 3: feedback.look = frames / 8
        default: break
        }
        guard input.chance(220) else { return feedback }
        lastClock = input.integer(near: input.chance(128) ? now.microseconds : lastClock)
        var report = Feedback.Report(
            time: MediaTime(microseconds: min(lastClock, MediaTime.longestUptime)) ?? .zero,
            expected: input.integer(near: frames &* 8), missed: input.integer(near: frames))
        for _ in 0..<input.choice(6) {
            let ages: [UInt32] = [input.integer(near: 900), input.integer(near: 1000)]
            report.arrivals.append(
                Feedback.Arrival(
                    frame: SequenceNumber(input.integer(near: newest)), received: input.integer(near: 4),
                    highest: input.integer(near: 3), firstAge: ages.max() ?? 0, lastAge: ages.min() ?? 0))
        }
        if input.chance(60) {
            report.recovery = Feedback.Recovery(
                frame: SequenceNumber(input.integer(near: newest)), part: input.integer())
        }
        feedback.report = report
        return feedback
    }

    /// Of pictures, invalid ones among them.
    private mutating func bounds() -> PictureBounds {
        let (width, height): (UInt16, UInt16) = (input.integer(near: 1280), input.integer(near: 720))
        let area: UInt32 = input.integer(near: 921_600)
        return PictureBounds(sides: PixelSize(width: Int(width), height: Int(height)), area: Int(area))
    }

    private mutating func message(_ id: ConnectionID) -> SecureMessage {
        switch input.choice(14) {
        case 0:
            return .hello(
                SecureMessage.Hello(
                    version: input.integer(near: 2), features: .init(rawValue: input.integer()),
                    instance: input.integer(near: 1), name: String(repeating: "n", count: Int(input.byte())),
                    bounds: input.chance(128) ? bounds() : nil))
        case 1, 2: return .join
        case 3:
            guard let context = context(id), let pace = try? CPaceViewer(code: Self.code, context: context) else {
                break
            }
            codes[id] = pace
            return .codeShare(pace.share)
        case 4:
            guard let share = hostShares[id], let confirmed = try? codes[id]?.confirm(hostShare: share) else { break }
            return .codeConfirm(confirmed.confirmation)
        case 5:
            guard let context = context(id) else { break }
            var random = SeededGenerator(seed: 5)
            let comparison = ComparisonViewer(context: context, random: &random)
            comparisons[id] = comparison
            return .compareCommit(comparison.commitment)
        case 6:
            guard let (nonce, digits) = hostNonces[id],
                let reveal = try? comparisons[id]?.reveal(hostNonce: nonce, digitCount: digits)
            else { break }
            return .compareReveal(reveal.nonce)
        case 7: return .ping(input.integer())
        case 8: return .pong(input.integer(), clock: input.integer())
        case 9: return .mediaKeyReady(input.integer(near: session.broadcast.stream.keys.current.number))
        case 10: return .bye("end")
        case 11: return .codeShare(input.filler(32))
        case 12: return .codeConfirm(input.filler(64))
        case 13:
            guard input.chance(128) else { return .shownSize(width: input.integer(), height: input.integer()) }
            let fields = (0..<8).map { _ in input.byte() }
            return (try? SecureMessage([SecureMessage.Kind.qualityWanted.rawValue] + fields)) ?? .unknown(0)
        default: break
        }
        return [.compareCommit(input.filler(32)), .compareReveal(input.filler(32)), .unknown(input.byte())][
            input.choice(3)]
    }

    private func context(_ id: ConnectionID) -> PairingContext? {
        guard let nonce = nonces[id], case .version2(let dialog) = session.door.connections[id]?.dialog else {
            return nil
        }
        return PairingContext(
            viewer: dialog.device, host: .host, nonce: nonce, viewerName: dialog.name, hostName: "BeamRoom")
    }

    private mutating func line() -> [UInt8] {
        let port: UInt64 = input.integer(near: 40000)
        let lines = [
            HostBench.handshake, #"{"hb":1}"#, #"{"udpPort":\#(port)}"#, #"{"on":true}"#, "{", "[[[",
            #"{"app":"beamroom","ver":\#(port),"role":"viewer","code":"482913"}"#,
        ]
        return Array((lines[input.choice(lines.count)] + (input.chance(240) ? "\n" : "")).utf8)
    }

    // MARK: Outputs and checks

    private mutating func drain() {
        for _ in 0..<20_000 {
            switch session.pollOutput(now: now) {
            case .wait(let time, let reason):
                if time <= now { error = error ?? "the next deadline is past: \(String(describing: reason))" }
                return
            case .send(let id, let bytes): sent(bytes, to: id)
            case .transmit(let burst):
                if burst.range.isEmpty || burst.range.upperBound > burst.bytes.count {
                    error = error ?? "a burst is empty, or its range is invalid"
                }
                readChallenge(in: burst)
            default: break
            }
        }
        error = error ?? "it doesn't come to rest"
    }

    /// Keeps the token by which the host asks the viewer to prove its address.
    private mutating func readChallenge(in burst: MediaBurst) {
        guard burst.range.count < 200 else { return }
        var plaintext: [UInt8] = []
        burst.bytes.withUnsafeBytes { bytes in
            guard
                let datagram = try? SealedDatagram(UnsafeRawBufferPointer(rebasing: bytes[burst.range]), from: .host),
                (try? opener?.open(datagram, into: &plaintext))?.kind == .state
            else { return }
            token = plaintext.withUnsafeBytes { StreamState($0).challenge } ?? token
        }
    }

    private mutating func sent(_ bytes: [UInt8], to id: ConnectionID) {
        guard bytes.first != UInt8(ascii: "{"), let message = try? SecureMessage(bytes) else { return }
        switch message {
        case .room(.greeting(let greeting)): roomID = greeting.room
        case .welcome(let welcome): nonces[id] = welcome.nonce
        case .session(let joined):
            if sealers.count == 8 { sealers.removeFirst() }
            sealers.append(DatagramSealer(key: joined.viewerKey))
            if opener?.keyNumber != joined.mediaKey.number { opener = DatagramOpener(key: joined.mediaKey) }
        case .codeShare(let share): hostShares[id] = share
        case .compareNonce(let nonce, let digits): hostNonces[id] = (nonce, Int(digits))
        default: break
        }
    }

    private mutating func check() {
        newest = session.broadcast.stream.layers[0].newest?.value ?? newest
        func bound(_ isHeld: Bool, _ what: String) { if !isHeld { error = error ?? what } }
        let most = HostLimits.unknownConnections + HostLimits.knownConnections + session.configuration.door.mostViewers
        bound(session.door.connections.count <= most, "too many connections")
        bound(session.door.members.count <= session.configuration.door.mostViewers, "too many viewers")
        bound(
            session.door.members.count == session.broadcast.senders.count,
            "a viewer without a sender, or the other way round")
        let fault = session.room.flatMap { LogFuzz.fault(in: $0, mostMembers: session.configuration.door.mostViewers) }
        bound(fault == nil, fault ?? "")
        bound(session.broadcast.layers.history.count <= 64, "too many devices are remembered")
        let statistics = session.statistics
        bound(statistics.watching <= statistics.viewers, "more watch than were admitted")
        bound(statistics.retransmissions <= statistics.datagrams, "more was retransmitted than sent")
        bound(statistics.patchesAgain <= statistics.patches, "more patches were sent again than at all")
        for layer in session.broadcast.stream.layers {
            bound(layer.bytes(from: layer.start) <= 32 << 20, "too much waits to be sent")
        }
        for delivery in session.broadcast.senders.all.compactMap(\.delivery) {
            let path = delivery.path
            bound(delivery.retransmissions.count <= 512, "too many retransmissions wait")
            bound(path.allowed >= PathControl.leastRate && path.allowed <= path.highest, "a rate of \(path.allowed)")
            bound((0...1).contains(path.loss), "a loss of \(path.loss)")
            bound(path.delay.jitter >= 0 && path.delay.jitter <= 0.25, "jitter of \(path.delay.jitter) s")
            bound((.zero ... .seconds(30)).contains(path.leastRoundTrip), "a round trip of \(path.leastRoundTrip)")
            bound((0...1 << 32).contains(path.congestionWindow), "a window of \(path.congestionWindow)")
            bound((0...1 << 32).contains(path.pacingRate), "a pace of \(path.pacingRate)")
            bound(path.inFlight >= 0, "negative bytes in flight")
        }
    }
}
