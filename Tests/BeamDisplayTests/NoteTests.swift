import BeamMedia
import CSDL2
import Foundation
import Testing

@testable import BeamDisplay

/// The text of a note. No display needed.
@Suite struct NoteEntryTests {
    @Test func editing() {
        var note = NoteEntry()
        note.insert("Helo")
        note.move(towardsBeginning: true)
        note.insert("l")
        #expect((note.before, note.after) == ("Hell", "o"))
        note.moveToBeginning()
        note.deleteBackward()
        note.deleteForward()
        note.insert("J")
        #expect(note.note == "Jello")
        note.moveToEnd()
        note.insert(" 👩‍🚀é")
        note.deleteBackward()
        #expect(note.before.hasPrefix("Jello "))
        note.move(towardsBeginning: false)
        note.deleteForward()
        #expect(note.after.isEmpty)
        // A mark joins the letter before the cursor.
        note = NoteEntry()
        note.insert("e")
        note.insert("\u{301}x")
        note.move(towardsBeginning: true)
        note.deleteBackward()
        #expect((note.before, note.after) == ("", "x"))
    }

    @Test("Control characters become blanks; invisible ones and those that change the direction go")
    func pasting() {
        var note = NoteEntry()
        note.insert("one\ntwo\tthree\u{7}\u{202e}four\u{200b}")
        #expect(note.before == "one two three four")
        note = NoteEntry()
        note.insert(" \n ")
        #expect(note.note == nil)
    }

    @Test("Joiners are typed as keys of their own, and stay between letters")
    func joiners() {
        var note = NoteEntry()
        for key in ["\u{200C}", "م", "ی", "\u{200C}", "خ"] { note.insert(key) }
        #expect(note.note.map { Array($0.unicodeScalars) } == Array("می\u{200C}خ".unicodeScalars))
        note.deleteBackward()
        #expect(note.note == "می", "not at the end")
        note.deleteBackward()
        note.insert("خ")
        // The joiner was removed alone.
        #expect(note.note.map { Array($0.unicodeScalars) } == Array("میخ".unicodeScalars))
        // An emoji of several goes as one.
        note.insert("👩\u{200D}🚀")
        note.deleteBackward()
        #expect(note.note == "میخ")
    }

    @Test("At most 2,000 bytes, in whole characters")
    func bound() {
        var note = NoteEntry()
        note.insert(String(repeating: "屏", count: 5000))
        #expect(note.bytes == 1998)
        note.insert("ab")
        #expect(note.bytes == 2000)
        note.insert("c")
        #expect(note.bytes == 2000)
        note.deleteBackward()
        note.insert("é")
        #expect(note.bytes == 1999)
    }

    @Test("What an input method composes isn't part of the note")
    func composing() {
        var note = NoteEntry()
        note.insert("a")
        note.compose("ni hao", cursor: 2)
        #expect(note.composedCursor == 2)
        #expect(note.note == "a")
        note.insert("你好")
        #expect(note.composed.isEmpty)
        #expect(note.note == "a你好")
    }
}

extension WindowTests {
    /// Notes typed with real keys into a real window.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor
    struct Notes {
        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            // Without a window manager, keys go to the window under the pointer.
            try display.xdotool("mousemove", "640", "360")
        }

        private func open(_ renderer: RendererChoice = .software, fullscreen: Bool = false) throws -> VideoWindow {
            let window = try VideoWindow(
                WindowOptions(
                    isFullscreen: fullscreen, renderer: renderer, display: display.name, allowsNotes: true))
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            return window
        }

