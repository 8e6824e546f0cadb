import BeamMedia
import CSDL2
import Foundation
import Testing

@testable import BeamDisplay

/// The one list of keys, and what is made of it. No display needed.
@Suite @MainActor struct KeysTests {
    private typealias Place = WindowCommand.Place

    @Test func eachWindowListsWhatIsThere() {
        func keys(_ place: Place) -> Set<WindowCommand> {
            Set(WindowCommand.allCases.filter { $0.isListed(in: place) })
        }
        let host = keys(Place())
        #expect(host.isDisjoint(with: [.share, .people, .showAlone, .choose, .typeCode]))
        #expect(host.isSuperset(of: [.note, .zoomIn, .help, .quit]))
        #expect(!keys(Place(allowsNotes: false)).contains(.note))
        #expect(keys(Place(kind: .wall, hasSeveral: true)) == host.union([.showAlone, .showAll, .moveFocus]))
        #expect(keys(Place(kind: .room)) == host.union([.share, .pause, .people]))
        let list = keys(Place(showsList: true))
        #expect(list == [.choose, .fullscreen, .keepAbove, .menu, .help, .quit])
        #expect(keys(Place(showsList: true, takesAddress: true)) == list.union([.typeAddress]))
        #expect(keys(Place(asksForCode: true)).isSuperset(of: [.typeCode, .help, .quit]))
        #expect(keys(Place(asksForCode: true, hasOffer: true)).contains(.takeOffer))
        #expect(WindowCommand.hints(in: Place()) == "f full screen · n note · ? keys")
        #expect(WindowCommand.hints(in: Place(kind: .room)) == "n note · s share · w people · ? keys")
        #expect(
            WindowCommand.hints(in: Place(kind: .wall, hasSeveral: true, allowsNotes: false))
                == "1 … 9 one alone · ? keys")
        // As many digits as there are pictures.
        for (count, digits) in [(2, "1, 2"), (3, "1 … 3"), (16, "1 … 9")] {
            let grid = Place(kind: .wall, hasSeveral: true, numbered: count)
            #expect(WindowCommand.hints(in: grid).hasPrefix("f full screen") == false)
            #expect(WindowCommand.hints(in: grid).contains("\(digits) one alone"))
            #expect(WindowCommand.rows(in: grid).contains { $0.keys == "\(digits), Enter, click" })
        }
    }

    /// A key that the list names as a letter is one, and no letter does what the list doesn't say.
    @Test func lettersAreInTheList() {
        let place = Place(kind: .room, hasSeveral: true)
        let listed = WindowCommand.allCases.filter { $0.isListed(in: place) }
        for letter in "abcdefghijklmnopqrstuvwxyz" {
            guard let value = letter.asciiValue else { continue }
            let command = WindowCommand(SDL_KeyCode(UInt32(value)), .room)
            let named = listed.first { $0.keys.contains(String(letter)) }
            // `g` belongs to the grid.
            #expect(command == named || letter == "g" && named == .showAll, "\(letter)")
        }
        #expect(WindowCommand(SDLK_s, .host) == nil && WindowCommand(SDLK_w, .wall) == nil)
    }

    private static func page(_ path: String) throws -> String {
        let root = (#filePath as NSString).deletingLastPathComponent + "/../.."
        return try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }

    /// The keys in backticks in the lines of a page.
    private static func named(_ lines: some Sequence<Substring>) -> Set<String> {
        var names: Set<String> = []
        for line in lines {
            for (index, part) in line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            where index % 2 == 1 { names.insert(String(part)) }
        }
        return names
    }

    /// What a page calls a key of the list.
    private static func names(of command: WindowCommand) -> Set<String> {
        let words = ["click", "double click", "right click", "drag", "arrow keys", "Ctrl+0", "Ctrl++", "Ctrl+-"]
        return Set(
            command.keys.filter { !words.contains($0) }.flatMap { key in
                switch key {
                case "1 … 9": ["1"]
                case "Ctrl and wheel": ["Ctrl"]
                default: [key]
                }
            })
    }

    @Test("The pages name the keys of the list, and no others")
    func pagesAreTrue() throws {
        func expected(_ place: Place) -> Set<String> {
            WindowCommand.allCases.filter { $0.isListed(in: place) }.reduce(into: []) {
                $0.formUnion(Self.names(of: $1))
            }
        }
        let readme = try Self.page("README.md").split(separator: "\n")
        let start = try #require(readme.firstIndex { $0.hasPrefix("In the window:") })
        let end = try #require(readme.firstIndex { $0.hasPrefix("Lost packets leave") })
        let keys = Self.named(readme[start..<end]).filter { !$0.hasPrefix("beamroom") }
        #expect(keys.subtracting(["9"]) == expected(Place(kind: .wall, hasSeveral: true)))

        let rooms = try Self.page("Sources/beamroom/beamroom.docc/Rooms.md").split(separator: "\n")
        let top = try #require(rooms.firstIndex { $0.hasPrefix("| in the window |") })
        let table = rooms[(top + 2)...].prefix { $0.hasPrefix("|") }
        let columns = table.map { $0.split(separator: "|", omittingEmptySubsequences: false)[1] }
        // Of eight screens.
        #expect(Self.named(columns).subtracting(["8"]) == expected(Place(kind: .room, hasSeveral: true)))
    }

    @Test("The list of keys fits into any window", arguments: PanelFitTests.canvases, [1, 2.0])
    func fits(canvas: PixelSize, scale: Double) throws {
        for place in [Place(), Place(kind: .wall, hasSeveral: true), Place(kind: .room, hasSeveral: true)] {
            let panels = PanelStack()
            panels.keys = WindowCommand.rows(in: place)
            // Nobody could read them beside it.
            panels.people = ["Anna\tyou"]
            panels.showsPeople = true
            let setting = PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: true)
            let layers = panels.layers(setting)
            #expect(layers.count == 1)
            panels.keys = nil
            panels.ask = WindowAsk(id: 1, text: "Does “lab” show the same digits?", code: "482913")
            #expect(panels.layers(setting).count == 1)
            let layer = try #require(layers.first)
            #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)")
            PanelFitTests.keep([layer], canvas, as: "keys-\(canvas)-\(scale)-\(place.kind)")
        }
    }

    @Test("The hint covers nothing else", arguments: PanelFitTests.canvases)
    func hint(canvas: PixelSize) {
        let panels = PanelStack()
        panels.captions = [WindowCaption(text: "A caption that says something of some length", name: "Anna")]
        panels.hint = Notice(WindowNotice(text: WindowCommand.hints(in: Place(kind: .room))), now: .zero)
        let setting = PanelStack.Setting(canvas: canvas, textScale: 1, isOverPicture: true)
        let layers = panels.layers(setting)
        for (index, layer) in layers.enumerated() {
            #expect(PixelRect(canvas).contains(layer.rect))
            for other in layers[..<index] { #expect(layer.rect.intersection(other.rect).isEmpty, "\(canvas)") }
        }
        #expect(layers.count == 2 || canvas.height < 300)
        PanelFitTests.keep(layers, canvas, as: "hint-\(canvas)")
    }
}

