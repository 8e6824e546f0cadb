import BeamMedia
import BeamWire

/// A viewer's way into a host's session: connections, versions, trust, pairing, and what the person says of it. It knows
/// nothing of media.
///
/// Call a method for each thing that happens, then `pollOutput` until it returns nil.
struct Admission: Sendable {
    private static let olderHint =
        "; if it is an older app, on an iPhone for example, it can only be watched with --allow-unencrypted"

    private let configuration: ViewerSession.Configuration
    private var random: any RandomNumberGenerator & Sendable
    /// Version 1's digits, which the viewer chooses.
    private let shownCode: PairingCode
    private var outputs = OutputQueue<Output>()
    private var state: AdmissionState
    private var choice: PairingChoice
    private var announcedVersion: Int?
    private var host: WatchedHost
    /// How dependable the control connection is.
    private var connection = ConnectionTracker()
    /// Rate limit of the present control connection.
    private var messages = MessageRate()
    /// See `Admitted.Secure`.
    private var hasMoved = false
    /// The session that the host has admitted this viewer to. It outlives the control connection that it began on.
    private var session: String?
    /// When the control connection was tested because nothing arrives.
    private var tested: MediaTime?

    init(_ configuration: ViewerSession.Configuration, random: inout any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        shownCode = configuration.code ?? .random(using: &random)
        self.random = random
        choice = configuration.code.map { .code($0) } ?? (configuration.asksPerson ? .person : .any)
        announcedVersion = configuration.announcedVersion
        host = WatchedHost(configuration.trust)
        state = AdmissionState(SpokenVersion(configuration), isAwaited: !configuration.trust.pairs)
    }

    mutating func pollOutput() -> Output? { outputs.popFirst() }

    /// Nothing was begun yet.
    var isIdle: Bool { state.isIdle }
    var hasEnded: Bool { state.hasEnded }
    var deadline: MediaTime? { state.deadline }
    /// What the host that has admitted this viewer can do; nil if there is none, and in version 1.
    var features: SecureMessage.Welcome.Features? { state.features }
    var isAdmitted: Bool { state.isAdmitted }
    /// The present connection speaks version 1.
    var isPlain: Bool { state.reading != nil }
    var expectedHosts: Set<DeviceKey>? { host.expected }
    var hostName: String { host.name }

    // MARK: The connection

    mutating func deadlineReached(now: MediaTime) {
        perform(state.start(now: now), now: now)
        perform(state.deadlineReached(now: now), now: now)
    }

    mutating func hostAppeared(now: MediaTime) { perform(state.hostAppeared(now: now), now: now) }

    mutating func announced(version: Int?) { announcedVersion = version }

    /// `hadStopped`: the host has said that it isn't sharing.
    mutating func closed(
        reason: String, _ failure: ViewerSession.ControlFailure, hadStopped: Bool, now: MediaTime
    ) {
        outputs.append(.closed)
        // A version 1 host says that it stops sharing, and hangs up.
        if hadStopped, isPlain, state.isAdmitted { return perform(state.hostEnded("", now: now), now: now) }
        switch failure {
        case .refusedCertificate:
            return mistrust(.unproven(reason: reason), now: now)
        case .wrongHost(let key):
            if let conflict = host.conflict(with: key) { return mistrust(conflict, now: now) }
        case .notSecure:
            if case .secure(let refusal?) = state.version { return refuse(refusal, now: now) }
            if mayBeOlder, configuration.allowsUnencrypted, state.isDialling {
                return perform(state.fallBack(now: now), now: now)
            }
            if announcedVersion == 1, configuration.trust.required != nil {
                return mistrust(.unencryptedImpostor, now: now)
            }
            if announcedVersion == 1 { return refuse(.notEncrypted, now: now) }
            if mayBeOlder, !configuration.allowsUnencrypted {
                return perform(state.closed(reason: reason + Self.olderHint, now: now), now: now)
            }
        case .network:
            break
        }
        perform(state.closed(reason: reason, now: now), now: now)
    }

    /// The host may speak version 1 only: nothing has shown yet that it speaks version 2.
    private var mayBeOlder: Bool {
        !state.version.isSecured && configuration.trust.required == nil && announcedVersion != 2
    }

