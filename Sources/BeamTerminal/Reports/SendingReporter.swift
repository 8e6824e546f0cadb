import BeamSession
import BeamViewer
import BeamWire
import Synchronization

/// Reports how a receiver is found that is to show what is shared here, asks the person for its code, and ends the share
/// when the receiver does.
public final class SendingReporter: Sendable {
    /// A receiver that waits for this device's screen.
    public struct Receiver: Sendable {
        public var device: DeviceKey
        public var name: String
    }

    private enum Phase {
        case seeking
        case awaited
        /// It was told where the screen is.
        case offered(since: ContinuousClock.Instant)
        case showing
        case lost(since: ContinuousClock.Instant)
        case over
    }

    private struct State {
        var phase = Phase.seeking
        var device: DeviceKey?
        var name = ""
        var last: String?
    }

    /// How long the receiver may take to come. By itself it gives up before, and says why.
    private static let patience = Duration.seconds(30)
    /// How long it may be gone, after the host has noticed it. It gives up by itself 10 s after a loss.
    private static let absence = Duration.seconds(10)

    private let context: CommandContext
    private let questions: WatchQuestions
    private let answer = FirstAnswer<Receiver?>()
    private let state = Mutex(State())

    public init(_ context: CommandContext, desk: QuestionDesk) {
        self.context = context
        questions = WatchQuestions(context, hasWindow: false, desk: desk, codeOption: "--to-code-file")
    }

    /// Begins to seek the receiver, and waits until it awaits the screen; nil: the program is to end.
    public func seek(_ viewer: Viewer) -> Receiver? {
        questions.connect(to: viewer)
        context.latch.whenEnded { [answer] in answer.give(nil) }
        viewer.start()
        let receiver = answer.wait() ?? nil
        questions.withdrawCode()
        return receiver
    }

    /// What is shared can be watched at this port.
    public func offer(_ port: UInt16, by viewer: Viewer) {
        state.withLock { if case .awaited = $0.phase { $0.phase = .offered(since: .now) } }
        viewer.offerScreen(at: port)
    }

    // MARK: On the way to the receiver

    public func handle(_ notice: ViewerNotice) {
        switch notice {
        case .session(let event): handle(event)
        case .status(let status?): show(status)
        case .searching(let name): context.events.write(.watch(.searching(name: name)))
        case .warning(let text): context.say("Warning: \(text)", as: .warning)
        case .failed(let reason): context.latch.end(.failed(reason))
        default: break
        }
    }

    private func handle(_ event: ViewerEvent) {
        switch event {
        case .hostNamed(let name): state.withLock { $0.name = name }
        case .hostReached(let device): state.withLock { $0.device = device }
        case .hostPaired(_, let name, let isToBeRemembered):
            context.tell(
                .pairing(.devicePaired(name: name, isRemembered: isToBeRemembered)),
                isToBeRemembered
                    ? "“\(name)” is paired: next time no code is needed."
                    : "“\(name)” is paired for this time only.")
        case .hostCallsItself(let name, let known, let wasChosen): calledOtherwise(name, known, wasChosen: wasChosen)
        case .screenAwaited: awaited()
        case .hostEnded(let says): goodbye(says)
        case .connecting, .codeNeeded, .refused, .retrying: write(event)
        default: break
        }
    }

    /// Anybody whose code was typed once could take the name of a receiver that is new here, and get the screen that is
    /// meant for that.
    private func calledOtherwise(_ name: String, _ known: String, wasChosen: Bool) {
        let (name, known) = (PeerText.name(name), PeerText.name(known))
        guard wasChosen else { return context.say("“\(known)” calls itself “\(name)” now.", as: .warning) }
        state.withLock { $0.phase = .over }
        context.latch.end(
            .peerLost(
                "What answers as “\(name)” is the receiver that you know as “\(known)”, so nothing is shown there. If you "
                    + "mean that one: `beamroom share --to \(PeerText.shellWord(known))`."))
    }

    /// The receiver has ended the connection on which it was sought. That it shows the screen may be said here before it
    /// is noticed at the host.
    private func goodbye(_ says: String?) {
        let (phase, name) = state.withLock { ($0.phase, PeerText.name($0.name)) }
        switch phase {
        // The status has said so.
        case .seeking: context.latch.end(.peerLost(nil))
        case .awaited, .offered:
            guard says != SecureMessage.screenShown else { return }
            context.latch.end(.peerLost("“\(name)” has ended, and shows nothing."))
        case .showing, .lost, .over: break
        }
    }

    private func write(_ event: ViewerEvent) {
        guard isOnTheWay, let event = ProgramEvent.Watch(event) else { return }
        context.events.write(.watch(event))
    }

    private func awaited() {
        let receiver = state.withLock { state -> Receiver? in
            guard case .seeking = state.phase, let device = state.device else { return nil }
            state.phase = .awaited
            return Receiver(device: device, name: PeerText.name(state.name))
        }
        guard let receiver else { return }
        // The person reads it as the viewer's status.
        context.events.write(.receiver(.receiver(.found, device: receiver.device, name: receiver.name)))
        answer.give(receiver)
    }

    /// The receiver hasn't come yet.
    private var isOnTheWay: Bool {
        state.withLock { state in
            switch state.phase {
            case .seeking, .awaited, .offered: true
            case .showing, .lost, .over: false
            }
        }
    }

    /// What is said of the way there. Nothing any more once the receiver has come.
    private func show(_ status: ViewerAnnouncement) {
        guard isOnTheWay, context.latch.current == nil else { return }
        if status.question == nil { questions.withdrawCode() }
        let isNews = state.withLock { state in
            defer { state.last = status.sentence }
            let isSeeking = if case .seeking = state.phase { true } else { false }
            return state.last != status.sentence && (isSeeking || status.isFinal)
        }
        guard isNews else { return }
        if !status.isFinal, status.question == nil, !context.floods.allows(.status) { return }
        questions.show(status)
        if status.isFinal { context.latch.end(.peerLost(nil)) }
    }

    // MARK: At the host

    /// The receiver has come to the host, or has left it.
    public func handle(_ presence: HostEvent.Presence) {
        let (device, name) = state.withLock { state in
            switch presence {
            case .here: state.phase = .showing
            case .gone: state.phase = .over
            case .lost: state.phase = .lost(since: .now)
            }
            return (state.device, PeerText.name(state.name))
        }
        guard let device else { return }
        let event = { ProgramEvent.receiver(.receiver($0, device: device, name: name)) }
        switch presence {
        case .here:
            context.tell(event(.showing), "“\(name)” shows your screen. The share ends with that, or by Ctrl-C.")
        case .lost: context.tell(event(.lost), "“\(name)” can't be reached at the moment.")
        case .gone:
            context.tell(event(.ended), "“\(name)” has ended it.")
            context.latch.end(.done)
        }
    }

    /// Call it once a second.
    public func tick(now: ContinuousClock.Instant = .now) {
        let (phase, name) = state.withLock { ($0.phase, PeerText.name($0.name)) }
        switch phase {
        case .offered(let since) where now - since > Self.patience:
            context.latch.end(
                .peerLost(
                    "“\(name)” hasn't come for your screen. A firewall on this machine may block the ports of the share."
                ))
        case .lost(let since) where now - since > Self.absence:
            context.latch.end(.peerLost("“\(name)” is gone, so nothing is shown there any more."))
        default: break
        }
    }
}
