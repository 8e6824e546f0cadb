import BeamMedia

/// What a host announces of its share. Each method returns the change that the person is told, if there is one.
struct ShareAnnouncements: Sendable {
    /// The most changes of the full picture's size that are reported: a host costs the person no more lines.
    private static let mostFullSizes = 50

    private var sharing = Announcement<Bool>()
    private var visibility = Announcement<SourceVisibility>()
    /// The full picture's size that the host named last, of which it sends less; and how often that has changed.
    private var fullSize: PixelSize?
    private var fullSizeChanges = 0

    /// When to call `deadlineReached`; `.distantFuture` while no value waits.
    var deadline: MediaTime { min(sharing.deadline ?? .distantFuture, visibility.deadline ?? .distantFuture) }

    /// A new session.
    mutating func forget() {
        sharing.forget()
        visibility.forget(as: .visible)
    }

    mutating func broadcast(_ isOn: Bool, now: MediaTime) -> ViewerEvent? {
        sharing.received(isOn, now: now).map { .broadcast($0) }
    }

    mutating func sourceVisibility(_ named: SourceVisibility, now: MediaTime) -> ViewerEvent? {
        visibility.received(named, now: now).map { .sourceVisibility($0) }
    }

    mutating func fullSize(_ size: PixelSize?) -> ViewerEvent? {
        guard size != fullSize, fullSizeChanges < Self.mostFullSizes else { return nil }
        fullSizeChanges += 1
        fullSize = size
        return .pictureLimited(full: size)
    }

    mutating func deadlineReached(now: MediaTime) -> [ViewerEvent] {
        let isOn = sharing.deadlineReached(now: now).map { ViewerEvent.broadcast($0) }
        let seen = visibility.deadlineReached(now: now).map { ViewerEvent.sourceVisibility($0) }
        return [isOn, seen].compactMap(\.self)
    }
}
