import BeamClock
import BeamCodec
import BeamLog
import BeamMedia
import BeamWords
import Synchronization

/// Writes the room's words to the transcript, and to the recording's subtitle track.
final class ViewerWords: Sendable {
    /// Older lines than this aren't of what is being recorded.
    private static let subtitleAge = Duration.seconds(5)

    private let transcript: TranscriptFile?
    private let recorder: BackgroundRecorder?
    /// When the first room and the present one began, by this machine's clock: a host that is started again begins a room
    /// whose times would go back.
    private let starts = Mutex<(first: MediaTime, present: MediaTime)?>(nil)
    private let isNewRoom = Atomic<Bool>(true)

    init(_ files: ViewerFiles) {
        transcript = files.transcript
        recorder = files.recorder
    }

    func handle(_ event: LogEvent) {
        switch event {
        case .began: isNewRoom.store(true, ordering: .relaxed)
        case .lines(let lines): write(lines)
        default: break
        }
    }

    private func write(_ lines: [LogLine]) {
        let now = MediaTime.now
        if let line = lines.first, isNewRoom.exchange(false, ordering: .relaxed) {
            let start = now - line.age - line.time
            starts.withLock { $0 = ($0?.first ?? start, start) }
        }
        let offset = starts.withLock { $0.map { max(.zero, $0.present - $0.first) } ?? .zero }
        var shown = lines.compactMap { line in line.transcriptLine.map { (line: $0, age: line.age) } }
        for (line, age) in shown where line.kind != .alert && age < Self.subtitleAge {
            recorder?.addCaption(line.subtitle, at: now - age, for: TranscriptLine.readingTime(of: line.text))
        }
        for index in shown.indices { shown[index].line.time += offset }
        transcript?.append(shown.map(\.line))
    }

    /// Nil: there is no transcript, or its failure was reported.
    var report: TranscriptReport? { transcript?.report }

    func close() { transcript?.close() }
}
