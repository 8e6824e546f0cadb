import BeamClock
import BeamMedia

/// Notices of the desktop (Desktop Notifications Specification 1.2): each has a place, in which the next one replaces it, and
/// may have buttons.
///
/// All of it may be missing: the session bus, a notification service, libsystemd. Then nothing is shown; a service that the
/// bus can start is started, and one that comes later shows what is in the places then.
public final class DesktopNotifications: Sendable {
    /// What replaces what.
    public struct Place: Hashable, Sendable {
        public var name: String

        public init(_ name: String) { self.name = name }
    }

    public struct Notice: Sendable, Equatable {
        /// A button, whose `name` is reported when it is pressed.
        public struct Button: Sendable, Equatable {
            public var name: String
            public var label: String

            public init(_ name: String, label: String) { (self.name, self.label) = (name, label) }
        }

        /// Plain text, a line.
        public var title: String
        /// Plain text.
        public var text: String
        /// In place of `text` where the service shows no buttons; nil: the same.
        public var textWithoutButtons: String?
        public var buttons: [Button]
        /// It stays until it is answered or withdrawn, and comes through *do not disturb* where the desktop lets such
        /// notices through.
        public var isQuestion: Bool

        public init(
            title: String, text: String = "", textWithoutButtons: String? = nil, buttons: [Button] = [],
            isQuestion: Bool = false
        ) {
            (self.title, self.text, self.textWithoutButtons) = (title, text, textWithoutButtons)
            (self.buttons, self.isQuestion) = (buttons, isQuestion)
        }
    }

    private let bus: String?
    private let onButton: @Sendable (Place, String) -> Void
    private let runner: BusRunner<NotificationWork>

    /// - Parameters:
    ///   - bus: the session bus; nil: there is none, and nothing is shown.
    ///   - application: its name, for people.
    ///   - icon: a name of the icon theme.
    ///   - onButton: called on the notices' own thread. A button counts only after its notice has been shown for a second: a
    ///     press before that may have been meant for the notice that it has replaced.
    public convenience init(
        bus: String?, application: String, icon: String, onButton: @escaping @Sendable (Place, String) -> Void
    ) {
        self.init(bus: bus, application: application, icon: icon, reactionTime: Self.reactionTime, onButton: onButton)
    }

    init(
        bus: String?, application: String, icon: String, reactionTime: Duration,
        onButton: @escaping @Sendable (Place, String) -> Void
    ) {
        self.bus = bus
        self.onButton = onButton
        runner = BusRunner("notifications") { loop in
            NotificationWork(loop, bus, application: application, icon: icon, reactionTime: reactionTime, onButton)
        }
        runner.start()
    }

    /// How long a person who is about to press a button needs to notice that another notice is there.
    private static let reactionTime = Duration.seconds(1)

    public func show(_ notice: Notice, in place: Place) { runner.perform { $0.show(notice, in: place) } }

    /// Takes the notice back.
    public func withdraw(_ place: Place) { runner.perform { $0.withdraw(place) } }

    /// Whether a service is there that shows buttons. Waits at most `time`.
    public func showsButtons(within time: Duration) -> Bool {
        guard bus != nil else { return false }
        let answer = FirstReply()
        runner.perform { $0.tellCapabilities { answer.give($0.contains("actions")) } }
        return answer.wait(time) ?? false
    }

    /// Takes back the questions, and ends. Other notices stay until the desktop takes them away. Waits at most 3 s.
    public func stop() { runner.stop() }
}

/// The first answer, for a thread that waits for it.
private final class FirstReply: @unchecked Sendable {
    // Sendable: `answer` is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var answer: Bool?

    func give(_ value: Bool) {
        condition.withLock {
            answer = answer ?? value
            condition.broadcast()
        }
    }

    /// Nil: there was none within the time.
    func wait(_ time: Duration) -> Bool? {
        let end = MediaTime.now + time
        return condition.withLock {
            while answer == nil, condition.wait(until: end) {}
            return answer
        }
    }
}
