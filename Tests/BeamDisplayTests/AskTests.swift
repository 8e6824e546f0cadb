import BeamClock
import BeamMedia
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// Questions that a key answers, and whose picture is shown.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor
    struct Asks {
        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            try display.xdotool("mousemove", "640", "360")
        }

        /// The answers to these keys, up to the statistics that are pressed after them.
        private func answers(_ window: VideoWindow, _ keys: String...) throws -> [WindowEvent] {
            var seen: [WindowEvent] = []
            try display.xdotool(["key", "--delay", "20"] + keys + ["i"])
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains { if case .statistics = $0 { true } else { false } }
                })
            return seen.filter { if case .answered = $0 { true } else { false } }
        }

        @Test("Keys answer the question, but not in its first second, nor when it is gone")
        func keys() throws {
            let window = try WindowTests.open()
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            window.allowsNotes = true
            WindowTests.settle(window)
            window.setAsk(WindowAsk(id: 7, text: "Let “lab” in?"))
            // Has just appeared, however slow this machine is.
            window.panels.askSince = .now + .seconds(3600)
            #expect(try answers(window, "y", "n", "Return", "Escape").isEmpty)
            #expect(!window.panels.showsNote, "a key that came too early is nothing else either")
            window.panels.askSince = .now - .seconds(2)
            #expect(
                try answers(window, "y", "n", "Return", "Escape")
                    == [true, false, true, false].map { .answered(ask: 7, yes: $0) })
            // The same question stays open, another one is new.
            window.setAsk(WindowAsk(id: 7, text: "Let “lab” in? y or n"))
            #expect(.now - window.panels.askSince >= .seconds(2))
            window.setAsk(WindowAsk(id: 8, text: "Let “lab 2” in?"))
            #expect(.now - window.panels.askSince < .seconds(2))
            // Letters are other keys where they don't answer.
            window.setAsk(WindowAsk(id: 9, text: "Enter joins it", takesLetters: false))
            window.panels.askSince = .now - .seconds(2)
            #expect(try answers(window, "y", "Return") == [.answered(ask: 9, yes: true)])
            window.setAsk(nil)
            #expect(try answers(window, "y", "Return", "Escape").isEmpty)
        }

        @Test("A question is at the edge over notices, digits are in the middle, and both go")
        func look() throws {
            let window = try WindowTests.open(fullscreen: true)
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            let plain = try #require(window.readBack())
            window.setAsk(WindowAsk(id: 1, text: "Let “lab” in? You'll compare digits first: y or n"))
            let asked = try #require(window.readBack())
            #expect(asked.differingPixels(from: plain) > 500)
            #expect(asked.rgb(640, 400) == plain.rgb(640, 400), "the picture isn't darkened")
            window.setNotice(WindowNotice(text: "“Ben” has paused."))
            #expect(window.readBack()?.differingPixels(from: asked) == 0)
            window.setNotice(nil)
            window.setAsk(WindowAsk(id: 2, text: "Does “lab” show the same digits?", code: "102889"))
            let digits = try #require(window.readBack())
            #expect(digits.rgb(40, 700) != plain.rgb(40, 700), "what is below the digits is darkened")
            window.setAsk(nil)
            #expect(window.readBack()?.differingPixels(from: plain) == 0)
        }

        @Test("A picture that is shown alone has its source's name on it, and one of one host has none")
        func names() throws {
            let window = try WindowTests.open(fullscreen: true)
            func sources(_ names: String...) -> [WindowSource] {
                names.enumerated().map { WindowSource(id: $0.offset, name: $0.element) }
            }
            let size = PixelSize(width: 640, height: 360)
            window.setSources(sources("Anna", "Ben"))
            window.show((0..<2).map { (source: $0, picture: TestPictures.plain(size, y: 126)) })
            WindowTests.settle(window)
            let grid = try #require(window.readBack())
            try display.xdotool("key", "2")
            #expect(WindowTests.wait(window) { _ in window.focus.isAlone })
            let ben = try #require(window.readBack())
            WindowTests.keep(ben, as: "name-alone")
            let grey = ben.rgb(640, 360)
            #expect((10..<60).contains { ben.rgb($0, 700) != grey }, "no name in the lower left corner")
            #expect(ben.rgb(640, 700) == grey)
            // Beside others each has its name below it, and there is none in the corner.
            try display.xdotool("key", "g")
            #expect(WindowTests.wait(window) { _ in !window.focus.isAlone })
            let again = try #require(window.readBack())
            #expect((10..<60).allSatisfy { again.rgb($0, 700) == grid.rgb($0, 700) }, "a name stays in the corner")
            try display.xdotool("key", "2")
            #expect(WindowTests.wait(window) { _ in window.focus.isAlone })
            window.setSources(sources("Anna", "Bea"))
            #expect(try #require(window.readBack()).differingPixels(from: ben) > 0)
            // The only one of a room.
            window.setSources(sources("Anna"))
            window.show([(source: 0, picture: TestPictures.plain(size, y: 126))])
            let only = try #require(window.readBack())
            #expect((10..<60).contains { only.rgb($0, 700) != grey })
            // The only host.
            window.setSources([WindowSource(id: 9, name: nil)])
            window.show(TestPictures.plain(size, y: 126))
            let host = try #require(window.readBack())
            #expect(!(10..<60).contains { host.rgb($0, 700) != grey })
            // What isn't to be seen any more is gone, and comes anew.
            window.forgetPicture()
            #expect(try #require(window.readBack()).rgb(640, 100) != grey)
            window.show(TestPictures.plain(size, y: 126))
            #expect(try #require(window.readBack()).rgb(640, 100) == grey)
        }
    }
}
