import BeamMedia
import Foundation
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// The line for an address below the list of hosts.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor struct Addresses {
        let display: TestDisplay

        init() throws {
            display = try TestDisplay.shared.get()
            try display.xdotool("mousemove", "640", "700")
        }

        private static func check(_ text: String) -> AddressVerdict {
            text.hasPrefix("x") ? .bad("“\(text)” is no address.") : .good
        }

        private func opened(_ entries: [PickerEntry]) throws -> VideoWindow {
            let window = try WindowTests.open()
            window.setPicker(entries, checkAddress: Self.check)
            _ = window.readBack()
            try display.xdotool("mousemove", "640", "360")
            WindowTests.settle(window)
            return window
        }

        private func text(_ window: VideoWindow) -> String { window.panels.picker?.field?.address ?? "" }

        @Test func anAddressIsTypedAndChecked() throws {
            let window = try opened([PickerEntry(name: "desk"), PickerEntry(name: "lab", isAway: true)])
            // In the list a digit chooses.
            try display.xdotool("key", "2")
            #expect(WindowTests.wait(window) { $0.contains(.chosen(1)) })
            try display.xdotool("key", "Tab")
            #expect(WindowTests.wait(window) { _ in window.panels.picker?.isTyping == true })
            try display.xdotool("key", "x", "1", "q", "Return")
            #expect(WindowTests.wait(window) { _ in text(window) == "x1q" })
            #expect(window.panels.picker?.field?.verdict == .bad("“x1q” is no address."))
            WindowTests.keep(window, as: "address-wrong")
            var seen: [WindowEvent] = []
            try display.xdotool("key", "Return", "BackSpace", "Home", "Delete", "End", "9", "Return")
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains(.addressEntered("19"))
                })
            #expect(!seen.contains(.quit) && !seen.contains(.addressEntered("x1q")), "\(seen)")
            // Escape goes back to the list, where keys are commands again.
            try display.xdotool("key", "Escape", "1")
            seen = []
            #expect(
                WindowTests.wait(window) {
                    seen += $0
                    return seen.contains(.chosen(0))
                })
            #expect(!seen.contains(.escaped) && text(window) == "19")
            // The list changes; what is typed stays.
            window.setPicker([PickerEntry(name: "desk")], checkAddress: Self.check)
            #expect(text(window) == "19")
        }

        @Test func theMouseLeadsThere() throws {
            let window = try opened([])
            let place = try #require(MenuTests.places(of: window) { window.panels.isField(x: $0, y: $1) })
            try display.xdotool("mousemove", "\(place.x + 20)", "\(place.y + 8)", "click", "1")
            #expect(WindowTests.wait(window) { _ in window.panels.picker?.isTyping == true })
            try display.xdotool("key", "d")
            #expect(WindowTests.wait(window) { _ in text(window) == "d" })
            WindowTests.keep(window, as: "address-alone")
        }
    }
}

/// The list with its line for an address stays inside the window. No display needed.
@Suite @MainActor struct AddressFitTests {
    @Test(arguments: PanelFitTests.canvases, [1, 2.0]) func fits(canvas: PixelSize, scale: Double) throws {
        let setting = PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: false)
        let bad = AddressVerdict.bad(
            "192.0.2.300 isn't an IPv4 address: it takes four numbers from 0 to 255, as in 192.0.2.7.")
        for (count, present) in [(0, 0), (1, 1), (6, 2), (6, 0)] {
            for isTyping in [false, true] {
                let panels = PanelStack()
                panels.picker = Picker()
                panels.picker?.title = "Choose a host"
                panels.picker?.field = AddressField()
                panels.picker?.field?.isFocused = isTyping
                if isTyping {
                    panels.picker?.field?.text.insert(String(repeating: "192.0.2.300:", count: 20))
                    panels.picker?.field?.verdict = bad
                }
                panels.picker?.update(
                    (0..<count).map {
                        PickerEntry(
                            name: "Notebook of Frau Dr. Müller-Lüdenscheid \($0)", detail: "192.0.2.\($0)",
                            isAway: $0 >= present)
                    })
                let layer = try #require(panels.layers(setting).first)
                #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)")
                // Wherever it has room, the line is there with the list.
                #expect(panels.field.map { layer.rect.contains($0) } ?? true)
                #expect(panels.field != nil || canvas.height < 330 && count > 0 && !isTyping)
                #expect((panels.textCursor != nil) == isTyping)
                if let cursor = panels.textCursor { #expect(PixelRect(canvas).contains(cursor), "\(cursor)") }
                PanelFitTests.keep([layer], canvas, as: "address-\(canvas)-\(scale)-\(count)-\(present)-\(isTyping)")
            }
        }
    }

    @Test(arguments: PanelFitTests.canvases, [1, 2.0]) func buttonsFit(canvas: PixelSize, scale: Double) throws {
        for isOverPicture in [false, true] {
            let setting = PanelStack.Setting(canvas: canvas, textScale: scale, isOverPicture: isOverPicture)
            let panels = PanelStack()
            panels.message = WindowMessage(
                headline: "“desk” hasn't been reachable since 14:05:09",
                detail: "The network or that machine may be down. The picture goes on when it is back.",
                buttons: [.tryAgain, .chooseAnother])
            for problem in [nil, "", "That isn't the code that “desk” shows now."] {
                let isAsking = problem != nil
                if let problem {
                    panels.codeEntry = CodeEntry(
                        CodePrompt(
                            headline: "The person at “desk” has declined",
                            problem: problem.isEmpty ? nil : problem,
                            offer: "Press Enter to ask again, or type the code that the screen there shows.",
                            takesOffer: true, buttons: [.askPerson, .chooseAnother]))
                }
                let layer = try #require(panels.layers(setting).first)
                #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)")
                #expect(panels.buttonRects.count == 2)
                for (number, rect) in panels.buttonRects.enumerated() {
                    #expect(layer.rect.contains(rect), "\(rect)")
                    #expect(panels.button(x: rect.x + rect.width / 2, y: rect.y + rect.height / 2) == number)
                }
                PanelFitTests.keep(
                    [layer], canvas, as: "buttons-\(canvas)-\(scale)-\(isOverPicture)-\(isAsking ? "code" : "message")")
            }
        }
    }
}
