import BeamMedia

/// A viewer's whole protocol, without I/O: what the host says goes in, what to do comes out.
///
/// Call a `handle…` method for each thing that happens, then `pollOutput` until it answers `.wait`. The first poll
/// begins to connect.
public struct ViewerSession: Sendable {
    public struct Configuration: Sendable {
        public var trust: ViewerTrust
        /// The host's code, which proves to it that the person here can see it. In version 1 the digits that the person at the host compares.
        public var code: PairingCode?
        /// Somebody is here who can type the host's code when it is asked for.
        public var asksForCode: Bool
        /// A host that speaks no version 2 may be watched in version 1: everybody on the network can see what it shows.
        public var allowsUnencrypted: Bool
        /// What discovery says that the host speaks; nil: unknown.
        public var announcedVersion: Int?
        /// 4:4:4 pictures may come.
        public var decodesFullChroma: Bool
        /// How long frames wait, so that those that take longer than others come in step; nil: as long as is needed.
        public var buffer: Duration?

        public init(
            trust: ViewerTrust, code: PairingCode? = nil, asksForCode: Bool = false, allowsUnencrypted: Bool = false,
            announcedVersion: Int? = nil, decodesFullChroma: Bool = true, buffer: Duration? = nil
        ) {
            self.trust = trust
            self.code = code
            self.asksForCode = asksForCode
            self.allowsUnencrypted = allowsUnencrypted
            self.announcedVersion = announcedVersion
            self.decodesFullChroma = decodesFullChroma
            self.buffer = buffer
        }
    }

    /// Which version of the protocol a control connection is to speak.
    public enum Version: Int, Sendable, Hashable {
        /// Lines, in the clear.
        case version1 = 1
        /// Messages inside TLS.
        case version2 = 2
    }

    /// Why a control connection could not be made, or has ended.
    public enum ControlFailure: Sendable, Hashable {
        case network
        /// The other end doesn't speak TLS.
        case notSecure
        /// The other end could not prove who it is; to be refused, and tried no further.
        case refusedCertificate
    }

    public enum Input: Sendable {
        /// The version 1 connection that `.connectControl` asked for stands.
        case controlConnected
        /// Bytes of it, cut anywhere.
        case controlBytes([UInt8])
        /// The version 2 connection that `.connectControl` asked for stands, and its other end holds this key.
        case controlSecured(DeviceKey)
        /// A message of it, without the length in front.
        case controlMessage([UInt8])
        /// It could not be made, or has ended; `reason` in words for a person.
        case controlClosed(reason: String, ControlFailure = .network)
        /// The person has typed the host's code.
        case code(PairingCode)
        /// The hosts that the store remembers now; who is missing was forgotten.
        case remembered([DeviceKey: String])
        /// Discovery has seen the host (again): don't wait for the next try.
        case hostAppeared
        /// The socket that `.openMedia` asked for is bound to this local port.
        case mediaOpened(localPort: UInt16)
        /// It could not be made, or an error came back; the watchdog goes on.
        case mediaFailed(reason: String)
        /// The decoder could not use what was delivered: nothing more until the next keyframe.
        case decoderFailed
        case shutdown
    }

    public enum Output: Sendable {
        /// Look the host up afresh and connect to its control port.
        case connectControl(Version)
        /// Bytes of a version 1 connection, or a whole message of a version 2 connection.
        case sendControl([UInt8])
        case closeControl
        /// A fresh UDP socket, connected to the control connection's address and this port; an older one is closed.
        case openMedia(port: UInt16)
        case closeMedia
        case sendMedia([UInt8])
        /// The next frame to decode: in order, complete, decodable given what was delivered before.
        case deliver(ReceivedFrame)
        case event(ViewerEvent)
        /// Nothing more to do until then, or until something happens. What there will be to do then: nil if nothing is due ever.
        case wait(until: MediaTime, for: Purpose?)
    }

    /// What the session wakes up for.
    public enum Purpose: Hashable, Sendable {
        /// The control connection: heartbeats, silence, the next try.
        case control
        /// The media socket: hellos, silence, a fresh one.
        case media
        /// A frame has waited for its missing parts for too long.
        case reassembly
        /// The host has to know something.
        case feedback
        /// A frame has waited for its time.
        case playout
        /// Something that the host has announced too often is passed on.
        case announcements
    }

    /// What the present control connection speaks.
    enum Dialog: Sendable {
        case none
        case version1(LineReading)
        /// Not in yet.
        case pairing(SecurePairing)
        case version2
    }

