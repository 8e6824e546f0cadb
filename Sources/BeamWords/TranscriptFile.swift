import BeamClock
import BeamMedia
import Synchronization

/// Writes a transcript into a file on a thread of its own, so that nothing else waits for the disk.
///
/// The file never exists before, only its owner can read it, and at any moment it has whole entries (`TranscriptFormat`).
/// A cue of SubRip or WebVTT is written when the next line comes, or when it is over.
public final class TranscriptFile: Sendable {
    /// In bytes, about. A transcript of the greatest size that a session keeps (64 MiB) fits twice.
    private static let mostWaiting = 128 << 20
    /// In bytes: three hours of what a member may write at most. What others write must not fill the disk.
    static let longest = 1 << 30
    /// How long `close` waits for a disk that takes nothing: longer than a disk takes to spin up.
    private static let patience = Duration.seconds(5)

    public let path: String
    private let lines = WaitingLines(most: mostWaiting)
    private let thread: StageThread
    private let failure: FailureReport

    /// Creates the file; its name's ending says the format. `onFailure` is called once, when the file can't be continued:
    /// on the file's thread, or on the one that calls `append` or `close`.
    ///
    /// - Throws: `unknownFileEnding`, `fileExists` or `cannotCreateFile`.
    public convenience init(path: String, onFailure: @escaping @Sendable (WordsError) -> Void) throws(WordsError) {
        try self.init(path: path, longest: Self.longest, onFailure: onFailure)
    }

    /// `longest`: the file's greatest length in bytes.
    init(path: String, longest: Int, onFailure: @escaping @Sendable (WordsError) -> Void) throws(WordsError) {
        let format = try TranscriptFormat(path: path)
        let writer = Parcel(try EntryWriter(path: path))
        let failure = FailureReport(onFailure)
        self.path = path
        self.failure = failure
        thread = StageThread("beam-transcript") { [lines] in
            guard let writer = writer.take() else { return }
            do throws(WordsError) {
                try Self.write(lines, with: writer, as: format, longest: longest)
            } catch {
                lines.fail()
                failure(error)
            }
        }
    }

    deinit { lines.close() }

    /// Takes `lines`, in the order of the file. Returns at once.
    public func append(_ lines: [TranscriptLine]) {
        guard self.lines.append(lines) == .tooMany else { return }
        failure(.cannotWriteFile(path: path, reason: Self.takesNothing))
    }

    /// Writes everything. If the disk takes nothing for 5 s, the rest is given up, and reported as a failure.
    public func close() {
        lines.close()
        while !thread.join(until: lines.lastProgress + Self.patience) {
            guard lines.lastProgress + Self.patience > .now else {
                lines.fail()
                failure(.cannotWriteFile(path: path, reason: Self.takesNothing))
                return
            }
        }
    }

    /// What was handed to the system so far; nil: the file couldn't be continued, which was reported.
    public var report: TranscriptReport? { lines.entries.map { TranscriptReport(path: path, entries: $0) } }

    private static let takesNothing = "its disk takes nothing any more"

    // MARK: The file's thread

    private static func write(
        _ lines: WaitingLines, with writer: EntryWriter, as format: TranscriptFormat, longest: Int
    ) throws(WordsError) {
        var formatter = TranscriptFormatter(format)
        var hasHeader = formatter.header.isEmpty
        func append(_ entry: String?) throws(WordsError) {
            guard let entry else { return }
            guard writer.length + entry.utf8.count + formatter.header.utf8.count <= longest else {
                try writer.flush()
                throw .cannotWriteFile(path: writer.path, reason: "it has \(longest >> 20) MiB, which is the most")
            }
            try writer.append(hasHeader ? entry : formatter.header + entry)
            hasHeader = true
            lines.progressed()
        }
        var cueEnd: MediaTime?
        while true {
            switch lines.take(until: cueEnd) {
            case .lines(let batch):
                for line in batch { try append(formatter.add(line)) }
                cueEnd = formatter.waitingTime.map { .now + $0 }
            case .nothing:
                try append(formatter.finish())
                cueEnd = nil
            case .closed:
                try append(formatter.finish())
                try writer.close()
                return
            }
            try writer.flush()
        }
    }
}

/// Reports the first failure only.
private final class FailureReport: Sendable {
    private let handler: Mutex<(@Sendable (WordsError) -> Void)?>

    init(_ handler: @escaping @Sendable (WordsError) -> Void) { self.handler = Mutex(handler) }

    func callAsFunction(_ error: WordsError) {
        let handler = handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
        handler?(error)
    }
}

/// The lines that wait for the file's thread.
private final class WaitingLines: @unchecked Sendable {
    // Sendable: every field below is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var lines: [TranscriptLine] = []
    private var bytes = 0
    private var isClosed = false
    private var hasFailed = false
    private var progress = MediaTime.now
    private var written = 0
    private let most: Int

    init(most: Int) { self.most = most }

    enum PutResult { case taken, tooMany, refused }

    /// Takes lines as long as there are fewer than `most` bytes. One call too many, and nothing is taken any more.
    func append(_ added: [TranscriptLine]) -> PutResult {
        condition.withLock {
            guard !isClosed, !hasFailed else { return .refused }
            guard bytes < most else {
                drop()
                return .tooMany
            }
            lines += added
            bytes += added.reduce(0) { $0 + $1.text.utf8.count + MemoryLayout<TranscriptLine>.size }
            condition.signal()
            return .taken
        }
    }

    enum Taken {
        case lines([TranscriptLine])
        /// The time has come, and no line.
        case nothing
        case closed
    }

    /// Waits for lines, at most until `time`.
    func take(until time: MediaTime?) -> Taken {
        condition.withLock {
            while lines.isEmpty {
                if isClosed || hasFailed { return .closed }
                guard let time else {
                    condition.wait()
                    continue
                }
                guard condition.wait(until: time) else { return lines.isEmpty ? .nothing : takeAll() }
            }
            return takeAll()
        }
    }

    private func takeAll() -> Taken {
        defer {
            lines = []
            bytes = 0
        }
        return .lines(lines)
    }

    private func drop() {
        hasFailed = true
        lines = []
        bytes = 0
        condition.signal()
    }

    /// The time of the last entry that was handed to the system.
    var lastProgress: MediaTime { condition.withLock { progress } }

    func progressed() {
        condition.withLock {
            progress = .now
            written += 1
        }
    }

    /// Entries that were handed to the system; nil after a failure.
    var entries: Int? { condition.withLock { hasFailed ? nil : written } }

    /// Takes nothing any more; what waits is dropped.
    func fail() { condition.withLock { drop() } }

    /// Takes nothing any more; what waits is written.
    func close() {
        condition.withLock {
            isClosed = true
            progress = .now
            condition.signal()
        }
    }
}