    /// The host has broken the protocol; `reason` is a clause.
    mutating func violated(_ reason: String, now: MediaTime) {
        perform(state.violated(reason: reason, now: now), now: now)
    }

    /// A message or line has arrived. False: there are too many of them.
    private mutating func admits(now: MediaTime) -> Bool {
        state.heard(now: now)
        heard(now: now)
        guard !messages.admits(now: now) else { return true }
        violated(MessageRate.reason, now: now)
        return false
    }

    /// What was heard shows that the host hears this viewer, too.
    mutating func heard(now: MediaTime) { tell(connection.heard(now: now)) }

    /// Nothing arrives of the stream: is the control connection alive?
    mutating func test(now: MediaTime) {
        guard features != nil else { return }
        tested = now
        ping(now: now)
    }

    /// The picture stands still because nothing arrives. If the test wasn't answered either, the connection is made anew.
    mutating func silent(now: MediaTime) {
        guard let since = tested else { return }
        tested = nil
        perform(state.unheard(since: since, now: now), now: now)
    }

    mutating func ping(now: MediaTime) { send(.ping(UInt64(clamping: now.nanoseconds))) }

    /// Tells a version 1 host the media socket's local port.
    mutating func announce(localPort: UInt16) {
        if isPlain, state.isAdmitted { send(.mediaSource(localPort)) }
    }

    mutating func end(now: MediaTime) {
        if features != nil { send(.bye("The viewer has ended")) }
        outputs.append(.ended)
        if state.end() { outputs.append(.pass(.closeControl)) }
    }

    private mutating func perform(_ actions: [AdmissionState.Action], now: MediaTime) {
        for action in actions {
            switch action {
            case .connect(let attempt):
                emit(.connecting(attempt: attempt))
                outputs.append(.pass(.connectControl(state.version.version)))
            case .close:
                outputs.append(.closed)
                outputs.append(.pass(.closeControl))
            case .sendHeartbeat:
                if isPlain { send(.heartbeat) } else { ping(now: now) }
            case .lost(let reason):
                emit(.controlLost(reason: reason))
                tell(connection.lost(now: now))
                outputs.append(.lost)
            case .hostEnded(let reason):
                emit(.hostEnded(says: ["", SecureMessage.hostEnded].contains(reason) ? nil : reason))
                tell(connection.ended())
                // The next host's person hasn't been asked.
                choice.forgetPerson()
                session = nil
                outputs.append(.hostEnded)
            case .retry(_, _, .code(let mayAsk)):
                askForCode(.unchecked, mayAsk: mayAsk, now: now)
            case .retry(_, let reason, .question) where configuration.asksForCode:
                askForCode(reason == AdmissionState.undecided ? .unanswered : .other(reason), mayAsk: true, now: now)
            case .retry(let pause, let reason, _):
                emit(.retrying(after: pause, reason: reason))
            }
        }
    }

    private mutating func tell(_ state: ConnectionState?) { if let state { emit(.connection(state)) } }

    private mutating func emit(_ event: ViewerEvent) { outputs.append(.pass(.event(event))) }

    private mutating func send(_ message: ControlMessage) { outputs.append(.pass(.sendControl(message.line))) }

    private mutating func send(_ message: SecureMessage) { outputs.append(.pass(.sendControl(message.bytes))) }

    // MARK: The person

    /// The person has typed the host's code, perhaps while the person at the host is asked.
    mutating func typed(_ code: PairingCode, now: MediaTime) {
        if let pairing = state.pairing, pairing.isComparing || pairing.isCodeSpent { return }
        choice = .code(code)
        perform(state.codeTyped(now: now), now: now)
    }

    /// The person gives no code: the person at the host is to be asked.
    mutating func askPerson(now: MediaTime) {
        guard state.isCodeNeeded else { return }
        choice = .person
        perform(state.codeTyped(now: now), now: now)
    }

    /// The hosts in the store have changed.
    mutating func remembered(_ hosts: [DeviceKey: String], now: MediaTime) {
        if host.isForgotten(in: hosts) { refuse(.forgottenHere, now: now) }
    }

