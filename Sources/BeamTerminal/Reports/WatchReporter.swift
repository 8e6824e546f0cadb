import BeamMedia
import BeamSession
import BeamViewer
import Foundation
import Synchronization

/// Reports what happens: to the person at the viewer, and as JSON events.
///
/// What the viewer is doing comes as one status (`ViewerAnnouncement`), which the window shows in the same words. Events of
/// the session go to programs; only what no status says is printed for them.
public final class WatchReporter: Sendable {
    private struct State {
        var status: ViewerAnnouncement?
        var hasStatus = false
        var isSearching = false
        var hasPicture = false
        /// A host has answered.
        var hasAnswer = false
        /// Why files aren't complete, and cameras have ended.
        var fileFailures: [(kind: OutputPath.Kind, reason: String)] = []
        /// The newest status hasn't been printed.
        var isStatusPending = false
        /// Nil before the first attempt.
        var connection: ConnectionState?
    }

    /// What the viewer was started for.
    public struct Purpose: Sendable {
        public var hasWindow: Bool
        /// Others are watched at the same time.
        public var isOneOfSeveral: Bool
        /// The room's reports say who shares.
        public var isInRoom: Bool
        /// Files to write: a recording, pictures. Cameras count, too.
        public var files: Int
        /// In seconds.
        public var timeLimit: Double?

        public init(
            hasWindow: Bool, isOneOfSeveral: Bool = false, isInRoom: Bool = false, files: Int = 0,
            timeLimit: Double? = nil
        ) {
            (self.hasWindow, self.isOneOfSeveral, self.isInRoom) = (hasWindow, isOneOfSeveral, isInRoom)
            (self.files, self.timeLimit) = (files, timeLimit)
        }
    }

    private let context: CommandContext
    private let purpose: Purpose
    private let questions: WatchQuestions
    private let words: LogReporter
    private let state = Mutex(State())

    /// - Parameters:
    ///   - context: the program's, or the part of it for one of several hosts.
    ///   - desk: where the person is asked.
    public init(_ context: CommandContext, _ purpose: Purpose, desk: QuestionDesk) {
        self.context = context
        self.purpose = purpose
        words = LogReporter(context)
        questions = WatchQuestions(context, hasWindow: purpose.hasWindow, desk: desk)
    }

    /// Where the person's answers go.
    public func connect(to viewer: Viewer) { questions.connect(to: viewer) }

    // MARK: Notices

    public func handle(_ notice: ViewerNotice) {
        switch notice {
        case .session(let event): handle(event)
        case .status(let status): show(status)
        case .searching(let name):
            let isNews = state.withLock { state in
                defer { state.isSearching = true }
                return !state.isSearching
            }
            if isNews { write(.searching(name: name)) }
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
            context.tell(
                .watch(.firstFrame(milliseconds: context.events.millisecondsSinceStart, size)),
                isPaused ? nil : "The first picture is here: \(size.width) × \(size.height).")
        case .resized(let size):
            // In a grid, sizes follow the tiles.
            guard !purpose.isOneOfSeveral else { break }
            context.say("The picture is now \(size.width) × \(size.height).", as: .size)
        case .screenshot(let outcome): context.tell(.watch(.screenshot(outcome)), WatchText.screenshot(outcome))
        case .writing(let file, let isContinued):
            context.tell(.watch(.writing(file)), WatchText.writing(file, isContinued: isContinued))
        case .fileBehind(let file): context.tell(.watch(.fileBehind(file)), WatchText.behind(file))
        case .fileCaughtUp(let file, let leftOut):
            context.tell(
                .watch(.fileCaughtUp(file, leftOut: leftOut)), WatchText.caughtUp(file, leftOut: leftOut))
        case .fileFailed(let file, let reason): fileFailed(file, reason)
        case .warning(let text): context.say("Warning: \(text)", as: .warning)
        case .sound(let sound): context.tell(.watch(.sound(sound)), WatchText.sound(sound), as: .sound)
        case .soundIsOwn: context.tell(.watch(.soundIsOwn), WatchText.soundIsOwn)
        case .failed(let reason): context.latch.end(.failed(reason))
        }
    }

