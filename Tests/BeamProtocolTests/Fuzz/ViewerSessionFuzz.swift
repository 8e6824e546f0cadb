import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension FuzzBodies {
    /// A viewer that gets any messages in any order from the host that it is paired with: the session comes to rest,
    /// what it holds is bounded, and every frame that it delivers is in AVCC form.
    static func viewerSession(
        _ bytes: [UInt8], onEnd: (ViewerSession, _ delivered: DeliveredBeside) -> Void = { _, _ in }
    ) -> String? {
        var run = ViewerFuzzRun(bytes)
        defer { onEnd(run.session, run.delivered) }
        return run.run()
    }

    /// How many patches, and changes of the pointer, a viewer has delivered.
    struct DeliveredBeside {
        var patches = 0
        var pointers = 0
    }
}

/// A viewer's run, as `FuzzInput` decides it.
private struct ViewerFuzzRun {
    private var input: FuzzInput
    private(set) var session: ViewerSession
    private var now = MediaTime.at(1)
    private var error: String?
    private var sealers: [DatagramSealer] = []
    private var keyNumber: UInt16 = 0
    private var sequence: UInt32 = 0
    private var clock: UInt64 = 1_000_000
    private var lastPing: UInt64 = 0
    /// Datagrams of whole frames that weren't delivered yet.
    private var waiting: [[UInt8]] = []
    private var beside = BesideFuzz()
    private(set) var delivered = FuzzBodies.DeliveredBeside()

    /// The host keeps a room; nil: it has none.
    private let room: LogFuzz?

    private static let mostSteps = 400

    init(_ bytes: [UInt8]) {
        input = FuzzInput(bytes)
        let first = input.byte()
        room = first % 4 == 3 ? LogFuzz(number: 0xA0, run: 5, isKeeper: true) : nil
        var configuration = ViewerSession.Configuration.secure(
            knows: first < 200, code: input.chance(64) ? "482913" : nil, asksForCode: input.chance(64))
        let buffer: Int64 = input.integer(near: 100)
        if input.chance(64) { configuration.buffer = .milliseconds(buffer) }
        configuration.allowsUnencrypted = input.chance(40)
        (configuration.takesSound, configuration.takesPatches, configuration.takesPointer) = (true, true, true)
        if room != nil {
            configuration.room = LogOptions(signing: LogSigning.simulated(0xB0).signing, name: "viewer")
        }
        session = ViewerSession(configuration: configuration, random: SeededGenerator(seed: 1))
    }

    mutating func run() -> String? {
        drain()
        admit()
        for _ in 0..<Self.mostSteps where !input.isAtEnd && error == nil {
            step()
            drain()
            check()
        }
        return error
    }

    /// Connects the viewer, and admits it.
    private mutating func admit() {
        // One connection at a time.
        session.handle(.controlClosed(reason: "gone"), now: now)
        session.handle(.hostAppeared, now: now)
        drain()
        session.handle(.controlSecured(.host), now: now)
        drain()
        say(welcome(isTrusted: true, methods: [.code, .compare]))
        say(joined(id: 1))
        session.handle(.mediaOpened(localPort: 40000), now: now)
        drain()
        guard let room, let log = session.room?.log else { return }
        say(.room(room.greeting(&input, room: roomID, log: log)))
    }

    /// A host that is started again makes another room.
    private var roomID: [UInt8] { [UInt8](repeating: UInt8(now.nanoseconds / 20_000_000_000 & 1), count: 16) }

    /// The host, or the viewer itself, writes to the room.
    private mutating func write(_ room: LogFuzz) {
        guard let own = session.room else { return }
        guard input.chance(200) else { return session.handle(.room(room.writing(&input)), now: now) }
        var bytes = SecureMessage.room(room.message(&input, room: own.log.room, log: own.log)).bytes
        if input.chance(8) { bytes[1 + input.choice(bytes.count - 1)] = input.byte() }
        session.handle(.controlMessage(bytes), now: now)
        drain()
    }

    // MARK: Inputs

