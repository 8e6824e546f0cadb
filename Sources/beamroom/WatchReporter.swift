import BeamMedia
import BeamProtocol
import BeamSound
import BeamViewer
import Foundation
import Synchronization

/// Reports what happens: to the person at the viewer, and as JSON events.
///
/// What the viewer is doing comes as one status (`ViewerAnnouncement`), which the window shows in the same words. Events of
/// the session go to programs; only what no status says is printed for them.
final class WatchReporter: Sendable {
    private struct State {
        var status: ViewerAnnouncement?
        var hasStatus = false
        var isSearching = false
        var hasPicture = false
        /// A host has answered.
        var hasAnswer = false
        /// Why files aren't complete.
        var fileFailures: [String] = []
        /// What a host can cause with each picture: new sizes.
        var sizes = WordLimit()
        var statuses = WordLimit()
        /// The newest status hasn't been printed.
        var isStatusPending = false
        var warnings = WordLimit()
        var sound = WordLimit()
        /// Nil before the first attempt.
        var connection: ConnectionState?
    }

    /// What the viewer was started for.
    struct Purpose: Sendable {
        var hasWindow: Bool
        /// Others are watched at the same time.
        var isOneOfSeveral = false
        /// Who shares and who doesn't is said for the room.
        var isInRoom = false
        /// Files to write: a recording, pictures.
        var files: Int
        /// In seconds.
        var timeLimit: Double?
    }

    private let context: CommandContext
    private let purpose: Purpose
    private let questions: WatchQuestions
    private let room: LogReporter
    private let state = Mutex(State())

    /// - Parameters:
    ///   - context: the program's, or the part of it for one of several hosts.
    ///   - desk: where the person is asked.
    init(_ context: CommandContext, _ purpose: Purpose, desk: QuestionDesk) {
        self.context = context
        self.purpose = purpose
        room = LogReporter(context)
        questions = WatchQuestions(context, hasWindow: purpose.hasWindow, desk: desk)
    }

    /// Where the person's answers go.
    func connect(to viewer: Viewer) { questions.connect(to: viewer) }

    // MARK: Notices

    func handle(_ notice: ViewerNotice) {
        switch notice {
        case .session(let event): handle(event)
        case .status(let status): show(status)
        case .searching(let name):
            let isNews = state.withLock { state in
                defer { state.isSearching = true }
                return !state.isSearching
            }
            if isNews { context.events.write("searching", ["name": name.map { .string($0) }]) }
        case .pick(let choices):
            state.withLock { $0.isSearching = false }
            questions.offer(choices)
        case .chosen: questions.picked()
        case .firstFrame(let size):
            let isPaused = state.withLock { state in
                state.hasPicture = true
                return state.status?.isPause == true
            }
            // That the host's last picture stays was said.
            if !isPaused { context.say("The first picture is here: \(size.width) × \(size.height).") }
            context.events.write(
                "first-frame",
                [
                    "ms": .rounded(context.events.millisecondsSinceStart), "width": .integer(size.width),
                    "height": .integer(size.height),
                ])
        case .resized(let size):
            // In a grid, sizes follow the tiles.
            guard !purpose.isOneOfSeveral, state.withLock({ $0.sizes.allows(at: .now) }) else { break }
            context.say("The picture is now \(size.width) × \(size.height).")
        case .writing(let file, let isContinued): writing(file, isContinued: isContinued)
        case .fileBehind(let file): fileBehind(file)
        case .fileCaughtUp(let file, let leftOut):
            let name = file.path == "-" ? "standard output" : file.path
            context.say(
                file.kind == .sound
                    ? "\(ShareReporter.number(Double(leftOut) / 100)) s of sound were left out of \(name)."
                    : "\(CommonText.count(leftOut, "picture was", "pictures were")) left out of \(name).")
            context.events.write(
                "\(file.kind.rawValue)-caught-up", ["file": .string(file.path), "leftOut": .integer(leftOut)])
        case .fileFailed(let file, let reason): fileFailed(file, reason)
        case .warning(let text):
            guard state.withLock({ $0.warnings.allows(at: .now) }) else { break }
            context.say("Warning: \(text)")
        case .sound(let sound): report(sound)
        case .soundIsOwn:
            context.events.write("sound", ["state": .string("own")])
            context.say(
                "This host is this machine, so its sound isn't played again: it would be shared once more. "
                    + "--audio-output NAME plays it.")
        case .failed(let reason): context.latch.end(.failed(reason))
        }
    }

