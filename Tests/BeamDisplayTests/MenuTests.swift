import BeamMedia
import CSDL2
import Foundation
import Testing

@testable import BeamDisplay

/// The menu as a value and as a panel. No display needed.
@Suite @MainActor struct MenuTests {
    /// A position in the window at which `condition` holds, in pixels.
    static func places(of window: VideoWindow, where condition: (Int, Int) -> Bool) -> (x: Int, y: Int)? {
        let (left, top) = window.window.position
        let size = window.window.pixelSize
        for y in stride(from: 0, to: size.height, by: 4) {
            for x in stride(from: 0, to: size.width, by: 4) where condition(x, y) { return (left + x + 2, top + y + 2) }
        }
        return nil
    }

    private static func entries(_ place: WindowCommand.Place) -> [WindowMenu.Entry] {
        var group: Int?
        return WindowCommand.allCases.filter { $0.isInMenu(of: place) }.map { command in
            defer { group = command.group }
            return WindowMenu.Entry(
                command: command, words: command.menuWords(in: place), key: command.menuKey,
                isEnabled: command != .note && command != .fit, isOn: command == .captions ? true : nil,
                beginsGroup: group != nil && group != command.group)
        }
    }

    nonisolated private static let room = WindowCommand.Place(kind: .room, hasSeveral: true)

    /// What keys do is in the menu, but for what only the hand can do.
    @Test(arguments: [WindowCommand.Place(), .init(kind: .wall, hasSeveral: true), room])
    func theMenuHasWhatKeysDo(place: WindowCommand.Place) {
        let listed = WindowCommand.allCases.filter { $0.isListed(in: place) }
        let missing = Set(listed).subtracting(Self.entries(place).map(\.command))
        #expect(missing == [.moveZoomed, .back, .menu])
        // Those of a group stand together.
        let groups = Self.entries(place).map(\.command.group)
        #expect(groups == groups.sorted())
        for entry in Self.entries(place) { #expect(entry.key != nil || entry.command == .chooseAnother) }
    }

    @Test func greyEntriesAreSkipped() {
        var menu = WindowMenu(Self.entries(WindowCommand.Place()), at: nil)
        #expect(menu.selected == .fullscreen, "a menu that a key has opened is used by keys")
        menu.move(by: -1)
        #expect(menu.selected == .quit)
        menu.move(by: 1)
        #expect(menu.selected == .fullscreen)
        var seen: Set<WindowCommand> = []
        for _ in menu.entries {
            menu.move(by: 1)
            if let selected = menu.selected { seen.insert(selected) }
        }
        #expect(seen == Set(menu.entries.filter(\.isEnabled).map(\.command)) && !seen.contains(.note))
        menu.select(.note)
        #expect(menu.selected == nil)
        #expect(WindowMenu(menu.entries, at: .init(x: 1, y: 1)).selected == nil)
    }

    @Test("The menu is inside any window, and each entry can be reached", arguments: PanelFitTests.canvases, [1, 2.0])
    func fits(canvas: PixelSize, scale: Double) throws {
        let panels = PanelStack()
        let setting = PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: true)
        for corner in [nil, WindowMenu.Point(x: 0, y: 0), .init(x: canvas.width - 1, y: canvas.height - 1)] {
            panels.menu = WindowMenu(Self.entries(Self.room), at: corner)
            // From one end to the other in steps of some entries, and over the end.
            for _ in 0..<8 {
                for _ in 0..<3 { panels.menu?.move(by: 1) }
                let layer = try #require(panels.layers(setting).last)
                #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)")
                let selected = try #require(panels.menu?.selected)
                let rect = layer.rect
                let isVisible = stride(from: rect.y, to: rect.maxY, by: 2).contains {
                    panels.menuCommand(x: rect.x + rect.width / 2, y: $0) == selected
                }
                #expect(isVisible, "\(selected)")
            }
            PanelFitTests.keep(
                panels.layers(setting), canvas, as: "menu-\(canvas)-\(scale)-\(corner.map { "\($0.x)" } ?? "key")")
        }
        // The wheel leads away from the selection, and a key back to it.
        panels.menu?.moveToEnd(true)
        _ = panels.layers(setting)
        panels.scrollMenu(by: -100)
        _ = panels.layers(setting)
        #expect(panels.menu?.first == 0)
    }
}