    private mutating func step() {
        if let room, input.chance(160) { return write(room) }
        switch input.choice(32) {
        case 0...7: media()
        case 8...10: wholeFrame()
        case 11...12: for datagram in waiting.prefix(1 + input.choice(8)) { take(datagram) }
        case 13...14: parity()
        case 15...16: say(.state, state().plaintext)
        case 17: besidePictures()
        case 18...20: now = min(now + .nanoseconds(input.step()), FuzzInput.latest)
        case 21...24: say(message())
        case 25:
            let failures: [ViewerSession.ControlFailure] = [
                .network, .network, .network, .notSecure, .wrongHost(.made(9)), .refusedCertificate,
            ]
            session.handle(.controlClosed(reason: "gone", failures[input.choice(failures.count)]), now: now)
        case 26: admit()
        case 27: session.handle(.mediaOpened(localPort: input.integer(near: 40000)), now: now)
        case 28: session.handle(input.chance(128) ? .decoderFailed : .mediaFailed(reason: "no"), now: now)
        case 29:
            session.handle(.announced(version: Int(now.nanoseconds & 3)), now: now)
            session.handle(.hostAppeared, now: now)
        case 30:
            session.handle(input.chance(128) ? .controlConnected : .code(PairingCode("482913")!), now: now)
            session.handle(.controlBytes(Array("{\"on\":true}\n".utf8) + input.bytes(input.choice(16))), now: now)
        default:
            let bytes = input.bytes(input.choice(80))
            bytes.withUnsafeBytes { session.handleDatagram($0, now: now) }
        }
    }

    private mutating func say(_ message: SecureMessage) {
        session.handle(.controlMessage(message.bytes), now: now)
        drain()
    }

    /// An authentic datagram, sealed with the current media key or an earlier one.
    private mutating func say(_ kind: SealedHeader.Kind, _ plaintext: [UInt8]) {
        guard let last = sealers.last, plaintext.count <= 1472 else { return }
        let sealer = input.chance(240) ? last : sealers[input.choice(sealers.count)]
        if let datagram = try? sealer.seal(kind, plaintext) { take(datagram) }
    }

    private mutating func take(_ datagram: [UInt8]) {
        if waiting.first == datagram { waiting.removeFirst() }
        datagram.withUnsafeBytes { session.handleDatagram($0, now: now) }
        drain()
    }

    private mutating func frameHeader() -> MediaHeader.Frame {
        sequence = input.integer(near: sequence)
        let isStart = input.chance(100)
        let flags = MediaHeader.Flags(rawValue: isStart ? 3 : input.chance(20) ? UInt16(input.byte()) : 0)
        clock = input.integer(near: input.chance(100) ? now.microseconds : clock)
        return MediaHeader.Frame(
            partCount: input.integer(near: 3), flags: flags.subtracting(.sentAgain), temporalFlags: temporalFlags,
            width: input.integer(near: 1366), height: input.integer(near: 768),
            captureTime: MediaTime(nanoseconds: Int64(truncatingIfNeeded: clock)),
            stages: MediaHeader.Stages(waited: input.integer(), encode: input.integer()),
            layer: input.chance(230) ? 0 : input.integer())
    }

    /// Chosen by the frame's number, so that older inputs keep their meaning: of each 32 frames, 8 have disposable ones
    /// among them as an encoder makes them, and 8 have random flags.
    private var temporalFlags: MediaHeader.Flags {
        switch sequence / 8 % 4 {
        case 1: sequence % 2 == 1 ? .disposable : .afterDisposable
        case 2:
            [
                sequence & 1 == 0 ? MediaHeader.Flags.disposable : [],
                sequence & 2 == 0 ? MediaHeader.Flags.afterDisposable : [],
            ]
        default: []
        }
    }

