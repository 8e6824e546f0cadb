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
    /// How long a service is waited for that has to be started first.
    private static let patience = Duration.seconds(2)

    /// What the open question's buttons do. Each question has buttons of its own, so that one that is pressed while the next
    /// question takes its place answers nothing.
    private final class Answers: Sendable {
        private let open = Mutex((number: 0, answer: (@Sendable (Bool) -> Void)?.none))

        /// Returns the names of the question's buttons.
        func begin(_ answer: @escaping @Sendable (Bool) -> Void) -> (letIn: String, refuse: String) {
            open.withLock { open in
                open = (open.number + 1, answer)
                return (ShareNotices.letIn(open.number), ShareNotices.refuse(open.number))
            }
        }

        func end() { open.withLock { $0.answer = nil } }

        func press(_ button: String) {
            let (answer, accept) = open.withLock { open -> ((@Sendable (Bool) -> Void)?, Bool) in
                let accept = button == ShareNotices.letIn(open.number)
                guard accept || button == ShareNotices.refuse(open.number) else { return (nil, false) }
                return (open.answer.take(), accept)
            }
            answer?(accept)
        }
    }

    private static func letIn(_ number: Int) -> String { "let-in-\(number)" }
    private static func refuse(_ number: Int) -> String { "refuse-\(number)" }

    private let answers: Answers
    /// What is watched, in a sentence.
    private let subject: String
    private let notices: DesktopNotifications
    /// Silences other programs' notices.
    private let quiet: DesktopQuiet?
    /// Counts the notices of the audience.
    private let audience = Mutex(0)

    /// - Parameters:
    ///   - icon: the application's ID, by which the desktop knows its icon and its settings.
    ///   - subject: what is watched, in a sentence.
    ///   - quiet: nil: the desktop isn't silenced.
    public init(
        buses: BusAddresses = .ofThisMachine, icon: String, subject: String, quiet: DesktopQuiet? = nil
    ) {
        self.quiet = quiet
        let answers = Answers()
        self.subject = subject
        self.answers = answers
        notices = DesktopNotifications(bus: buses.session, application: "BeamRoom", icon: icon) { place, button in
            if place == Self.question { answers.press(button) }
        }
    }

    /// The next notice of the audience, which takes the place of one that waits.
    private func nextOfAudience() -> Int {
        audience.withLock { count in
            count += 1
            return count
        }
    }

    /// The desktop shows questions with buttons, so that nobody needs a terminal. Waits some seconds at most.
    public var canAsk: Bool { notices.showsButtons(within: Self.patience) }

    // MARK: Questions

    public func show(_ question: MirroredQuestion) {
        let buttons = answers.begin(question.answer)
        notices.show(
            DesktopNotifications.Notice(
                title: question.title, text: question.text,
                textWithoutButtons: "\(question.text) Answer in the terminal.",
                buttons: [
                    DesktopNotifications.Notice.Button(buttons.letIn, label: "Let in"),
                    DesktopNotifications.Notice.Button(buttons.refuse, label: "Refuse"),
                ], isQuestion: true), in: Self.question)
        quiet?.setAsking(true)
    }

    public func hide() {
        answers.end()
        notices.withdraw(Self.question)
        quiet?.setAsking(false)
    }

    // MARK: The audience

    /// - Parameters:
    ///   - watching: how many watch now.
    func came(_ visitor: Visitor, watching: Int) {
        _ = nextOfAudience()
        let who = visitor.name.map { "“\($0)”" } ?? "\(visitor.address)"
        notices.show(
            DesktopNotifications.Notice(
                title: "\(who) watches \(subject)", text: watching > 1 ? "\(watching) watch it now." : ""),
            in: Self.audience)
    }

    /// How many watch, when nothing was shown about those who came. That nobody does is shown once the desktop isn't
    /// silenced any more, as it is while somebody watches.
    func show(watching: Int) {
        let number = nextOfAudience()
        let title =
            switch watching {
            case 0: "Nobody watches \(subject) any more"
            case 1: "Somebody watches \(subject)"
            default: "\(watching) watch \(subject)"
            }
        let show = { @Sendable [notices, weak self] in
            guard self?.audience.withLock({ $0 }) == number else { return }
            notices.show(DesktopNotifications.Notice(title: title), in: Self.audience)
        }
        if let quiet, watching == 0 { quiet.whenLoud(show) } else { show() }
    }

    /// Takes back an open question. Waits a bounded time.
    public func stop() { notices.stop() }
}
