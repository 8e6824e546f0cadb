import BeamMedia
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// Captions over a real window's picture.
    @Suite(.serialized) @MainActor struct Captions {
        nonisolated static let renderers = [RendererChoice.software, .opengl]
        static let said = WindowCaption(text: "A caption that was said some time ago, and is final.", name: "Ada")
        static let being = WindowCaption(text: "and one that is being said", isPartial: true)
        static let written = WindowCaption(text: "Could you show that again?", name: "Büro", isNote: true)

        @Test("Captions are drawn, hidden and shown by c, and removed", arguments: renderers)
        func hiding(renderer: RendererChoice) throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open(renderer)
            window.show(TestPictures.plain(PixelSize(width: 960, height: 540), y: 235))
            WindowTests.settle(window)
            let bare = try #require(window.readBack())
            window.setCaptions([Self.said, Self.written, Self.being])
            let shown = try #require(window.readBack())
            #expect(shown.differingPixels(from: bare) > 10_000)
            // Nothing of them is in the upper half.
            #expect((0..<270).allSatisfy { shown.rgb(480, $0) == bare.rgb(480, $0) })
            if Tool.exists("xdotool") {
                try display.xdotool("mousemove", "640", "360")
                try display.xdotool("key", "c")
                #expect(WindowTests.wait(window) { $0.contains(.captions(isShown: false)) })
                let told = try #require(window.readBack())
                #expect(told.differingPixels(from: bare) > 500, "a notice says what the key has done")
                #expect((270..<540).allSatisfy { told.rgb(480, $0) == bare.rgb(480, $0) })
                WindowTests.keep(window, as: "captions-off-\(renderer.rawValue)")
                window.setNotice(nil)
                #expect(window.readBack()?.differingPixels(from: bare) == 0)
                // A change while they are hidden draws nothing.
                window.setCaptions([Self.said])
                #expect(window.readBack()?.differingPixels(from: bare) == 0)
                window.setCaptions([Self.said, Self.written, Self.being])
                try display.xdotool("key", "c")
                #expect(WindowTests.wait(window) { $0.contains(.captions(isShown: true)) })
                #expect((window.readBack()?.differingPixels(from: shown) ?? 0) > 500)
                window.setNotice(nil)
                #expect(window.readBack()?.differingPixels(from: shown) == 0)
                // It goes by itself, and is seen beside the transcript and over one that covers the window.
                window.setTranscript(heading: .complete)
                window.showsTranscript = true
                let open = try #require(window.readBack())
                try display.xdotool("key", "c")
                #expect(WindowTests.wait(window) { $0.contains(.captions(isShown: false)) })
                WindowTests.keep(window, as: "captions-off-transcript-\(renderer.rawValue)")
                window.showsCaptions = true
                #expect((window.readBack()?.differingPixels(from: open) ?? 0) > 500)
                #expect(
                    WindowTests.wait(window) { _ in window.readBack()?.differingPixels(from: open) == 0 },
                    "the notice stays")
                window.showsTranscript = false
            }
            window.setCaptions([])
            #expect(window.readBack()?.differingPixels(from: bare) == 0)
            window.showsCaptions = false
            window.setCaptions([Self.said])
            #expect(window.readBack()?.differingPixels(from: bare) == 0)
        }

        @Test("A partial caption is less bright than a final one")
        func partial() throws {
            let window = try WindowTests.open()
            window.show(TestPictures.plain(PixelSize(width: 640, height: 360), y: 16))
            func brightest(_ isPartial: Bool) throws -> Int {
                window.setCaptions([WindowCaption(text: "HHHH MMMM", isPartial: isPartial)])
                let shown = try #require(window.readBack())
                return (180..<360).flatMap { y in (0..<640).map { shown.rgb($0, y)[1] } }.max() ?? 0
            }
            let (partial, final) = (try brightest(true), try brightest(false))
            #expect(final > 220)
            #expect((150..<200).contains(partial))
        }

        nonisolated static let sizes = [(1280, 720), (640, 360), (1920, 1080), (501, 301)].map {
            PixelSize(width: $0.0, height: $0.1)
        }

        @Test("Parts drawn beside and under captions give the same as everything drawn", arguments: sizes)
        func damage(size: PixelSize) throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open(fullscreen: true)
            var picture = TestPictures.noise(.i420, size, seed: 3)
            window.show(picture)
            window.setCaptions([Self.said])
            WindowTests.settle(window)
            let (width, height) = (size.width, size.height)
            let rects = [
                PixelRect(x: 10, y: 10, width: 40, height: 30),
                // Partly under the captions, and overlapping each other.
                PixelRect(x: width / 3 & ~1, y: (height - 60) & ~1, width: 100, height: 60),
                PixelRect(x: (width / 3 + 50) & ~1, y: (height - 40) & ~1, width: 100, height: 40),
            ]
            let other = TestPictures.noise(.i420, size, seed: 4)
            let captions = [[Self.said, Self.being], [Self.written], [], [Self.said, Self.written]]
            for (index, captions) in captions.enumerated() {
                let source = index % 2 == 0 ? other : TestPictures.noise(.i420, size, seed: 5)
                picture = changed(picture, in: rects, to: source)
                // Caption and picture change at once, and one after the other.
                window.setCaptions(captions)
                if index > 1 { window.redrawIfNeeded() }
                window.show(picture)
                let parts = try #require(window.readBack())
                #expect(display.differences(from: parts, at: (0, 0), step: 7) == 0)
                window.setMessage(WindowMessage(headline: "Wait"))
                window.redrawIfNeeded()
                window.setMessage(nil)
                let whole = try #require(window.readBack())
                #expect(parts.differingPixels(from: whole) == 0, "\(size), \(captions.count) captions")
            }
        }

        private func changed(_ old: Picture, in rects: [PixelRect], to other: Picture) -> Picture {
            let size = old.size
            let buffer = PixelBuffer(format: .i420, size: size)
            var picture = Picture(buffer: buffer, colour: old.colour, time: .zero, number: old.number + 1)
            picture.damage = DamageRegion()
            for rect in rects { picture.damage.insert(rect.intersection(PixelRect(size))) }
            for (index, plane) in buffer.planes.enumerated() {
                let rows = PixelFormat.i420.plane(index, of: size)
                for y in 0..<rows.rows {
                    (plane.base + y * plane.stride).copyMemory(
                        from: old.buffer.planes[index].base + y * old.buffer.planes[index].stride,
                        byteCount: rows.rowBytes)
                }
                for rect in picture.damage.rects {
                    let part = index > 0 ? rect.halved : rect
                    for y in part.y..<min(part.maxY, rows.rows) {
                        for x in part.x..<min(part.maxX, rows.rowBytes) {
                            plane[x, y] = other.buffer.planes[index][x, y]
                        }
                    }
                }
            }
            return picture
        }

        @Test("Captions are legible over any picture, in any script, at 1× and 2×", arguments: renderers)
        func scripts(renderer: RendererChoice) throws {
            let size = PixelSize(width: 1280, height: 720)
            let captions: [(String, [WindowCaption])] = [
                ("latin", [Self.said, Self.written, Self.being]),
                (
                    "arabic",
                    [
                        WindowCaption(text: "مرحبا بكم في الدرس الأول من Swift 6", name: "Ada"),
                        WindowCaption(text: "اليوم نتحدث عن ...", isPartial: true),
                    ]
                ),
                ("hebrew", [WindowCaption(text: "שלום לכולם, היום נדבר על BeamRoom", name: "דנה", isNote: true)]),
                ("chinese", [WindowCaption(text: "大家好，今天我们讲解屏幕共享的原理，请看这里。", name: "王老师")]),
                ("japanese", [WindowCaption(text: "こんにちは。今日は画面共有について説明します。", isPartial: true)]),
            ]
            let display = try TestDisplay(width: 1280, height: 720)
            for dpi in [96, 192] {
                display.setResources("Xft.dpi: \(dpi)\n")
                let window = try VideoWindow(
                    WindowOptions(isFullscreen: true, renderer: renderer, display: display.name))
                let pictures = [
                    ("white", TestPictures.plain(size, y: 235)), ("black", TestPictures.plain(size, y: 16)),
                    ("busy", TestPictures.noise(.i420, size)),
                ]
                for (ground, picture) in pictures {
                    window.show(picture)
                    window.setCaptions([])
                    let bare = try #require(window.readBack())
                    for (script, captions) in captions {
                        window.setCaptions(captions)
                        let shown = try #require(window.readBack())
                        // Over black only letters differ much.
                        #expect(shown.differingPixels(from: bare) > 1000, "\(script) on \(ground)")
                        WindowTests.keep(window, as: "caption-\(script)-\(ground)-\(dpi)-\(renderer.rawValue)")
                    }
                }
            }
        }
    }
}
