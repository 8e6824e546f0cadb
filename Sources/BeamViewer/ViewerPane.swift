import BeamClock
import BeamDisplay
import BeamMedia

/// Shows one viewer's status, words and figures in a window: those of the only host, or of the one that a person looks at.
@MainActor final class ViewerPane {
    let viewer: Viewer
    private let window: VideoWindow
    /// What the window shows now, so that only changes are passed to it.
    private var shownMessage: WindowMessage?
    private var shownName: String?
    private var isHeld = false
    /// The window may still show what is another viewer's.
    private var isNew = true

    private static let program = "BeamRoom"

    init(_ viewer: Viewer, in window: VideoWindow) {
        self.viewer = viewer
        self.window = window
    }

    private static let unencrypted = WindowWarning(
        words: "Not encrypted: everybody on this network can see this picture")

    /// Shown for as long as the picture is: the member that passes it on could show another one.
    private static func relayed(_ words: String) -> WindowWarning {
        WindowWarning(
            words: words.prefix(1).uppercased() + words.dropFirst(), short: words, time: .seconds(24 * 3600),
            hasPadlock: false)
    }

    /// The screen for the host's code. It stays while the person at the host is asked, and while the code is checked.
    /// After a refusal it says what can be done.
    ///
    /// - Parameter hasList: the person can go back to the list of hosts.
    static func prompt(_ status: ViewerStatus, hasList: Bool) -> CodePrompt? {
        let other: [WindowButton] = hasList ? [.chooseAnother] : []
        if case .codeOrPerson(let says) = status.retry, let words = status.words {
            return CodePrompt(
                headline: words.headline, offer: status.retryWords(says), takesOffer: true,
                buttons: [.askPerson] + other)
        }
        guard let words = status.words, let question = words.question else { return nil }
        let offer: String? =
            if question.isAsking || question.isBeingChecked {
                [words.headline + (words.headline.hasSuffix("…") ? "" : "."), words.detail].compactMap { $0 }
                    .joined(separator: " ")
            } else if question.mayAsk {
                status.isAtRoomDoor
                    ? "No code at hand? Press Enter, and the people there are asked to let you in."
                    : "No code at hand? Press Enter, and the person there is asked to let you in."
            } else {
                nil
            }
        let takesOffer = question.mayAsk && !question.isAsking && !question.isBeingChecked
        let ask: [WindowButton] = takesOffer ? [.askPerson] : []
        return CodePrompt(
            headline: status.codeHeadline, problem: question.problem, offer: offer, takesOffer: takesOffer,
            buttons: ask + other, isWaiting: question.isBeingChecked)
    }

    private func message(
        _ words: ViewerAnnouncement, _ status: ViewerStatus, stalledFor seconds: Int?
    ) -> WindowMessage {
        let other: [WindowButton] = status.isAtStandstill && viewer.canChooseAgain ? [.chooseAnother] : []
        if case .again(let says) = status.retry {
            return WindowMessage(
                headline: words.headline, detail: status.retryWords(says), buttons: [.tryAgain] + other)
        }
        let again: [WindowButton] = status.waitsForAttempt && viewer.options.member == nil ? [.tryAgain] : []
        let time = seconds.map { "No new picture for \($0) s." }
        let detail = [words.detail, time].compactMap { $0 }.joined(separator: " ")
        return WindowMessage(
            headline: words.headline, detail: detail.isEmpty ? nil : detail, code: words.digits?.description,
            buttons: again + other)
    }

    /// What the viewer does, over its picture.
    func showStatus(_ status: ViewerStatus) {
        let words = status.words
        let name = status.quotedName
        window.setWarning(status.isUnencrypted ? Self.unencrypted : status.relayWords.map(Self.relayed))
        // The words about a lost host say since when.
        let seconds = status.lostSince == nil ? status.stalledSeconds : nil
        let message = words.map { self.message($0, status, stalledFor: seconds) }
        if isNew || message != shownMessage {
            shownMessage = message
            window.setMessage(message)
        }
        if isNew || status.isPaused != isHeld {
            isHeld = status.isPaused
            window.setHeld(isHeld ? WindowMessage(headline: "\(name ?? "The host") has paused") : nil)
        }
        if isNew || name != shownName {
            shownName = name
            window.title = name.map { "\($0) - \(Self.program)" } ?? Self.program
        }
        isNew = false
    }

    /// Its picture is one of several, whose tiles say what the viewers do.
    func showInGrid() {
        window.setWarning(nil)
        window.setMessage(nil)
        window.setHeld(nil)
        window.title = Self.program
        isNew = true
    }

    /// Until the next caption goes; nil: none is shown.
    var captionTime: Duration? {
        let now = MediaTime.now
        return viewer.shared.read { $0.words.deadline(now: now) }.map { max(.zero, $0 - now) }
    }

    /// The room's words, and its transcript's new lines.
    func takeWords() -> (board: WordBoard, transcript: (isNew: Bool, lines: [TranscriptLine])) {
        viewer.shared.change { content in
            let transcript = content.words.takeTranscript()
            return (content.words, transcript)
        }
    }

    /// Captions, and what the keys for notes do.
    func showWords(_ words: WordBoard) {
        let isUnencrypted = viewer.shared.read { $0.status.isUnencrypted }
        window.setCaptions(words.captions(now: .now))
        window.allowsNotes = words.takesNotes && !isUnencrypted
        window.noNotesReason =
            isUnencrypted || words.heading != .nothingYet
            ? "This host takes no notes" : "Notes can be written when the host is connected"
    }

    /// How much of the session the transcript has.
    func heading(_ words: WordBoard) -> TranscriptHeading {
        viewer.shared.read { $0.status.isUnencrypted } ? .notOffered : words.heading
    }

    /// The person has pressed a key for the sound; the window says what it did.
    func changeSound(_ event: WindowEvent) {
        guard let sound = viewer.sound else { return tell("No sound is played here") }
        switch event {
        case .muteToggled: tell(sound.toggleMute() ? "Sound is off: press m to hear it" : "Sound is on")
        case .volumeChanged(let steps): tell("Volume \(sound.changeVolume(by: steps)) %")
        default: break
        }
    }

    /// Nil: no sound is played here.
    var isMuted: Bool? { viewer.sound?.isMuted }

    private func tell(_ words: String) {
        window.setNotice(nil)
        window.setNotice(WindowNotice(text: words, time: .seconds(2)))
    }

    /// Only while the overlay is visible.
    ///
    /// - Parameter sharer: whose picture it is, if the window shows those of several.
    func showStatistics(of sharer: String? = nil) {
        guard window.showsStatistics else { return }
        let (status, report) = viewer.shared.read { ($0.status, $0.report) }
        window.setOverlay(
            StatisticsOverlay.lines(
                of: sharer, report, isEncrypted: !status.isUnencrypted, connection: status.connection,
                renderer: window.rendererName))
    }
}

extension ViewerStatus {
    /// What the host has said, and what the person can do after a refusal.
    fileprivate func retryWords(_ says: String) -> String {
        [refusal?.windowDetail, says].compactMap(\.self).joined(separator: " ")
    }
}
