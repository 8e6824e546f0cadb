import BeamDisplay

/// A window in which the person picks one of a few things, before there is anything else to show. Runs on the main thread,
/// as SDL requires.
@MainActor
public final class ChoiceWindow {
    /// One of them, in two lines.
    public struct Choice: Sendable {
        public var name: String
        public var detail: String

        public init(name: String, detail: String) {
            self.name = name
            self.detail = detail
        }
    }

    private let window: VideoWindow
    private let count: Int
    private var hasEnded: () -> Bool = { false }
    private var choice: Int?

    /// - Parameters:
    ///   - title: what is to be picked.
    ///   - whenLost: as for `ViewerWindow`.
    public init(
        _ options: WindowOptions, title: String, choices: [Choice], whenLost: @escaping @Sendable () -> Never
    ) throws(DisplayError) {
        count = choices.count
        window = try VideoWindow(options, whenLost: whenLost)
        window.setPicker(choices.map { PickerEntry(name: $0.name, detail: $0.detail) }, title: title)
    }

    /// Makes `run` look whether it is over. On any thread.
    public var wake: @Sendable () -> Void {
        let window = self.window
        return { window.wake() }
    }

    /// Waits for the person.
    ///
    /// - Parameter isOver: whether there is nothing to pick any more.
    /// - Returns: the number of the choice, from 0; nil: the person has closed the window, or it is over.
    public func run(until isOver: @escaping () -> Bool) -> Int? {
        hasEnded = isOver
        window.run(self)
        return choice
    }
}

extension ChoiceWindow: WindowDelegate {
    package var isOver: Bool { hasEnded() }
    package var timeout: Duration? { nil }

    package func update(isFirst: Bool) {}

    package func handle(_ event: WindowEvent) -> Bool {
        switch event {
        case .chosen(let index) where index < count:
            choice = index
            return false
        case .escaped: window.tell("q ends")
        default: break
        }
        return true
    }
}
