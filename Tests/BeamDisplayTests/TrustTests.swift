import BeamMedia
import CSDL2
import Foundation
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// What a person types and sees before trusting a host, and while there is no trust: real keys, real windows.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor
    struct Trust {
        static let question = CodePrompt(headline: "Type the six digits that “desk” shows")
        static let warning = WindowWarning(words: "Not encrypted: anyone on this network can see this picture")
        static let comparison = WindowMessage(
            headline: "Does “desk” show the same digits?", detail: "The person there lets you in.", code: "482913")

        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            // Without a window manager, keys go to the window under the pointer.
            try display.xdotool("mousemove", "640", "360")
        }

        /// Handles events until `last` is among them. Returns all of them.
        private func events(_ window: VideoWindow, until last: WindowEvent) -> [WindowEvent] {
            var seen: [WindowEvent] = []
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains(last)
                })
            return seen
        }

        private func codes(_ events: [WindowEvent]) -> [String] {
            events.compactMap { if case .codeEntered(let code) = $0 { code } else { nil } }
        }

        @Test(arguments: [RendererChoice.software, .opengl])
        func aCodeIsTyped(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            window.setCodeEntry(Self.question)
            WindowTests.settle(window)
            let empty = try #require(window.readBack())
            WindowTests.keep(window, as: "code-empty-\(renderer.rawValue)")
            // A letter is ignored, and a surplus digit is deleted. Uses both rows of digits, and the keypad without Num
            // Lock.
            try display.xdotool("key", "4", "8", "x", "9", "BackSpace", "2", "KP_9", "KP_End")
            WindowTests.settle(window)
            WindowTests.keep(window, as: "code-five-\(renderer.rawValue)")
            #expect((window.readBack()?.differingPixels(from: empty) ?? 0) > 1000)
            // The sixth digit reports the code. Keys typed immediately afterwards are ignored.
            try display.xdotool("key", "3", "7", "BackSpace", "i")
            let seen = events(window, until: .statistics(isShown: true))
            #expect(codes(seen) == ["482913"])
            #expect(window.title == "BeamRoom")
        }

        @Test(arguments: [RendererChoice.software, .opengl])
        func aCodeIsCheckedAndWrong(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            var prompt = Self.question
            window.setCodeEntry(prompt)
            SDL_SetClipboardText("Your code: 482 913\n")
            try display.xdotool("key", "ctrl+v", "i")
            #expect(codes(events(window, until: .statistics(isShown: true))) == ["482913"])

            prompt.isWaiting = true
            window.setCodeEntry(prompt)
            WindowTests.settle(window)
            WindowTests.keep(window, as: "code-checked-\(renderer.rawValue)")
            let checked = try #require(window.readBack())
            try display.xdotool("key", "1", "2", "3", "BackSpace", "ctrl+v", "i")
            #expect(codes(events(window, until: .statistics(isShown: false))).isEmpty)
            #expect(window.readBack()?.differingPixels(from: checked) == 0)

            prompt.problem = "Too many wrong codes: wait 8 s"
            window.setCodeEntry(prompt)
            WindowTests.settle(window)
            WindowTests.keep(window, as: "code-slowed-\(renderer.rawValue)")
            let slowed = try #require(window.readBack())
            #expect(slowed.differingPixels(from: checked) > 1000)
            try display.xdotool("key", "1", "2", "3", "i")
            #expect(codes(events(window, until: .statistics(isShown: true))).isEmpty)
            #expect(window.readBack()?.differingPixels(from: slowed) == 0)

            prompt = Self.question
            prompt.problem = "That wasn't the code. Try again."
            window.setCodeEntry(prompt)
            WindowTests.settle(window)
            WindowTests.keep(window, as: "code-wrong-\(renderer.rawValue)")
            for code in ["135790", "246801"] {
                try display.xdotool(["key"] + code.map { "\($0)" })
                _ = events(window, until: .codeEntered(code))
                // Wrong again, with the same prompt.
                window.setCodeEntry(prompt)
            }
            window.setCodeEntry(nil)
            try display.xdotool("key", "1", "2", "3", "4", "5", "6", "ctrl+v", "i")
            #expect(codes(events(window, until: .statistics(isShown: false))).isEmpty)
        }

        @Test func escapeGivesUp() throws {
            let window = try WindowTests.open(fullscreen: true)
            var prompt = Self.question
            for isWaiting in [false, true] {
                prompt.isWaiting = isWaiting
                window.setCodeEntry(prompt)
                WindowTests.settle(window)
                try display.xdotool("key", "4", "Escape", "i")
                let seen = events(window, until: .statistics(isShown: !isWaiting))
                #expect(seen.count { $0 == .codeGivenUp } == 1)
                #expect(codes(seen).isEmpty)
                #expect(window.isFullscreen)
            }
            // Without a prompt, Escape has its usual meaning.
            window.setCodeEntry(nil)
            try display.xdotool("key", "Escape")
            #expect(!events(window, until: .fullscreen(false)).contains(.codeGivenUp))
        }

        @Test func oneLongPressIsOneDigit() throws {
            let window = try WindowTests.open()
            window.setCodeEntry(Self.question)
            WindowTests.settle(window)
            try display.xdotool("keydown", "4", "sleep", "1.2", "keyup", "4")
            try display.xdotool("key", "8", "2", "9", "1", "3")
            #expect(codes(events(window, until: .codeEntered("482913"))) == ["482913"])
        }

        @Test func otherKeysKeepTheirMeaning() throws {
            let window = try WindowTests.open()
            window.setPicker([PickerEntry(name: "desk"), PickerEntry(name: "office")])
            window.setCodeEntry(Self.question)
            WindowTests.settle(window)
            try display.xdotool("key", "1", "f", "2", "f", "i", "3", "q")
            let seen = events(window, until: .quit).filter { if case .resized = $0 { false } else { $0 != .wake } }
            #expect(seen == [.fullscreen(true), .fullscreen(false), .statistics(isShown: true), .quit])
        }

        @Test(
            "A warning is shown in full at first, after the pointer moves and after an interruption, otherwise as an icon",
            arguments: [RendererChoice.software, .opengl])
        func aWarningStaysAtTheEdge(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            window.setWarning(Self.warning)
            // Without a picture the warning isn't shown.
            #expect(try #require(window.readBack()).paintedPixels == 0)
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            WindowTests.keep(window, as: "warning-\(renderer.rawValue)")
            let full = try #require(window.readBack())
            window.setWarning(nil)
            let bare = try #require(window.readBack())
            let words = full.differingPixels(from: bare)
            #expect(words > 10_000)
            func changed() -> Int { window.readBack()?.differingPixels(from: bare) ?? 0 }
            func awaitSign() -> Bool {
                WindowTests.wait(window) { _ in (200..<2000).contains(changed()) }
            }
            // A short time, to keep the test short.
            window.setWarning(WindowWarning(words: Self.warning.words, time: .milliseconds(300)))
            #expect(changed() == words)
            #expect(awaitSign())
            WindowTests.keep(window, as: "warning-sign-\(renderer.rawValue)")
            try display.xdotool("mousemove", "500", "300")
            #expect(WindowTests.wait(window) { _ in changed() == words })
            #expect(awaitSign())
            window.setMessage(WindowMessage(headline: "Reconnecting…"))
            WindowTests.settle(window)
            WindowTests.keep(window, as: "warning-reconnecting-\(renderer.rawValue)")
            window.setMessage(nil)
            #expect(changed() == words)
            window.setWarning(nil)
            #expect(changed() == 0)
        }

        @Test("The warning stays as it is while only parts of the picture are drawn")
        func warningOverDamage() throws {
            let size = PixelSize(width: 640, height: 360)
            let window = try WindowTests.open()
            window.show(TestPictures.plain(size, y: 120))
            window.setWarning(Self.warning)
            let before = try #require(window.readBack())
            var picture = TestPictures.plain(size, y: 120)
            picture.damage = DamageRegion(PixelRect(x: 300, y: 300, width: 30, height: 30))
            for _ in 0..<5 { window.show(picture) }
            #expect(try #require(window.readBack()).largestDifference(before) == 0)
        }

        @Test("Everything is visible at any size", arguments: [RendererChoice.software, .opengl])
        func sizes(renderer: RendererChoice) throws {
            let display = try TestDisplay(width: 1920, height: 1080)
            let title = "sizes \(renderer.rawValue)"
            let window = try VideoWindow(WindowOptions(title: title, renderer: renderer, display: display.name))
            for (width, height) in [(160, 120), (480, 270), (960, 540), (1920, 1080)] {
                let size = PixelSize(width: width, height: height)
                try display.xdotool("search", "--name", title, "windowsize", "\(width)", "\(height)")
                #expect(WindowTests.wait(window) { _ in window.readBack()?.size == size })
                var prompt = Self.question
                prompt.problem = "That wasn't the code. Try again."
                window.setCodeEntry(prompt)
                WindowTests.settle(window)
                WindowTests.keep(window, as: "size-\(size)-\(renderer.rawValue)-code")
                #expect(try #require(window.readBack()).paintedPixels > 1000)
                window.setCodeEntry(nil)
                window.setMessage(Self.comparison)
                WindowTests.keep(window, as: "size-\(size)-\(renderer.rawValue)-compare")
                #expect(try #require(window.readBack()).paintedPixels > size.area / 20)
                window.setMessage(nil)
            }
            window.show(TestPictures.bars(PixelSize(width: 960, height: 540)))
            window.setWarning(Self.warning)
            window.setOverlay(["Picture\t960 × 540, \(renderer.rawValue)", "Channel\tnot encrypted"])
            window.showsStatistics = true
            for (width, height) in [(160, 120), (480, 270), (960, 540), (1920, 1080)] {
                let size = PixelSize(width: width, height: height)
                try display.xdotool("search", "--name", title, "windowsize", "\(width)", "\(height)")
                #expect(WindowTests.wait(window) { _ in window.readBack()?.size == size })
                WindowTests.keep(window, as: "size-\(size)-\(renderer.rawValue)-warning")
                window.setCodeEntry(Self.question)
                WindowTests.keep(window, as: "size-\(size)-\(renderer.rawValue)-code-over")
                window.setCodeEntry(nil)
                window.setMessage(Self.comparison)
                WindowTests.keep(window, as: "size-\(size)-\(renderer.rawValue)-compare-over")
                window.setMessage(nil)
            }
        }
    }
}
