import BeamClock
import BeamLog
import BeamMedia
import BeamNetwork
import BeamWords
import Synchronization

/// The words of a host or of a member of a room: captions that are read and written to the room, and the transcript and
/// subtitles of everything in it.
public final class HostWords: Sendable {
    /// Older lines than this aren't a recording's any more.
    private static let subtitleAge = Duration.seconds(5)

    private let reader: CaptionReader?
    private let transcript: TranscriptFile?
    private let recorder: RecorderSink?
    private let onNotice: @Sendable (HostNotice) -> Void

    /// Opens the files: see `HostOptions`.
    public convenience init(
        captionsPath: String?, transcriptPath: String?, onNotice: @escaping @Sendable (HostNotice) -> Void
    ) throws(WordsError) {
        try self.init(
            captionsPath: captionsPath, transcriptPath: transcriptPath, recorder: nil, onNotice: onNotice)
    }

    init(
        captionsPath: String?, transcriptPath: String?, recorder: RecorderSink?,
        onNotice: @escaping @Sendable (HostNotice) -> Void
    ) throws(WordsError) {
        self.recorder = recorder
        self.onNotice = onNotice
        if let path = captionsPath {
            reader = try CaptionReader(path: path)
        } else {
            reader = nil
        }
        if let path = transcriptPath {
            transcript = try TranscriptFile(path: path) { onNotice(.transcriptFailed(reason: $0.description)) }
        } else {
            transcript = nil
        }
    }

    /// Begins to read captions, and writes them to a room.
    public func start(writing write: @escaping @Sendable (LogInput) -> Void) {
        reader?.start { [onNotice] event in
            switch event {
            case .partial(let text, let speaker): write(.partial(text: text, speaker: speaker))
            case .final(let text, let speaker): write(.caption(text: text, speaker: speaker))
            case .badLine(let number, let reason): onNotice(.captionLineRefused(number: number, reason: reason))
            case .ended:
                // Nobody will complete what was just being said.
                write(.partial(text: "", speaker: nil))
                onNotice(.captionsEnded)
            }
        }
    }

    public func handle(_ event: LogEvent) {
        guard case .lines(let lines) = event else { return }
        let shown = lines.compactMap { line in line.transcriptLine.map { (line: $0, age: line.age) } }
        transcript?.append(shown.map(\.line))
        let now = MediaTime.now
        for (line, age) in shown where line.kind != .alert && age < Self.subtitleAge {
            recorder?.addCaption(line, at: now - age)
        }
    }

    /// Nothing is read any more. Before the room ends.
    public func stopReading() { reader?.stop() }

    /// Nil: there is no transcript, or its failure was reported.
    public var report: TranscriptReport? { transcript?.report }

    /// Completes the transcript.
    public func close() { transcript?.close() }
}
