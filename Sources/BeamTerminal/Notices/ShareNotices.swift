import BeamBus
import BeamDesktop
import BeamLog
import BeamMedia
import Synchronization

/// Notices of the desktop about what is shared: who asks to be let in, with buttons to answer, who comes, and when the last
/// one leaves.
public final class ShareNotices: QuestionMirror {
    private static let question = DesktopNotifications.Place("question")
    private static let audience = DesktopNotifications.Place("audience")
    private static let (letIn, refuse) = ("let-in", "refuse")
    /// How long a service is waited for that has to be started first.
    private static let patience = Duration.seconds(2)

    /// What the open question's buttons do.
    private final class Answers: Sendable {
        let answer = Mutex<(@Sendable (Bool) -> Void)?>(nil)

        func give(_ accept: Bool) { answer.withLock { $0.take() }?(accept) }
    }

    private let answers: Answers
    private let notices: DesktopNotifications

    /// - Parameter icon: the application's ID, by which the desktop knows its icon and its settings.
    public init(buses: BusAddresses = .ofThisMachine, icon: String) {
        let answers = Answers()
        self.answers = answers
        notices = DesktopNotifications(bus: buses.session, application: "BeamRoom", icon: icon) { place, button in
            if place == Self.question { answers.give(button == Self.letIn) }
        }
    }

    /// The desktop shows questions with buttons, so that nobody needs a terminal. Waits some seconds at most.
    public var canAsk: Bool { notices.showsButtons(within: Self.patience) }

    // MARK: Questions

    public func show(_ question: MirroredQuestion) {
        answers.answer.withLock { $0 = question.answer }
        notices.show(
            DesktopNotifications.Notice(
                title: question.title, text: question.text,
                textWithoutButtons: "\(question.text) Answer in the terminal.",
                buttons: [
                    DesktopNotifications.Notice.Button(Self.letIn, label: "Let in"),
                    DesktopNotifications.Notice.Button(Self.refuse, label: "Refuse"),
                ], isQuestion: true), in: Self.question)
    }

    public func hide() {
        answers.answer.withLock { $0 = nil }
        notices.withdraw(Self.question)
    }

    // MARK: The audience

    /// - Parameters:
    ///   - watching: how many watch now.
    func came(_ visitor: Visitor, watching: Int) {
        let who = visitor.name.map { "“\($0)”" } ?? "\(visitor.address)"
        notices.show(
            DesktopNotifications.Notice(
                title: "\(who) watches your screen", text: watching > 1 ? "\(watching) watch it now." : ""),
            in: Self.audience)
    }

    /// The last one has left.
    func nobodyIsLeft() {
        notices.show(DesktopNotifications.Notice(title: "Nobody watches your screen any more"), in: Self.audience)
    }

    /// Takes back an open question. Waits a bounded time.
    public func stop() { notices.stop() }
}