    /// Version 1's lines, as they come.
    struct LineReading: Sendable {
        var lines = LineBuffer()
        var strikes = 0
        /// A port that was named before the reply.
        var earlyPort: UInt16?
    }

    /// What a version 2 session's datagrams are sealed with.
    struct MediaSealing: Sendable {
        var hellos: DatagramSealer
        var media: MediaKeyRing
    }

    /// The session that the host has let us into. It outlives the control connection that it began on.
    struct Membership: Sendable {
        /// Where the host has named it: in version 1 it needn't.
        var id: String?
        /// Nil in version 1, which seals nothing.
        var sealing: MediaSealing?
        /// What the host has said last.
        var isBroadcasting: Bool?
        var challenge: Challenge?
    }

    /// The host has asked whether we are at the address that our hellos come from.
    struct Challenge: Sendable {
        var token: UInt64
        var time: MediaTime
        var expiry: MediaTime { time + ViewerTiming.challengeTime }
    }

    let configuration: Configuration
    var random: any RandomNumberGenerator & Sendable
    /// For version 1, where the viewer makes it up.
    private let shownCode: PairingCode
    /// What the person has typed.
    var code: PairingCode?
    /// The person has brought a code at some time: an unknown host is paired with by a code, or not at all.
    var wantsCode: Bool
    /// Our proof that we know the code has left, and the host's hasn't come: whoever is there could try one code by it. It isn't
    /// given another chance by itself.
    var isCodeSpent = false
    var outputs = OutputQueue<Output>()
    private var deadlines = Deadlines<Purpose>()
    var control = ViewerControl()
    private var version: Version
    /// The host has spoken version 2: it does, whoever says otherwise.
    private var isSecureHost = false
    var dialog = Dialog.none
    /// What the host is called here: the name that it is remembered by, or else what it calls itself; fit to be shown.
    var hostName = ""
    /// The other name of a known host that the person was told of last.
    var lastNewName: String?
    var newNames = 0
    /// The hosts that are known, from before and from this run.
    var book: TrustBook
    /// Of the host that this is a session with.
    var hostKey: DeviceKey?
    var membership: Membership?
    /// Of what the host announces, what the person and the media socket are told.
    var sharing = Announcement<Bool>()
    var port = Announcement<UInt16>()
    var media = MediaLiveness()
    /// Of the present control connection.
    var messages = MessageRate()
    var reassembler = Reassembler()
    /// How what was sent has arrived, for the host.
    var arrivals = ArrivalLog()
    var wish = KeyframeWish()
    var playout: PlayoutBuffer
    /// What the host has said of the path.
    var rates: StreamState.Rates?
    var clock = HostClock()
    var clockError: Duration?
    /// What the last datagram says; its memory is used again.
    var opened: [UInt8] = []

