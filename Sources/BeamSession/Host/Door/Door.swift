import BeamLog
import BeamMedia
import BeamWire

/// Lets guests in: control connections, their dialogs, pairing, trust and codes, questions to the person, and places. It
/// knows nothing of media.
///
/// `handle` takes an event; then `popOutput` is to be called until it returns nil, and `performDue` when `deadline` has
/// come. By itself it is driven by a `DoorSession`, with a stream by a `HostSession`.
public struct Door: Sendable {
    public enum Acceptance: String, Sendable, CaseIterable { case ask, all, none }

    public struct Configuration: Sendable {
        public static let defaultViewers = 64
        /// An upper bound above what one network thread serves (`Scripts/bench crowd` measures 200 viewers): browsers at
        /// gateways take places, too, and cost little.
        public static let mostViewersPossible = 10_000

        /// What to do with an unknown viewer that has no valid code.
        public var acceptance: Acceptance
        /// The host's name, as shown to viewers. (In version 1 it is added to the reply as `deviceName`, which other
        /// implementations ignore.)
        public var deviceName: String?
        public var trust: HostTrust
        /// Admit version 1 viewers, too. Their stream isn't encrypted: everybody on the network can read it.
        public var allowsUnencrypted: Bool
        /// The most viewers at a time.
        public var mostViewers: Int
        /// The code that browsers' persons type; nil: no browser is let in.
        public var webCode: HostCode?
        /// Through how many relays the picture comes at first, this one among them: 0 at a host, 3 at most.
        public var relays = 0
        /// It is a receiver's: guests bring a screen (`Message.screenOffered`), and others are refused.
        public var isReceivers = false
        /// What guests are told that there is, besides pictures.
        var offers: SecureMessage.Welcome.Features = []

        public init(
            acceptance: Acceptance, deviceName: String? = nil, trust: HostTrust, allowsUnencrypted: Bool = false,
            mostViewers: Int = defaultViewers
        ) {
            self.acceptance = acceptance
            self.deviceName = deviceName
            self.trust = trust
            self.allowsUnencrypted = allowsUnencrypted
            self.mostViewers = mostViewers
        }

        /// For those who are known already (`Input.remembered`): nobody else is let in. `own`: the host's key.
        public static func known(to own: DeviceKey, deviceName: String?) -> Configuration {
            Configuration(
                acceptance: .none, deviceName: deviceName,
                trust: HostTrust(own: own, code: .none, takesNewViewers: false, remembersNewViewers: false))
        }
    }

    /// Events about connections and questions that no longer exist are ignored.
    public enum Input: Sendable {
        /// A TCP connection was accepted.
        case connectionOpened(ConnectionID, from: IPAddress)
        /// Bytes of a version 1 connection, in chunks of any size.
        case connectionBytes(ConnectionID, [UInt8])
        /// A version 2 connection: TLS is established, and the peer has proved that it holds this key.
        case connectionSecured(ConnectionID, DeviceKey)
        /// A message of a version 2 connection, without its length field.
        case connectionMessage(ConnectionID, [UInt8])
        /// The peer has sent what isn't of the protocol; nothing more is read from it. `reason` is a part of a
        /// sentence.
        case connectionViolated(ConnectionID, reason: String)
        /// The connection was closed by either side. `tlsFailure`: why TLS failed, if it did; a part of a sentence.
        case connectionClosed(ConnectionID, tlsFailure: String? = nil)
        /// A browser's page has connected. Its connection is numbered like the others, by whoever serves it.
        case browserOpened(ConnectionID, from: IPAddress)
        /// Its person wants to watch.
        case browserHello(ConnectionID, BrowserHello)
        /// The page has gone. `reason`: why, as the end of a sentence; nil: its person has left.
        case browserClosed(ConnectionID, reason: String?)
        /// The person's answer to `HostEvent.viewerAsks`, `.comparisonAsked`, `.browserAsks` or `.digitsShown`.
        case decision(ConnectionID, accept: Bool)
        /// The paired devices and their names as stored now. A device that is missing was removed.
        case remembered([DeviceKey: String])
        /// The list of paired devices has changed, and can't be read.
        case rememberedUnreadable
        /// In a room: its code, and what is counted there of wrong tries.
        case roomCode(MeshCodeState)
        /// In a room, about `HostEvent.codeTried`: the proof may be checked; `pause`: it may not for so long.
        case codeVerdict(ConnectionID, pause: Duration?)
        /// Evict this viewer for now: it may come again a minute later.
        case sendAway(Guest.Identity)
        /// Evict this device, and refuse it until the host ends.
        case block(DeviceKey)
        /// The same for version 1 viewers of an address.
        case blockAddress(IPAddress)
        /// Evict the browser of this session, and refuse browsers of its address until the host ends.
        case blockBrowser(session: String)
        /// Replace the code by this one.
        case code(PairingCode)
        /// Replace the code by a random one, if there is one.
        case renewCode
        /// The same for the browsers' code.
        case webCode(PairingCode)
        case renewWebCode
        /// How those who come from now on are let in, in place of what the configuration says.
        case policy(Acceptance, takesNewViewers: Bool)
        /// Nobody new is let in for this reason (without a full stop), whatever else is set; nil: not any more.
        case closedToNew(reason: String?)
        /// Whether somebody at another machine can be asked about newcomers; counts if `acceptance` is none. No at first.
        case asksElsewhere(Bool)
        /// Viewers of version 2 that come from now on are told this name. Nobody may be pairing.
        case named(String)
        /// What viewers are told at the end, without a full stop.
        case farewell(String)
        /// This device has to be paired again, unless it is remembered.
        case unpair(DeviceKey)
    }

