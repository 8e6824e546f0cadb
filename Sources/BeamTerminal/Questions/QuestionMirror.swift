/// Shows the question about a visitor that is asked at the terminal at another place, too, for example in a notice of the
/// desktop. Neither call waits.
public protocol QuestionMirror: AnyObject, Sendable {
    /// In place of the one before.
    func show(_ question: MirroredQuestion)
    /// There is none any more.
    func hide()
}

public struct MirroredQuestion: Sendable {
    /// Plain text, a line.
    public var title: String
    /// Plain text.
    public var text: String
    /// Whether the visitor is let in. May be called at any time, on any thread; does nothing if the question is no longer
    /// asked.
    public var answer: @Sendable (Bool) -> Void
}
