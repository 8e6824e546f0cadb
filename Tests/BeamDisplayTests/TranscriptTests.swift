import BeamMedia
import CPango
import Testing

@testable import BeamDisplay

private func lines(_ numbers: Range<Int>) -> [TranscriptLine] {
    numbers.map { number in
        TranscriptLine(
            kind: number % 10 == 7 ? .alert : number % 5 == 3 ? .note : .caption, author: "desk",
            speaker: number % 2 == 0 ? "Ada" : nil, text: "Line \(number) of what was said",
            time: .seconds(number * 2))
    }
}

/// What is visible of a transcript. No display needed.
@Suite @MainActor struct TranscriptViewTests {
    private let area = PixelRect(x: 0, y: 0, width: 1280, height: 720)

    /// The panel's pixels below its head, to compare.
    private func pixels(_ view: TranscriptView) -> [UInt8] {
        let bitmap = view.layer(in: area, scale: 1).bitmap
        return (80..<bitmap.size.height - 40).flatMap { y in
            Array(UnsafeRawBufferPointer(start: bitmap.base + y * bitmap.stride, count: (bitmap.size.width - 20) * 4))
        }
    }

    @Test("It opens at the beginning; at its end it follows, elsewhere it stays")
    func following() {
        let view = TranscriptView()
        view.transcript.setHeading(.complete)
        view.transcript.append(lines(0..<200))
        let beginning = pixels(view)
        #expect(!view.isAtEnd)
        view.transcript.append(lines(200..<300))
        #expect(pixels(view) == beginning)
        view.scroll(.toEnd)
        let end = pixels(view)
        #expect(view.isAtEnd)
        #expect(end != beginning)
        view.transcript.append(lines(300..<301))
        let followed = pixels(view)
        #expect(followed != end && view.isAtEnd)
        view.scroll(.lines(-3))
        let back = pixels(view)
        #expect(back != followed && !view.isAtEnd)
        view.transcript.append(lines(301..<400))
        #expect(pixels(view) == back)
        // A page on and a page back.
        view.scroll(.pages(-1))
        #expect(pixels(view) != back)
        view.scroll(.pages(1))
        #expect(pixels(view) == back)
        // Many times towards each end.
        for _ in 0..<60 { view.scroll(.pages(-1)) }
        #expect(pixels(view) == beginning)
        for _ in 0..<60 { view.scroll(.pages(1)) }
        _ = pixels(view)
        #expect(view.isAtEnd)
        view.scroll(.toBeginning)
        #expect(pixels(view) == beginning)
        view.clear()
        _ = pixels(view)
        #expect(view.isAtEnd)
        #expect(view.transcript.heading == .nothingYet)
    }

    @Test("A transcript that has room is shown from its beginning, and follows when it has none any more")
    func short() {
        let view = TranscriptView()
        let empty = pixels(view)
        view.transcript.append(lines(0..<2))
        #expect(pixels(view) != empty)
        #expect(view.isAtEnd)
        // Nobody has said that these are all.
        #expect(view.transcript.heading == .since(.zero))
        view.transcript.append(lines(2..<500))
        _ = pixels(view)
        #expect(view.isAtEnd)
    }

    @Test("100,000 lines are added, scrolled and bounded without laying them out", .timeLimit(.minutes(1)))
    func many() throws {
        let view = TranscriptView()
        view.transcript.setHeading(.complete)
        for start in stride(from: 0, to: 100_000, by: 1000) { view.transcript.append(lines(start..<start + 1000)) }
        #expect(view.transcript.heading == .complete)
        let clock = ContinuousClock()
        let took = clock.measure {
            for scroll in [TranscriptView.Scroll.toEnd, .pages(-1), .toBeginning, .pages(1), .toEnd] {
                view.scroll(scroll)
                _ = view.layer(in: area, scale: 1)
            }
            // One by one, with a drawing after each.
            for number in 100_000..<100_050 {
                view.transcript.append(lines(number..<number + 1))
                _ = view.layer(in: area, scale: 1)
            }
        }
        // Laying out 100,000 lines takes minutes in a test; this takes a second.
        #expect(took < .seconds(20))
        #expect(view.isAtEnd)
        // Beyond the bound the oldest go, and the heading says so.
        for start in stride(from: 100_050, to: 111_050, by: 1000) {
            view.transcript.append(lines(start..<start + 1000))
        }
        #expect(view.transcript.numbers.count <= Transcript.mostLines * 11 / 10)
        let oldest = view.transcript.first
        #expect(oldest > 0)
        #expect(view.transcript.heading == .since(.seconds(oldest * 2)))
        view.scroll(.toBeginning)
        _ = view.layer(in: area, scale: 1)
        #expect(!view.isAtEnd)
    }

    @Test("Long texts are bounded in memory and in what is shown")
    func bounded() {
        var transcript = Transcript()
        let text = String(repeating: "x", count: 65_536)
        let line = TranscriptLine(kind: .caption, author: text, speaker: text, text: text, time: .zero)
        transcript.append([line])
        #expect(transcript[0].line.text.utf8.count == Transcript.longestText)
        #expect(transcript[0].hidden == 65_536 - Transcript.longestText)
        #expect(transcript[0].line.author.utf8.count == 512)
        for _ in 0..<300 { transcript.append(Array(repeating: line, count: 100)) }
        #expect(transcript.first > 0)
        #expect(transcript.numbers.count * 3000 <= Transcript.mostBytes)
    }

