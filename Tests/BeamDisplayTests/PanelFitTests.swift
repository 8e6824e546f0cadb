import BeamMedia
import Foundation
import Testing

@testable import BeamDisplay

/// Panels stay inside the window and don't overlap. No display needed.
@Suite @MainActor struct PanelFitTests {
    nonisolated static let canvases = [
        (160, 90), (160, 120), (160, 280), (320, 180), (640, 360), (1280, 720), (720, 1280), (3840, 2160),
    ]
    .map { PixelSize(width: $0.0, height: $0.1) }

    private static let sentence = "Not encrypted: anyone on this network can see this picture"
    private static let offer = "No code at hand? Press Enter, and the person there is asked to let you in."
    private static let statistics = [
        "Picture\t1920 × 1080, OpenGL (NVIDIA GeForce RTX 3060)", "Rate\t60.0 frames/s, 7.93 Mbit/s",
        "Lost\t12 of 123456 datagrams (0.01 %), 0 frames", "Decode\t1.2 ms, 95 %: 2.0 ms",
    ]

    /// Writes layers on grey to a file if `BEAMROOM_SCREENSHOTS` is set.
    static func keep(_ layers: [Layer], _ canvas: PixelSize, as name: String) {
        let buffer = PixelBuffer(format: .bgrx, size: canvas)
        let target = PixelCanvas(base: buffer.planes[0].base, stride: buffer.planes[0].stride, size: canvas)
        target.fill(PixelRect(canvas), (90, 90, 90))
        Compositing.compose(layers, on: target)
        WindowTests.keep(buffer, as: name)
    }

