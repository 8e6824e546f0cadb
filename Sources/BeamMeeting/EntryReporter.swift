import BeamLog
import BeamMedia
import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire
import Synchronization

/// What comes of asking a member.
enum EntryAnswer: Sendable {
    case letIn(DeviceKey, MeetingProof)
    case notReached
    /// It isn't announced any more.
    case gone
    /// It doesn't let this device in, and there is another room.
    case declined
    /// What it has said to the code that is tried at several doors.
    case answered(CodeRound.Answer)
    /// The program is to end.
    case ended
}

/// Notices that a room isn't announced at an address any more.
final class AbsenceWatch: Sendable {
    private let ticker: EverySecond

    init(
        of mark: MeshMark?, at door: Endpoint, in presence: MeshPresence, for time: Duration,
        _ action: @escaping @Sendable () -> Void
    ) {
        let absent = Mutex<ContinuousClock.Instant?>(nil)
        ticker = EverySecond {
            let isAnnounced = presence.isAnnounced(mark, at: door)
            let since = absent.withLock { absent in
                absent = isAnnounced ? nil : absent ?? .now
                return absent
            }
            if let since, .now - since >= time { action() }
        }
    }

    func end() { ticker.cancel() }
}

/// Reports how a newcomer is let in, and asks the person for the code.
final class EntryReporter: Sendable {
    struct Manner: Sendable {
        var hasWindow: Bool
        /// There is another room.
        var isOptional: Bool
        /// The code is tried, also elsewhere: the person isn't asked, and is told once how it has gone.
        var isTrial: Bool
    }

    private struct State {
        var decide: (@Sendable (EntryAnswer) -> Void)?
        var isReached = false
        /// It has answered over the present connection.
        var isTalking = false
        /// These digits are compared, so that only the person there has a proof.
        var digits: PairingCode?
        /// Both have proved that they know the code.
        var hasProvedCode = false
        var isEnded = false
        var last: String?
    }

    private let context: CommandContext
    private let questions: WatchQuestions
    private let manner: Manner
    private let known: Set<DeviceKey>
    private let state = Mutex(State())

    init(
        _ context: CommandContext, desk: QuestionDesk, _ manner: Manner, known: Set<DeviceKey>
    ) {
        self.manner = manner
        self.known = known
        self.context = context
        questions = WatchQuestions(context, hasWindow: manner.hasWindow, desk: desk)
    }

    func connect(to viewer: Viewer, decide: @escaping @Sendable (EntryAnswer) -> Void) {
        questions.connect(to: viewer)
        state.withLock { $0.decide = decide }
    }

    /// Somebody has answered at the address.
    var isReached: Bool { state.withLock { $0.isReached } }

    /// A connection is there, and the person is asked here or there.
    var isTalking: Bool { state.withLock { $0.isTalking } }

    /// What is still said comes from the viewer's end.
    func end() {
        questions.withdrawCode()
        state.withLock { $0.isEnded = true }
    }

    func handle(_ notice: ViewerNotice) {
        guard !state.withLock({ $0.isEnded }) else { return }
        switch notice {
        case .session(.hostReached(let device)):
            let (decide, proof) = state.withLock { state in
                state.isReached = true
                let isGiven = state.hasProvedCode || known.contains(device)
                let weak = state.digits.map { MeetingProof.compared($0, with: device) } ?? .none(door: device)
                return (state.decide, isGiven ? MeetingProof.given : weak)
            }
            questions.withdrawCode()
            context.events.write(.room(.letIn(by: device)))
            decide?(.letIn(device, proof))
        case .session(.waitingForDecision(let digits)):
            state.withLock { ($0.digits, $0.isTalking) = (digits, true) }
        case .session(.connecting), .session(.retrying): state.withLock { $0.isTalking = false }
        case .session(.hostPaired): state.withLock { $0.hasProvedCode = $0.digits == nil }
        case .session(.codeNeeded(let question)):
            state.withLock { ($0.isReached, $0.isTalking, $0.digits) = (true, true, nil) }
            context.events.write(.watch(.codeNeeded(question)))
        case .session(.waitingForPerson(let name, _)):
            state.withLock { ($0.isReached, $0.isTalking) = (true, true) }
            context.events.write(.watch(.asking(name: name)))
        case .session(.refused(let refusal)) where manner.isTrial:
            let answer: CodeRound.Answer =
                switch refusal {
                case .wrongCode, .replacedCode: .wrong
                default: .unproved
                }
            state.withLock { $0.decide }?(.answered(answer))
        case .session(.refused(let refusal)):
            context.events.write(.room(.refused(refusal)))
        case .status(let status?): show(status)
        case .warning(let text): context.say("Warning: \(text)")
        case .failed(let reason): context.latch.end(.failed(reason))
        default: break
        }
    }

    /// What isn't about a picture.
    private func show(_ status: ViewerAnnouncement) {
        guard !manner.isTrial else { return }
        if status.question == nil { questions.withdrawCode() }
        let isNews = state.withLock { state in
            defer { state.last = status.sentence }
            return state.last != status.sentence
        }
        guard isNews, status.question != nil || status.digits != nil || !status.isWithoutFault else { return }
        questions.show(status)
        if status.isFinal, manner.isOptional {
            state.withLock { $0.decide }?(.declined)
            return
        }
        // With a window, the person reads it there.
        if status.isFinal, !manner.hasWindow { context.latch.end(.peerLost(nil)) }
    }
}
