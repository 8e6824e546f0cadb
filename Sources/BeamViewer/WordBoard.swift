import BeamDisplay
import BeamLog
import BeamMedia
import BeamWire

/// What the window shows of the room: captions and notes for a while, the transcript, notices.
struct WordBoard: Sendable {
    private struct Line {
        var caption: WindowCaption
        var until: MediaTime
    }

    private struct Speaking {
        var author: DeviceKey
        var caption: WindowCaption
        var until: MediaTime
    }

    /// An older caption than this, and an older note from before this viewer came, is in the transcript only.
    private static let longestDelay = Duration.seconds(5)
    /// How long a line stays at least, and beyond the time that it takes to read it.
    private static let leastTime = Duration.seconds(4)
    /// The same of a note, which comes when people look elsewhere.
    private static let leastNoteTime = Duration.seconds(10)
    /// At 15 characters a second, as subtitles are read. The window shows no more than the beginning of a longer one.
    private static func noteTime(_ text: String) -> Duration {
        max(leastNoteTime, .milliseconds(min(text.count * 1000 / 15, 30_000)))
    }
    private static let spareTime = Duration.seconds(1)
    /// A partial caption that isn't revised for so long stays behind: its author has stopped, or the connection is lost.
    private static let longestSilence = Duration.seconds(10)
    /// How long a partial caption stays after its end, because its final text comes with or after it: nothing flickers.
    private static let handOver = Duration.milliseconds(200)
    /// How long a notice is shown.
    private static let noticeTime = Duration.seconds(6)
    /// The most lines that the window shows.
    private static let mostLines = 3

    /// Lines that wait for the window at most, and the bytes of their texts: more than a room's log has. The window stands
    /// still if its X server does.
    static let mostPending = 100_000
    static let mostPendingBytes = 64 << 20

    private var lines: [Line] = []
    private var speaking: [Speaking] = []
    /// Lines for the transcript that the window hasn't taken yet, and the bytes of their texts.
    private var pending: [TranscriptLine] = []
    private var pendingBytes = 0
    /// The window's transcript belongs to another room.
    private var isOutdated = false
    private(set) var heading = TranscriptHeading.nothingYet
    private var condition = ShareCondition()
    /// Alerts that the person was told, and until when they are shown at least.
    private var told: [(alert: LogAlert, until: MediaTime)] = []
    /// Counted, so that the same words can be shown again.
    private(set) var notice: (number: Int, content: WindowNotice?) = (0, nil)
    /// A note of somebody else was shown, and the person told where notes stay.
    private var hasHinted = false
    /// There is a room, and the host takes notes.
    private(set) var takesNotes = false

    mutating func handle(_ event: LogEvent, now: MediaTime) {
        let changes = condition.handle(event)
        switch event {
        case .began(let since, let takesNotes):
            self = WordBoard(after: self)
            heading = since.map { $0 == .zero ? .complete : .since($0) } ?? .arriving
            self.takesNotes = takesNotes
        case .history(let since): heading = since == .zero ? .complete : .since(since)
        case .lines(let lines):
            for line in lines { add(line, now: now) }
            if let line = lines.last(where: \.isKeepers) { tell(changes, host: line.name, now: now) }
        case .caughtUp(let host): tell(changes, host: host, now: now)
        case .partial(let author, let name, let partial): speak(partial, by: author, called: name, now: now)
        case .unwritten(.note, let reason): say("The note wasn't sent: \(reason).", isWarning: true)
        case .slowed(true): say("Too much is written at once: the host takes it more slowly.", isWarning: true)
        case .otherVersion(let name):
            say("“\(PeerText.name(name))” has another version of BeamRoom: no captions and notes.", isWarning: true)
        case .catchingUp, .slowed, .unwritten, .message, .delivered, .undelivered: break
        }
    }

    init() {}

    /// Says something at the window's edge for a moment.
    mutating func tell(_ words: String) { say(words) }

    /// The room is left, and nothing of it is shown any more.
    mutating func end() { self = WordBoard(after: self) }

    private init(after old: WordBoard) {
        isOutdated = true
        notice = (old.notice.number + 1, nil)
        hasHinted = old.hasHinted
    }

