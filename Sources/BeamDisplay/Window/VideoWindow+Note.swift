import BeamMedia
import CSDL2

/// The line in which a person writes a note.
extension VideoWindow {
    /// Opens the line, or says that there is none.
    func openNote() {
        guard panels.allowsNotes else { return tell(noNotesReason) }
        panels.noteRecipient = noteRecipient
        panels.showsNote = true
        areLayersStale = true
        updateTextInput()
    }

    private var noteRecipient: String? {
        guard grid.sources.count > 1, !isRoom else { return nil }
        return grid.focused?.name.map { VisibleText.name($0) }
    }

    /// Returns whether the key belonged to the note.
    func pressInNote(_ key: SDL_KeyboardEvent, _ events: inout [WindowEvent]) -> Bool {
        var outcome = NoteKeys.Outcome.ignored
        changeNote { outcome = NoteKeys.press(key, into: &$0) }
        switch outcome {
        case .ignored: return false
        case .taken: break
        case .givenUp: closeNote()
        case .finished:
            // The person can wait until notes can be sent again.
            guard panels.allowsNotes else { break }
            if let note = panels.note.note { events.append(.noteWritten(note)) }
            closeNote()
        }
        return true
    }

    /// Returns whether a note is being written.
    @discardableResult func changeNote(_ change: (inout NoteEntry) -> Void) -> Bool {
        guard panels.showsNote, panels.codeEntry == nil else { return false }
        var note = panels.note
        change(&note)
        if note != panels.note {
            panels.note = note
            areLayersStale = true
        }
        return true
    }

    private func closeNote() {
        panels.note = NoteEntry()
        panels.showsNote = false
        areLayersStale = true
        updateTextInput()
    }

    /// Text input is on only while text is written: otherwise keys are commands, and an input method would intercept
    /// them.
    func updateTextInput() {
        let isWanted = panels.codeEntry != nil || panels.showsNote || panels.picker?.isTyping == true
        guard isWanted != (SDL_IsTextInputActive() == SDL_TRUE) else { return }
        panels.note.endComposing()
        panels.picker?.field?.text.endComposing()
        if isWanted { SDL_StartTextInput() } else { SDL_StopTextInput() }
    }

    /// Tells input methods where the cursor is, so that their candidates appear beside it.
    func placeTextInput() {
        guard let cursor = panels.textCursor, cursor != textInputPlace else { return }
        textInputPlace = cursor
        let ratio = window.pixelRatio
        func units(_ pixels: Int) -> Int32 { Int32((Double(pixels) / ratio).rounded()) }
        var rect = SDL_Rect(
            x: units(cursor.x), y: units(cursor.y), w: max(1, units(cursor.width)), h: units(cursor.height))
        SDL_SetTextInputRect(&rect)
    }
}