        private func note(_ window: VideoWindow) -> String? {
            var note: String?
            #expect(
                WindowTests.wait(window) { events in
                    for case .noteWritten(let text) in events { note = text }
                    return note != nil
                })
            return note
        }

        private func press(_ window: VideoWindow, _ keys: String...) throws {
            try display.xdotool(["key"] + keys)
            WindowTests.settle(window)
        }

        @Test("A note is typed, corrected and sent", arguments: [RendererChoice.software, .opengl])
        func typing(renderer: RendererChoice) throws {
            let window = try open(renderer)
            window.setCaptions([WindowCaption(text: "What is being said stays above the line")])
            let bare = try #require(window.readBack())
            try press(window, "n")
            #expect((window.readBack()?.differingPixels(from: bare) ?? 0) > 5000)
            // Letters that are commands elsewhere are text here.
            try display.xdotool("type", "fqi Tc")
            WindowTests.settle(window)
            try press(window, "Left", "BackSpace", "Home", "Delete", "x", "End", "exclam")
            WindowTests.keep(window, as: "note-\(renderer.rawValue)")
            SDL_SetClipboardText("two\nlines\u{202e}")
            try press(window, "ctrl+v")
            try display.xdotool("key", "Return")
            #expect(note(window) == "xqi c!two lines")
            WindowTests.settle(window)
            #expect(window.readBack()?.differingPixels(from: bare) == 0)
            // Keys are commands again.
            try display.xdotool("key", "i")
            #expect(WindowTests.wait(window) { $0.contains(.statistics(isShown: true)) })
        }

        @Test("Escape cancels without leaving fullscreen; an empty note isn't sent")
        func cancelling() throws {
            let window = try open(fullscreen: true)
            try press(window, "n")
            try display.xdotool("type", "abc")
            try press(window, "Escape", "n", "space", "Return")
            #expect(window.isFullscreen)
            #expect(!window.panels.showsNote)
            try press(window, "n")
            try display.xdotool("type", "def")
            try display.xdotool("key", "Return")
            #expect(note(window) == "def")
        }

        @Test("The draft stays while a message or a code entry comes in between")
        func draft() throws {
            let window = try open()
            try press(window, "n")
            try display.xdotool("type", "ab")
            WindowTests.settle(window)
            window.setMessage(WindowMessage(headline: "Reconnecting…"))
            try display.xdotool("type", "c")
            WindowTests.settle(window)
            window.setMessage(nil)
            window.setCodeEntry(CodePrompt(headline: "Type the six digits"))
            WindowTests.settle(window)
            #expect(!window.panels.showsNote)
            try press(window, "1")
            window.setCodeEntry(nil)
            try press(window, "n")
            try press(window, "d")
            // Nothing is sent while notes aren't taken.
            window.allowsNotes = false
            WindowTests.keep(window, as: "note-refused")
            try press(window, "Return")
            #expect(window.panels.showsNote)
            window.allowsNotes = true
            try display.xdotool("key", "Return")
            #expect(note(window) == "abcd")
        }

        @Test("Without notes, n says so and opens nothing")
        func refused() throws {
            let window = try open()
            window.allowsNotes = false
            let bare = try #require(window.readBack())
            try press(window, "n")
            #expect(!window.panels.showsNote)
            #expect(SDL_IsTextInputActive() == SDL_FALSE)
            #expect((window.readBack()?.differingPixels(from: bare) ?? 0) > 1000)
            // It goes by itself.
            #expect(WindowTests.wait(window) { _ in window.readBack()?.differingPixels(from: bare) == 0 })
        }

        @Test("Dead keys and the Compose key make letters")
        func composed() throws {
            // XK_dead_acute and XK_Multi_key.
            display.addKeys([0xfe51, 0xff20])
            // Windows without notes have switched it off.
            unsetenv("XCOMPOSEFILE")
            setenv("LC_ALL", "C.UTF-8", 1)
            defer { unsetenv("LC_ALL") }
            let window = try open()
            // Xlib composes for the window that has the focus.
            try display.xdotool("search", "--name", "BeamRoom", "windowfocus")
            WindowTests.settle(window)
            try press(window, "n")
            try press(window, "dead_acute", "e", "Multi_key", "o", "quotedbl")
            try display.xdotool("key", "Return")
            #expect(note(window) == "éö")
        }

        @Test("What an input method composes is shown underlined and not sent")
        func composing() throws {
            let window = try open()
            try press(window, "n")
            try display.xdotool("type", "a")
            WindowTests.settle(window)
            let plain = try #require(window.readBack())
            var event = SDL_Event()
            event.type = SDL_TEXTEDITING_EXT.rawValue
            event.editExt.text = SDL_strdup("にほんごにほんごにほんごにほんご")
            event.editExt.start = 3
            SDL_PushEvent(&event)
            WindowTests.settle(window)
            WindowTests.keep(window, as: "note-composing")
            #expect((window.readBack()?.differingPixels(from: plain) ?? 0) > 500)
            event = SDL_Event()
            event.type = SDL_TEXTEDITING.rawValue
            SDL_PushEvent(&event)
            WindowTests.settle(window)
            #expect(window.readBack()?.differingPixels(from: plain) == 0)
            try display.xdotool("key", "Return")
            #expect(note(window) == "a")
        }
    }
}