    private func report(_ sound: SoundOutputState) {
        context.events.write("sound", SoundText.fields(sound))
        guard let words = SoundText.sentence(sound), state.withLock({ $0.sound.allows(at: .now) }) else { return }
        context.say(words)
    }

    /// Prints what the viewer is doing, once. A host that causes changes without end has only the newest printed, now and
    /// then.
    private func show(_ status: ViewerAnnouncement?) {
        let isLasting = status.map { $0.question != nil || $0.isFinal } ?? false
        let (isFirst, isPrinted) = state.withLock { state in
            defer { state.hasStatus = state.hasStatus || status != nil }
            // The first picture is reported with its size.
            let isBeginningOrEnd = purpose.isInRoom && (status?.isWithoutFault ?? !state.hasPicture)
            let isNews = !isBeginningOrEnd && (status != nil || state.status != nil && state.hasPicture)
            state.status = status
            state.isStatusPending = isNews && !isLasting && !state.statuses.allows(at: .now)
            return (!state.hasStatus, isNews && !state.isStatusPending)
        }
        if status?.question == nil { questions.withdrawCode() }
        guard isPrinted else { return }
        guard var status else { return context.say(Self.liveAgain) }
        if isFirst, !purpose.hasWindow, !purpose.isOneOfSeveral {
            status.detail = [status.detail, "Ctrl-C ends."].compactMap { $0 }.joined(separator: " ")
        }
        questions.show(status)
        // With a window, the person reads it there before the program ends.
        if status.isFinal, !purpose.hasWindow { context.latch.end(.peerLost(nil)) }
    }

    private static let liveAgain = "The picture is live again."

    /// Prints the newest status, if it was left out and may be printed now.
    private func showPending() {
        let pending = state.withLock { state -> ViewerAnnouncement?? in
            guard state.isStatusPending, state.statuses.allows(at: .now) else { return .none }
            state.isStatusPending = false
            return .some(state.status)
        }
        if let pending { context.say(pending?.sentence ?? Self.liveAgain) }
    }

    private func writing(_ file: OutputPath, isContinued: Bool) {
        context.events.write(file.kind.rawValue, ["file": .string(file.path)])
        switch (file.kind, isContinued) {
        case (.recording, false): context.say("Recording into \(file.path).")
        case (.recording, true):
            context.say("The picture's size has changed: the recording goes on in \(file.path).")
        case (.frames, false): context.say("Writing the pictures into \(file.path).")
        case (.frames, true):
            context.say("The picture's size or format has changed: the pictures go on in \(file.path).")
        case (.transcript, _): context.say("Writing the transcript into \(file.path).")
        case (.sound, false): context.say("Writing the sound into \(file.path).")
        case (.sound, true): context.say("A sound file takes 4 GB: the sound goes on in \(file.path).")
        }
    }

    private func fileBehind(_ file: OutputPath) {
        let reader = file.path == "-" ? "The program that reads the pictures" : file.path
        let words =
            switch file.kind {
            case .recording: "The disk is too slow for the recording, which has gaps."
            case .transcript: "The disk is too slow for the transcript."
            case .sound: "The disk is too slow for the sound. Some of it is left out."
            case .frames: "\(reader) takes the pictures too slowly, or not at all. Some are left out."
            }
        context.say("Warning: \(words)")
        context.events.write("\(file.kind.rawValue)-behind", ["file": .string(file.path)])
    }

