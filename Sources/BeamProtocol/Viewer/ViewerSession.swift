import BeamMedia

/// A viewer's side of the protocol, without I/O.
///
/// Call a `handle…` method for each thing that happens, then `pollOutput` until it returns `.wait`. The first poll
/// begins to connect.
public struct ViewerSession: Sendable {
    public struct Configuration: Sendable {
        public var trust: ViewerTrust
        /// The host's code, by which the viewer is paired. In version 1: the digits that the host's person compares.
        public var code: PairingCode?
        /// A person can be asked to type the host's code.
        public var asksForCode: Bool
        /// The person wants the person at the host to be asked, if the host offers that.
        public var asksPerson = false
        /// Version 1 may be used with a host that doesn't speak version 2: everybody on the network can see what it
        /// shows.
        public var allowsUnencrypted: Bool
        /// The protocol version from discovery; nil: unknown.
        public var announcedVersion: Int?
        /// The host at this address spoke version 1 last. If version 1 may be used, it is tried first, unless version 2
        /// is announced.
        public var wasUnencrypted: Bool
        /// The decoder takes 4:4:4.
        public var decodesFullChroma: Bool
        /// The playout delay; nil: adaptive.
        public var buffer: Duration?
        /// Captions, notes, alerts and messages; nil: none.
        public var room: LogOptions?
        /// Sound is played or recorded here.
        public var takesSound = false
        /// The largest pictures that are decoded and shown here; nil: the host isn't told.
        public var bounds: PictureBounds?

        public init(
            trust: ViewerTrust, code: PairingCode? = nil, asksForCode: Bool = false, allowsUnencrypted: Bool = false,
            announcedVersion: Int? = nil, wasUnencrypted: Bool = false, decodesFullChroma: Bool = true,
            buffer: Duration? = nil, room: LogOptions? = nil
        ) {
            self.trust = trust
            self.code = code
            self.asksForCode = asksForCode
            self.allowsUnencrypted = allowsUnencrypted
            self.announcedVersion = announcedVersion
            self.wasUnencrypted = wasUnencrypted
            self.decodesFullChroma = decodesFullChroma
            self.buffer = buffer
            self.room = room
        }
    }

    public enum Version: Int, Sendable, Hashable {
        /// Unencrypted lines of JSON.
        case version1 = 1
        /// Messages inside TLS.
        case version2 = 2
    }

    /// Why a control connection could not be made, or has ended.
    public enum ControlFailure: Sendable, Hashable {
        case network
        /// The peer doesn't speak TLS.
        case notSecure
        /// The peer's certificate is invalid; not retried as usual.
        case refusedCertificate
        /// Only a host with this key answers, and it is none of `expectedHosts`. Not retried as usual.
        case wrongHost(DeviceKey)
    }

    public enum Input: Sendable {
        /// The version 1 connection requested by `.connectControl` is established.
        case controlConnected
        /// Bytes received on it, split anywhere.
        case controlBytes([UInt8])
        /// The version 2 connection requested by `.connectControl` is established; its peer holds this key. `hasMoved`:
        /// its address isn't the one that the media socket is connected to.
        case controlSecured(DeviceKey, hasMoved: Bool = false)
        /// A message received on it, without its length prefix.
        case controlMessage([UInt8])
        /// The connection couldn't be established, or has ended; `reason` is for a person.
        case controlClosed(reason: String, ControlFailure = .network)
        /// The person has typed the host's code.
        case code(PairingCode)
        /// The person wants the person at the host to be asked, in answer to `ViewerEvent.codeNeeded`.
        case askPerson
        /// The hosts in the store have changed. Hosts that are missing were forgotten.
        case remembered([DeviceKey: String])
        /// Discovery has found the host: connect now.
        case hostAppeared
        /// The protocol version that the host announces; nil: discovery hasn't found it.
        case announced(version: Int?)
        /// The socket requested by `.openMedia` is bound to this local port.
        case mediaOpened(localPort: UInt16)
        /// The socket couldn't be opened, or reported an error. It is retried. `hasNoAddress`: this machine's address or
        /// interface is gone, so that nothing can be sent.
        case mediaFailed(reason: String, hasNoAddress: Bool = false)
        /// The decoder couldn't use a delivered frame, and needs a keyframe.
        case decoderFailed
        /// The pictures are passed on to somebody who needs a keyframe. What is delivered goes on meanwhile.
        case keyframeWanted
        /// The largest size in pixels in which the picture is shown, so that the host needn't send a larger one; nil:
        /// any. A host that can't scale ignores it.
        case shownSize(PixelSize?)
        /// Whether sound is wanted at present; it is at first. A host sends none otherwise.
        case soundWanted(Bool)
        /// How much later each picture is to be shown, so that the sound is in step.
        case pictureHold(Duration)
        /// What this machine writes to the room.
        case room(LogInput)
        case shutdown
    }