    enum Output: Sendable {
        /// Bytes of a version 1 connection, or a whole message of a version 2 connection.
        case send(ConnectionID, [UInt8])
        /// Close once everything sent so far has left.
        case close(ConnectionID)
        case event(HostEvent)
        /// A viewer was admitted and told its session, or has reconnected (`isResumed`).
        case admitted(AdmittedGuest, isResumed: Bool)
        /// The viewer was removed.
        case left(ViewerID)
        /// The viewer's control connection has ended; the viewer stays.
        case disconnected(ViewerID)
        /// Nothing has come from the viewer on a control connection for `HostLimits.viewerTimeout`. Answer with `quiet`.
        case quiet(ViewerID)
        case message(ViewerID, Message)
        /// For a browser's page.
        case browser(ConnectionID, BrowserVerdict)
    }

    /// What an admitted viewer says.
    enum Message: Sendable {
        /// Version 1: the port of its media socket.
        case mediaSource(port: UInt16)
        /// It holds the media key of that number.
        case mediaKeyReady(number: UInt16)
        /// The largest size in which it shows the picture; nil: any.
        case shownSize(PixelSize?)
        /// It wants sound, or none at present.
        case soundWanted(Bool)
        /// Who gets the picture by way of it.
        case patchTakers(PatchTakers)
        /// The most that it wishes to be sent.
        case qualityWanted(QualityWish)
        /// A message of the room's log.
        case room(LogMessage)
        /// To a receiver: its screen is shared at this port.
        case screenOffered(port: UInt16)
    }

    /// What a deadline is for.
    enum Purpose: Hashable, Sendable {
        /// A connection wasn't admitted in time.
        case unadmitted(ConnectionID)
        case heartbeat(ConnectionID)
        case questions
        /// The code's time is over.
        case code
        /// The same of the browsers' code.
        case webCode
        /// Refused connections are reported as a sum.
        case refusals
        /// A viewer may have been silent for too long.
        case silence
    }

    let configuration: Configuration
    let limits: ViewerLimits
    var random: any RandomNumberGenerator & Sendable
    var outputs = OutputQueue<Output>()
    var deadlines = Deadlines<Purpose>()

