import BeamMedia

/// Tells from a stream's states whether it lives.
///
/// PipeWire has no word for a stream's end: a portal that dies, or a compositor that ends a capture, leaves it paused. But a
/// change of size pauses it, too, for some milliseconds.
struct StreamLife: Equatable {
    enum End: Equatable {
        /// The source was removed, for example because its monitor was unplugged.
        case sourceGone
        case paused
        /// In PipeWire's words.
        case failed(String)
    }

    /// A pause that lasts longer than this is the end. Changes of size take up to 0.1 s, and on a machine that is overloaded
    /// more than a second.
    static let longestPause = Duration.seconds(2)

    private var hasStreamed = false
    private var pausedSince: MediaTime?

    /// Nil: it lives, or isn't yet born.
    mutating func hear(_ state: StreamState, now: MediaTime) -> End? {
        switch state.phase {
        case .failed: return .failed(state.reason)
        case _ where state.isSourceGone: return .sourceGone
        case .streaming:
            hasStreamed = true
            pausedSince = nil
        case .paused where hasStreamed, .connecting where hasStreamed:
            let since = pausedSince ?? now
            pausedSince = since
            if now - since >= Self.longestPause { return .paused }
        case .paused, .connecting: break
        }
        return nil
    }

    /// When to hear again, even if nothing happens.
    var deadline: MediaTime? { pausedSince.map { $0 + Self.longestPause } }
}