    private func write(_ event: ProgramEvent.Watch) { context.events.write(.watch(event)) }

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
            state.isStatusPending = isNews && !isLasting && !context.floods.allows(.status)
            return (!state.hasStatus, isNews && !state.isStatusPending)
        }
        if status?.question == nil { questions.withdrawCode() }
        guard isPrinted else { return }
        guard var status else { return context.say(WatchText.liveAgain) }
        if isFirst, !purpose.hasWindow, !purpose.isOneOfSeveral {
            status.detail = [status.detail, "Ctrl-C ends."].compactMap { $0 }.joined(separator: " ")
        }
        questions.show(status)
        // With a window, the person reads it there before the program ends.
        if status.isFinal, !purpose.hasWindow { context.latch.end(.peerLost(nil)) }
    }

    /// Prints the newest status, if it was left out and may be printed now.
    private func showPending() {
        let pending = state.withLock { state -> ViewerAnnouncement?? in
            guard state.isStatusPending, context.floods.allows(.status) else { return .none }
            state.isStatusPending = false
            return .some(state.status)
        }
        if let pending { context.say(pending?.sentence ?? WatchText.liveAgain) }
    }

    private func fileFailed(_ file: OutputPath, _ reason: String) {
        let failures = state.withLock { state in
            state.fileFailures.append((file.kind, reason))
            return state.fileFailures.count
        }
        write(.fileFailed(file, reason: reason))
        let goesOn = purpose.hasWindow || failures < purpose.files
        guard context.latch.current == nil else { return }
        context.say(WatchText.failed(file, reason, goesOn: goesOn))
        // Nobody watches, and nothing is written any more.
        if !goesOn { context.latch.end(.done) }
    }

    // MARK: Events

    /// A host has answered since the start.
    public var hasAnswer: Bool { state.withLock { $0.hasAnswer } }

    private func handle(_ event: ViewerEvent) {
        if let event = ProgramEvent.Watch(event) { write(event) }
        switch event {
        case .connecting:
            // The state at the start, which nothing announces.
            let isFirst = state.withLock { state in
                defer { state.connection = state.connection ?? .connecting }
                return state.connection == nil
            }
            if isFirst { write(.connection(.connecting)) }
        case .connection(let connection): state.withLock { $0.connection = connection }
        case .hostReached, .hostNamed, .codeNeeded, .waitingForPerson, .refused, .mistrusted:
            state.withLock { $0.hasAnswer = true }
        case .hostCallsItself(let name, let known, let wasChosen):
            context.say(WatchText.otherName(name, known: known, wasChosen: wasChosen))
        case .hostPaired(_, let name, let isToBeRemembered):
            context.tell(
                .pairing(.devicePaired(name: name, isRemembered: isToBeRemembered)),
                WatchText.paired(name, isToBeRemembered: isToBeRemembered))
        case .paired(_, _, let isNewSession, let isEncrypted):
            state.withLock { $0.hasAnswer = true }
            if isNewSession, !isEncrypted { context.say(WatchText.unencrypted) }
        case .pictureLimited(let full): context.say(WatchText.pictureLimited(full))
        case .quality(let wish, let isTaken):
            if let text = WatchText.quality(wish, isTaken: isTaken) { context.say(text) }
        case .room(let event): words.handle(event)
        case .screenAwaited, .waitingForDecision, .hostRelays, .hostHasSound,
            .hostHasPatches, .retrying, .hostEnded, .broadcast,
            .sourceVisibility,
            .stalled,
            .mediaReconnecting, .mediaResumed, .controlLost, .controlRestored:
            break
        }
    }

    // MARK: Figures

    /// Reports the figures; returns the status line, or nil while a question is open.
    public func tick(_ viewer: Viewer) -> String? {
        let report = viewer.takeReport()
        showPending()
        write(.stats(report))
        return questions.isAsking ? nil : line(report, stalledFor: viewer.stalledSeconds)
    }

    /// The status line: the rates of a live picture, or for how long there has been none.
    private func line(_ report: ViewerReport, stalledFor seconds: Int?) -> String {
        let (status, connection) = state.withLock { ($0.status, $0.connection) }
        if let status { return status.headline + (seconds.map { " (\($0) s)" } ?? "") }
        return CommonText.rate(report.framesPerSecond, report.bitsPerSecond) + "   \(report.session.lost) lost"
            + (connection == .unstable ? "   connection unstable" : "")
    }

    public func summarise(_ viewer: Viewer) {
        write(.summary(viewer.summary()))
        if let recording = viewer.recording { context.say(CommonText.recorded(recording)) }
        if let transcript = viewer.transcript { context.say(CommonText.written(transcript)) }
    }

    /// What the program's exit status says: closing the window is a failure only if this viewer wasn't let in or a file
    /// isn't complete; the time limit also if no picture has come.
    public func verdict(_ ending: Ending, _ viewer: Viewer) -> Ending {
        guard ending == .done || ending == .timeLimit else { return ending }
        let (failures, hasPicture) = state.withLock { ($0.fileFailures, $0.hasPicture) }
        if viewer.isRefused { return .peerLost(nil) }
        if let (kind, reason) = failures.last {
            if failures.allSatisfy({ $0.kind == .camera }) { return .failed("The camera has ended. \(reason)") }
            let reason = kind == .camera ? failures.last { $0.kind != .camera }?.reason ?? reason : reason
            return .failed(
                purpose.files == 1 ? "The file isn't complete. \(reason)" : "Not all files are complete. \(reason)")
        }
        if ending == .timeLimit, !hasPicture {
            let seconds = purpose.timeLimit.map { "\(CommonText.number($0)) s" } ?? "the time limit"
            return .peerLost("No picture has come in \(seconds).")
        }
        return .done
    }
}