    var connections: [ConnectionID: HostConnection] = [:]
    var ledger = ConnectionLedger()
    var refusals = RefusalLog()
    /// Addresses that known devices were admitted from, the latest last.
    var knownAddresses: [IPAddress] = []
    /// In the order of admission, so in ascending order of their IDs.
    var members: [Member] = []
    var lastMember: UInt64 = 0
    /// The number of the viewer key made last.
    var lastKeyNumber: UInt16 = 0
    /// What the stream is sealed with, and is going to be sealed with.
    var mediaKeys: (current: SealingKey, next: SealingKey?)
    var questions = PairingQuestions()
    let trust: HostTrust
    /// As the configuration says, or a policy that came later.
    private(set) var acceptance: Acceptance
    private(set) var takesNewViewers: Bool
    var book: TrustBook
    var blocked = BlockedPeers()
    var admissions = AdmissionLog()
    var code: HostCode
    /// In a room: one more wrong try replaces the code.
    var isBeforeLastTry = false
    var codeGuard = CodeGuard()
    /// Of browsers; nil: none is let in.
    var webCode: HostCode?
    /// Wrong codes of browsers don't keep other viewers waiting.
    var webGuard = CodeGuard()
    private var hasBegun = false
    var comparisonGuard = ComparisonGuard()
    /// Announced to the viewers.
    var mediaPort: UInt16?
    var isBroadcasting = false
    var sourceVisibility = SourceVisibility.visible
    /// What the viewers are told at the end.
    var farewell = SecureMessage.hostEnded
    /// Why nobody new is let in; nil: new viewers are let in as the options say.
    var closedToNew: String?
    /// The machine can't send everything to those who are here: nobody else is admitted.
    var isOverloaded = false
    /// Somebody at another machine can be asked about new viewers.
    var asksElsewhere = false
    /// A new viewer may ask to compare digits.
    var asks: Bool {
        switch acceptance {
        case .ask: true
        case .none: asksElsewhere
        case .all: false
        }
    }
    /// What this host is called from now on, in version 2; nil: as the options say.
    var shownName: String?
    /// Through how many relays the picture comes.
    var relays: Int
    /// What viewers are offered beyond what every host can.
    var offers: SecureMessage.Welcome.Features

    init(
        configuration: Configuration, mediaKey: SealingKey,
        random: any RandomNumberGenerator & Sendable
    ) {
        self.configuration = configuration
        mediaKeys = (mediaKey, nil)
        self.random = random
        limits = ViewerLimits(configuration.mostViewers)
        trust = configuration.trust
        acceptance = configuration.acceptance
        takesNewViewers = configuration.trust.takesNewViewers
        book = TrustBook(remembered: configuration.trust.remembered, paired: configuration.trust.expected)
        code = configuration.trust.code
        webCode = configuration.webCode
        relays = configuration.relays
        offers = configuration.offers
    }

    mutating func handle(_ input: Input, now: MediaTime) {
        begin(now: now)
        switch input {
        case .connectionOpened(let id, let address): connectionOpened(id, from: address, now: now)
        case .connectionBytes(let id, let bytes): connectionBytes(id, bytes, now: now)
        case .connectionSecured(let id, let device): connectionSecured(id, device: device, now: now)
        case .connectionMessage(let id, let bytes): connectionMessage(id, bytes, now: now)
        case .connectionViolated(let id, let reason): violated(id, reason: reason, now: now)
        case .connectionClosed(let id, let tlsFailure): connectionEnded(id, tlsFailure: tlsFailure, now: now)
        case .browserOpened(let id, let address): browserOpened(id, from: address, now: now)
        case .browserHello(let id, let hello): browserHello(id, hello, now: now)
        case .browserClosed(let id, let reason): browserClosed(id, reason: reason, now: now)
        case .decision(let id, let accept): decided(id, accept: accept, now: now)
        case .remembered(let devices): rememberedChanged(devices, now: now)
        case .rememberedUnreadable: book.becomeStale()
        case .roomCode(let state): roomCode(state, now: now)
        case .codeVerdict(let id, let pause): codeVerdict(id, pause: pause, now: now)
        case .sendAway(let viewer): sendAway(viewer, now: now)
        case .block(let device): block(device, now: now)
        case .blockAddress(let address): block(address, now: now)
        case .blockBrowser(let session): sendAwayBrowser(session, forGood: true, now: now)
        case .code(let next): giveCode(next, now: now)
        case .renewCode: renewCode(.asked, now: now)
        case .webCode(let next): giveWebCode(next, now: now)
        case .renewWebCode: renewWebCode(.asked, now: now)
        case .policy(let acceptance, let takesNewViewers):
            (self.acceptance, self.takesNewViewers) = (acceptance, takesNewViewers)
        case .closedToNew(let reason): closedToNew = reason
        case .asksElsewhere(let asks): asksElsewhere = asks
        case .named(let name): shownName = name
        case .farewell(let reason): farewell = reason
        case .unpair(let device): book.unpair(device)
        }
    }

    /// The first time: from now on the code's time runs.
    mutating func begin(now: MediaTime) {
        guard !hasBegun else { return }
        hasBegun = true
        code.begin(now: now)
        armCode()
        webCode?.begin(now: now)
        armWebCode()
    }

    /// The next thing that was decided; nil: nothing more was.
    mutating func popOutput() -> Output? { outputs.popFirst() }