    private func fileFailed(_ file: OutputPath, _ reason: String) {
        let failures = state.withLock { state in
            state.fileFailures.append(reason)
            return state.fileFailures.count
        }
        context.events.write("\(file.kind.rawValue)-failed", ["file": .string(file.path), "reason": .string(reason)])
        let goesOn = purpose.hasWindow || failures < purpose.files
        guard context.latch.current == nil else { return }
        let what =
            switch file.kind {
            case .recording: "The recording"
            case .frames: "The file of pictures"
            case .transcript: "The transcript"
            case .sound: "The file of the sound"
            }
        context.say("\(what) has ended: \(reason)\(goesOn ? " Watching goes on." : "")")
        // Nobody watches, and nothing is written any more.
        if !goesOn { context.latch.end(.done) }
    }

    // MARK: Events

    /// A host has answered since the start.
    var hasAnswer: Bool { state.withLock { $0.hasAnswer } }

    private func handle(_ event: ViewerEvent) {
        let events = context.events
        switch event {
        case .hostReached, .hostNamed, .codeNeeded, .waitingForPerson, .paired, .refused, .mistrusted:
            state.withLock { $0.hasAnswer = true }
        default: break
        }
        switch event {
        case .connecting(let attempt):
            events.write("connecting", ["attempt": .integer(attempt)])
            // The state at the start, which nothing announces.
            let isFirst = state.withLock { state in
                defer { state.connection = state.connection ?? .connecting }
                return state.connection == nil
            }
            if isFirst { write(.connecting) }
        case .connection(let connection):
            state.withLock { $0.connection = connection }
            write(connection)
        case .waitingForPerson(let host, _):
            events.write("asking", ["name": .string(host)])
        case .hostCallsItself(let name, let known, let wasChosen):
            context.say(
                wasChosen
                    ? CommonText.chosenName(name, of: known) : CommonText.newName(name, of: known, who: "“\(known)”"))
        case .hostReached, .hostNamed, .waitingForDecision, .hostHasSound: break
        case .codeNeeded(let question):
            events.write(
                "code-needed",
                [
                    "name": .string(question.host), "wasWrong": .bool(question.problem == .wrong),
                    "wasReplaced": .bool(question.problem == .replaced),
                    "mayAsk": .bool(question.mayAsk),
                ])
        case .hostPaired(_, let name, let isToBeRemembered):
            context.say(
                "Paired with “\(name)”\(isToBeRemembered ? ": next time no code is needed" : " for this session").")
            events.write("device-paired", ["name": .string(name), "remembered": .bool(isToBeRemembered)])
        case .paired(let session, let deviceName, let isNewSession, let isEncrypted):
            if isNewSession, !isEncrypted {
                context.say("Warning: This picture is not encrypted: everybody on this network can see it.")
            }
            events.write(
                "paired",
                [
                    "session": .string(session), "name": deviceName.map { .string($0) },
                    "isNew": .bool(isNewSession), "encrypted": .bool(isEncrypted),
                ])
        case .refused(let refusal):
            events.write(
                "refused",
                ["reason": .string(refusal.reason), "by": .string(refusal.isByHost ? "host" : "viewer")])
        case .mistrusted: break
        case .retrying(let delay, let reason):
            events.write("retry", ["after": .rounded(delay.inSeconds), "reason": .string(reason)])
        case .hostEnded(let says): events.write("host-ended", ["reason": says.map { .string(PeerText.sentence($0)) }])
        case .broadcast(let isOn): events.write("broadcast", ["on": .bool(isOn)])
        case .pictureLimited(let full):
            context.say(CommonText.pictureLimited(full))
            events.write(
                "picture-limited",
                [
                    "limited": .bool(full != nil), "fullWidth": full.map { .integer($0.width) },
                    "fullHeight": full.map { .integer($0.height) },
                ])
        case .sourceVisibility(let visibility): events.write("source-visible", visibility.fields)
        case .stalled(let duration, let cause):
            events.write("stall", ["seconds": .rounded(duration.inSeconds), "cause": .string(cause.word)])
        case .mediaReconnecting: events.write("reconnect", ["what": .string("media")])
        case .mediaResumed: events.write("resumed")
        case .controlLost(let reason):
            events.write("reconnect", ["what": .string("control"), "reason": .string(reason)])
        case .controlRestored: events.write("restored")
        case .room(let event): room.handle(event)
        }
    }

