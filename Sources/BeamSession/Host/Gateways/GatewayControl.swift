import BeamMedia
import BeamWire

/// What a host and a gateway (Janus) say to each other, without I/O: a session, a mountpoint that lives as long as the share,
/// and the number of those who watch there, which is asked for every 2 s.
///
/// After each call, `pollOutput` is to be called until it answers `.wait` or `.ended`. Time is an argument, and doesn't go
/// back.
public struct GatewayControl: Sendable {
    static let mostLeftovers = 16
    /// From a request to its answer; from `connect` to the connection.
    static let patience = Duration.seconds(10)
    static let pollInterval = Duration.seconds(2)
    /// Between a failure and the next try, doubled each time.
    static let firstPause = Duration.seconds(1)
    static let longestPause = Duration.seconds(30)
    /// A connection that has lasted so long was a good one: the next pause is short again.
    static let goodTime = Duration.seconds(10)
    /// So long packets are still sent when the connection is lost: a mountpoint lives on without one.
    static let afterlife = Duration.seconds(30)
    /// For destroying the mountpoint at the end.
    static let endPatience = Duration.seconds(2)

    private enum Stage: Sendable {
        case resting(until: MediaTime)
        case connecting(since: MediaTime)
        /// A request was sent; what it was for.
        case asking(Step, transaction: String, since: MediaTime)
        /// The mountpoint is there, and what it is sent is being prepared.
        case beginning(JanusRequest.Handle, since: MediaTime)
        case running(JanusRequest.Handle, nextPoll: MediaTime)
        case over
    }

    private enum Step: Sendable {
        case session
        case attaching(session: Int)
        case clearing(JanusRequest.Handle, GatewayMountpoint)
        /// Whether the mountpoint of an earlier connection is still there.
        case checking(JanusRequest.Handle)
        case creating(JanusRequest.Handle, GatewayKey)
        case polling(JanusRequest.Handle)
        case destroying(session: Int)
    }

    private let configuration: Configuration
    private var random: any RandomNumberGenerator & Sendable
    private var outputs = OutputQueue<Output>()
    private var stage: Stage
    private var leftovers: [GatewayMountpoint]
    private var isLocal = false
    /// The gateway has the mountpoint, as far as is known.
    private var isCreated = false
    /// It was asked to make it, once at least: it may have it, whatever was answered.
    private var wasAsked = false
    private var lostAt: MediaTime?
    private var hasBegun = false
    private var wasReady = false
    private var pause = GatewayControl.firstPause
    private var connectedAt: MediaTime?
    private var transactions = 0
    private var toldProblem: GatewayProblem?
    private var toldViewers = 0
    private var endsAt: MediaTime?

    /// `random` makes the keys of SRTP: the system's generator, except in tests.
    public init(_ configuration: Configuration, random: any RandomNumberGenerator & Sendable, now: MediaTime) {
        self.configuration = configuration
        self.random = random
        leftovers = configuration.leftovers
        stage = .resting(until: now)
    }

    // MARK: Inputs

    /// The WebSocket is open. `isLocal`: the gateway is on this machine.
    public mutating func connected(isLocal: Bool, now: MediaTime) {
        guard case .connecting = stage else { return }
        self.isLocal = isLocal
        connectedAt = now
        ask(.session, .createSession, now: now)
    }

    /// There is no connection, or no more.
    public mutating func failed(_ problem: GatewayProblem, now: MediaTime) {
        switch stage {
        case .resting, .over: return
        case .connecting, .asking, .beginning, .running: rest(problem, now: now)
        }
    }

    /// Packets can be sent to the mountpoint.
    public mutating func sendingBegan(now: MediaTime) {
        guard case .beginning(let handle, _) = stage else { return }
        run(handle, viewers: 0, now: now)
    }

    /// They can't, or no more: the mountpoint is made anew after a pause, which grows.
    public mutating func sendingFailed(_ problem: GatewayProblem, now: MediaTime) {
        guard endsAt == nil else { return }
        stop()
        giveUp(problem, now: now)
    }

    /// A text message has arrived.
    public mutating func received(_ text: ArraySlice<UInt8>, now: MediaTime) {
        do throws(JanusMessage.Malformed) {
            handle(try JanusMessage(text), now: now)
        } catch {
            giveUp(.badAnswer, now: now)
        }
    }

