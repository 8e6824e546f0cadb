import BeamWire

/// What the keeper's alerts say of the share at the moment.
///
/// History comes in several batches. An old alert in it may be out of date, so nothing changes here before the room says
/// that all of it has come.
public struct ShareCondition: Sendable, Hashable {
    private struct Flags: Sendable, Hashable {
        var isPaused = false
        var isLocked = false
        var lowBattery: Int?
    }

    private var shown = Flags()
    /// By all alerts that have come.
    private var newest = Flags()
    /// History is coming: `shown` stays as it is.
    public private(set) var isCatchingUp = false

    public var isPaused: Bool { shown.isPaused }
    public var isLocked: Bool { shown.isLocked }
    /// In percent; nil: the battery isn't low, or nothing is known of it.
    public var lowBattery: Int? { shown.lowBattery }

    public init() {}

    /// Whether `handle` may change anything.
    public static func isConcerned(by event: LogEvent) -> Bool {
        switch event {
        case .began, .catchingUp, .caughtUp: true
        case .lines(let lines): lines.contains { $0.keepersAlert != nil }
        default: false
        }
    }

    /// What a person is to be warned of: a locked screen, a low battery.
    public var warnings: [LogAlert] {
        (isLocked ? [.locked] : []) + (lowBattery.map { [.batteryLow(percent: $0)] } ?? [])
    }

    /// Follows `event`, and returns what it has changed, as alerts: of several lines, and of history, what they amount to.
    /// A room that begins changes nothing that is to be told.
    public mutating func handle(_ event: LogEvent) -> [LogAlert] {
        switch event {
        case .began: self = ShareCondition()
        case .catchingUp: isCatchingUp = true
        case .caughtUp:
            isCatchingUp = false
            return show()
        case .lines(let lines):
            for line in lines { if let alert = line.keepersAlert { apply(alert) } }
            if !isCatchingUp { return show() }
        default: break
        }
        return []
    }

    private mutating func apply(_ alert: LogAlert) {
        switch alert {
        case .paused: newest.isPaused = true
        case .resumed: newest.isPaused = false
        case .locked: newest.isLocked = true
        case .unlocked: newest.isLocked = false
        case .batteryLow(let percent): newest.lowBattery = percent
        case .batteryFine: newest.lowBattery = nil
        case .leaving: break
        }
    }

    private mutating func show() -> [LogAlert] {
        let old = shown
        shown = newest
        var changes: [LogAlert] = []
        if isPaused != old.isPaused { changes.append(isPaused ? .paused : .resumed) }
        if isLocked != old.isLocked { changes.append(isLocked ? .locked : .unlocked) }
        if lowBattery != old.lowBattery { changes.append(lowBattery.map { .batteryLow(percent: $0) } ?? .batteryFine) }
        return changes
    }
}

extension LogLine {
    /// What it says about the share; nil: nothing.
    fileprivate var keepersAlert: LogAlert? {
        guard isKeepers, case .alert(let alert) = content else { return nil }
        return alert
    }
}