    public enum Output: Sendable {
        /// Look up the host's address again and connect to its control port.
        case connectControl(Version)
        /// Version 1: bytes to send. Version 2: one message to send.
        case sendControl([UInt8])
        case closeControl
        /// Open a UDP socket connected to the control connection's address and this port, in place of any earlier one.
        case openMedia(port: UInt16)
        case closeMedia
        case sendMedia([UInt8])
        /// The next frame to decode: in order and complete; all frames that it refers to were delivered.
        case deliver(ReceivedFrame)
        /// Sound has arrived, in any order, each packet once.
        case sound(ReceivedSound)
        case event(ViewerEvent)
        /// Nothing to do until this time or the next input. `for` is the purpose of the wake-up; nil if there is none.
        case wait(until: MediaTime, for: Purpose?)
    }

    /// The purpose of a deadline.
    public enum Purpose: Hashable, Sendable {
        /// The control connection: heartbeats, timeout, the next attempt.
        case control
        /// The media socket: hellos, timeout, replacement.
        case media
        /// A frame's missing parts are overdue.
        case reassembly
        /// Requests or a report are due.
        case feedback
        /// A frame's playout time has come.
        case playout
        /// A rate-limited announcement is passed on.
        case announcements
        /// Entries of the room, or acknowledgements, are due.
        case room
    }

    /// What the present control connection speaks.
    enum Dialog: Sendable {
        case none
        case version1(LineReading)
        /// Version 2, before admission.
        case pairing(SecurePairing)
        case version2
    }

    /// The state of reading version 1's lines.
    struct LineReading: Sendable {
        var lines = LineBuffer()
        var malformedLines = 0
        /// The media port, if it was announced before the reply.
        var earlyPort: UInt16?
    }

    /// The keys of a version 2 session's datagrams.
    struct MediaSealing: Sendable {
        var hellos: DatagramSealer
        var media: MediaKeyRing
    }

    /// The session that the host has admitted this viewer to. It outlives the control connection that it began on.
    struct Membership: Sendable {
        /// Nil if a version 1 host gave none.
        var id: String?
        /// Nil in version 1, which doesn't encrypt.
        var sealing: MediaSealing?
        /// Whether the host is sharing, as it said last; nil: it hasn't said.
        var isBroadcasting: Bool?
        var challenge: Challenge?
    }

    /// The host's newest challenge of the address that our hellos come from.
    struct Challenge: Sendable {
        var token: UInt64
        var time: MediaTime
        var expiry: MediaTime { time + ViewerTiming.challengeLifetime }
    }