    /// The code is missing, wrong or used up: the person has to type one, if there is a person.
    private mutating func askForCode(_ problem: CodeQuestion.Problem?, mayAsk: Bool, now: MediaTime) {
        choice.forgetCode()
        choice.forgetPerson()
        guard configuration.asksForCode else { return refuse(ViewerRefusal(problem), now: now) }
        perform(state.needsCode(), now: now)
        emit(.codeNeeded(CodeQuestion(host: host.name, problem: problem, mayAsk: mayAsk)))
    }

    /// The host refused, or must not be watched. There is no retry.
    private mutating func refuse(_ refusal: ViewerRefusal, now: MediaTime) {
        emit(.refused(refusal))
        end(now: now)
    }

    /// Another host answers than the expected one. A person is told, and decides. Without a person (`--auto`) the
    /// viewer keeps waiting for the right host; otherwise anyone could end that by answering once in its place.
    private mutating func mistrust(_ refusal: ViewerRefusal, now: MediaTime) {
        guard !configuration.trust.pairs else { return refuse(refusal, now: now) }
        emit(.mistrusted(refusal))
        perform(state.foundWrongHost(reason: refusal.reason, now: now), now: now)
    }

    // MARK: Version 1: unencrypted lines of JSON

    mutating func connected(now: MediaTime) {
        guard state.connected(.lines(LineReading()), now: now) else { return }
        messages = MessageRate()
        send(.handshake(ControlMessage.Handshake(code: shownCode)))
        emit(.waitingForDecision(code: shownCode))
    }

    mutating func received(_ bytes: [UInt8], now: MediaTime) {
        guard let (lines, excess) = state.reading?.lines(bytes) else { return }
        for line in lines {
            // Each line may end the connection.
            guard isPlain, admits(now: now) else { return }
            do {
                take(try ControlMessage(line: line), now: now)
            } catch {
                if state.reading?.isTooMuch() == true { violated("it sent \(error), time and again", now: now) }
            }
        }
        if let excess { violated("it sent \(excess)", now: now) }
    }

    private mutating func take(_ message: ControlMessage, now: MediaTime) {
        switch message {
        case .reply(let reply):
            guard reply.isAccepted else { return refusedPlain(.other(says: reply.message ?? ""), now: now) }
            if state.version.isPlain { state.version = .plain(byMemory: false) }
            let earlyPort = state.reading?.earlyPort
            admitted(
                reply.session, host: reply.deviceName.map { PeerText.name($0) },
                mediaPort: reply.mediaPort ?? earlyPort, now: now)
        case .mediaPort(let port):
            state.reading?.earlyPort = port
            if state.isAdmitted { outputs.append(.said(.mediaPort(port))) }
        case .broadcast(let isOn):
            outputs.append(.said(.broadcast(isOn)))
        case .heartbeat, .handshake, .mediaSource, .unknown:
            break
        }
    }

    /// If version 1 was tried only because the host spoke it before, version 2 is tried.
    private mutating func refusedPlain(_ refusal: ViewerRefusal, now: MediaTime) {
        guard case .plain(byMemory: true) = state.version else { return refuse(refusal, now: now) }
        perform(state.upgrade(after: refusal, now: now), now: now)
    }

    // MARK: Version 2: messages inside TLS

    /// - Parameter bounds: the largest pictures that are decoded and shown here.
    mutating func secured(_ key: DeviceKey, hasMoved: Bool, bounds: PictureBounds?, now: MediaTime) {
        self.hasMoved = hasMoved
        state.version = .secured
        messages = MessageRate()
        let isKnown: Bool
        switch host.met(key) {
        case .known: isKnown = true
        case .unknown: isKnown = false
        case .mistrusted(let refusal): return mistrust(refusal, now: now)
        }
        var mayChoose = configuration.asksForCode
        if case .person = choice { mayChoose = false }
        let trust = configuration.trust
        let pairing = SecurePairing(
            own: trust.own, name: trust.name, host: key, isKnown: isKnown, choice: choice, letsPersonChoose: mayChoose,
            seeksReceiver: configuration.offersScreen)
        guard state.connected(.pairing(pairing), now: now) else { return }
        let opening = pairing.opening(instance: trust.instance, features: configuration.features, bounds: bounds)
        for message in opening { send(message) }
    }

