import BeamClock
import BeamMedia
import CSDL2

/// What is shown beside the picture.
extension VideoWindow {
    /// Asks for the person's attention until the window has the keyboard's focus: its entry in the desktop's list of windows
    /// blinks or is coloured (on X11 by the urgency hint, ICCCM 4.1.2.4).
    public func requestAttention() { SDL_FlashWindow(window.raw, SDL_FLASH_UNTIL_FOCUSED) }

    /// Shows a message over the dimmed last picture, or on a plain background if there is none. Nil removes it.
    public func setMessage(_ message: WindowMessage?) {
        guard message != panels.message else { return }
        if message?.buttons != panels.message?.buttons { panels.selectedButton = 0 }
        panels.message = message
        isStale = true
        updateWatched()
    }

    /// Shows a list to choose from, instead of a message. An empty list shows that hosts are being searched. Nil
    /// removes the list.
    ///
    /// - Parameters:
    ///   - title: what is to be chosen.
    ///   - checkAddress: says what a typed address is worth, at each change of it; nil: none can be typed.
    public func setPicker(
        _ entries: [PickerEntry]?, title: String = "Choose a host", checkAddress: ((String) -> AddressVerdict)? = nil
    ) {
        self.checkAddress = checkAddress
        if let entries {
            var picker = panels.picker ?? Picker()
            picker.title = VisibleText.cleaned(title)
            picker.field = checkAddress == nil ? nil : picker.field ?? AddressField()
            // The note is kept: `n` opens its line again.
            if panels.picker == nil { panels.showsNote = false }
            picker.update(entries)
            guard picker != panels.picker else { return }
            panels.picker = picker
        } else {
            guard panels.picker != nil else { return }
            panels.picker = nil
        }
        updateTextInput()
        isStale = true
        pointer.restart(mayHide: mayHidePointer)
        updateWatched()
    }

    /// Asks for six digits, instead of a message or list; `.codeEntered` reports them. Nil removes the prompt.
    ///
    /// Typed digits stay when the prompt changes. Once all six are typed, input stops until this is called again: with
    /// `isWaiting` the digits stay visible, otherwise they are cleared. Escape cancels at any time, also in fullscreen:
    /// `.codeGivenUp`. Other keys keep their meaning.
    public func setCodeEntry(_ prompt: CodePrompt?) {
        var entry = panels.codeEntry
        if prompt?.buttons != entry?.prompt.buttons { panels.selectedButton = 0 }
        if let prompt {
            if entry == nil { entry = CodeEntry(prompt) } else { entry?.ask(prompt) }
        } else {
            entry = nil
        }
        guard entry != panels.codeEntry else { return }
        panels.codeEntry = entry
        // The note is kept: `n` opens its line again.
        if entry != nil { panels.showsNote = false }
        updateTextInput()
        isStale = true
        pointer.restart(mayHide: mayHidePointer)
        updateWatched()
    }

    /// Shows a warning about the picture at the window's edge, with an open padlock if it is about encryption, without covering other text. Nil
    /// removes it. It is visible only with a picture.
    public func setWarning(_ warning: WindowWarning?) {
        guard warning != panels.badge?.warning else { return }
        panels.badge = warning.map { WarningBadge($0) }
        if isWatched { changeBadge { $0.showInFull(now: .now) } }
        areLayersStale = true
    }

    func changeBadge(_ change: (inout WarningBadge) -> Void) {
        guard picture != nil, var badge = panels.badge else { return }
        change(&badge)
        if badge.isFull != panels.badge?.isFull { areLayersStale = true }
        panels.badge = badge
    }

    /// The lines of the statistics; a tab separates label and value. Visible while `showsStatistics`.
    public func setOverlay(_ lines: [String]?) {
        guard (lines ?? []) != panels.statistics else { return }
        panels.statistics = lines ?? []
        if panels.showsStatistics { areLayersStale = true }
    }

    /// Who is in the room, at the window's upper right: a line for each, a tab separates the name and what it does.
    /// Visible while the person wants it (`w`), and without a picture.
    public func setPeople(_ lines: [String]) {
        let lines = lines.map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { VisibleText.cleaned(String($0)) }
                .joined(separator: "\t")
        }
        guard lines != panels.people else { return }
        panels.people = lines
        areLayersStale = true
    }

    /// A QR code in the middle of the window, over the picture. Visible while the person wants to see who is in the room (`w`).
    public func setCode(_ code: WindowCode?) {
        guard code != panels.code else { return }
        panels.code = code
        if panels.showsPeople { isStale = true }
    }

    /// Shows captions and notes over the picture's lower edge, the newest last: as many of their last three lines as
    /// there is room for. Texts of any length are taken; line feeds separate lines. Control characters, characters that
    /// change the direction of writing, and invisible ones are not shown.
    public func setCaptions(_ captions: [WindowCaption]) {
        guard captions != givenCaptions else { return }
        givenCaptions = captions
        let captions = CaptionPanel.prepared(captions)
        guard captions != panels.captions else { return }
        panels.captions = captions
        if panels.showsCaptions { areLayersStale = true }
    }

    /// Says in the transcript's head how much of the session it has. While it is `nothingYet`, no lines are expected.
    public func setTranscript(heading: TranscriptHeading) {
        let version = panels.transcript.transcript.version
        panels.transcript.transcript.setHeading(heading)
        if panels.showsTranscript, panels.transcript.transcript.version != version { areLayersStale = true }
    }

    /// Adds lines at the transcript's end. Costs little, however many there are: only visible lines are laid out.
    ///
    /// The window keeps 100,000 lines and 64 MiB; beyond that the oldest go, and the heading says from when it is. Of a
    /// text, the first 2,048 bytes are shown, and that this isn't all. Texts may contain anything (see
    /// `setCaptions`).
    public func appendTranscript(_ lines: [TranscriptLine]) {
        guard !lines.isEmpty else { return }
        panels.transcript.transcript.append(lines)
        if panels.showsTranscript { areLayersStale = true }
    }

    /// Removes all lines, for another session. The heading becomes `nothingYet`.
    public func clearTranscript() {
        panels.transcript.clear()
        if panels.showsTranscript { areLayersStale = true }
    }

    /// Shows the last picture without colours and darkened, and a few words over it, until nil is given. Pictures that
    /// come meanwhile are shown like that, too. A message, list or code entry takes the place of the words.
    public func setHeld(_ reason: WindowMessage?) {
        guard reason != panels.held else { return }
        panels.held = reason
        isStale = true
        updateWatched()
    }

    /// Shows a sentence at the upper edge, where it covers no captions and no warning, and without darkening the picture;
    /// it goes after its time. Nil removes it at once. The same notice again changes nothing: to show it again after its
    /// time, remove it first.
    public func setNotice(_ notice: WindowNotice?) {
        guard notice != panels.notice?.notice else { return }
        panels.notice = notice.map { Notice($0, now: .now) }
        areLayersStale = true
    }

    /// Says for a moment what a key has done.
    public func tell(_ words: String) {
        setNotice(nil)
        setNotice(WindowNotice(text: words, time: .seconds(3)))
    }

    func hideNoticeIfDue() {
        if var hint = panels.hint {
            hint.hideIfDue(now: .now)
            if hint != panels.hint {
                panels.hint = nil
                areLayersStale = true
            }
        }
        guard var notice = panels.notice else { return }
        notice.hideIfDue(now: .now)
        guard notice != panels.notice else { return }
        panels.notice = notice
        areLayersStale = true
    }
}