    @Test("The hint counts what isn't whole above the lower edge, in words that fit")
    func below() throws {
        let all = Array(lines(0..<40))
        for (height, count) in (300..<340).map({ ($0, 20) }) + [(700, 40), (301, 3)] {
            let view = TranscriptView()
            view.transcript.append(Array(all[..<count]))
            view.scroll(.toBeginning)
            let size = PixelRect(x: 0, y: 0, width: 1280, height: height)
            let layer = view.layer(in: size, scale: 1)
            let frame = TranscriptFrame(view.transcript, size: layer.bitmap.size, scale: 1)
            var (y, hidden) = (0.0, 0)
            for number in 0..<count {
                let row = TranscriptRow(view.transcript[number], width: frame.body.width, scale: 1)
                if y + row.textHeight > frame.body.height { hidden += 1 }
                y += row.height
            }
            #expect(view.below == hidden, "\(height)")
            #expect(view.isAtEnd == (y <= frame.body.height))
            #expect(view.isAtEnd || hidden > 0 || y - frame.body.height <= 5)
        }
        #expect(TranscriptFrame.hints(below: 4).last == "4 more below: End goes there")
        #expect(TranscriptFrame.hints(below: 4).first == "4 more below: End goes there · ↑ ↓ scroll · t closes")
        #expect(TranscriptFrame.hints(below: 1234)[2].hasPrefix("1,234 more below"))
        #expect(TranscriptFrame.hints(below: nil) == ["↑ ↓ scroll · t closes"])
    }

    @Test func times() {
        #expect(TranscriptRow.words(.zero) == "0:00:00")
        #expect(TranscriptRow.words(.milliseconds(3_723_999)) == "1:02:03")
        #expect(TranscriptRow.words(.seconds(-5)) == "0:00:00")
        #expect(TranscriptRow.words(.seconds(360_000)) == "100:00:00")
        #expect(TranscriptRow.grouped(7) == "7")
        #expect(TranscriptRow.grouped(65_536) == "65,536")
    }

    @Test("A small window is covered, a large one has the picture beside it", arguments: PanelFitTests.canvases)
    func rect(canvas: PixelSize) throws {
        let panels = PanelStack()
        panels.transcript.transcript.append(lines(0..<100))
        panels.showsTranscript = true
        panels.captions = CaptionPanel.prepared([WindowCaption(text: "What is being said now")])
        panels.badge = WarningBadge(WindowWarning(words: "Not encrypted: anyone on this network can see this picture"))
        for scale in [1.0, 2] {
            let layers = panels.layers(PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: true))
            PanelFitTests.keep(layers, canvas, as: "transcript-\(canvas)-\(scale)")
            let rect = try #require(panels.transcriptRect)
            #expect(PixelRect(canvas).contains(rect))
            #expect(rect.maxX == canvas.width && rect.height == canvas.height)
            if canvas.width >= 1280 { #expect(rect.width * 2 <= canvas.width) }
            #expect(layers.allSatisfy { PixelRect(canvas).contains($0.rect) })
            // The warning stays, over the transcript if need be.
            #expect(layers.count == (rect.width == canvas.width ? 2 : 3) || canvas.width < 640, "\(canvas) \(scale)")
        }
    }
}

extension WindowTests {
    /// The transcript in a real window, with real keys.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor
    struct Transcripts {
        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            try display.xdotool("mousemove", "640", "360")
        }

        @Test(
            "t opens and closes it, keys and wheel scroll, Escape closes it before it leaves fullscreen",
            arguments: [RendererChoice.software, .opengl])
        func keys(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer, fullscreen: true)
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            window.setTranscript(heading: .complete)
            window.appendTranscript(lines(0..<300))
            let odd = "عُدنا إلى الدرس، 12 دقيقة\u{202e}\n屏幕共享的原理 " + String(repeating: "und noch mehr ", count: 300)
            window.appendTranscript([
                TranscriptLine(kind: .note, author: "Büro", text: odd, time: .seconds(3725))
            ])
            WindowTests.settle(window)
            let bare = try #require(window.readBack())
            try display.xdotool("key", "t")
            #expect(WindowTests.wait(window) { $0.contains(.transcript(isShown: true)) })
            #expect(window.showsTranscript)
            WindowTests.keep(window, as: "transcript-\(renderer.rawValue)")
            var last = try #require(window.readBack())
            #expect(last.differingPixels(from: bare) > 100_000)
            // The picture is still there beside it.
            #expect((0..<720).allSatisfy { last.rgb(300, $0) == bare.rgb(300, $0) })
            for key in ["Down", "Next", "End", "Up", "Prior", "Home"] {
                try display.xdotool("key", key)
                #expect(WindowTests.wait(window) { _ in (window.readBack()?.differingPixels(from: last) ?? 0) > 500 })
                WindowTests.settle(window)
                WindowTests.keep(window, as: "transcript-\(key)-\(renderer.rawValue)")
                last = try #require(window.readBack())
            }
            try display.xdotool("click", "5")
            #expect(WindowTests.wait(window) { _ in (window.readBack()?.differingPixels(from: last) ?? 0) > 500 })
            try display.xdotool("key", "Escape")
            #expect(WindowTests.wait(window) { $0.contains(.transcript(isShown: false)) })
            #expect(window.isFullscreen)
            #expect(window.readBack()?.differingPixels(from: bare) == 0)
            try display.xdotool("key", "t", "t")
            #expect(WindowTests.wait(window) { $0.contains(.transcript(isShown: false)) })
        }
    }
}