    mutating func received(message bytes: [UInt8], now: MediaTime) {
        guard state.pairing != nil || features != nil, admits(now: now) else { return }
        do throws(SecureMessageError) {
            let message = try SecureMessage(bytes)
            guard var pairing = state.pairing else { return take(message, now: now) }
            let action = pairing.handle(message, random: &random)
            state.pairing = pairing
            for event in host.called(pairing.hostName, pairing.host) { emit(event) }
            perform(action, pairing, now: now)
            if pairing.isJoining, state.pairing != nil { state.awaitAnswer(now: now) }
        } catch {
            violated("it sent \(error)", now: now)
        }
    }

    private mutating func take(_ message: SecureMessage, now: MediaTime) {
        switch message {
        case .ping(let value): send(.pong(value, clock: now.microseconds))
        case .refused(let refusal, let says): refuse(ViewerRefusal(refusal, says: says), now: now)
        case .bye(let reason): perform(state.hostEnded(reason, now: now), now: now)
        default: outputs.append(.said(message))
        }
    }

    private mutating func perform(_ action: SecurePairing.Action, _ pairing: SecurePairing, now: MediaTime) {
        switch action {
        case .none:
            break
        case .send(let message):
            guard configuration.trust.pairs || message == .join else { return refuse(.unknownThere, now: now) }
            // It was used now, whatever comes of it.
            if case .codeConfirm = message { choice.forgetCode() }
            send(message)
        case .requestComparison(let message):
            guard configuration.trust.pairs else { return refuse(.unknownThere, now: now) }
            send(message)
            state.personAsked(now: now)
            let takesCode = configuration.asksForCode && pairing.methods.contains(.code)
            emit(.waitingForPerson(host: host.name, takesCode: takesCode))
        case .compare(let message, let digits):
            send(message)
            state.comparisonStarted()
            emit(.waitingForDecision(code: digits))
        case .needCode(let problem):
            askForCode(problem, mayAsk: pairing.mayAsk, now: now)
        case .noCodeTaken:
            refuse(.noCodeTaken, now: now)
        case .otherPurpose: refuse(configuration.offersScreen ? .noReceiver : .onlyReceiver, now: now)
        case .wait(let pause):
            perform(state.postponed(by: pause, reason: "too many wrong codes were typed there", now: now), now: now)
        case .paired(let isRemembered):
            let name = host.paired(pairing.host, claimed: pairing.hostName)
            // From here on the keys are enough.
            choice.forgetCode()
            emit(
                .hostPaired(
                    pairing.host, name: name,
                    isToBeRemembered: isRemembered && configuration.trust.remembersNewHosts))
            send(.join)
        case .joined(let session):
            admitted(
                SessionID(session.id).description, host: host.name,
                mediaPort: session.mediaPort == 0 ? nil : session.mediaPort,
                Admitted.Secure(host: pairing.host, features: pairing.features, session: session, hasMoved: hasMoved),
                now: now)
            host.admitted(pairing.host)
            emit(.hostReached(pairing.host))
        case .hostEnded(let reason):
            perform(state.hostEnded(reason, now: now), now: now)
        case .refused(.unanswered, _):
            violated(AdmissionState.undecided, now: now)
        case .refused(.busy, let says):
            violated(PeerText.reason(says), now: now)
        case .refused(let refusal, let says):
            refuse(ViewerRefusal(refusal, says: says), now: now)
        case .violated(let reason):
            violated(PeerText.sentence(reason), now: now)
        }
    }

    // MARK: Admitted

    private mutating func admitted(
        _ named: String?, host: String?, mediaPort: UInt16?, _ secure: Admitted.Secure? = nil, now: MediaTime
    ) {
        let isNews = state.accepted(now: now)
        if isNews { connection.made(now: now) }
        let isNewSession = named == nil || named != session
        guard isNews || named != nil else { return }
        session = named
        if isNews || isNewSession {
            emit(
                .paired(
                    session: named ?? "", deviceName: host, isNewSession: isNewSession, isEncrypted: secure != nil))
        }
        if isNews, !isNewSession { emit(.controlRestored) }
        outputs.append(
            .admitted(Admitted(mediaPort: mediaPort, isNewSession: isNewSession, isNews: isNews, secure: secure)))
    }
}
