import BeamMedia
import Testing

@testable import BeamDisplay

/// Captions in the layout of panels. No display needed.
@Suite @MainActor struct CaptionFitTests {
    private static let long = String(repeating: "words that go on and on, ", count: 2590)
    private static let captions = CaptionPanel.prepared([
        WindowCaption(text: "Earlier."), WindowCaption(text: long, name: "Ada"),
        WindowCaption(text: "Could you show that again?", name: "Büro", isNote: true),
    ])

    private func setting(_ canvas: PixelSize, _ scale: Double) -> PanelStack.Setting {
        PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: true)
    }

    @Test("Captions, notice, warning, statistics, message and note overlap nothing", arguments: PanelFitTests.canvases)
    func apart(canvas: PixelSize) throws {
        let panels = PanelStack()
        panels.captions = Self.captions
        for scale in [1.0, 2] {
            let alone = panels.layers(setting(canvas, scale))
            let captions = try #require(alone.first)
            #expect(alone.count == 1)
            #expect(PixelRect(canvas).contains(captions.rect), "\(captions.rect)")
            #expect(captions.rect.height * 2 <= canvas.height || canvas.height < 100)
            for contents in 1..<32 {
                func has(_ bit: Int) -> Bool { contents & 1 << bit != 0 }
                panels.badge = has(0) ? WarningBadge(WindowWarning(words: "Not encrypted: anyone can see this")) : nil
                panels.notice =
                    has(1) ? Notice(WindowNotice(text: "desk's screen is locked"), now: .zero) : nil
                panels.message = has(2) ? WindowMessage(headline: "No picture for 3 s") : nil
                panels.statistics = ["Rate\t60.0 frames/s", "Lost\t0 of 123456 datagrams"]
                panels.showsStatistics = has(3)
                panels.showsNote = has(4)
                let layers = panels.layers(setting(canvas, scale))
                if [8, 11, 16, 31].contains(contents) {
                    PanelFitTests.keep(layers, canvas, as: "captions-\(canvas)-\(scale)-\(contents)")
                }
                #expect(layers.allSatisfy { PixelRect(canvas).contains($0.rect) }, "\(layers.map(\.rect))")
                guard canvas.width >= 640, canvas.height >= 360 else { continue }
                // In a window of this size there is room for all of them, but the notice may cover the statistics.
                #expect(layers.count == 1 + contents.nonzeroBitCount, "\(canvas), \(contents)")
                for (index, layer) in layers.enumerated() {
                    for other in layers[..<index] where !(has(1) && has(3)) {
                        #expect(layer.rect.intersection(other.rect).isEmpty, "\(canvas) \(contents)")
                    }
                }
            }
            panels.badge = nil
            panels.notice = nil
            panels.message = nil
            panels.showsStatistics = false
            panels.showsNote = false
        }
    }

    @Test("Two alerts at once are read in whole in a narrow window", arguments: [1.0, 2])
    func notices(scale: Double) throws {
        let panels = PanelStack()
        func height(_ text: String) throws -> Int {
            panels.notice = Notice(WindowNotice(text: text), now: .zero)
            let canvas = PixelSize(width: Int(360 * scale), height: Int(240 * scale))
            let layer = try #require(panels.layers(setting(canvas, scale)).first)
            #expect(PixelRect(canvas).contains(layer.rect) && layer.rect.height * 2 <= canvas.height)
            return layer.rect.height
        }
        let alerts = """
            The screen of “Büro von Frau Dr. Müller-Lüdens…” is locked. The battery of “Büro von Frau Dr. \
            Müller-Lüdens…” is at 14 % and isn't charging.
            """
        let (one, two) = (try height("locked"), try height(String(alerts.prefix(60))))
        let all = try height(alerts)
        #expect(one < two && two < all, "it isn't cut to two lines")
        // Much more is cut, and less high than a third.
        #expect(try height(String(repeating: alerts + " ", count: 9)) >= all)
    }

    @Test("Statistics leave out lines where a message is, and break long ones", arguments: [1.0, 2])
    func statistics(scale: Double) throws {
        let panels = PanelStack()
        panels.showsStatistics = true
        panels.statistics = (1...9).map { "Label \($0)\t\($0) missed, 0 retransmitted, 0 by parity, 0 keyframes" }
        let canvas = PixelSize(width: Int(360 * scale), height: Int(240 * scale))
        let alone = try #require(panels.layers(setting(canvas, scale)).first)
        #expect(PixelRect(canvas).contains(alone.rect))
        panels.message = WindowMessage(headline: "“desk” has paused", detail: "The last picture stays.")
        let both = panels.layers(setting(canvas, scale))
        #expect(both.count == 2 && both[0].rect.intersection(both[1].rect).isEmpty, "\(both.map(\.rect))")
        #expect(both[0].rect.height < alone.rect.height)
        // A larger message leaves less room for them.
        panels.message?.detail = String(repeating: "It is minimised at the host, or on another workspace. ", count: 9)
        panels.message?.headline = String(repeating: "The shared window is hidden ", count: 9)
        let large = panels.layers(setting(canvas, scale))
        #expect(large.count == 1 || large[0].rect.intersection(large[1].rect).isEmpty, "\(large.map(\.rect))")
        #expect(large.count == 1 || large[0].rect.height < both[0].rect.height)
        panels.message = nil
        #expect(try #require(panels.layers(setting(canvas, scale)).first).rect == alone.rect)
    }

    @Test("What doesn't change isn't laid out again")
    func kept() throws {
        let panels = PanelStack()
        panels.captions = Self.captions
        let setting = setting(PixelSize(width: 1280, height: 720), 1)
        let first = try #require(panels.layers(setting).first)
        #expect(try #require(panels.layers(setting).first).bitmap === first.bitmap)
        panels.captions.removeLast()
        #expect(try #require(panels.layers(setting).first).bitmap !== first.bitmap)
    }

    @Test("A caption of 64 KiB shows its end, in three lines")
    func end() throws {
        let area = PixelRect(x: 0, y: 0, width: 1280, height: 720)
        let prepared = CaptionPanel.prepared([WindowCaption(text: Self.long + "and this is the end")])
        let text = try #require(prepared.first?.text)
        #expect(text.hasSuffix("and this is the end"))
        #expect(text.utf8.count <= CaptionPanel.longestText * 5 / 4 + 4)
        func height(_ captions: [WindowCaption]) throws -> Int {
            try #require(CaptionPanel.layer(captions, in: area, scale: 1, avoiding: [])).rect.height
        }
        let one = try height([WindowCaption(text: "one")])
        #expect(try height(prepared) < one * 3)
        #expect(try height(prepared) > one * 2)
        // While a text grows, its beginning stays for a while, so that lines aren't broken anew with each letter.
        let grown = CaptionPanel.prepared([WindowCaption(text: Self.long + "and this is the end, almost")])
        #expect(grown.first?.text.hasPrefix(text) == true)
    }

    @Test("A long note shows its beginning, with the name, in three lines")
    func noteBeginning() throws {
        let area = PixelRect(x: 0, y: 0, width: 640, height: 480)
        func layer(_ text: String, isNote: Bool) throws -> Layer {
            let captions = CaptionPanel.prepared([WindowCaption(text: text, name: "Ada", isNote: isNote)])
            return try #require(CaptionPanel.layer(captions, in: area, scale: 1, avoiding: []))
        }
        func pixels(_ text: String, isNote: Bool = true) throws -> [UInt8] {
            let bitmap = try layer(text, isNote: isNote).bitmap
            return Array(UnsafeRawBufferPointer(start: bitmap.base, count: bitmap.stride * bitmap.size.height))
        }
        let begin = "A note that begins like this, and then goes on for more than three lines: "
        let (more, other) = (String(repeating: "and more ", count: 60), String(repeating: "and more ", count: 90))
        let isBeginning = try pixels(begin + more) == pixels(begin + other + "and ends otherwise")
        let isOther = try pixels(begin + more) != pixels("B" + begin + more)
        #expect(isBeginning && isOther)
        let isCaptionsEnd = try pixels(begin + more, isNote: false) != pixels(begin + other + "end", isNote: false)
        #expect(isCaptionsEnd)
        let three = try layer("one\ntwo\nthree", isNote: false).rect.height
        #expect(try layer(begin + more, isNote: true).rect.height == three)
        #expect(try layer("one\ntwo\nthree\nfour", isNote: true).rect.height < three, "it is one paragraph")
        #expect(try layer(begin.replacing(" ", with: "\n") + more, isNote: true).rect.height == three)
    }

    private func pixels(_ captions: [WindowCaption], in area: PixelRect) throws -> [UInt8] {
        let layer = try #require(
            CaptionPanel.layer(CaptionPanel.prepared(captions), in: area, scale: 1, avoiding: []))
        PanelFitTests.keep([layer], PixelSize(width: area.maxX, height: area.maxY), as: "name-\(captions.count)")
        let bitmap = layer.bitmap
        return Array(UnsafeRawBufferPointer(start: bitmap.base, count: bitmap.stride * bitmap.size.height))
    }

    private nonisolated static let longTexts = [
        String(repeating: "words that go on and on, ", count: 80) + "to the end",
        String(repeating: "מילים שנמשכות עוד ועוד, ", count: 60), String(repeating: "屏幕共享的原理", count: 60),
        String(repeating: "x", count: 900), "one\ntwo\nthree\nfour\nfive",
    ]

    @Test("A long caption or note says whose it is, in each number of lines", arguments: longTexts)
    func longNames(text: String) throws {
        for (width, height) in [(640, 480), (1280, 720), (320, 240)] {
            let area = PixelRect(x: 0, y: 0, width: width, height: height)
            // Lines that come after it leave three, two and one for it.
            for (lines, isNote) in [0, 1, 2].flatMap({ [($0, false), ($0, true)] }) {
                let later = (0..<lines).map { WindowCaption(text: "Line \($0)") }
                func captions(_ name: String?, _ text: String) -> [WindowCaption] {
                    [WindowCaption(text: text, name: name, isNote: isNote)] + later
                }
                let ada = try pixels(captions("Ada", text), in: area)
                #expect(try pixels(captions("Bob", text), in: area) != ada, "\(width), \(lines) later, \(isNote)")
                // The end of a caption is what has been said just now.
                let isEnd = try pixels(captions("Ada", "other " + text), in: area) != ada
                let isOtherEnd = try pixels(captions("Ada", text + " end"), in: area) != ada
                #expect(isNote ? isEnd : isOtherEnd)
                let layer = try #require(
                    CaptionPanel.layer(
                        CaptionPanel.prepared(captions("Ada", text)), in: area, scale: 1, avoiding: []))
                let three = try #require(
                    CaptionPanel.layer(
                        CaptionPanel.prepared([WindowCaption(text: "a\nb\nc")]), in: area, scale: 1, avoiding: []))
                // Its lines are used, also by one alone.
                let column = min(Double(width) - 48, 34 * Theme.Font.caption.size)
                if text.utf8.count > 100 { #expect(Double(layer.rect.width) * 2 > column, "\(width), \(lines) later") }
                // Parts are 3 pixels apart.
                #expect(layer.rect.height <= three.rect.height + 12 && area.contains(layer.rect))
            }
        }
    }

    @Test("A word that is too long for a line gets no hyphen")
    func hyphens() {
        func width(_ text: String) -> Double {
            let rich = RichText(
                name: nil, RichText.Style(colour: Theme.text), text: text, RichText.Style(colour: Theme.text),
                .caption, scale: 1, maxWidth: 300)
            return rich.lines.map { $0.right - $0.left }.max() ?? 0
        }
        let word = String(repeating: "i", count: 200)
        let block = TextBlock(word, .caption, scale: 1, maxWidth: 300, maxLines: 9)
        // As full as a line can be: a hyphen is wider than this letter.
        let letter = TextBlock(String(repeating: "i", count: 20), .caption, scale: 1, maxWidth: 300).width / 20
        #expect(width(word) > 300 - letter * 1.5 && width(word) <= 300)
        #expect(block.width > 300 - letter * 1.5)
        let first = TextBlock(
            String(word.prefix(Int(width(word) / letter + 0.5))), .caption, scale: 1, maxWidth: .infinity)
        #expect(abs(first.width - width(word)) < letter, "\(first.width), \(width(word)): only letters are drawn")
    }

    @Test("The text's script decides where it begins, not the name's")
    func direction() throws {
        let area = PixelRect(x: 0, y: 0, width: 1280, height: 720)
        func middle(_ text: String) throws -> Int {
            let layer = try #require(
                CaptionPanel.layer(
                    CaptionPanel.prepared([WindowCaption(text: text, name: "Ada")]), in: area, scale: 1, avoiding: []))
            return layer.x + layer.rect.width / 2
        }
        #expect(try middle("Hello") < 500)
        #expect(try middle("שלום") > 780)
        #expect(try middle("«مرحبا» Ada") > 780)
        #expect(try middle("12 你好") < 500)
    }

    @Test("Of the lines that aren't shown, nothing is drawn: no dots below letters either")
    func hiddenLines() {
        func pixels(_ text: String, _ lines: Range<Int>) -> [UInt8] {
            let rich = RichText(
                name: nil, RichText.Style(colour: Theme.text), text: text, RichText.Style(colour: Theme.text),
                .caption, scale: 2, maxWidth: 800)
            let bitmap = Bitmap(PixelSize(width: 800, height: 160)) { rich.draw(lines, on: $0, x: 0, y: 20) }
            return Array(UnsafeRawBufferPointer(start: bitmap.base, count: bitmap.stride * bitmap.size.height))
        }
        let line = pixels("معنا", 0..<1)
        #expect(line.contains { $0 > 0 })
        // Their dots reach into the line below.
        let isAlone = pixels("في يـي في\nمعنا\nآآأأ", 1..<2) == line
        let isWhole = pixels("في يـي في\nمعنا", 0..<2) != line
        #expect(isAlone && isWhole)
    }

    private nonisolated static let hostile: [(text: String, shown: String)] = [
        ("plain", "plain"), ("a\u{202e}evil\u{202c}b", "aevilb"), ("a\u{200b}\u{200d}\u{feff}b", "ab"),
        ("\u{1b}[31mred\u{7}", "[31mred"), ("a\r\n\r\n\u{2028}b\u{85}c", "a\nb\nc"), ("\u{2066}x\u{2069}", "x"),
        ("a\u{0}b\tc", "ab c"), ("e\u{301}\u{302}\u{303}\u{304}\u{305}x", "e\u{301}\u{302}\u{303}x"),
        ("\u{300}\u{200f} \n", ""), ("\u{e000}\u{fffb}", ""), ("\u{2800}x\u{3164}", "x"), ("a  \u{3000} b", "a b"),
    ]

    @Test("Control, bidirectional and invisible characters aren't drawn", arguments: hostile)
    func cleaned(text: String, shown: String) {
        #expect(VisibleText.cleaned(text, breaks: .kept) == shown)
        #expect(VisibleText.cleaned(text) == shown.replacing("\n", with: " "))
        let captions = CaptionPanel.prepared([WindowCaption(text: text, name: text)])
        #expect(captions.first?.text ?? "" == shown)
        #expect(captions.isEmpty || captions[0].name == shown.replacing("\n", with: " "))
    }

    @Test("Joiners stay between the letters of captions, and nowhere in names")
    func joiners() {
        let text = "می\u{200C}خواهم 👩\u{200D}🚀"
        let caption = WindowCaption(text: "\u{200D}" + text + "\u{200C}\u{200C}", name: "Ada\u{200D}م\u{200C}ا")
        let captions = CaptionPanel.prepared([caption])
        #expect(captions.map { Array($0.text.unicodeScalars) } == [Array(text.unicodeScalars)])
        #expect(captions[0].name.map { Array($0.unicodeScalars) } == Array("Adaما".unicodeScalars))
        #expect(VisibleText.cleaned(text).unicodeScalars.count == text.unicodeScalars.count - 2, "as notices are")
        // Where the text is cut.
        let long = "\u{200D}" + String(repeating: "م\u{200C}", count: 1000)
        let end = CaptionPanel.prepared([WindowCaption(text: long)])[0].text.unicodeScalars
        #expect(end.first == "م" && end.last == "م" && end.contains("\u{200C}"))
    }

    @Test("Texts are cut between whole characters")
    func cuts() {
        let text = String(repeating: "屏", count: 1000)
        let (start, hidden) = VisibleText.start(of: text, bytes: 100)
        #expect(start.utf8.count == 99 && hidden == 2901)
        let end = VisibleText.end(of: text, bytes: 100)
        #expect(text.hasSuffix(end))
        #expect((100...130).contains(end.utf8.count))
        // A letter with 64 KiB of marks.
        let marks = "e" + String(repeating: "\u{301}", count: 32_000)
        #expect(VisibleText.cleaned(VisibleText.start(of: marks, bytes: 2048).text).unicodeScalars.count == 4)
        #expect(VisibleText.name(String(repeating: "n", count: 5000)).count == 40)
    }
}