extension WindowTests {
    /// By a real X server's keyboard and mouse.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor
    struct Keys {
        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            try display.xdotool("mousemove", "640", "360")
        }

        private func opened(hints: Bool = false) throws -> VideoWindow {
            var options = WindowOptions(renderer: .software, display: display.name, allowsNotes: true)
            options.hintsKeys = hints
            let window = try VideoWindow(options)
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            _ = window.readBack()
            WindowTests.settle(window)
            return window
        }

        @Test("The list of keys comes by ?, h and F1, and goes by any key or click")
        func listOfKeys() throws {
            let window = try opened()
            for (opening, closing) in [
                (["key", "question"], ["key", "x"]), (["key", "h"], ["key", "Escape"]),
                (["key", "F1"], ["click", "1"]), (["key", "F1"], ["key", "q"]),
                (["key", "question"], ["key", "question"]),
            ] {
                try display.xdotool(opening)
                #expect(WindowTests.wait(window) { _ in window.panels.keys != nil }, "\(opening)")
                var seen: [WindowEvent] = []
                try display.xdotool(closing)
                #expect(
                    WindowTests.wait(window) {
                        seen += $0
                        return window.panels.keys == nil
                    }, "\(closing)")
                WindowTests.settle(window)
                #expect(!seen.contains(.quit) && !seen.contains(.escaped), "a key that closes does nothing else")
            }
            // Shift alone isn't a key that a person means.
            try display.xdotool("key", "h")
            #expect(WindowTests.wait(window) { _ in window.panels.keys != nil })
            try display.xdotool("key", "shift")
            WindowTests.settle(window)
            #expect(window.panels.keys != nil)
        }

        /// Where the question mark is elsewhere.
        @Test(
            .enabled(if: Tool.exists("setxkbmap"), "setxkbmap isn't installed"), arguments: ["de", "fr", "es", "ru"])
        func theQuestionMarkOfEachLayout(layout: String) throws {
            let display = try TestDisplay()
            try display.xdotool("mousemove", "640", "360")
            try Tool.run("setxkbmap", ["-layout", layout], display: display.name)
            let window = try VideoWindow(WindowOptions(renderer: .software, display: display.name))
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            try display.xdotool("key", "question")
            #expect(WindowTests.wait(window) { _ in window.panels.keys != nil })
        }

        @Test func aListAndACodeEntryHaveTheirKeysToo() throws {
            let window = try opened()
            window.setPicker([PickerEntry(name: "desk"), PickerEntry(name: "lab")])
            try display.xdotool("key", "question")
            #expect(
                WindowTests.wait(window) { _ in window.panels.keys?.contains { $0.words == "choose a host" } == true })
            try display.xdotool("key", "Return")
            var seen: [WindowEvent] = []
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return window.panels.keys == nil
                })
            #expect(!seen.contains(.chosen(0)))
            window.setPicker(nil)
            window.setCodeEntry(CodePrompt(headline: "Type the code", offer: "Or press Enter", takesOffer: true))
            try display.xdotool("key", "h")
            #expect(
                WindowTests.wait(window) { _ in window.panels.keys?.contains { $0.words == "type the code" } == true })
            try display.xdotool("key", "5")
            WindowTests.settle(window)
            #expect(window.panels.codeEntry?.digits == "", "a digit that closes the list isn't typed")
        }

        @Test("A line of hints is shown for five seconds after the first picture")
        func hints() throws {
            let window = try opened(hints: true)
            #expect(window.panels.hint != nil)
            WindowTests.keep(window, as: "hint")
            let with = try #require(window.readBack())
            #expect(WindowTests.wait(window) { _ in window.panels.hint == nil })
            #expect(try #require(window.readBack()).differingPixels(from: with) > 500)
            window.setMessage(WindowMessage(headline: "Nothing arrives"))
            window.setMessage(nil)
            WindowTests.settle(window)
            #expect(window.panels.hint == nil, "once is enough")
        }

        @Test("Escape closes what is open, leaves full screen, and is reported when there is nothing left")
        func escape() throws {
            let window = try opened()
            try display.xdotool("key", "f", "t", "h")
            #expect(WindowTests.wait(window) { _ in window.panels.keys != nil })
            WindowTests.settle(window)
            func press() throws -> [WindowEvent] {
                try display.xdotool("key", "Escape")
                var seen: [WindowEvent] = []
                for _ in 0..<4 { seen += window.waitForEvents(timeout: .milliseconds(50)) }
                return seen
            }
            #expect(try press().isEmpty && window.panels.keys == nil)
            #expect(try press() == [.transcript(isShown: false)] && window.isFullscreen)
            #expect(try press().contains(.fullscreen(false)))
            WindowTests.settle(window)
            try display.xdotool("key", "z")
            #expect(WindowTests.wait(window) { _ in window.zoom != nil })
            #expect(try !press().contains(.escaped) && window.zoom == nil)
            #expect(try press() == [.escaped])
        }

        @Test func enterTakesTheOfferOfAMessage() throws {
            let window = try opened()
            window.setMessage(
                WindowMessage(
                    headline: "“desk” has refused", detail: "Enter tries again.", buttons: [.tryAgain, .chooseAnother]))
            try display.xdotool("key", "Return")
            #expect(WindowTests.wait(window) { $0.contains(.offerTaken) })
            try display.xdotool("key", "Tab", "Return")
            #expect(WindowTests.wait(window) { $0.contains(.listWanted) })
            // The mouse does the same.
            for (index, event) in [WindowEvent.offerTaken, .listWanted].enumerated() {
                let place = try #require(MenuTests.places(of: window) { window.panels.button(x: $0, y: $1) == index })
                try display.xdotool("mousemove", "\(place.x)", "\(place.y)", "click", "1")
                #expect(WindowTests.wait(window) { $0.contains(event) }, "\(event)")
            }
            try display.xdotool("mousemove", "640", "360")
            WindowTests.settle(window)
            window.setMessage(WindowMessage(headline: "“desk” has refused"))
            try display.xdotool("key", "Return", "i")
            var seen: [WindowEvent] = []
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains(.statistics(isShown: true))
                })
            #expect(!seen.contains(.offerTaken))
        }

        @Test func aWindowAsksForAttentionUntilItIsLookedAt() throws {
            let window = try opened()
            #expect(!display.isUrgent)
            let other = display.cover(PixelRect(x: 0, y: 0, width: 50, height: 50))
            defer { display.uncover(other) }
            let own = try #require(display.firstWindow)
            display.focus(own)
            WindowTests.settle(window)
            window.requestAttention()
            WindowTests.settle(window)
            #expect(!display.isUrgent, "the person is here")
            display.focus(other)
            WindowTests.settle(window)
            window.requestAttention()
            #expect(WindowTests.wait(window) { _ in display.isUrgent })
            display.focus(own)
            #expect(WindowTests.wait(window) { _ in !display.isUrgent })
        }
    }
}