    let configuration: Configuration
    var random: any RandomNumberGenerator & Sendable
    /// Version 1's digits, which the viewer chooses.
    let shownCode: PairingCode
    /// The code that the person has given, until it is used.
    var code: PairingCode?
    /// The person has given a code at some time: an unknown host is paired by a code or not at all.
    var wantsCode: Bool
    /// The code's confirmation tag was sent and no answer has arrived. Whoever is there may have tested one guess with
    /// it, so the code isn't sent again without the person.
    var isCodeSpent = false
    /// The person here has chosen to ask the person at the host.
    var wantsComparison = false
    /// The person at the host was asked on the present connection, or the last one.
    var isPersonAsked = false
    /// The host offered to compare digits when the code was needed last.
    var offersComparison = false
    var outputs = OutputQueue<Output>()
    private var deadlines = Deadlines<Purpose>()
    var control = ViewerControl()
    var version: Version { didSet { control.isPlain = version == .version1 } }
    /// How dependable the control connection is.
    var connection = ConnectionTracker()
    var announcedVersion: Int?
    /// Version 1 is tried only because the host spoke it when it was met before.
    var isByMemory: Bool
    /// The reason for which such a host refused version 1: it may speak version 2 by now.
    var refusedByMemory: ViewerRefusal?
    /// The host has spoken version 2 in this run: no fallback to version 1 any more.
    var isSecureHost = false
    var dialog = Dialog.none
    /// The host's name for display: the remembered one, else the one it claims.
    var hostName = ""
    /// The name was reported.
    var isHostNamed = false
    /// The last changed name of a known host that was reported.
    var lastNewName: String?
    var newNames = 0
    /// The full picture's size that the host named last, of which it sends less; and how often that has changed.
    var fullSize: PixelSize?
    var fullSizeChanges = 0
    /// The known hosts: remembered, or paired in this run.
    var book: TrustBook
    /// The key of the host on the present or last version 2 connection.
    var hostKey: DeviceKey?
    /// The key of the paired host that was watched in this run: no other one is watched in its place.
    var watchedKey: DeviceKey?
    var membership: Membership?
    /// Rate limits on what the host announces: sharing for the person, the port for the media socket.
    var sharing = Announcement<Bool>()
    var visibility = Announcement<SourceVisibility>()
    /// As passed on last in this session.
    var sourceVisibility = SourceVisibility.visible
    var port = Announcement<UInt16>()
    var media = MediaLiveness()
    /// Rate limit of the present control connection.
    var messages = MessageRate()
    var reassembler = Reassembler()
    /// Arrivals, for the reports to the host.
    var arrivals = ArrivalLog()
    var keyframeRequest = KeyframeRequest()
    /// Who gets the pictures from here needs a keyframe after this frame.
    var keyframeWantedAfter: SequenceNumber?
    var lastDelivered: SequenceNumber?
    var playout: PlayoutBuffer
    /// The host's bandwidth estimate and its sending rate.
    var rates: StreamState.Rates?
    var clock = HostClock()
    var clockError: Duration?
    /// What the datagram being handled says of the following ones.
    var arrival = MediaLiveness.Arrival.media
    /// The numbers of probes of the path's MTU that wait to be acknowledged.
    var probes: [UInt16] = []
    /// When the control connection was tested because nothing arrives.
    var controlTested: MediaTime?
    /// The host's address isn't the one that the media socket is connected to.
    var hasHostMoved = false
    /// Captions, notes, alerts and messages; nil without `Configuration.room`.
    var room: LogExchange?
    /// The host's version has words of another form.
    var hasOtherWords = false
    /// The largest size in which the picture is shown; nil: any.
    var shownSize: PixelSize?
    /// The host wants to know it.
    var takesShownSize = false
    var soundReceiver = SoundReceiver()
    /// The host may send sound.
    var hostHasSound = false
    var wantsSound = true
    /// The last datagram's plaintext; its memory is reused.
    var opened: [UInt8] = []