    /// A part of a frame with arbitrary fields.
    private mutating func media() {
        let frame = frameHeader()
        let part: UInt16 = input.integer(near: frame.partCount &- 1)
        let config = frame.isStart && part == 0 ? ParameterSetBlock.encode(TestFrame.parameterSets) ?? [] : []
        let configLength: UInt16 = input.chance(16) ? input.integer() : UInt16(config.count)
        var header = [UInt8](repeating: 0, count: MediaForm.version2.headerLength)
        header.withUnsafeMutableBytes {
            MediaHeader(
                sequence: SequenceNumber(sequence), part: part, frame: frame, isSentAgain: input.chance(40),
                configLength: configLength
            ).write(to: $0, as: .version2)
        }
        // Clock values that `MediaTime` can't hold.
        if input.chance(30) {
            header.replaceSubrange(16..<24, with: TestFrame.big(UInt32(truncatingIfNeeded: clock)) * 2)
        }
        let isFull = input.chance(140)
        let length = isFull ? MediaForm.version2.payloadLength - config.count : input.choice(1400)
        say(.media, header + config + input.filler(length))
    }

    /// A frame as a host makes it; its parts come in any order, or not at all.
    private mutating func wholeFrame() {
        guard let sealer = sealers.last else { return }
        sequence &+= 1
        let isKeyframe = input.chance(80)
        var frame = TestFrame.make(
            sequence, reference: isKeyframe ? nil : sequence &- 1, bytes: 13 + input.choice(1 << 14), time: now)
        frame.captureTime = MediaTime(nanoseconds: input.integer(near: now.nanoseconds))
        frame.unit.isDisposable = temporalFlags.contains(.disposable)
        let datagrams = try? sealedDatagrams(
            frame, sequence, sealer, isAfterDisposable: temporalFlags.contains(.afterDisposable))
        guard let datagrams else { return }
        waiting = input.chance(40) ? datagrams.reversed() : datagrams
        if input.chance(200) { for datagram in waiting.dropFirst(input.choice(3)) { take(datagram) } }
    }

    /// A datagram of any kind; of patches and the pointer some that are well formed.
    private mutating func besidePictures() {
        let kinds = SealedHeader.Kind.allCases
        switch kinds[input.choice(kinds.count)] {
        case .patch:
            for _ in 0...input.choice(8) { say(.patch, beside.patch(&input)) }
            if input.chance(80) { session.handle(.exactWanted(beside.tiles(&input)), now: now) }
        case .pointer: for _ in 0...input.choice(8) { say(.pointer, beside.pointer(&input)) }
        case let kind: say(kind, input.bytes(input.choice(64)))
        }
    }

    private mutating func parity() {
        let frame = frameHeader()
        let header = ParityHeader(
            sequence: SequenceNumber(sequence), index: input.integer(near: 0), frame: frame,
            lastLength: input.integer(near: 700))
        var bytes = [UInt8](repeating: 0, count: MediaForm.version2.headerLength)
        bytes.withUnsafeMutableBytes { header.write(to: $0) }
        say(.parity, bytes + input.filler(ParityCode.shardLength))
    }

    private mutating func state() -> StreamState {
        StreamState(
            layer: input.chance(230) ? 0 : input.integer(),
            newest: input.chance(200) ? SequenceNumber(input.integer(near: sequence)) : nil,
            rates: input.chance(100)
                ? StreamState.Rates(estimated: input.integer(), used: input.integer(), isPathBound: input.chance(128))
                : nil, wantsReport: input.chance(100),
            // By the frame's number, so that older inputs keep their meaning.
            newestChange: sequence % 4 == 1 ? beside.change : nil)
    }

    private mutating func welcome(isTrusted: Bool, methods: SecureMessage.Welcome.Methods) -> SecureMessage {
        .welcome(
            SecureMessage.Welcome(
                features: room == nil ? [] : .words, isTrusted: isTrusted, methods: methods,
                nonce: [UInt8](repeating: 7, count: 32), name: "host"))
    }

    private mutating func key() -> SealingKey {
        keyNumber = input.integer(near: keyNumber &+ 1)
        let key = SealingKey.made(keyNumber)
        if sealers.count == 6 { sealers.removeFirst() }
        // The host chooses the counter, so it may begin anywhere.
        sealers.append(DatagramSealer(key: key, counter: input.chance(40) ? input.integer() : 0))
        return key
    }

