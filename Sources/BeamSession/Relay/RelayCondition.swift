import BeamLog
import BeamMedia
import BeamWire

/// What a relay tells its viewers of its host, from what it learns itself.
public struct RelayCondition: Sendable {
    public enum Change: Sendable, Equatable {
        /// Whether the host's picture can be had, and what it shows can be seen there.
        case visibility(SourceVisibility)
        case paused(Bool)
        /// What somebody at the host has said or written.
        case write(LogInput)
        /// Through how many relays the host's picture comes; 0: it is no relay.
        case relays(Int)
        /// Whether the host may send exact patches.
        case patches(Bool)
    }

    private var visibility = SourceVisibility.visible
    private var isLost = false
    private var hasEnded = false
    private var isPaused = false
    /// Something is just being said there.
    private var isSpeaking = false
    private var told = SourceVisibility.visible
    /// Through how many relays the host's picture comes.
    public private(set) var relays = 0
    /// Whether the host may send exact patches.
    public private(set) var hasPatches = false

    public init() {}

    /// What has to be told to viewers who know nothing yet.
    public var present: [Change] {
        [.relays(relays)] + (hasPatches ? [.patches(true)] : []) + (told == .visible ? [] : [.visibility(told)])
            + (isPaused ? [.paused(true)] : [])
    }

    /// What viewers are told at present.
    public var shown: SourceVisibility { hasEnded ? .hostEnded : isLost ? .hostLost : visibility }

    public mutating func handle(_ event: ViewerEvent) -> [Change] {
        switch event {
        case .paired(_, _, let isNewSession, _):
            (isLost, hasEnded) = (false, false)
            if isNewSession { visibility = .visible }
        case .broadcast(let isOn): hasEnded = !isOn
        case .hostEnded: hasEnded = true
        case .sourceVisibility(let visibility): self.visibility = visibility
        case .stalled(_, .nothingArrives): isLost = true
        case .mediaResumed: isLost = false
        case .room(let event): return words(event)
        // Another host than before has that key, address or name, or it relays another one.
        case .hostRelays(let count):
            guard count != relays else { return [] }
            relays = count
            return [.relays(count)]
        case .hostHasPatches(let isSo):
            guard isSo != hasPatches else { return [] }
            hasPatches = isSo
            return [.patches(isSo)]
        default: return []
        }
        return settled()
    }

    /// A frame has come from the host.
    public mutating func frameArrived() -> [Change] {
        guard isLost || hasEnded else { return [] }
        (isLost, hasEnded) = (false, false)
        return settled()
    }

    private mutating func settled() -> [Change] {
        guard shown != told else { return [] }
        told = shown
        // Whoever was speaking can't be heard to the end.
        let isGone = told == .hostLost || told == .hostEnded
        return [.visibility(told)] + (isGone ? silence() : [])
    }

    // MARK: Words

    private mutating func words(_ event: LogEvent) -> [Change] {
        switch event {
        // Another run of the host.
        case .began: return pause(false) + silence()
        case .partial(_, _, let partial):
            isSpeaking = partial.map { !$0.text.isEmpty } ?? false
            return [.write(.partial(text: partial?.text ?? "", speaker: partial?.speaker))]
        case .lines(let lines): return lines.flatMap { words($0) }
        default: return []
        }
    }

    private mutating func words(_ line: LogLine) -> [Change] {
        if case .alert(let alert) = line.content, line.isKeepers {
            switch alert {
            case .paused: return pause(true)
            case .resumed: return pause(false)
            default: return []
            }
        }
        // What this relay has written itself comes from its viewers, who have read it.
        guard !line.isOwn, !line.isHistory else { return [] }
        switch line.content {
        case .caption(let text, let speaker): return [.write(.caption(text: text, speaker: speaker))]
        case .note(let text): return [.write(.note(Self.note(text, by: line.name)))]
        default: return []
        }
    }

    private mutating func pause(_ isPaused: Bool) -> [Change] {
        guard isPaused != self.isPaused else { return [] }
        self.isPaused = isPaused
        return [.paused(isPaused)]
    }

    /// What was half said is taken back: nobody will end it.
    private mutating func silence() -> [Change] {
        guard isSpeaking else { return [] }
        isSpeaking = false
        return [.write(.partial(text: "", speaker: nil))]
    }

    /// A note of somebody else, which the relay signs: with its author's name before it.
    public static func note(_ text: String, by name: String) -> String {
        let note = "\(PeerText.name(name)): \(text)"
        guard note.utf8.count > LogLimits.note else { return note }
        var cut = note.prefix(LogLimits.note)
        while cut.utf8.count > LogLimits.note { cut.removeLast() }
        return String(cut)
    }
}
