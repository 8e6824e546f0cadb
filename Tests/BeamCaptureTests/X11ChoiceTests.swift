import BeamMedia
import CXCB
import Testing

@testable import BeamCapture

/// Finding what to share: windows by their titles.
extension X11Tests {
    @Suite struct Choice {
        private struct Desk {
            let scene: X11Scene
            let editor: xcb_window_t
            let browser: xcb_window_t

            init() throws {
                scene = try X11Scene()
                editor = scene.painter.titled("Notes — Editor", "editor\0Editor\0", width: 200)
                browser = scene.painter.titled("Mozilla Firefox", "Navigator\0firefox\0", width: 300)
                // Not a window that a person would name.
                _ = scene.painter.popup(PixelRect(x: 0, y: 0, width: 50, height: 40), 0xff_ffff)
            }

            func info(_ text: String) throws -> SourceInfo {
                try X11Source(scene.options(.windowNamed(text))).info
            }
        }

        @Test func windowsAreListedWithTitleAndProgram() throws {
            let desk = try Desk()
            #expect(
                try X11Source.windows(display: desk.scene.server.display) == [
                    ScreenWindow(
                        id: desk.browser, title: "Mozilla Firefox", program: "firefox",
                        size: PixelSize(width: 300, height: 100)),
                    ScreenWindow(
                        id: desk.editor, title: "Notes — Editor", program: "Editor",
                        size: PixelSize(width: 200, height: 100)),
                ])
            // What a window manager lists counts; the topmost is its last one. Whatever else a program writes there is
            // harmless.
            desk.scene.painter.setWords(
                "_NET_CLIENT_LIST_STACKING", XCB_ATOM_WINDOW.rawValue, [desk.browser, 0x7654321, desk.editor],
                of: desk.scene.painter.root)
            desk.scene.painter.setName("\u{1B}[31mEvil\u{202E}\u{7}", of: desk.browser)
            let windows = try X11Source.windows(display: desk.scene.server.display)
            #expect(windows.map(\.id) == [desk.editor, desk.browser])
            #expect(windows.last?.title == "[31mEvil")
            // BeamRoom's own are left out of what is shared.
            desk.scene.painter.setWords(OwnWindows.markName, XCB_ATOM_CARDINAL.rawValue, [1], of: desk.browser)
            #expect(try X11Source.windows(display: desk.scene.server.display).map(\.id) == [desk.editor])
        }

        @Test func aWindowIsFoundByAPartOfItsTitleOrItsNumber() throws {
            let desk = try Desk()
            for text in ["firefox", "MOZILLA", "Mozilla Firefox", "\(desk.browser)"] {
                #expect(try desk.info(text).size.width == 300, "\(text)")
            }
            #expect(try desk.info("— editor").size.width == 200)
            // The whole title of one is a part of another's.
            let short = desk.scene.painter.titled("Editor", "e\0E\0", width: 120)
            #expect(try desk.info("editor").size.width == 120)
            desk.scene.painter.close(short)

            let none = #expect(throws: CaptureError.self) { try desk.info("thunderbird") }
            #expect(none?.description.contains("Mozilla Firefox") == true)
            #expect(none?.description.contains("0x" + String(desk.editor, radix: 16)) == true)
            let several = #expect(throws: CaptureError.self) { try desk.info("o") }
            #expect(several?.description.contains("several windows") == true)
            #expect(several?.description.contains("Notes — Editor") == true)
        }

        @Test(
            arguments: [
                ((10, 20), (40, 60), PixelRect(x: 10, y: 20, width: 31, height: 41)),
                ((40, 60), (10, 20), PixelRect(x: 10, y: 20, width: 31, height: 41)),
                ((10, 20), (12, 22), nil), ((10, 20), (90, 22), nil),
            ] as [((Int, Int), (Int, Int), PixelRect?)])
        func aShortDragIsAClick(start: (Int, Int), end: (Int, Int), rect: PixelRect?) {
            #expect(AreaSelector.drag(from: start, to: end) == rect)
        }
    }
}

extension X11Painter {
    fileprivate func titled(_ title: String, _ kind: String, width: Int) -> xcb_window_t {
        let window = window(PixelRect(x: 0, y: 0, width: width, height: 100), 0x44_4444)
        setName(title, of: window)
        setText("WM_CLASS", kind, of: window)
        return window
    }

    fileprivate func setName(_ title: String, of window: xcb_window_t) {
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, atom("_NET_WM_NAME"), atom("UTF8_STRING"), 8,
            UInt32(title.utf8.count), title)
        synchronise()
    }
}