    private mutating func speak(_ partial: LogPartial?, by author: DeviceKey, called name: String, now: MediaTime) {
        let text = ShownText.lines(partial?.text ?? "")
        let index = speaking.firstIndex { $0.author == author }
        guard let partial, !text.isEmpty else {
            if let index { speaking[index].until = min(speaking[index].until, now + Self.handOver) }
            return
        }
        let caption = WindowCaption(text: text, name: partial.voice(author: name), isPartial: true)
        let time = max(Self.longestSilence, TranscriptLine.readingTime(of: text) + Self.spareTime)
        if let index { speaking.remove(at: index) }
        // A host could name ever new authors.
        if speaking.count >= Self.mostLines { speaking.removeFirst() }
        speaking.append(Speaking(author: author, caption: caption, until: now + time))
    }

    private mutating func add(_ line: LogLine, now: MediaTime) {
        guard let shown = line.transcriptLine else { return }
        keep(shown)
        let isNote = shown.kind == .note
        let isNew = line.age < Self.longestDelay || isNote && !line.isHistory
        guard isNew, shown.kind != .alert else { return }
        if !isNote { speaking.removeAll { $0.author == line.author } }
        let caption = WindowCaption(
            text: shown.text, name: isNote || shown.speaker != nil ? shown.voice : nil, isPartial: false, isNote: isNote
        )
        lines.append(
            Line(
                caption: caption,
                until: now
                    + (isNote
                        ? Self.noteTime(shown.text)
                        : max(Self.leastTime, TranscriptLine.readingTime(of: shown.text) + Self.spareTime))))
        makeRoom()
        if isNote, !line.isOwn, !hasHinted {
            hasHinted = true
            say("Notes stay in the transcript: t shows it")
        }
    }

    /// Captions that follow one another don't push away the newest note before its time.
    private mutating func makeRoom() {
        while lines.count > Self.mostLines {
            let newestNote = lines.lastIndex { $0.caption.isNote }
            lines.remove(at: newestNote == 0 ? 1 : 0)
        }
    }

    /// For the transcript. When too many wait, the older half goes, and the transcript begins anew after it.
    private mutating func keep(_ line: TranscriptLine) {
        pending.append(line)
        pendingBytes += line.text.utf8.count
        guard pending.count > Self.mostPending || pendingBytes > Self.mostPendingBytes else { return }
        pending.removeFirst(pending.count / 2)
        pendingBytes = pending.reduce(0) { $0 + $1.text.utf8.count }
        isOutdated = true
        heading = .since(pending.first?.time ?? line.time)
    }

    /// That the host has paused is the status's to say. What was told a moment ago and still holds is told again beside
    /// what is new: the window has one notice.
    private mutating func tell(_ changes: [LogAlert], host: String, now: MediaTime) {
        let new = changes.filter { $0 != .paused && $0 != .resumed }
        guard !new.isEmpty else { return }
        told.removeAll { $0.until <= now || !condition.warnings.contains($0.alert) || new.contains($0.alert) }
        let alerts = told.map(\.alert) + new
        told += new.map { ($0, now + Self.noticeTime) }
        let words = alerts.map { $0.words(host: PeerText.name(host)) }
        guard !words.isEmpty else { return }
        say(words.joined(separator: " "), isWarning: alerts.contains(where: condition.warnings.contains))
    }

    private mutating func say(_ words: String, isWarning: Bool = false) {
        notice = (notice.number + 1, WindowNotice(text: words, isWarning: isWarning, time: Self.noticeTime))
    }

    // MARK: For the window

    /// The newest last, after them the newest note: the window has room for the last ones only.
    func captions(now: MediaTime) -> [WindowCaption] {
        var shown = lines.filter { $0.until > now }.map(\.caption)
        let note = shown.lastIndex(where: \.isNote).map { shown.remove(at: $0) }
        shown += speaking.filter { $0.until > now }.map(\.caption)
        return Array((shown + [note].compactMap(\.self)).suffix(Self.mostLines))
    }

    /// When a line goes; nil: none is shown.
    func deadline(now: MediaTime) -> MediaTime? {
        (lines.map(\.until) + speaking.map(\.until)).filter { $0 > now }.min()
    }

    /// What is to be appended to the window's transcript; `isNew`: it is to be cleared first.
    mutating func takeTranscript() -> (isNew: Bool, lines: [TranscriptLine]) {
        defer { (isOutdated, pending, pendingBytes) = (false, [], 0) }
        return (isOutdated, pending)
    }
}