    /// When something is due next.
    var deadline: MediaTime { deadlines.next }

    /// Does one thing that is due. False if nothing is.
    mutating func performDue(now: MediaTime) -> Bool {
        begin(now: now)
        guard let purpose = deadlines.popDue(now) else { return false }
        switch purpose {
        case .unadmitted(let id): unadmittedTimedOut(id, now: now)
        case .heartbeat(let id): sendHeartbeat(id, now: now)
        case .questions:
            for id in questions.expire(now: now) { emit(.askWithdrawn(id)) }
            armQuestions()
        case .code: renewCode(.time, now: now)
        case .webCode: renewWebCode(.time, now: now)
        case .refusals: sumUpRefusals(now: now)
        case .silence: findQuiet(now: now)
        }
        return true
    }

    /// Replaces the code by a given one.
    mutating func giveCode(_ next: PairingCode, now: MediaTime) {
        code.give(next, now: now)
        codeChanged(.given, but: nil, now: now)
    }

    /// Replaces the code by a random one.
    mutating func renewCode(_ reason: CodeChange.Reason, now: MediaTime) {
        guard code.current != nil else { return }
        code.renew(random: &random, now: now)
        codeChanged(reason, but: nil, now: now)
    }

    /// The code is another one. `id` has just been let in by the one before.
    mutating func codeChanged(_ reason: CodeChange.Reason, but id: ConnectionID?, now: MediaTime) {
        withdrawProofs(but: id, now: now)
        armCode()
        emit(
            .codeChanged(
                CodeChange(
                    code: code.current, service: code.service, reason: reason, left: code.expiry.map { $0 - now })))
    }

    /// The room of equals has another code, or has counted wrong tries.
    mutating func roomCode(_ state: MeshCodeState, now: MediaTime) {
        codeGuard.learn(wrongTries: state.wrongTries, pause: state.pause ?? .zero, now: now)
        isBeforeLastTry = state.isBeforeLastTry
        guard state.code != code.current else { return }
        code.give(state.code, now: now)
        withdrawProofs(but: nil, now: now)
        emit(
            .codeChanged(
                CodeChange(
                    code: state.code, service: state.service, reason: state.reason ?? .byMember, member: state.member,
                    left: state.left)))
    }

    private mutating func armCode() {
        deadlines.arm(.code, at: code.expiry)
    }

    /// Tells all viewers, and closes all connections.
    mutating func shutdown() {
        announce(.broadcast(false), .bye(farewell))
        for (id, connection) in connections.sorted(by: { $0.key.value < $1.key.value }) {
            if case .version2 = connection.dialog, connection.isUnadmitted { send(.bye(farewell), to: id) }
            if connection.isBrowser { outputs.append(.browser(id, .refused(.ended, reason: farewell))) }
            outputs.append(.close(id))
        }
        connections = [:]
        ledger.removeAll()
        members = []
        deadlines.cancelAll()
    }

    func index(of id: ViewerID) -> Int? { members.firstIndex { $0.id == id } }

    // MARK: Shorthands

    mutating func emit(_ event: HostEvent) { outputs.append(.event(event)) }

    mutating func send(_ message: ControlMessage, to id: ConnectionID) { outputs.append(.send(id, message.line)) }

    mutating func send(_ message: SecureMessage, to id: ConnectionID) { outputs.append(.send(id, message.bytes)) }

    /// To a viewer's present control connection, if it has one.
    mutating func send(_ message: SecureMessage, to viewer: ViewerID) {
        guard let index = index(of: viewer), let control = members[index].control else { return }
        send(message, to: control)
    }

    mutating func armQuestions() {
        deadlines.arm(.questions, at: questions.deadline)
    }
}

/// How many viewers may be admitted at a time, those without a control connection included.
struct ViewerLimits: Sendable {
    let viewers: Int
    /// Places for devices that weren't paired (`--accept all`, version 1), in all and for each address prefix. The rest
    /// is reserved for paired devices.
    let unknownViewers: Int
    let unknownViewersPerPrefix: Int
    /// A whole class may share one address (NAT).
    let browsersPerAddress: Int

    init(_ viewers: Int) {
        self.viewers = max(1, viewers)
        unknownViewers = max(1, self.viewers * 3 / 4)
        unknownViewersPerPrefix = max(1, self.viewers / 2)
        browsersPerAddress = max(HostLimits.viewersPerDevice, self.viewers / 2)
    }
}