    private func write(_ connection: ConnectionState) {
        context.events.write("connection", ["state": .string(connection.rawValue)])
    }

    // MARK: Figures

    /// Reports the figures; returns the status line, or nil while a question is open.
    func tick(_ viewer: Viewer) -> String? {
        let report = viewer.takeReport()
        showPending()
        context.events.write("stats", fields(report))
        return questions.isAsking ? nil : line(report, stalledFor: viewer.stalledSeconds)
    }

    /// The status line: the rates of a live picture, or for how long there has been none.
    private func line(_ report: ViewerReport, stalledFor seconds: Int?) -> String {
        let (status, connection) = state.withLock { ($0.status, $0.connection) }
        if let status { return status.headline + (seconds.map { " (\($0) s)" } ?? "") }
        let rate = report.framesPerSecond.rounded()
        return "\(ShareReporter.number(rate)) \(rate == 1 ? "frame/s" : "frames/s")   "
            + "\(ShareReporter.megabits(report.bitsPerSecond))/s   \(report.session.lost) lost"
            + (connection == .unstable ? "   connection unstable" : "")
    }

    func summarise(_ viewer: Viewer) {
        context.events.write("summary", fields(viewer.summary()))
        if let recording = viewer.recording { context.say(CommonText.recorded(recording)) }
        if let transcript = viewer.transcript { context.say(CommonText.written(transcript)) }
    }

    private func fields(_ report: ViewerReport) -> [String: EventWriter.Value?] {
        [
            "fps": .rounded(report.framesPerSecond), "kbps": .rounded(report.bitsPerSecond / 1000),
            "frames": .count(report.decoded), "bytes": .count(report.session.bytes),
            "keyframes": .count(report.session.keyframes), "shown": .count(report.shown),
            "replaced": .count(report.replaced), "datagrams": .count(report.session.datagrams),
            "lost": .count(report.session.lost), "malformed": .count(report.session.malformed),
            "dropped": .count(report.session.dropped), "skipped": .count(report.session.skipped),
            "missed": .count(report.session.missed),
            "retransmitted": .count(report.session.recovered), "repaired": .count(report.session.reconstructed),
            "keyframesRequested": .count(report.session.keyframesRequested),
            "estimatedKbps": report.session.estimatedRate.map { .rounded(Double($0) / 1000) },
            "usedKbps": report.session.usedRate.map { .rounded(Double($0) / 1000) },
            "bufferMs": .rounded(report.session.buffer.inMilliseconds),
            "decoder": report.decoder.map { .string($0) },
            "width": report.size.map { .integer($0.width) }, "height": report.size.map { .integer($0.height) },
            "latencyMs": .latencies(Dictionary(uniqueKeysWithValues: report.times.map { ($0.rawValue, $1) })),
            "rttMs": report.session.roundTrip.map { .rounded($0.inMilliseconds) },
            "sound": report.sound.map { SoundText.fields($0, report.session.sound) },
            "clockErrorMs": report.session.clockError.map { .rounded($0.inMilliseconds) },
        ]
    }

    /// What the program's exit status says: closing the window is a failure only if this viewer wasn't let in or a file
    /// isn't complete; the time limit also if no picture has come.
    func verdict(_ ending: Ending, _ viewer: Viewer) -> Ending {
        guard ending == .done || ending == .timeLimit else { return ending }
        let (failures, hasPicture) = state.withLock { ($0.fileFailures, $0.hasPicture) }
        if viewer.isRefused { return .peerLost(nil) }
        if let reason = failures.last {
            return .failed(
                purpose.files == 1 ? "The file isn't complete. \(reason)" : "Not all files are complete. \(reason)")
        }
        if ending == .timeLimit, !hasPicture {
            let seconds = purpose.timeLimit.map { "\(ShareReporter.number($0)) s" } ?? "the time limit"
            return .peerLost("No picture has come in \(seconds).")
        }
        return .done
    }
}