    private mutating func joined(id: UInt8) -> SecureMessage {
        .session(
            SecureMessage.Session(
                id: [UInt8](repeating: id, count: 16), mediaPort: input.integer(near: 52346) | 1,
                isBroadcasting: input.chance(200), viewerKey: .made(9), mediaKey: key()))
    }

    private mutating func message() -> SecureMessage {
        switch input.choice(16) {
        case 0, 1: .mediaKey(key())
        case 2: .mediaPort(input.integer(near: 52346))
        case 3: .broadcast(input.chance(128))
        case 4: .ping(input.integer())
        case 5...7: .pong(input.integer(near: lastPing), clock: input.integer(near: now.microseconds))
        case 8: joined(id: UInt8(input.choice(3)))
        case 9:
            welcome(isTrusted: input.chance(128), methods: SecureMessage.Welcome.Methods(rawValue: input.byte()))
        case 10: .codeWait(input.integer())
        case 11: [.codeShare(input.filler(32)), .codeConfirm(input.filler(64))][input.choice(2)]
        case 12:
            input.chance(128)
                ? .compareNonce(input.filler(32), digits: input.integer(near: 6)) : .paired(isRemembered: true)
        case 13 where input.chance(40):
            .refused(SecureMessage.Refusal(rawValue: UInt16(input.choice(7))) ?? .other, "no")
        case 14 where input.chance(40): .bye("end")
        default: .unknown(input.byte())
        }
    }

    // MARK: Outputs and checks

    private mutating func drain() {
        for _ in 0..<20_000 {
            switch session.pollOutput(now: now) {
            case .wait(let time, let reason):
                if time <= now { error = error ?? "the next deadline is past: \(String(describing: reason))" }
                return
            case .sendControl(let bytes):
                if case .ping(let value)? = try? SecureMessage(bytes) { lastPing = value }
            case .sendMedia(let bytes):
                if bytes.count > MediaLimits.datagramLength { error = error ?? "a datagram of \(bytes.count) bytes" }
            case .deliver(let frame):
                let unit = frame.unit
                let isWellFormed = unit.bytes.withUnsafeBytes {
                    AVCC.isWellFormed(UnsafeRawBufferPointer(rebasing: $0[unit.range]))
                }
                if !isWellFormed { error = error ?? "a frame isn't in AVCC form" }
                if unit.isKeyframe != (unit.parameterSets != nil) {
                    error = error ?? "a keyframe without parameter sets"
                }
            case .patch(let patch):
                delivered.patches += 1
                if !(1...PatchLimits.contentLength).contains(patch.content.count) {
                    error = error ?? "a patch of \(patch.content.count) bytes"
                }
            case .pointer: delivered.pointers += 1
            default: break
            }
        }
        error = error ?? "it doesn't come to rest"
    }

    private mutating func check() {
        func bound(_ isHeld: Bool, _ what: String) { if !isHeld { error = error ?? what } }
        let reassembler = session.receiver.reassembler
        let fault = session.room.flatMap { LogFuzz.fault(in: $0, mostMembers: 1) }
        bound(fault == nil, fault ?? "")
        bound(reassembler.framesInFlight <= 64, "too many frames are put together")
        bound(reassembler.bytesHeld <= 64 << 20, "\(reassembler.bytesHeld) bytes are held")
        bound(reassembler.requests.entries.count <= PartRequests.mostEntries, "too many frames are asked for")
        let playout = session.receiver.playout
        bound(playout.waitingFrames <= 241 && playout.waitingBytes <= 24 << 20, "too many frames wait")
        bound(session.receiver.keys?.media.numbers.count ?? 0 <= MediaKeyRing.limit, "too many keys are held")
        bound(session.statistics.buffer <= .seconds(2), "frames wait for \(session.statistics.buffer)")
    }
}

extension [UInt8] {
    fileprivate static func * (bytes: [UInt8], count: Int) -> [UInt8] { (0..<count).flatMap { _ in bytes } }
}
