import BeamMedia
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// Several sources in one window.
    @Suite(.serialized) @MainActor struct Grids {
        private static let size = PixelSize(width: 640, height: 360)
        /// Luma of each source's picture, in limited range, and the grey that it becomes.
        private static let lumas: [UInt8] = [235, 180, 126, 80]

        private func open(_ count: Int = 4, renderer: RendererChoice = .software) throws -> VideoWindow {
            let window = try WindowTests.open(renderer, fullscreen: true)
            window.setSources((0..<count).map { WindowSource(id: $0 + 10, name: "Host \($0 + 1)") })
            WindowTests.settle(window)
            return window
        }

        private func picture(_ index: Int, number: UInt64 = 0) -> Picture {
            TestPictures.plain(Self.size, y: Self.lumas[index], number: number)
        }

        private func grey(_ index: Int) -> Int { Int((Double(Self.lumas[index]) - 16) * 255 / 219 + 0.5) }

        /// The middle of a source's picture, in the window.
        private func middle(_ window: VideoWindow, _ index: Int) -> (x: Int, y: Int) {
            let rect = window.grid.layout(window.gridSetting).tiles[index].picture
            return (rect.x + rect.width / 2, rect.y + rect.height / 2)
        }

        private func shows(_ window: VideoWindow, _ index: Int, at point: (x: Int, y: Int)) throws -> Bool {
            let colour = try TestDisplay.shared.get().screenPixel(x: point.x, y: point.y)
            return colour.allSatisfy { abs($0 - grey(index)) <= 2 }
        }

        @Test("Each source is in its own tile", arguments: [RendererChoice.software, .opengl])
        func tiles(renderer: RendererChoice) throws {
            let window = try open(renderer: renderer)
            let drawn = window.show((0..<4).map { (source: $0 + 10, picture: picture($0)) })
            #expect(drawn == [10, 11, 12, 13])
            let shown = try #require(window.readBack())
            WindowTests.keep(shown, as: "grid-4-\(renderer.rawValue)")
            for index in 0..<4 {
                let point = middle(window, index)
                #expect(shown.rgb(point.x, point.y).allSatisfy { abs($0 - grey(index)) <= 2 }, "tile \(index)")
            }
            if renderer == .software {
                #expect(try TestDisplay.shared.get().differences(from: shown, at: (0, 0), step: 7) == 0)
            }
        }

        /// What is drawn in parts is the same as what is drawn at once, in all tiles.
        @Test("Only what has changed is drawn", arguments: [RendererChoice.software, .opengl])
        func parts(renderer: RendererChoice) throws {
            let display = try TestDisplay.shared.get()
            let window = try open(3, renderer: renderer)
            var pictures = (0..<3).map {
                TestPictures.noise(.i420, Self.size, seed: UInt64($0) + 1)
            }
            window.show(pictures.enumerated().map { (source: $0.offset + 10, picture: $0.element) })
            _ = window.readBack()
            for step in 0..<3 {
                let index = step % 3
                let other = TestPictures.noise(.i420, Self.size, seed: UInt64(step) + 50)
                let rect = PixelRect(x: 100 + 20 * step, y: 60, width: 120, height: 80)
                var next = other
                // Outside of its damage, a picture is the one before.
                let buffer = PixelBuffer(format: .i420, size: Self.size)
                for plane in 0..<3 {
                    let (bytes, rows) = PixelFormat.i420.plane(plane, of: Self.size)
                    let part = plane == 0 ? rect : rect.halved
                    for y in 0..<rows {
                        for x in 0..<bytes {
                            let isChanged = part.contains(PixelRect(x: x, y: y, width: 1, height: 1))
                            let from = isChanged ? other.buffer : pictures[index].buffer
                            buffer.planes[plane][x, y] = from.planes[plane][x, y]
                        }
                    }
                }
                next = Picture(buffer: buffer, colour: other.colour, time: .zero)
                next.damage = DamageRegion(rect)
                pictures[index] = next
                window.show([(source: index + 10, picture: next)])
            }
            let parts = try #require(window.readBack())
            if renderer == .software { #expect(display.differences(from: parts, at: (0, 0), step: 5) == 0) }
            window.isStale = true
            window.redrawIfNeeded()
            let whole = try #require(window.readBack())
            // Redrawing the edge of a part may round once differently.
            #expect((parts.largestDifference(whole) ?? 255) <= 1)
        }

        @Test func keysAndClicksShowOneSourceOrAll() throws {
            let display = try TestDisplay.shared.get()
            let window = try open()
            window.show((0..<4).map { (source: $0 + 10, picture: picture($0)) })
            WindowTests.settle(window)
            let centre = (x: 640, y: 360)
            #expect(window.focus == VideoWindow.Focus(source: 10, isAlone: false))
            try display.xdotool("mousemove", "5", "5", "key", "3")
            #expect(WindowTests.wait(window) { $0.contains(.focusChanged) })
            #expect(window.focus == VideoWindow.Focus(source: 12, isAlone: true))
            #expect(try shows(window, 2, at: centre))
            // A picture of one that is hidden is shown when all are shown again.
            #expect(window.show([(source: 10, picture: picture(3))]).isEmpty)
            #expect(try shows(window, 2, at: centre))
            try display.xdotool("key", "g")
            #expect(WindowTests.wait(window) { _ in !window.focus.isAlone })
            #expect(window.focus.source == 12)
            #expect(try shows(window, 3, at: middle(window, 0)))
            let click = middle(window, 1)
            try display.xdotool("mousemove", "\(click.x)", "\(click.y)", "click", "--repeat", "2", "1")
            #expect(WindowTests.wait(window) { _ in window.focus.isAlone })
            WindowTests.settle(window)
            // The second click of a double click has no meaning of its own.
            #expect(window.focus == VideoWindow.Focus(source: 11, isAlone: true) && window.isFullscreen)
            #expect(try shows(window, 1, at: centre))
            try display.xdotool("key", "Escape")
            #expect(WindowTests.wait(window) { _ in !window.focus.isAlone })
            #expect(window.isFullscreen, "the next Escape leaves fullscreen")
            try display.xdotool("mousemove", "5", "5", "key", "Down", "key", "Return")
            #expect(WindowTests.wait(window) { _ in window.focus == .init(source: 13, isAlone: true) })
        }

        @Test func aSourceThatIsLostIsDimAndSaysSo() throws {
            let window = try open()
            window.show((0..<4).map { (source: $0 + 10, picture: picture($0)) })
            _ = window.readBack()
            var sources = (0..<4).map { WindowSource(id: $0 + 10, name: "Host \($0 + 1)") }
            sources[1].state = "Lost since 15:04:20"
            sources[1].isFault = true
            sources[2].warning = "not encrypted"
            sources[3].news = "The battery is at 9 %."
            window.setSources(sources)
            let shown = try #require(window.readBack())
            WindowTests.keep(shown, as: "grid-lost")
            let tile = window.grid.layout(window.gridSetting).tiles[1].picture
            let corner = shown.rgb(tile.x + 8, tile.y + 8)
            #expect(corner.allSatisfy { abs($0 - Int(Double(grey(1)) * (1 - Theme.dimming))) <= 3 }, "\(corner)")
            let other = middle(window, 0)
            #expect(shown.rgb(other.x, other.y).allSatisfy { abs($0 - grey(0)) <= 2 })
            // Its picture is back.
            sources[1].state = nil
            sources[1].isFault = false
            window.setSources(sources)
            window.redrawIfNeeded()
            #expect(try shows(window, 1, at: middle(window, 1)))
        }

        @Test func sourcesComeAndGo() throws {
            let window = try open(1)
            #expect(window.show([(source: 10, picture: picture(0))]) == [10])
            WindowTests.settle(window)
            #expect(try shows(window, 0, at: (640, 360)))
            window.setSources([10, 11].map { WindowSource(id: $0, name: "\($0)") })
            window.show([(source: 11, picture: picture(1))])
            #expect(try shows(window, 0, at: middle(window, 0)))
            #expect(try shows(window, 1, at: middle(window, 1)))
            window.setSources([WindowSource(id: 11, name: "11")])
            window.redrawIfNeeded()
            #expect(try shows(window, 1, at: (640, 360)))
            // Pictures of a source that has gone are ignored.
            #expect(window.show([(source: 10, picture: picture(3))]).isEmpty)
            #expect(try shows(window, 1, at: (640, 360)))
        }

        @Test func theShownSizesAreThoseOfTheTiles() throws {
            let window = try open()
            window.show((0..<4).map { (source: $0 + 10, picture: picture($0)) })
            let sizes = window.shownSizes
            #expect(Set(sizes.keys) == [10, 11, 12, 13])
            #expect(sizes.values.allSatisfy { (560...640).contains($0.width) && (300...360).contains($0.height) })
            let version = window.layoutVersion
            try TestDisplay.shared.get().xdotool("mousemove", "5", "5", "key", "2")
            #expect(WindowTests.wait(window) { _ in window.focus.isAlone })
            #expect(window.layoutVersion != version)
            #expect(window.shownSizes[11] == PixelSize(width: 1280, height: 720))
            #expect(window.shownSizes[10] == sizes[10])
        }

        @Test func captionsBelongToTheSourceInFocus() throws {
            let display = try TestDisplay.shared.get()
            let window = try open()
            window.show((0..<4).map { (source: $0 + 10, picture: picture($0)) })
            _ = window.readBack()
            let before = try #require(window.readBack())
            window.setCaptions([WindowCaption(text: "A caption in the first tile")])
            let after = try #require(window.readBack())
            let tiles = window.grid.layout(window.gridSetting).tiles
            func changes(in rect: PixelRect) -> Bool {
                stride(from: rect.y, to: rect.maxY, by: 2).contains { y in
                    stride(from: rect.x, to: rect.maxX, by: 2).contains { before.rgb($0, y) != after.rgb($0, y) }
                }
            }
            #expect(changes(in: tiles[0].picture))
            for tile in tiles[1...] { #expect(!changes(in: tile.cell)) }
            #expect(display.differences(from: after, at: (0, 0), step: 3) == 0)
        }

        @Test func aNoteIsNotSentToAnotherSource() throws {
            let display = try TestDisplay.shared.get()
            let window = try open()
            window.allowsNotes = true
            try display.xdotool("mousemove", "5", "5", "key", "n")
            #expect(WindowTests.wait(window) { _ in window.panels.showsNote })
            let click = middle(window, 2)
            try display.xdotool("mousemove", "\(click.x)", "\(click.y)", "click", "1")
            WindowTests.settle(window)
            #expect(window.focus == .init(source: 10, isAlone: false), "the note's line is open")
            window.setSources([11, 12].map { WindowSource(id: $0, name: "\($0)") })
            #expect(!window.panels.showsNote)
        }

        @Test("What a grid looks like", arguments: [(3, 1.0), (8, 1.0), (16, 1.0), (16, 2.0)])
        func looks(count: Int, scale: Double) throws {
            let window = try open(count)
            window.scale = scale
            window.show(
                (0..<count).map { (source: $0 + 10, picture: TestPictures.bars(Self.size)) }.filter {
                    $0.source != 12
                })
            var sources = (0..<count).map { WindowSource(id: $0 + 10, name: "A host with a long name, \($0 + 1)") }
            sources[2].state = "Connecting…"
            sources[2].detail = "Nobody shares there (connection refused)."
            window.setSources(sources)
            let shown = try #require(window.readBack())
            WindowTests.keep(shown, as: "grid-\(count)-at-\(scale)")
            #expect(try TestDisplay.shared.get().differences(from: shown, at: (0, 0), step: 7) == 0)
        }
    }
}
