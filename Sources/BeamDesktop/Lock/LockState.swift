/// Whether the screen is locked, by what several sources tell. The first that tells of a change counts; the others
/// repeat it sooner or later, and some never do.
struct LockState {
    enum Source: Hashable {
        case logind
        /// A screen saver, by its name on the session bus.
        case screenSaver(String)
    }

    private var sources: [Source: Bool] = [:]
    private var isLocked = false

    /// A source's state, which may have been told before. Returns the new state if that changes it.
    mutating func hear(_ source: Source, isLocked: Bool) -> Bool? {
        guard sources.updateValue(isLocked, forKey: source) != isLocked else { return nil }
        return change(isLocked)
    }

    /// The screen was locked or unlocked just now. Returns the new state if that changes it.
    mutating func happened(isLocked: Bool) -> Bool? { change(isLocked) }

    /// A source has gone, for example a screen saver that crashed. Returns the new state if that changes it.
    mutating func lose(_ source: Source) -> Bool? {
        guard sources.removeValue(forKey: source) == true, !sources.values.contains(true) else { return nil }
        return change(false)
    }

    private mutating func change(_ isLocked: Bool) -> Bool? {
        guard isLocked != self.isLocked else { return nil }
        self.isLocked = isLocked
        return isLocked
    }
}
