import Synchronization

/// Moves a value from the thread that created it to the one that uses it.
public final class Parcel<Content>: Sendable {
    private let content: Mutex<Content?>

    public init(_ content: sending Content) { self.content = Mutex(content) }

    /// The content; nil if it was taken before.
    public func take() -> sending Content? {
        content.withLock { content in
            let taken = content
            content = nil
            return taken
        }
    }
}