    /// `random` makes nonces and version 1's code: pass the system's generator, except in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        var random = random
        self.configuration = configuration
        playout = PlayoutBuffer(fixed: configuration.buffer)
        book = TrustBook(remembered: configuration.trust.known)
        code = configuration.code
        wantsCode = configuration.code != nil
        wantsComparison = configuration.asksPerson && configuration.code == nil
        shownCode = configuration.code ?? .random(using: &random)
        let mayFallBack = configuration.allowsUnencrypted && configuration.trust.required == nil
        let wasPlain = configuration.announcedVersion == nil && configuration.wasUnencrypted
        version = mayFallBack && (configuration.announcedVersion == 1 || wasPlain) ? .version1 : .version2
        isByMemory = version == .version1 && wasPlain
        room = configuration.room.map {
            LogExchange(
                LogExchange.Configuration(
                    role: .guest, own: configuration.trust.own, name: $0.name, signing: $0.signing),
                random: random)
        }
        announcedVersion = configuration.announcedVersion
        control.isPlain = version == .version1
        control.isAwaited = !configuration.trust.pairs
        self.random = random
        deadlines.set(.control, at: MediaTime(nanoseconds: .min))
    }

    public var statistics: ViewerStatistics {
        var statistics = reassembler.statistics
        statistics.roundTrip = clock.roundTrip
        statistics.clockError = clockError
        statistics.keyframesRequested = keyframeRequest.count
        statistics.estimatedRate = rates.map { Int($0.estimated) * 1000 }
        statistics.usedRate = rates.map { Int($0.used) * 1000 }
        statistics.buffer = playout.delay
        statistics.sound = soundReceiver.statistics
        return statistics
    }

    /// Handles an input. One that is late or out of order is ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        if case .ended = control.state { return }
        switch input {
        case .controlConnected:
            messages = MessageRate()
            dialog = .version1(LineReading())
            perform(control.connected(now: now), now: now)
        case .controlBytes(let bytes): controlBytes(bytes, now: now)
        case .controlSecured(let host, let hasMoved):
            hasHostMoved = hasMoved
            controlSecured(host, now: now)
        case .controlMessage(let bytes): controlMessage(bytes, now: now)
        case .controlClosed(let reason, let failure): controlClosed(reason: reason, failure, now: now)
        case .code(let typed): take(typed, now: now)
        case .askPerson: askPerson(now: now)
        case .remembered(let hosts):
            let forgotten = book.update(hosts)
            if let hostKey, forgotten.contains(hostKey) { refuse(.forgottenHere, now: now) }
        case .hostAppeared: perform(control.hostAppeared(now: now), now: now)
        case .announced(let version): announcedVersion = version
        case .mediaOpened(let port): perform(media.opened(localPort: port, now: now), now: now)
        case .mediaFailed(_, let hasNoAddress):
            perform(media.failed(hasNoAddress: hasNoAddress, now: now), now: now)
        case .decoderFailed: reassembler.decoderFailed()
        case .keyframeWanted: keyframeWantedAfter = keyframeWantedAfter ?? lastDelivered
        case .shownSize(let size): show(in: size)
        case .soundWanted(let isWanted): want(sound: isWanted)
        case .pictureHold(let hold): playout.hold = hold
        case .room(let input):
            var isRefused = hasOtherWords
            if case .version1 = dialog { isRefused = true }
            if isRefused { room?.refuse(input) } else { room?.handle(input, now: now) }
        case .shutdown: end(now: now)
        }
        settleRoom(now: now)
        updateKeyframeRequest(now: now)
        armDeadlines(now: now)
    }

    /// The next thing to do; `.wait` when there is nothing more to do now.
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
            case .room:
                settleRoom(now: now)
            }
            updateKeyframeRequest(now: now)
            armDeadlines(now: now)
        }
    }

    // MARK: Control

    /// The host has admitted this viewer, to a new session or to the one that it was in.
    mutating func enter(
        session named: String?, host: String?, mediaPort: UInt16?, isNews: Bool, sealing: MediaSealing?, now: MediaTime
    ) {
        let isEncrypted = sealing != nil
        media.isAnswered = isEncrypted
        if isNews { connection.made(now: now) }
        if let named, named == membership?.id {
            membership?.sealing = sealing
            if hasHostMoved { perform(media.hostMoved(now: now), now: now) }
            hasHostMoved = false
            if isNews {
                emit(.paired(session: named, deviceName: host, isNewSession: false, isEncrypted: isEncrypted))
                emit(.controlRestored)
                if !isEncrypted, let localPort = media.localPort { send(.mediaSource(localPort)) }
            }
            if let mediaPort { mediaPortNamed(mediaPort, now: now) }
        } else if isNews || named != nil {
            membership = Membership(id: named, sealing: sealing)
            sharing.forget()
            visibility.forget()
            sourceVisibility = .visible
            port.forget()
            reassembler.reset(canAsk: isEncrypted)
            soundReceiver.restart()
            playout.removeAll()
            emit(.paired(session: named ?? "", deviceName: host, isNewSession: true, isEncrypted: isEncrypted))
            media.broadcast(nil, now: now)
            if let mediaPort {
                _ = port.received(mediaPort, now: now)
                perform(media.start(port: mediaPort, isNewSession: true, now: now), now: now)
            } else {
                perform(media.stop(), now: now)
            }
        }
    }

    mutating func mediaPortNamed(_ named: UInt16, now: MediaTime) {
        guard let named = port.received(named, now: now) else { return }
        perform(media.start(port: named, isNewSession: false, now: now), now: now)
    }

    mutating func broadcastNamed(_ isOn: Bool, now: MediaTime) {
        media.broadcast(isOn, now: now)
        membership?.isBroadcasting = isOn
        if let isOn = sharing.received(isOn, now: now) { emit(.broadcast(isOn)) }
    }

    mutating func sourceVisibilityNamed(_ named: SourceVisibility, now: MediaTime) {
        if let named = visibility.received(named, now: now) { passOn(named) }
    }

    private mutating func passOn(_ visibility: SourceVisibility) {
        guard visibility != sourceVisibility else { return }
        sourceVisibility = visibility
        emit(.sourceVisibility(visibility))
    }

    /// Passes on rate-limited announcements that are due.
    private mutating func announcementsDue(now: MediaTime) {
        if let isOn = sharing.deadlineReached(now: now) { emit(.broadcast(isOn)) }
        if let named = visibility.deadlineReached(now: now) { passOn(named) }
        if let named = port.deadlineReached(now: now) {
            perform(media.start(port: named, isNewSession: false, now: now), now: now)
        }
    }

    mutating func secured() {
        isSecureHost = true
        refusedByMemory = nil
    }

    /// The host has refused version 1. If that was tried only because the host spoke it before, version 2 is tried.
    mutating func refusedUnencrypted(_ refusal: ViewerRefusal, now: MediaTime) {
        guard isByMemory, !isSecureHost else { return refuse(refusal, now: now) }
        isByMemory = false
        refusedByMemory = refusal
        version = .version2
        perform(control.restart(now: now), now: now)
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
        reassembler.moveArrivalEvents(to: &arrivals)
        notePictures(now: now)
        func arm(_ purpose: Purpose, _ time: MediaTime?) {
            if let time { deadlines.set(purpose, at: time) } else { deadlines.cancel(purpose) }
        }
        if case .idle = control.state {} else { arm(.control, control.deadline) }
        arm(.media, media.deadline)
        arm(.reassembly, reassembler.deadline)
        arm(.feedback, feedbackDeadline(now: now))
        arm(.playout, playout.deadline)
        let announcements = min(
            sharing.deadline ?? .distantFuture, visibility.deadline ?? .distantFuture, port.deadline ?? .distantFuture)
        arm(.announcements, announcements < .distantFuture ? announcements : nil)
        arm(.room, room.flatMap { $0.deadline < .distantFuture ? $0.deadline : nil })
    }
}