extension WindowTests {
    /// The menu through a real X server's keyboard and mouse.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor struct Menus {
        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            try display.xdotool("mousemove", "640", "360")
        }

        private func opened() throws -> VideoWindow {
            let window = try VideoWindow(
                WindowOptions(renderer: .software, display: display.name, allowsNotes: true))
            window.show(TestPictures.bars(PixelSize(width: 640, height: 480)))
            _ = window.readBack()
            WindowTests.settle(window)
            return window
        }

        private func point(at command: WindowCommand, in window: VideoWindow) throws {
            _ = window.readBack()
            let place = try #require(
                MenuTests.places(of: window) { window.panels.menuCommand(x: $0, y: $1) == command }, "\(command)")
            try display.xdotool("mousemove", "\(place.x + 8)", "\(place.y)")
        }

        @Test("The menu comes by a right click, Menu and Shift+F10, and goes by Escape and a click beside it")
        func comesAndGoes() throws {
            let window = try opened()
            for (opening, closing) in [
                (["click", "3"], ["key", "Escape"]), (["key", "Menu"], ["key", "Menu"]),
                (["key", "shift+F10"], ["mousemove", "330", "130", "click", "1", "mousemove", "640", "360"]),
            ] {
                try display.xdotool(opening)
                #expect(WindowTests.wait(window) { _ in window.panels.menu != nil }, "\(opening)")
                _ = window.readBack()
                var seen: [WindowEvent] = []
                try display.xdotool(closing)
                #expect(
                    WindowTests.wait(window) {
                        seen += $0
                        return window.panels.menu == nil
                    }, "\(closing)")
                WindowTests.settle(window)
                #expect(seen.allSatisfy { $0 == .wake }, "\(seen)")
            }
            // A second right click opens it there, and a command's own key does what it always does.
            try display.xdotool("click", "3")
            #expect(WindowTests.wait(window) { _ in window.panels.menu != nil })
            _ = window.readBack()
            let old = window.panels.menu?.origin
            try display.xdotool("mousemove", "330", "130", "click", "3")
            #expect(WindowTests.wait(window) { _ in window.panels.menu?.origin != old && window.panels.menu != nil })
            try display.xdotool("key", "i")
            #expect(WindowTests.wait(window) { $0.contains(.statistics(isShown: true)) })
            #expect(window.panels.menu == nil)
        }

        @Test func clicksAndKeysChoose() throws {
            let window = try opened()
            window.commandStates.isMuted = true
            try display.xdotool("click", "3")
            #expect(WindowTests.wait(window) { _ in window.panels.menu != nil })
            func entry(_ command: WindowCommand) -> WindowMenu.Entry? {
                window.panels.menu?.entries.first { $0.command == command }
            }
            #expect(entry(.mute)?.isOn == true && entry(.mute)?.isEnabled == true)
            #expect(entry(.captions)?.isOn == true && entry(.statistics)?.isOn == false)
            #expect(entry(.fit)?.isEnabled == false, "all of it is shown")
            #expect(entry(.keepAbove)?.isEnabled == false, "there is no window manager")
            // What can't be used does nothing, and the menu stays.
            try point(at: .fit, in: window)
            try display.xdotool("click", "1")
            WindowTests.settle(window)
            #expect(window.panels.menu != nil && window.panels.menu?.selected == nil)
            try point(at: .statistics, in: window)
            #expect(WindowTests.wait(window) { _ in window.panels.menu?.selected == .statistics })
            WindowTests.keep(window, as: "menu-open")
            try display.xdotool("click", "1")
            #expect(WindowTests.wait(window) { $0.contains(.statistics(isShown: true)) })
            #expect(window.panels.menu == nil)
            // From the top, which a menu opened by a key begins with, one up is the end.
            try display.xdotool("mousemove", "640", "360", "key", "Menu", "Up", "Return")
            #expect(WindowTests.wait(window) { $0.contains(.quit) })
            // What changes while the menu is open is seen there.
            try display.xdotool("key", "Menu")
            #expect(WindowTests.wait(window) { _ in window.panels.menu != nil })
            window.commandStates.isMuted = nil
            window.setNotice(WindowNotice(text: "The sound server has gone"))
            WindowTests.settle(window)
            #expect(entry(.mute)?.isEnabled == false)
        }

        @Test("While a code or a note is written, the menu takes no letters from it, and gives it none")
        func textsStay() throws {
            let window = try opened()
            window.setCodeEntry(CodePrompt(headline: "Type the code", takesOffer: true, buttons: [.askPerson]))
            try display.xdotool("key", "4", "8")
            #expect(WindowTests.wait(window) { _ in window.panels.codeEntry?.digits == "48" })
            try display.xdotool("key", "Menu")
            #expect(WindowTests.wait(window) { _ in window.panels.menu != nil })
            #expect(window.panels.menu?.entries.map(\.command).contains(.pasteCode) == true)
            try display.xdotool("key", "Down", "Escape")
            #expect(WindowTests.wait(window) { _ in window.panels.menu == nil })
            try display.xdotool("key", "2")
            #expect(WindowTests.wait(window) { _ in window.panels.codeEntry?.digits == "482" })
            window.setCodeEntry(nil)
            try display.xdotool("key", "n")
            #expect(WindowTests.wait(window) { _ in window.panels.showsNote })
            try display.xdotool("key", "x")
            #expect(WindowTests.wait(window) { _ in window.panels.note.note == "x" })
            // Space chooses; it isn't written.
            try display.xdotool("key", "Menu", "space")
            #expect(WindowTests.wait(window) { $0.contains(.fullscreen(true)) })
            WindowTests.settle(window)
            #expect(window.panels.note.before == "x")
        }

        @Test("The window stays on top where a window manager can do that")
        func alwaysOnTop() throws {
            let display = try TestDisplay()
            try display.xdotool("mousemove", "640", "360")
            var options = WindowOptions(renderer: .software, display: display.name)
            options.isAlwaysOnTop = true
            var window: VideoWindow? = try VideoWindow(options)
            #expect(window?.unmetWish(options)?.contains("window manager") == true && window?.isAlwaysOnTop == false)
            window = nil
            display.pretendWindowManager(supports: ["_NET_WM_STATE", "_NET_WM_STATE_ABOVE"])
            let second = try VideoWindow(options)
            #expect(second.isAlwaysOnTop && second.unmetWish(options) == nil)
            #expect(second.window.has(SDL_WINDOW_ALWAYS_ON_TOP))
            second.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(second)
            display.focus(try #require(display.firstWindow))
            WindowTests.settle(second)
            try display.xdotool("key", "a")
            #expect(WindowTests.wait(second) { $0.contains(.alwaysOnTop(false)) })
            #expect(!second.window.has(SDL_WINDOW_ALWAYS_ON_TOP))
        }
    }
}
