import BeamMedia
import BeamProtocol

extension SourceVisibility {
    /// Of the event `source-visible`.
    var fields: [String: JSONValue] {
        switch self {
        case .visible: ["visible": .bool(true)]
        case .windowHidden: ["visible": .bool(false), "why": .string("window-hidden")]
        case .monitorOff: ["visible": .bool(false), "why": .string("monitor-off")]
        case .regionOutside: ["visible": .bool(false), "why": .string("region-outside")]
        }
    }
}

/// What a host's terminal says when what is shared can't be seen any more, or again.
struct SpokenVisibility: Sendable {
    /// Programs can hide and show a window as often as they like.
    private var limit = WordLimit()
    private var last = SourceVisibility.visible

    /// Nil: it was said too often lately.
    mutating func words(for visibility: SourceVisibility, now: ContinuousClock.Instant) -> String? {
        let before = last
        last = visibility
        guard limit.allows(at: now) else { return nil }
        switch (visibility, before) {
        case (.windowHidden, _):
            return
                "The shared window is hidden: it is minimised, or on another workspace. Viewers keep its last picture."
        case (.monitorOff, _):
            return "The shared monitor is off or unplugged. Viewers keep its last picture; it goes on when it is back."
        case (.regionOutside, _):
            return "The shared region lies outside the screen, which has become smaller. Viewers keep the last picture."
        case (.visible, .monitorOff): return "The shared monitor is back."
        case (.visible, .regionOutside): return "The shared region is on the screen again."
        case (.visible, _): return "The shared window is visible again."
        }
    }
}