    private func setting(_ canvas: PixelSize, _ scale: Double, isOverPicture: Bool) -> PanelStack.Setting {
        PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: isOverPicture)
    }

    @Test("A code prompt and a code to compare fit in any window", arguments: canvases, [1, 1.5, 3])
    func centralFits(canvas: PixelSize, scale: Double) throws {
        let panels = PanelStack()
        for isOverPicture in [false, true] {
            let setting = setting(canvas, scale, isOverPicture: isOverPicture)
            for problem in [nil, "That wasn't the code. Try again.", "Too many wrong codes: wait 8 s"] {
                panels.codeEntry = CodeEntry(
                    CodePrompt(
                        headline: "Type the six digits that “office-desk” shows", problem: problem, offer: Self.offer))
                let layer = try #require(panels.layers(setting).first)
                #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)")
                Self.keep([layer], canvas, as: "panel-\(canvas)-\(scale)-\(isOverPicture ? "over" : "bare")-code")
            }
            panels.codeEntry = nil
            panels.message = WindowMessage(
                headline: "Does “office-desk” show the same digits?", detail: "The person there lets you in.",
                code: "482913")
            let layer = try #require(panels.layers(setting).first)
            #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)")
            // The digits take much of the window, so that they can be read across a room.
            #expect(layer.rect.height * 10 > canvas.height * 4 || layer.rect.width * 10 > canvas.width * 8)
            Self.keep([layer], canvas, as: "panel-\(canvas)-\(scale)-\(isOverPicture ? "over" : "bare")")
        }
    }

    @Test("A warning stays inside the window and covers no other text", arguments: canvases, [1, 2])
    func warningIsClear(canvas: PixelSize, scale: Double) throws {
        let panels = PanelStack()
        let setting = setting(canvas, scale, isOverPicture: true)
        for short in [nil, "Not encrypted"] {
            let warning = WindowWarning(words: Self.sentence, short: short)
            panels.badge = WarningBadge(warning)
            for isFull in [true, false] {
                if !isFull {
                    panels.badge?.showInFull(now: .zero)
                    panels.badge?.shortenIfDue(now: .zero + warning.time)
                }
                panels.statistics = []
                panels.message = nil
                let alone = panels.layers(setting)
                #expect(alone.count == 1)
                #expect(PixelRect(canvas).contains(try #require(alone.first).rect))
                panels.statistics = Self.statistics
                panels.showsStatistics = true
                panels.message = WindowMessage(headline: "No picture for 3 s", detail: "Waiting for office-desk.")
                let layers = panels.layers(setting)
                Self.keep(layers, canvas, as: "panel-\(canvas)-\(scale)-\(isFull ? "words" : short ?? "sign")")
                // In a window full of text there may be no room for it.
                #expect(layers.count == 3 || canvas.width < 640)
                guard layers.count == 3 else { continue }
                #expect(layers[2].rect.intersection(layers[0].rect).isEmpty)
                #expect(layers[2].rect.intersection(layers[1].rect).isEmpty)
            }
        }
    }

    private static let warning = WindowMessage(
        headline: "“Notebook of Frau Dr. Müller-Lüdenscheid” isn't the machine you paired with",
        detail:
            "It shows another key (564f 8059 b19e 3cbc) than “Notebook of Frau Dr. Müller-Lüdenscheid”, which was at "
            + "192.0.2.7:52345 the last time. If another machine has that address now, watch with --new-host. If not, "
            + "somebody may be intercepting the connection.")

    /// What is said about security isn't cut where there is room for it, and can be read.
    @Test(arguments: [(200, 150), (240, 600), (480, 270), (640, 480), (1280, 960)], [1, 2.0])
    func longWarningsAreWhole(size: (Int, Int), scale: Double) throws {
        let canvas = PixelSize(width: Int(Double(size.0) * scale), height: Int(Double(size.1) * scale))
        for isOverPicture in [false, true] {
            let panels = PanelStack()
            panels.message = Self.warning
            let layer = try #require(panels.layers(setting(canvas, scale, isOverPicture: isOverPicture)).first)
            #expect(PixelRect(canvas).contains(layer.rect))
            // Its end is there, so another end is another picture.
            panels.message?.detail?.removeLast("connection.".count)
            panels.message?.detail? += "konnection."
            let more = try #require(panels.layers(setting(canvas, scale, isOverPicture: isOverPicture)).first)
            let isDrawn =
                more.rect != layer.rect
                || memcmp(more.bitmap.base, layer.bitmap.base, layer.bitmap.stride * layer.rect.height) != 0
            #expect(isDrawn, "the end is cut")
            PanelFitTests.keep([more], canvas, as: "warning-\(canvas)-\(scale)-\(isOverPicture)")
        }
    }

    @Test("The list of hosts, notices, notes and people fit in any window", arguments: canvases, [1, 2])
    func othersFit(canvas: PixelSize, scale: Double) throws {
        let setting = setting(canvas, scale, isOverPicture: false)
        let panels = PanelStack()
        panels.picker = Picker()
        panels.picker?.update(
            (1...6).map { PickerEntry(name: "Notebook of Frau Dr. Müller-Lüdenscheid \($0)", detail: "192.0.2.\($0)") })
        panels.notice = Notice(
            WindowNotice(text: "Escape again goes back to the list of hosts · q ends", time: nil), now: .zero)
        var layers = panels.layers(setting)
        for layer in layers { #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)") }
        PanelFitTests.keep(layers, canvas, as: "picker-\(canvas)-\(scale)")
        panels.picker = nil
        panels.isRoom = true
        panels.people = ["Anna\tyou, sharing", "Notebook of Frau Dr. Müller-Lüdenscheid\there, by another member"]
        panels.message = WindowMessage(
            headline: "The room “study”",
            detail:
                "One other person is here, and shares no screen. Press s to share yours. To let somebody in: code 484 075."
        )
        panels.hint = Notice(WindowNotice(text: WindowCommand.hints(in: .init(kind: .room)), time: nil), now: .zero)
        layers = panels.layers(setting)
        for layer in layers { #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)") }
        PanelFitTests.keep(layers, canvas, as: "room-\(canvas)-\(scale)")
    }

    @Test func linesEndWhereTheyMay() {
        #expect(VisibleText.unbroken("code 102 889, or 7 days") == "code 102\u{a0}889, or 7 days")
        #expect(VisibleText.unbroken("with --new-host if well-known") == "with --new\u{2011}host if well-known")
        #expect(VisibleText.unbroken("at “office-desk” a-b") == "at “office\u{2011}desk” a-b")
        #expect(VisibleText.unbroken("“a-b c” “d-e") == "“a-b c” “d-e")
        let long = "“a-name-of-one-word-that-is-long”"
        #expect(VisibleText.unbroken(long) == long)
        #expect(VisibleText.unbroken("a – b -- c 1 2") == "a – b -- c 1\u{a0}2")
        for width in stride(from: 60.0, to: 400, by: 20) {
            let block = TextBlock(
                "To let somebody in: code 102 889.", .detail, scale: 1, maxWidth: width, maxLines: 10,
                alignment: .centre)
            let code = TextBlock("102 889.", .detail, scale: 1, maxWidth: .infinity)
            #expect(block.width + 1 >= code.width || width < code.width, "the digits are in one line")
        }
    }

    /// The last line of a text isn't a short word alone.
    @Test(arguments: [TextBlock.Alignment.centre, .left]) func linesAreBalanced(alignment: TextBlock.Alignment) {
        let text = "The person at “desk” is asked to let you in, and both screens show digits to compare so"
        let whole = TextBlock(text, .detail, scale: 1, maxWidth: .infinity).width
        for parts in [1.02, 2.02, 3.03] {
            let room = whole / parts
            let block = TextBlock(text, .detail, scale: 1, maxWidth: room, maxLines: 8, alignment: alignment)
            #expect(!block.isCut && block.width <= room + 1)
            // As wide as the lines are on average, and not as the room.
            #expect(block.width < whole / Double(block.lines) * 1.35, "\(parts): \(block.width) of \(room)")
        }
    }

    @Test func warningTakesItsTime() {
        var badge = WarningBadge(WindowWarning(words: Self.sentence))
        // Before the first picture its time doesn't run.
        badge.shortenIfDue(now: .zero + .seconds(100))
        #expect(badge.isFull)
        badge.showInFull(now: .zero)
        badge.shortenIfDue(now: .zero + .seconds(7))
        #expect(badge.isFull)
        badge.showInFull(now: .zero + .seconds(7))
        badge.shortenIfDue(now: .zero + .seconds(14))
        #expect(badge.isFull)
        badge.shortenIfDue(now: .zero + .seconds(15))
        #expect(!badge.isFull)
        #expect(badge.deadline == nil)
        badge.showInFull(now: .zero + .seconds(20))
        #expect(badge.isFull)
    }
}

@Suite struct CodeEntryTests {
    private static let prompt = CodePrompt(headline: "Type the six digits that “desk” shows")

    private static let pastes: [(text: String, code: String?)] = [
        ("482913", "482913"), (" 482 913\n", "482913"), ("4 8 2 9 1 3", "482913"), ("482-913", "482913"),
        ("Your code: 482 913.", "482913"), ("desk 2: 482913", "482913"), ("desk 2, 482 913", "482913"),
        ("482913, I repeat: 482913", "482913"), ("٤٨٢٩١٣", "482913"), ("４８２ ９１３", "482913"),
        ("48291", nil), ("4829135", nil), ("482913 135790", nil), ("", nil), ("six digits", nil),
        ("1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣", nil), ("²²²²²²", nil), ("四八二九一三", nil), ("４8e2913", nil),
        (String(repeating: "x", count: 300) + " 482913", nil),
    ]

    @Test("Six digits are found in a text", arguments: pastes)
    func paste(text: String, code: String?) {
        var entry = CodeEntry(Self.prompt)
        #expect(entry.paste(text) == code)
        #expect(entry.digits == code ?? "")
    }

    @Test func typing() {
        var entry = CodeEntry(Self.prompt)
        entry.deleteLast()
        for character in "4x8 92" { #expect(entry.type(character) == nil) }
        entry.deleteLast()
        #expect(entry.digits == "489")
        // Typed digits stay when the prompt changes.
        entry.ask(CodePrompt(headline: "Type the six digits that “desk” shows", problem: "Look again."))
        #expect(entry.digits == "489")
        #expect(entry.type("0") == nil)
        #expect(entry.type("1") == nil)
        #expect(entry.type("3") == "489013")
    }

    @Test func aCompleteCodeIsReportedOnce() {
        var entry = CodeEntry(Self.prompt)
        #expect(entry.paste("482913") == "482913")
        func refuses() -> Bool {
            var copy = entry
            copy.deleteLast()
            return copy.type("7") == nil && copy.paste("135790") == nil && copy == entry
        }
        #expect(refuses())
        // While it is checked, it stays visible.
        var prompt = Self.prompt
        prompt.isWaiting = true
        entry.ask(prompt)
        #expect(entry.digits == "482913")
        #expect(refuses())
        // It was wrong, and there were too many attempts: it is cleared, and input is still blocked.
        prompt.problem = "Too many wrong codes: wait 8 s"
        entry.ask(prompt)
        #expect(entry.digits.isEmpty)
        #expect(refuses())
        prompt.isWaiting = false
        entry.ask(prompt)
        #expect(entry.paste("135790") == "135790")
        // Asking again clears the digits.
        entry.ask(prompt)
        #expect(entry.digits.isEmpty)
        #expect(entry.takesDigits)
    }
}
