import BeamMedia
import CSDL2
import Foundation
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// A person's input, through a real X server's keyboard and mouse.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor
    struct Interaction {
        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            // Without a window manager, keys go to the window under the pointer.
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
            // Escape doesn't quit, and a modifier makes it another key.
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

        /// By places on the keyboard: nobody switches the layout for a command.
        @Test(
            .enabled(if: Tool.exists("setxkbmap"), "setxkbmap isn't installed"),
            arguments: ["ru", "gr", "il", "ara", "us"])
        func layoutsWithoutLatinLetters(layout: String) throws {
            let display = try TestDisplay()
            try display.xdotool("mousemove", "640", "360")
            try Tool.run("setxkbmap", ["-layout", layout], display: display.name)
            let window = try VideoWindow(
                WindowOptions(renderer: .software, display: display.name, allowsNotes: true))
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            func press(_ keycode: String, _ event: WindowEvent) throws {
                try display.xdotool("key", keycode)
                #expect(WindowTests.wait(window) { $0.contains(event) }, "\(layout): key \(keycode)")
            }
            try press("31", .statistics(isShown: true))
            try press("54", .captions(isShown: false))
            try press("28", .transcript(isShown: true))
            try press("28", .transcript(isShown: false))
            try press("41", .fullscreen(true))
            try press("41", .fullscreen(false))
            // In a note the same keys are letters of the layout.
            let letters = ["ru": "йшс", "gr": ";ιψ", "us": "qic"]
            let before = try #require(window.readBack())
            try display.xdotool("key", "57")
            #expect(WindowTests.wait(window) { _ in (window.readBack()?.differingPixels(from: before) ?? 0) > 500 })
            try display.xdotool("key", "24", "31", "54", "Return")
            var note: String?
            let isWritten = WindowTests.wait(window) { events in
                for case .noteWritten(let text) in events { note = text }
                return note != nil
            }
            #expect(isWritten)
            if let expected = letters[layout] { #expect(note == expected) }
            try press("24", .quit)
        }

        /// Letters that a layout has elsewhere are there only.
        @Test(.enabled(if: Tool.exists("setxkbmap"), "setxkbmap isn't installed"))
        func dvorakKeepsItsPlaces() throws {
            let display = try TestDisplay()
            try display.xdotool("mousemove", "640", "360")
            try Tool.run("setxkbmap", ["-layout", "us", "-variant", "dvorak"], display: display.name)
            let window = try VideoWindow(WindowOptions(renderer: .software, display: display.name))
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            // Q and I of a US keyboard are an apostrophe and C.
            try display.xdotool("key", "24", "31")
            var seen: [WindowEvent] = []
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains(.captions(isShown: false))
                })
            #expect(!seen.contains(.quit) && !seen.contains(.statistics(isShown: true)))
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
            // The first row with the mouse; it is above the middle.
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
    }
}
