import BeamLog
import BeamMedia
import BeamWire

/// What is written in a room, in words for the person. (`LogAlert` has its own.)
enum LogText {
    /// Of what was in the room before this program entered it, notes that are older than this aren't printed.
    private static let recent = Duration.seconds(5)

    static func otherVersion(_ name: String) -> String {
        "“\(PeerText.name(name))” has a version of BeamRoom whose captions, notes and messages this one doesn't "
            + "exchange: install the same version on both."
    }

    /// Nil: nothing is said of it.
    static func note(_ line: LogLine, _ text: String) -> String? {
        // A note that was under way for long, because a machine stood still, is new here all the same.
        let shown = PeerText.note(text)
        guard !line.isOwn, !shown.isEmpty, !line.isHistory || line.age < recent else { return nil }
        return "“\(PeerText.name(line.name))” writes: \(shown)"
    }

    static func unwritten(_ content: LogContent, _ reason: LogFailure) -> String {
        "That \(content.word) wasn't sent: \(reason)."
    }

    static let slowed = "Too much is written at once: the host takes it more slowly."
}
