import BeamClock
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamWords
import Synchronization

/// A host's words: captions that are read and written to the room, and the transcript and subtitles of everything in it.
final class HostWords: Sendable {
    /// Older lines than this aren't a recording's any more.
    private static let subtitleAge = Duration.seconds(5)

    private let reader: CaptionReader?
    private let transcript: TranscriptFile?
    private let recorder: RecorderSink?
    private let onNotice: @Sendable (HostNotice) -> Void

    /// Opens the files.
    init(
        _ options: HostOptions, recorder: RecorderSink?, onNotice: @escaping @Sendable (HostNotice) -> Void
    ) throws(WordsError) {
        self.recorder = recorder
        self.onNotice = onNotice
        if let path = options.captionsPath {
            reader = try CaptionReader(path: path)
        } else {
            reader = nil
        }
        if let path = options.transcriptPath {
            transcript = try TranscriptFile(path: path) { onNotice(.transcriptFailed(reason: $0.description)) }
        } else {
            transcript = nil
        }
    }

    /// Begins to read captions.
    func start(_ server: HostServer) {
        reader?.start { [onNotice] event in
            switch event {
            case .partial(let text, let speaker): server.write(.partial(text: text, speaker: speaker))
            case .final(let text, let speaker): server.write(.caption(text: text, speaker: speaker))
            case .badLine(let number, let reason): onNotice(.captionLineRefused(number: number, reason: reason))
            case .ended:
                // Nobody will complete what was just being said.
                server.write(.partial(text: "", speaker: nil))
                onNotice(.captionsEnded)
            }
        }
    }

    func handle(_ event: HostEvent) {
        guard case .room(.lines(let lines)) = event else { return }
        let shown = lines.compactMap { line in line.transcriptLine.map { (line: $0, age: line.age) } }
        transcript?.append(shown.map(\.line))
        let now = MediaTime.now
        for (line, age) in shown where line.kind != .alert && age < Self.subtitleAge {
            recorder?.addCaption(line, at: now - age)
        }
    }

    /// Nothing is read any more. Before the room ends.
    func stopReading() { reader?.stop() }

    /// Nil: there is no transcript, or its failure was reported.
    var report: TranscriptReport? { transcript?.report }

    /// Completes the transcript.
    func close() { transcript?.close() }
}
