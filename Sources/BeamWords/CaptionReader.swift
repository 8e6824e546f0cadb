import BeamClock
import BeamMedia
import Synchronization

/// Reads captions from a file, a pipe or standard input, on a thread of its own, as a recogniser or a captioner writes them.
///
/// Each line of text is a final caption. A line that begins with `{` is a JSON object with either `"partial"` or `"final"`,
/// which are texts, and perhaps `"speaker"`. A partial caption replaces the one before; an empty one takes it back. An
/// ordinary file is followed as it grows, and a named pipe stays open for its next writer. A line that is redrawn, as some
/// recognisers do while somebody speaks, is a partial caption until it ends (`LineSplitter`).
///
/// Texts have no control, bidirectional or invisible characters (`ShownText`), and at most 64 KiB.
public final class CaptionReader: Sendable {
    public enum Event: Sendable, Hashable {
        /// At most 30 a second; the newest replaces those that wait.
        case partial(String, speaker: String?)
        /// At most 200 a second after a burst; the reader reads slower instead of dropping one.
        case final(String, speaker: String?)
        /// A line that is left out, counted from 1, and why: the end of a sentence “it is left out: …”.
        case badLine(number: Int, reason: String)
        /// The pipe or standard input has ended. Nothing follows.
        case ended
    }

    private enum Phase {
        case idle
        case running(StageThread)
        case stopped
    }

    /// A line without an end, at the end of a file that hasn't grown for so long, is taken as complete.
    private static let quietFile = Duration.seconds(2)

    private let input: Parcel<CaptionInput>
    private let wake = WakeEvent()
    private let phase = Mutex(Phase.idle)
    private let isStopped = Atomic(false)

    /// Opens `path`; `-` is standard input. Doesn't wait for a pipe's writer.
    ///
    /// - Throws: `cannotRead`.
    public init(path: String) throws(WordsError) {
        guard wake.isUsable else {
            throw .cannotRead(path: path, reason: "there are too many open files")
        }
        input = Parcel(try CaptionInput(path: path))
    }

    /// Begins to read. `onEvent` is called on the reader's thread; nothing is read while it runs.
    public func start(_ onEvent: @escaping @Sendable (Event) -> Void) {
        phase.withLock { phase in
            guard case .idle = phase, let input = input.take() else { return }
            // Sendable: only the thread uses it from here on.
            nonisolated(unsafe) let taken = input
            phase = .running(StageThread("beam-captions") { [self] in run(taken, onEvent) })
        }
    }

    /// Ends reading. No event follows. Not to be called by `onEvent`.
    public func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        wake.signal()
        let before = phase.withLock { phase in
            defer { phase = .stopped }
            return phase
        }
        // A file on a network file system may block its reader for minutes. The thread is left behind then.
        if case .running(let thread) = before { _ = thread.join(until: .now + .seconds(1)) }
        _ = input.take()
    }

    // MARK: The reader's thread

    private var hasStopped: Bool { isStopped.load(ordering: .sequentiallyConsistent) }

    private func run(_ input: CaptionInput, _ onEvent: @escaping (Event) -> Void) {
        var splitter = LineSplitter()
        var output = PacedOutput(wake: wake) { [self] event in if !hasStopped { onEvent(event) } }
        var lastGrowth = MediaTime.now
        // A file is read at once.
        var timeout: CInt = 0
        while !hasStopped {
            output.passPartial()
            defer { timeout = output.timeout(atMost: input.longestWait) }
            switch wake.wait(for: [input.awaited], timeout: timeout) {
            case .woken: return
            // Only a file has something to be looked at then.
            case .timedOut where !input.isFile: continue
            case .timedOut, .ready: break
            }
            var isGoingOn = true
            while isGoingOn, !hasStopped {
                switch input.read() {
                case .bytes(let bytes):
                    lastGrowth = .now
                    for line in splitter.append(bytes) { output.pass(line) }
                    if let draft = splitter.draft { output.pass(draft: draft) }
                    // An ordinary file isn't polled: read on.
                    isGoingOn = input.isFile
                case .nothing:
                    if splitter.hasBegun, input.isFile, .now - lastGrowth > Self.quietFile, let line = splitter.end() {
                        output.pass(line)
                    }
                    isGoingOn = false
                case .interrupted:
                    if let line = splitter.end() { output.pass(line) }
                    // The pipe's next writer is seen a little later, but a writer that comes and goes without end costs
                    // little.
                    if wake.wait(timeout: 10) == .woken { return }
                    isGoingOn = false
                case .ended:
                    if let line = splitter.end() { output.pass(line) }
                    output.finish()
                    return
                }
            }
        }
    }
}

/// Passes captions on at `CaptionPace`.
private struct PacedOutput {
    let wake: WakeEvent
    let emit: (CaptionReader.Event) -> Void
    private var pace = CaptionPace()
    private var hasStopped = false
    /// A line is being redrawn, and was passed on as a partial caption.
    private var isDrafting = false

    init(wake: WakeEvent, _ emit: @escaping (CaptionReader.Event) -> Void) {
        self.wake = wake
        self.emit = emit
    }

    /// How long to wait for input, in ms, until the partial caption that waits is due; negative: without end.
    func timeout(atMost longest: CInt) -> CInt {
        guard let due = pace.due else { return longest }
        let untilDue = Self.milliseconds(due - .now)
        return longest < 0 ? untilDue : min(longest, untilDue)
    }

    mutating func passPartial() {
        guard let partial = pace.take(at: .now) else { return }
        emit(.partial(partial.text, speaker: partial.speaker))
    }

    /// Passes on the present state of a line that is being redrawn.
    mutating func pass(draft: [UInt8]) {
        guard case .final(let text, let speaker) = CaptionLine(draft) else { return }
        isDrafting = true
        pace.replace(CaptionPace.Partial(text: text, speaker: speaker))
        passPartial()
    }

    mutating func pass(_ line: LineSplitter.Line) {
        let wasDrafting = isDrafting
        isDrafting = false
        switch line {
        case .tooLong(let number): report(number, CaptionLine.tooLong)
        case .text(let number, let bytes):
            switch CaptionLine(bytes) {
            case .empty:
                // What was drafted was erased.
                guard wasDrafting else { break }
                pace.replace(CaptionPace.Partial(text: "", speaker: nil))
                passPartial()
            case .bad(let reason): report(number, reason)
            case .partial(let text, let speaker):
                pace.replace(CaptionPace.Partial(text: text, speaker: speaker))
                passPartial()
            case .final(let text, let speaker):
                pause { $0.admitFinal(of: speaker, at: .now) }
                emit(.final(text, speaker: speaker))
            }
        }
    }

    /// Passes on what waits, and the end.
    mutating func finish() {
        if let partial = pace.waiting { emit(.partial(partial.text, speaker: partial.speaker)) }
        emit(.ended)
    }

    private mutating func report(_ number: Int, _ reason: String) {
        pause { $0.admitReport(at: .now) }
        emit(.badLine(number: number, reason: reason))
    }

    /// Waits until `admit` answers zero, or the reader is stopped. Nothing is read meanwhile, so the writer waits, too.
    private mutating func pause(_ admit: (inout CaptionPace) -> Duration) {
        while !hasStopped {
            let delay = admit(&pace)
            guard delay > .zero else { return }
            hasStopped = wake.wait(timeout: Self.milliseconds(delay)) == .woken
            passPartial()
        }
    }

    /// Rounded up, at least 0.
    private static func milliseconds(_ duration: Duration) -> CInt {
        CInt(clamping: max(0, (duration.inNanoseconds + 999_999) / 1_000_000))
    }
}