    /// `random` makes nonces and, in version 1, the code: pass the system's generator, but in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        var random = random
        self.configuration = configuration
        playout = PlayoutBuffer(fixed: configuration.buffer)
        book = TrustBook(remembered: configuration.trust.known)
        code = configuration.code
        wantsCode = configuration.code != nil
        shownCode = configuration.code ?? .random(using: &random)
        let mayFallBack = configuration.allowsUnencrypted && configuration.trust.required == nil
        version = mayFallBack && configuration.announcedVersion == 1 ? .version1 : .version2
        self.random = random
        deadlines.set(.control, at: MediaTime(nanoseconds: .min))
    }

    public var statistics: ViewerStatistics {
        var statistics = reassembler.statistics
        statistics.roundTrip = clock.roundTrip
        statistics.clockError = clockError
        statistics.keyframesRequested = wish.count
        statistics.estimatedRate = rates.map { Int($0.estimated) * 1000 }
        statistics.usedRate = rates.map { Int($0.used) * 1000 }
        statistics.buffer = playout.delay
        return statistics
    }

    /// Something happened. What comes too late, or out of turn, is ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        if case .ended = control.state { return }
        switch input {
        case .controlConnected:
            messages = MessageRate()
            dialog = .version1(LineReading())
            perform(control.connected(now: now), now: now)
        case .controlBytes(let bytes): controlBytes(bytes, now: now)
        case .controlSecured(let host): controlSecured(host, now: now)
        case .controlMessage(let bytes): controlMessage(bytes, now: now)
        case .controlClosed(let reason, let failure): controlClosed(reason: reason, failure, now: now)
        case .code(let typed):
            code = typed
            wantsCode = true
            perform(control.codeTyped(now: now), now: now)
        case .remembered(let hosts):
            let forgotten = book.update(hosts)
            if let hostKey, forgotten.contains(hostKey) { refuse("it was forgotten here", now: now) }
        case .hostAppeared: perform(control.hostAppeared(now: now), now: now)
        case .mediaOpened(let port): perform(media.opened(localPort: port, now: now), now: now)
        case .mediaFailed: perform(media.failed(now: now), now: now)
        case .decoderFailed: reassembler.decoderFailed()
        case .shutdown: end(now: now)
        }
        updateWish(now: now)
        armDeadlines(now: now)
    }

    /// The next thing to do; `.wait` when everything is done for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            guard let purpose = deadlines.popDue(now) else {
                return .wait(until: deadlines.next, for: deadlines.first)
            }
            switch purpose {
            case .control:
                perform(control.start(now: now), now: now)
                perform(control.deadlineReached(now: now), now: now)
            case .media:
                perform(media.deadlineReached(now: now), now: now)
            case .reassembly:
                reassembler.expire(now: now)
                deliver(now: now)
            case .feedback:
                giveFeedback(now: now)
            case .playout:
                play(now: now)
            case .announcements:
                announcementsDue(now: now)
            }
            updateWish(now: now)
            armDeadlines(now: now)
        }
    }

    // MARK: Control

    private mutating func controlClosed(reason: String, _ failure: ControlFailure, now: MediaTime) {
        dialog = .none
        switch failure {
        case .notSecure where configuration.allowsUnencrypted && !isSecureHost && configuration.trust.required == nil:
            version = .version1
            perform(control.fellBack(now: now), now: now)
        case .notSecure where configuration.announcedVersion == 1 && configuration.trust.required != nil:
            mistrust(
                "it was paired before, and encrypts; what answers under its name now doesn't, and is somebody else",
                now: now)
        case .notSecure where configuration.announcedVersion == 1:
            refuse(
                "it doesn't encrypt what it shows. --allow-unencrypted watches it anyway: others on the network can see it, too",
                now: now)
        case .refusedCertificate:
            mistrust(reason, now: now)
        case .network, .notSecure:
            perform(control.closed(reason: reason, now: now), now: now)
        }
    }

    /// The host has let us in, into this session or an earlier one that goes on.
    mutating func enter(
        session named: String?, host: String?, mediaPort: UInt16?, isNews: Bool, sealing: MediaSealing?, now: MediaTime
    ) {
        let isEncrypted = sealing != nil
        media.isAnswered = isEncrypted
        if let named, named == membership?.id {
            membership?.sealing = sealing
            if isNews {
                emit(.paired(session: named, deviceName: host, isNewSession: false, isEncrypted: isEncrypted))
                emit(.controlRestored)
                if !isEncrypted, let localPort = media.localPort { send(.mediaSource(localPort)) }
            }
            if let mediaPort { mediaPortNamed(mediaPort, now: now) }
        } else if isNews || named != nil {
            membership = Membership(id: named, sealing: sealing)
            sharing.forget()
            port.forget()
            reassembler.reset(canAsk: isEncrypted)
            playout.removeAll()
            emit(.paired(session: named ?? "", deviceName: host, isNewSession: true, isEncrypted: isEncrypted))
            media.broadcast(nil, now: now)
            if let mediaPort {
                _ = port.came(mediaPort, now: now)
                perform(media.start(port: mediaPort, isNewSession: true, now: now), now: now)
            } else {
                perform(media.stop(), now: now)
            }
        }
    }

    mutating func mediaPortNamed(_ named: UInt16, now: MediaTime) {
        guard let named = port.came(named, now: now) else { return }
        perform(media.start(port: named, isNewSession: false, now: now), now: now)
    }

    mutating func broadcastNamed(_ isOn: Bool, now: MediaTime) {
        media.broadcast(isOn, now: now)
        membership?.isBroadcasting = isOn
        if let isOn = sharing.came(isOn, now: now) { emit(.broadcast(isOn)) }
    }

    /// What the host has announced meanwhile is passed on.
    private mutating func announcementsDue(now: MediaTime) {
        if let isOn = sharing.deadlineReached(now: now) { emit(.broadcast(isOn)) }
        if let named = port.deadlineReached(now: now) {
            perform(media.start(port: named, isNewSession: false, now: now), now: now)
        }
    }

    mutating func secured() { isSecureHost = true }

    // MARK: What the state machines decide

    mutating func perform(_ actions: [ViewerControl.Action], now: MediaTime) {
        for action in actions {
            switch action {
            case .connect(let attempt):
                emit(.connecting(attempt: attempt))
                outputs.append(.connectControl(version))
            case .close:
                dialog = .none
                outputs.append(.closeControl)
            case .sendHandshake:
                introduce()
            case .sendHeartbeat:
                if case .version1 = dialog { send(.heartbeat) } else { ping(now: now) }
            case .lost(let reason):
                emit(.controlLost(reason: reason))
                // Whether it is sharing is anybody's guess from now on: watch the media.
                media.broadcast(nil, now: now)
            case .retry(let pause, let reason):
                if isCodeSpent {
                    askForCode(wasWrong: true, now: now)
                } else {
                    emit(.retrying(after: pause, reason: reason))
                }
            }
        }
    }

    /// The code that we had is of no use (any more): the person has to type another, if there is one.
    mutating func askForCode(wasWrong: Bool, now: MediaTime) {
        code = nil
        isCodeSpent = false
        guard configuration.asksForCode else {
            return refuse(
                (wasWrong ? "that wasn't its code" : "it wants its code")
                    + ". It shows six digits; give them with --code",
                now: now)
        }
        perform(control.needsCode(), now: now)
        emit(.codeNeeded(host: hostName, wasWrong: wasWrong))
    }

    private mutating func introduce() {
        switch dialog {
        case .version1:
            send(.handshake(ControlMessage.Handshake(code: shownCode)))
            emit(.waitingForDecision(code: shownCode))
        case .pairing(let pairing):
            let features: SecureMessage.Hello.Features = configuration.decodesFullChroma ? .fullChroma : []
            for message in pairing.opening(instance: configuration.trust.instance, features: features) {
                send(message)
            }
        case .none, .version2:
            break
        }
    }

    mutating func perform(_ actions: [MediaLiveness.Action], now: MediaTime) {
        for action in actions {
            switch action {
            case .open(let port):
                membership?.challenge = nil
                outputs.append(.openMedia(port: port))
            case .close: outputs.append(.closeMedia)
            case .hello: sayHello(now: now)
            case .announce(let port):
                if case .version1 = dialog, control.isPaired { send(.mediaSource(port)) }
            case .tell(let event): emit(event)
            }
        }
    }

    /// The host has said no, or isn't one to be watched: there is no retry.
    mutating func refuse(_ reason: String, now: MediaTime) {
        emit(.refused(reason: reason))
        end(now: now)
    }

    /// What answers isn't the host that is wanted. A person is told, and decides; where nobody is asked for anything
    /// (`--auto`), the right host is waited for, or anybody could end the waiting by answering in its place once.
    mutating func mistrust(_ reason: String, now: MediaTime) {
        guard !configuration.trust.pairs else { return refuse(reason, now: now) }
        perform(control.mistrusted(reason: reason, now: now), now: now)
    }

    mutating func end(now: MediaTime) {
        if case .version2 = dialog, control.isPaired { send(.bye("The viewer has ended")) }
        perform(media.stop(), now: now)
        for action in control.end() where action == .close { outputs.append(.closeControl) }
        dialog = .none
        reassembler.reset()
    }

    mutating func emit(_ event: ViewerEvent) { outputs.append(.event(event)) }

    mutating func send(_ message: ControlMessage) { outputs.append(.sendControl(message.line)) }

    mutating func send(_ message: SecureMessage) { outputs.append(.sendControl(message.bytes)) }

    mutating func armDeadlines(now: MediaTime) {
        reassembler.moveSigns(to: &arrivals)
        func arm(_ purpose: Purpose, _ time: MediaTime?) {
            if let time { deadlines.set(purpose, at: time) } else { deadlines.cancel(purpose) }
        }
        if case .idle = control.state {} else { arm(.control, control.deadline) }
        arm(.media, media.deadline)
        arm(.reassembly, reassembler.deadline)
        arm(.feedback, feedbackDeadline(now: now))
        arm(.playout, playout.deadline)
        let announcements = min(sharing.deadline ?? .distantFuture, port.deadline ?? .distantFuture)
        arm(.announcements, announcements < .distantFuture ? announcements : nil)
    }
}