    /// Destroys the mountpoint; `.ended` follows, after 2 s at the latest. Without a connection one more is tried. If that
    /// fails, too, the mountpoint isn't `.cleared`: it is a leftover for the next host.
    public mutating func end(now: MediaTime) {
        guard endsAt == nil else { return }
        endsAt = now + Self.endPatience
        stop()
        // There is nothing to destroy.
        guard wasAsked else { return finish() }
        switch stage {
        case .beginning(let handle, _), .running(let handle, _): destroy(handle, now: now)
        case .asking(.polling(let handle), _, _), .asking(.checking(let handle), _, _),
            .asking(.creating(let handle, _), _, _), .asking(.clearing(let handle, _), _, _):
            destroy(handle, now: now)
        case .resting: connect(now: now)
        // `attached` goes on from there.
        case .connecting, .asking(.session, _, _), .asking(.attaching, _, _): break
        case .asking(.destroying, _, _), .over: break
        }
    }

    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            guard let due = nextDue, due <= now else { return .wait(until: nextDue ?? .distantFuture) }
            act(now: now)
        }
    }

    // MARK: Time

    private var nextDue: MediaTime? {
        let afterlife = hasBegun ? lostAt.map { $0 + Self.afterlife } : nil
        let own: MediaTime? =
            switch stage {
            case .resting(let until): until
            case .connecting(let since), .asking(_, _, let since), .beginning(_, let since): since + Self.patience
            case .running(_, let nextPoll): nextPoll
            case .over: nil
            }
        return [own, afterlife, isOver ? nil : endsAt].compactMap { $0 }.min()
    }

    private var isOver: Bool { if case .over = stage { true } else { false } }

    private mutating func act(now: MediaTime) {
        if let endsAt, endsAt <= now { return finish() }
        if let lostAt, hasBegun, lostAt + Self.afterlife <= now { return stop() }
        switch stage {
        case .resting: connect(now: now)
        case .connecting: giveUp(.unreachable(reason: "no answer"), now: now)
        case .asking: giveUp(.silent, now: now)
        case .beginning: sendingFailed(.unreachable(reason: "no way to it was found"), now: now)
        case .running(let handle, _): ask(.polling(handle), .info(handle, configuration.mountpoint), now: now)
        case .over: break
        }
    }

    private mutating func connect(now: MediaTime) {
        stage = .connecting(since: now)
        outputs.append(.connect)
    }

    // MARK: Requests

    private mutating func ask(_ step: Step, _ request: JanusRequest, now: MediaTime) {
        transactions += 1
        let transaction = "b\(transactions)"
        stage = .asking(step, transaction: transaction, since: now)
        outputs.append(.send(request, transaction: transaction))
    }

    private mutating func handle(_ message: JanusMessage, now: MediaTime) {
        if message.content == .sessionOver { return giveUp(.lost, now: now) }
        // What wasn't asked for, such as the end of another request, is of no interest.
        guard case .asking(let step, let transaction, _) = stage, message.transaction == transaction else { return }
        switch (step, message.content) {
        // Only an acknowledgement: the answer follows.
        case (_, .other): break
        case (.destroying(let session), let content): destroyed(content, session)
        case (.session, .made(let session)):
            ask(.attaching(session: session), .attach(session: session), now: now)
        case (.attaching(let session), .made(let handle)):
            attached(JanusRequest.Handle(session: session, handle: handle), now: now)
        case (.clearing(let handle, let point), .destroyed): cleared(point, handle, now: now)
        // It isn't there, or it is somebody else's by now.
        case (.clearing(let handle, let point), .refused(let refusal)) where refusal.isPlugin:
            cleared(point, handle, now: now)
        case (.checking(let handle), .info(let viewers)):
            run(handle, viewers: viewers, now: now)
        case (.checking(let handle), .refused(let refusal)) where Self.isGone(refusal):
            create(handle, now: now)
        case (.creating(let handle, let key), .created(let ports)): created(ports, key, handle, now: now)
        case (.polling(let handle), .info(let viewers)): run(handle, viewers: viewers, now: now)
        case (.polling(let handle), .refused(let refusal)) where Self.isGone(refusal):
            create(handle, now: now)
        case (_, .refused(let refusal)): giveUp(problem(refusal, step), now: now)
        default: giveUp(.badAnswer, now: now)
        }
    }

    private static func isGone(_ refusal: JanusMessage.Refusal) -> Bool {
        refusal.isPlugin && refusal.code == JanusMessage.Refusal.noMountpoint
    }

    private func problem(_ refusal: JanusMessage.Refusal, _ step: Step) -> GatewayProblem {
        let isCreating = if case .creating = step { true } else { false }
        switch (refusal.isPlugin, refusal.code) {
        case (false, JanusMessage.Refusal.unauthorised), (false, JanusMessage.Refusal.unauthorisedPlugin):
            return .unauthorised(hasToken: configuration.hasToken)
        case (false, JanusMessage.Refusal.noPlugin): return .noPlugin
        case (false, JanusMessage.Refusal.noSession), (false, JanusMessage.Refusal.noHandle): return .lost
        case (true, JanusMessage.Refusal.missingElement) where isCreating && !configuration.hasAdminKey,
            (true, JanusMessage.Refusal.wrongKey) where isCreating:
            return .adminKey(isGiven: configuration.hasAdminKey)
        default: return .refused(code: refusal.code, reason: refusal.reason)
        }
    }

    // MARK: Steps

    private mutating func attached(_ handle: JanusRequest.Handle, now: MediaTime) {
        if endsAt != nil {
            destroy(handle, now: now)
        } else if let next = leftovers.first {
            ask(.clearing(handle, next), .destroy(handle, next), now: now)
        } else if isCreated {
            ask(.checking(handle), .info(handle, configuration.mountpoint), now: now)
        } else if wasAsked {
            clearOwn(handle, now: now)
        } else {
            create(handle, now: now)
        }
    }

    private mutating func clearOwn(_ handle: JanusRequest.Handle, now: MediaTime) {
        ask(.clearing(handle, configuration.mountpoint), .destroy(handle, configuration.mountpoint), now: now)
    }

    private mutating func cleared(_ point: GatewayMountpoint, _ handle: JanusRequest.Handle, now: MediaTime) {
        guard point != configuration.mountpoint else { return create(handle, now: now) }
        leftovers.removeAll { $0 == point }
        outputs.append(.cleared(point))
        attached(handle, now: now)
    }

    private mutating func create(_ handle: JanusRequest.Handle, now: MediaTime) {
        stop()
        isCreated = false
        wasAsked = true
        let key = GatewayKey(random: &random)
        ask(
            .creating(handle, key),
            .create(handle, configuration.mountpoint, key, hasSound: configuration.hasSound, isLocal: isLocal), now: now
        )
    }

    private mutating func created(
        _ ports: GatewayPorts, _ key: GatewayKey, _ handle: JanusRequest.Handle, now: MediaTime
    ) {
        guard !configuration.hasSound || ports.sound != nil else { return giveUp(.badAnswer, now: now) }
        isCreated = true
        hasBegun = true
        stage = .beginning(handle, since: now)
        outputs.append(.begin(ports, key))
    }

    private mutating func run(_ handle: JanusRequest.Handle, viewers: Int, now: MediaTime) {
        // What was stopped while the connection was lost can't go on with its key: it begins anew.
        guard hasBegun else { return clearOwn(handle, now: now) }
        let isNews = lostAt != nil || toldProblem != nil || !wasReady
        lostAt = nil
        toldProblem = nil
        if isNews { outputs.append(.event(.ready(again: wasReady))) }
        wasReady = true
        if let connectedAt, now - connectedAt >= Self.goodTime { pause = Self.firstPause }
        if viewers != toldViewers {
            toldViewers = viewers
            outputs.append(.event(.viewers(viewers)))
        }
        stage = .running(handle, nextPoll: now + Self.pollInterval)
    }

    private mutating func stop() {
        guard hasBegun else { return }
        hasBegun = false
        outputs.append(.stop)
        if toldViewers > 0 { outputs.append(.event(.viewers(0))) }
        toldViewers = 0
    }

    // MARK: Failures

    private mutating func giveUp(_ problem: GatewayProblem, now: MediaTime) {
        if case .over = stage { return }
        if case .resting = stage { return }
        outputs.append(.disconnect)
        rest(problem, now: now)
    }

    private mutating func rest(_ problem: GatewayProblem, now: MediaTime) {
        if endsAt != nil { return finish() }
        if isCreated, lostAt == nil { lostAt = now }
        connectedAt = nil
        stage = .resting(until: now + pause)
        pause = min(pause * 2, Self.longestPause)
        guard problem != toldProblem else { return }
        toldProblem = problem
        outputs.append(.event(.problem(problem)))
    }

    // MARK: The end

    private mutating func destroy(_ handle: JanusRequest.Handle, now: MediaTime) {
        ask(.destroying(session: handle.session), .destroy(handle, configuration.mountpoint), now: now)
    }

    private mutating func destroyed(_ content: JanusMessage.Content, _ session: Int) {
        var isGone = content == .destroyed
        if case .refused(let refusal) = content { isGone = Self.isGone(refusal) }
        if isGone { outputs.append(.cleared(configuration.mountpoint)) }
        transactions += 1
        outputs.append(.send(.destroySession(session: session), transaction: "b\(transactions)"))
        finish()
    }

    private mutating func finish() {
        guard !isOver else { return }
        if !wasAsked { outputs.append(.cleared(configuration.mountpoint)) }
        stage = .over
        outputs.append(.disconnect)
        outputs.append(.ended)
    }
}
