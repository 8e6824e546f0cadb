import BeamClock
import BeamMedia

/// Tells where the pointer is while it is left out of the pictures. Used by the capture's thread.
final class PointerTeller {
    /// The shortest time between two looks at where the pointer is: half a frame of the fastest usual screens. Mice
    /// report up to a thousand times a second.
    private static let interval = Duration.milliseconds(4)

    /// Set before `run`.
    var handler: (@Sendable (ScreenPointer) -> Void)?
    /// The pointer is left out of the pictures.
    private(set) var isApart = false
    private var told = ScreenPointer.inPicture
    private var isMoved = false
    private var lastFollowed: MediaTime?

    /// From now on the pointer is left out of the pictures, or drawn into them. Returns whether that has changed.
    func setApart(_ isApart: Bool) -> Bool {
        guard isApart != self.isApart else { return false }
        (self.isApart, isMoved) = (isApart, false)
        return true
    }

    /// The pointer may be elsewhere, or look different.
    func moved() { isMoved = true }

    /// When to find out where it is; nil: it hasn't moved.
    var due: MediaTime? { isApart && isMoved ? lastFollowed.map { $0 + Self.interval } ?? .zero : nil }

    /// It is being found out.
    func follow(now: MediaTime) { (isMoved, lastFollowed) = (false, now) }

    func tell(_ pointer: ScreenPointer) {
        guard pointer != told else { return }
        told = pointer
        handler?(pointer)
    }
}
