import BeamMedia
import CSDL2
import Foundation
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// What a person does, by a real X server's keys and mouse.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor
    struct Interaction {
        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            // Without a window manager keys go to the window under the pointer.
            try display.xdotool("mousemove", "640", "360")
        }

        @Test func keysAreEvents() throws {
            let window = try WindowTests.open()
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            try display.xdotool("key", "i")
            #expect(WindowTests.wait(window) { $0.contains(.statistics(isShown: true)) })
            try display.xdotool("key", "i")
            #expect(WindowTests.wait(window) { $0.contains(.statistics(isShown: false)) })
            // Escape is not for quitting, and a modifier makes it another key.
            try display.xdotool("key", "Escape", "ctrl+q", "q")
            var seen: [WindowEvent] = []
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains(.quit)
                })
            #expect(seen.count { $0 == .quit } == 1)
        }

        @Test(
            "Fullscreen by f, F11, Escape and double click, and back to the same place",
            arguments: [
                RendererChoice.software, .opengl,
            ])
        func fullscreen(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            let before = try #require(display.windows().first)
            for (on, off) in [("f", "f"), ("F11", "Escape"), ("", "f")] {
                if on.isEmpty {
                    try display.xdotool("click", "--repeat", "2", "--delay", "60", "1")
                } else {
                    try display.xdotool("key", on)
                }
                #expect(WindowTests.wait(window) { $0.contains(.fullscreen(true)) })
                WindowTests.settle(window)
                let full = try #require(display.windows().first)
                #expect(full == (0, 0, display.size.width, display.size.height))
                #expect(window.readBack()?.size == PixelSize(width: full.width, height: full.height))
                try display.xdotool("key", off)
                #expect(WindowTests.wait(window) { $0.contains(.fullscreen(false)) })
                WindowTests.settle(window)
                #expect(try #require(display.windows().first) == before)
            }
        }

        @Test func thePointerHidesInFullscreen() throws {
            let window = try WindowTests.open(fullscreen: true)
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            try display.xdotool("mousemove", "600", "300")
            #expect(SDL_ShowCursor(SDL_QUERY) == SDL_ENABLE)
            #expect(WindowTests.wait(window) { _ in SDL_ShowCursor(SDL_QUERY) == SDL_DISABLE })
            try display.xdotool("mousemove", "640", "360")
            #expect(WindowTests.wait(window) { _ in SDL_ShowCursor(SDL_QUERY) == SDL_ENABLE })
        }

        @Test func aHostIsChosen() throws {
            let window = try WindowTests.open()
            window.setPicker([])
            let empty = try #require(window.readBack())
            #expect(empty.paintedPixels > 1000)
            WindowTests.keep(window, as: "picker-empty")
            window.setPicker([
                PickerEntry(name: "Anna's iPhone", detail: "192.168.1.23"),
                PickerEntry(name: "office-desk 客厅", detail: "office-desk.local · 192.168.1.40"),
                PickerEntry(name: "מחשב של דנה"),
            ])
            WindowTests.settle(window)
            WindowTests.keep(window, as: "picker")
            try display.xdotool("key", "Down", "Down", "Return")
            #expect(WindowTests.wait(window) { $0.contains(.chosen(2)) })
            try display.xdotool("key", "2")
            #expect(WindowTests.wait(window) { $0.contains(.chosen(1)) })
            // The first row, by the mouse: it lies above the middle.
            let place = try #require(display.windows().first)
            try display.xdotool("mousemove", "\(place.x + place.width / 2)", "\(place.y + place.height / 2 - 40)")
            try display.xdotool("click", "1")
            #expect(WindowTests.wait(window) { $0.contains { if case .chosen = $0 { true } else { false } } })
            window.setPicker(nil)
            try display.xdotool("key", "1", "i")
            var seen: [WindowEvent] = []
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains(.statistics(isShown: true))
                })
            #expect(!seen.contains(.chosen(0)))
        }

        @Test(arguments: [RendererChoice.software, .opengl])
        func aCodeIsTyped(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            window.setCodeEntry(CodePrompt(headline: "“desk” shows six digits", detail: "Type them here."))
            WindowTests.settle(window)
            let empty = try #require(window.readBack())
            WindowTests.keep(window, as: "code-empty")
            // A letter is no digit, and one too many is taken back.
            try display.xdotool("key", "4", "8", "x", "9", "BackSpace", "2", "KP_9", "1")
            WindowTests.settle(window)
            WindowTests.keep(window, as: "code-half")
            #expect(window.readBack()?.paintedPixels != empty.paintedPixels)
            try display.xdotool("key", "3")
            #expect(WindowTests.wait(window) { $0.contains(.codeEntered("482913")) })
            // There is room for another at once; other keys keep their meaning.
            window.setCodeEntry(CodePrompt(headline: "“desk” shows six digits", detail: "Those weren't its digits."))
            try display.xdotool("key", "i")
            #expect(WindowTests.wait(window) { $0.contains(.statistics(isShown: true)) })
            SDL_SetClipboardText("Code: 135 790\n")
            try display.xdotool("key", "ctrl+v")
            #expect(WindowTests.wait(window) { $0.contains(.codeEntered("135790")) })
            SDL_SetClipboardText("1234567")
            try display.xdotool("key", "ctrl+v")
            window.setCodeEntry(nil)
            try display.xdotool("key", "1", "2", "3", "4", "5", "6", "i")
            var seen: [WindowEvent] = []
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains(.statistics(isShown: false))
                })
            #expect(!seen.contains { if case .codeEntered = $0 { true } else { false } })
        }

        @Test(arguments: [RendererChoice.software, .opengl])
        func aWarningStaysAtTheEdge(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            let bare = try #require(window.readBack())
            window.setWarning(
                WindowWarning(words: "Not encrypted: everybody can see this picture", short: "Not encrypted"))
            WindowTests.settle(window)
            WindowTests.keep(window, as: "warning")
            let full = try #require(window.readBack())
            let changed = full.differingPixels(from: bare)
            #expect(changed > 500)
            // Eight seconds later it is shorter, and with the pointer's next movement in full again.
            #expect(
                WindowTests.wait(window) { _ in
                    (window.readBack()?.differingPixels(from: bare) ?? 0) < changed * 3 / 4
                })
            WindowTests.keep(window, as: "warning-short")
            try display.xdotool("mousemove", "500", "300")
            #expect(
                WindowTests.wait(window) { _ in (window.readBack()?.differingPixels(from: bare) ?? 0) == changed })
            window.setWarning(nil)
            WindowTests.settle(window)
            #expect(window.readBack()?.differingPixels(from: bare) == 0)
        }
    }
}
