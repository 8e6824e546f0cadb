import BeamMedia
import CXCB
import Foundation
import Testing

@testable import BeamCapture

/// Menus, tooltips and dialogs of a shared window.
extension X11Tests {
    @Suite struct Popups {
        private static let frame = PixelRect(x: 50, y: 60, width: 300, height: 200)
        private static let ground: UInt32 = 0x00_60_90

        private struct Stage {
            let scene: X11Scene
            let window: xcb_window_t
            var canvas = X11Canvas(Popups.frame.size, Popups.ground)

            init(without: [String] = []) throws {
                scene = try X11Scene(without: without)
                window = scene.painter.window(Popups.frame, Popups.ground)
            }

            var painter: X11Painter { scene.painter }

            func record(cursor: Bool = false) throws -> X11Recording {
                X11Recording(try X11Source(scene.options(.window(window), cursor: cursor)))
            }

            /// A place in the picture, on the screen.
            func onScreen(_ rect: PixelRect) -> PixelRect { rect.moved(by: Popups.frame.x, Popups.frame.y) }
        }

        @Test(arguments: [[], ["DAMAGE"]])
        func aMenuIsSharedWhereItStandsAndStrangersAreNot(without: [String]) throws {
            var stage = try Stage(without: without)
            let recording = try stage.record()
            defer { recording.stop() }
            #expect(recording.wait(for: stage.canvas))

            let place = PixelRect(x: 20, y: 30, width: 80, height: 100)
            let menu = stage.painter.popup(stage.onScreen(place), 0xf0_f0f0)
            stage.canvas.fill(place, 0xf0_f0f0)
            #expect(recording.wait(for: stage.canvas))
            recording.settle()
            let damage = recording.shots.dropFirst().map(\.damage)
            #expect(damage.allSatisfy { $0.area <= place.area })

            // What the menu draws, as for an entry under the pointer.
            let entry = PixelRect(x: 5, y: 40, width: 70, height: 12)
            stage.painter.fill(entry, 0x30_60ff, in: menu)
            stage.canvas.fill(entry.moved(by: place.x, place.y), 0x30_60ff)
            #expect(recording.wait(for: stage.canvas))
            if without.isEmpty {
                #expect(recording.shots.last?.damage == DamageRegion(entry.moved(by: place.x, place.y)))
            }

            // Another program's windows, over the menu and the window: one of them a menu, too.
            let stranger = try X11Painter(stage.scene.server.display)
            let window = stranger.window(stage.onScreen(PixelRect(x: 0, y: 0, width: 200, height: 90)), 0xff_0000)
            let popup = stranger.popup(stage.onScreen(PixelRect(x: 60, y: 60, width: 90, height: 90)), 0xff_ff00)
            recording.settle()
            let count = recording.shots.count
            // Nothing of it costs a picture.
            for colour: UInt32 in [0x11_1111, 0x22_2222, 0x33_3333] {
                stranger.fill(PixelRect(x: 0, y: 0, width: 90, height: 90), colour, in: popup)
                stranger.fill(PixelRect(x: 0, y: 0, width: 90, height: 90), colour, in: window)
            }
            recording.settle()
            #expect(recording.shots.count == count)
            #expect(recording.shots.last?.canvas == stage.canvas)
            // The menu's changes are seen under the stranger's windows.
            stage.painter.fill(PixelRect(x: 40, y: 5, width: 30, height: 60), 0x00_aa00, in: menu)
            stage.canvas.fill(PixelRect(x: 60, y: 35, width: 30, height: 60), 0x00_aa00)
            #expect(recording.wait(for: stage.canvas))

            // It moves, grows, and goes: what it covered is drawn again.
            stage.painter.move(menu, to: Self.frame.x + 150, Self.frame.y + 20)
            stage.painter.resize(menu, to: PixelSize(width: 60, height: 50))
            stage.painter.fill(PixelRect(x: 0, y: 0, width: 60, height: 50), 0x12_3456, in: menu)
            stage.canvas = X11Canvas(Self.frame.size, Self.ground)
                .filled(PixelRect(x: 150, y: 20, width: 60, height: 50), 0x12_3456)
            #expect(recording.wait(for: stage.canvas))
            stage.painter.hide(menu)
            #expect(recording.wait(for: X11Canvas(Self.frame.size, Self.ground)))
            stranger.close(window)
            stranger.close(popup)
            stage.painter.show(menu)
            stage.painter.fill(PixelRect(x: 0, y: 0, width: 60, height: 50), 0x65_4321, in: menu)
            #expect(
                recording.wait(
                    for: X11Canvas(Self.frame.size, Self.ground)
                        .filled(PixelRect(x: 150, y: 20, width: 60, height: 50), 0x65_4321)))
            stage.painter.close(menu)
            #expect(recording.wait(for: X11Canvas(Self.frame.size, Self.ground)))
            recording.settle()
            let last = recording.shots.count
            recording.settle()
            #expect(recording.shots.count == last)
        }

        /// A submenu over a menu, and one that was open before the share began.
        @Test func menusOverMenusAreInOrder() throws {
            var stage = try Stage()
            let first = PixelRect(x: 20, y: 30, width: 80, height: 100)
            let second = PixelRect(x: 80, y: 50, width: 80, height: 100)
            let menu = stage.painter.popup(stage.onScreen(first), 0xf0_f0f0)
            let recording = try stage.record()
            defer { recording.stop() }
            let alone = stage.canvas.filled(first, 0xf0_f0f0)
            #expect(recording.wait(for: alone))
            _ = stage.painter.popup(stage.onScreen(second), 0xa0_a0a0, owner: menu)
            stage.canvas = alone.filled(second, 0xa0_a0a0)
            #expect(recording.wait(for: stage.canvas))
            stage.painter.raise(menu)
            #expect(recording.wait(for: stage.canvas.filled(first, 0xf0_f0f0)))
            // The window moves with its menus on the screen left behind: they stand elsewhere in the picture.
            stage.painter.move(stage.window, to: Self.frame.x - 10, Self.frame.y - 20)
            let moved = X11Canvas(Self.frame.size, Self.ground).filled(second.moved(by: 10, 20), 0xa0_a0a0)
                .filled(first.moved(by: 10, 20), 0xf0_f0f0)
            #expect(recording.wait(for: moved))
        }

        @Test func aMenuThatHangsOverTheEdgeIsMovedInside() throws {
            let stage = try Stage()
            let recording = try stage.record()
            defer { recording.stop() }
            #expect(recording.wait(for: stage.canvas))
            let menu = stage.painter.popup(
                stage.onScreen(PixelRect(x: 250, y: 150, width: 100, height: 90)), 0xf0_f0f0)
            #expect(
                recording.wait(
                    for: stage.canvas.filled(PixelRect(x: 200, y: 110, width: 100, height: 90), 0xf0_f0f0)))
            // Larger than the picture, with a border.
            stage.painter.close(menu)
            let large = stage.painter.popup(
                stage.onScreen(PixelRect(x: 100, y: -40, width: 340, height: 60)), 0x77_7777, border: 2)
            let bordered = stage.canvas.filled(PixelRect(x: 0, y: 0, width: 300, height: 64), 0xff_ffff)
                .filled(PixelRect(x: 2, y: 2, width: 298, height: 60), 0x77_7777)
            #expect(recording.wait(for: bordered))
            stage.painter.close(large)
            // A window elsewhere isn't over this one.
            _ = stage.painter.popup(PixelRect(x: 500, y: 400, width: 90, height: 50), 0xff_00ff)
            #expect(recording.wait(for: stage.canvas))
            recording.settle()
            #expect(recording.shots.last?.canvas == stage.canvas)
        }

        @Test func aDialogOfTheWindowIsSharedAndOtherWindowsOfItsProgramAreNot() throws {
            let stage = try Stage()
            let recording = try stage.record()
            defer { recording.stop() }
            #expect(recording.wait(for: stage.canvas))
            let place = PixelRect(x: 60, y: 50, width: 150, height: 100)
            // A second document of the program, and a dialog of that.
            let second = stage.painter.window(stage.onScreen(place), 0xff_0000)
            _ = stage.painter.dialog(stage.onScreen(place.expanded(by: -20)), 0xff_00ff, owner: second)
            _ = stage.painter.popup(stage.onScreen(place.expanded(by: -30)), 0xff_ff00, owner: second)
            recording.settle()
            #expect(recording.shots.count == 1)
            let dialog = stage.painter.dialog(stage.onScreen(place), 0xdd_dddd, owner: stage.window)
            #expect(recording.wait(for: stage.canvas.filled(place, 0xdd_dddd)))
            // A list that drops down from the dialog.
            let list = stage.painter.popup(
                stage.onScreen(PixelRect(x: 100, y: 100, width: 60, height: 90)), 0xff_ffff, owner: dialog)
            #expect(
                recording.wait(
                    for: stage.canvas.filled(place, 0xdd_dddd)
                        .filled(PixelRect(x: 100, y: 100, width: 60, height: 90), 0xff_ffff)))
            stage.painter.close(list)
            stage.painter.close(dialog)
            #expect(recording.wait(for: stage.canvas))
        }

        /// A window manager's frames around both.
        @Test func aDialogInAFrameIsShared() throws {
            let stage = try Stage()
            let manager = try X11Painter(stage.scene.server.display)
            let frame = manager.window(Self.frame.expanded(by: 20), 0x55_5555)
            manager.place(stage.window, in: frame, at: 20, 20)
            manager.setWords("WM_STATE", stage.painter.atom("WM_STATE"), [1, 0], of: stage.window)
            let recording = try stage.record()
            defer { recording.stop() }
            stage.painter.fill(PixelRect(Self.frame.size), Self.ground, in: stage.window)
            #expect(recording.wait(for: stage.canvas))

            let place = PixelRect(x: 60, y: 50, width: 150, height: 100)
            let dialog = stage.painter.hiddenWindow(stage.onScreen(place), 0xdd_dddd, isOverrideRedirect: false)
            stage.painter.setWords(
                "WM_TRANSIENT_FOR", XCB_ATOM_WINDOW.rawValue, [stage.window], of: dialog)
            let around = manager.hiddenWindow(
                stage.onScreen(place.expanded(by: 10)), 0x77_7777, isOverrideRedirect: false)
            manager.place(dialog, in: around, at: 10, 10)
            manager.setWords("WM_STATE", stage.painter.atom("WM_STATE"), [1, 0], of: dialog)
            manager.show(dialog)
            manager.show(around)
            #expect(recording.wait(for: stage.canvas.filled(place, 0xdd_dddd)))
            manager.move(around, to: Self.frame.x + 20, Self.frame.y + 10)
            #expect(
                recording.wait(
                    for: stage.canvas.filled(PixelRect(x: 30, y: 20, width: 150, height: 100), 0xdd_dddd)))
            manager.hide(around)
            #expect(recording.wait(for: stage.canvas))
        }

        /// Programs with several connections, as browsers have: known by leader, group, or process and machine.
        @Test(arguments: ["leader", "group", "process"])
        func aTooltipOfTheSameProgramOnAnotherConnectionIsShared(by mark: String) throws {
            let stage = try Stage()
            let other = try X11Painter(stage.scene.server.display)
            func setMark(_ painter: X11Painter, _ window: xcb_window_t, _ value: UInt32, _ machine: String) {
                switch mark {
                case "leader": painter.setWords("WM_CLIENT_LEADER", XCB_ATOM_WINDOW.rawValue, [value], of: window)
                case "group":
                    painter.setWords(
                        "WM_HINTS", painter.atom("WM_HINTS"), [64, 0, 0, 0, 0, 0, 0, 0, value], of: window)
                default:
                    painter.setWords("_NET_WM_PID", XCB_ATOM_CARDINAL.rawValue, [value], of: window)
                    painter.setText("WM_CLIENT_MACHINE", machine, of: window)
                }
            }
            setMark(stage.painter, stage.window, 4711, "here")
            let recording = try stage.record()
            defer { recording.stop() }
            #expect(recording.wait(for: stage.canvas))
            let place = PixelRect(x: 20, y: 30, width: 80, height: 20)
            for (value, machine, isShared) in [(4711, "here", true), (4712, "here", false), (4711, "there", false)]
            where isShared || mark == "process" || machine == "here" {
                let tip = other.hiddenWindow(stage.onScreen(place), 0xff_ffcc, isOverrideRedirect: true)
                setMark(other, tip, UInt32(value), machine)
                other.show(tip)
                if isShared {
                    #expect(recording.wait(for: stage.canvas.filled(place, 0xff_ffcc)))
                } else {
                    recording.settle()
                    #expect(recording.shots.last?.canvas == stage.canvas)
                }
                other.close(tip)
                #expect(recording.wait(for: stage.canvas))
            }
        }

        @Test(arguments: [true, false])
        func aTranslucentMenuIsBlendedWhereADesktopDoesThat(isComposited: Bool) throws {
            let stage = try Stage()
            if isComposited { stage.painter.pretendToComposite() }
            let recording = try stage.record()
            defer { recording.stop() }
            #expect(recording.wait(for: stage.canvas))
            let place = PixelRect(x: 20, y: 30, width: 80, height: 100)
            _ = try stage.painter.translucentPopup(stage.onScreen(place), 0x80_40_20_10)
            let blended = PointerImage.over(0x80_40_20_10, Self.ground) & 0xff_ffff
            #expect(recording.wait(for: stage.canvas.filled(place, isComposited ? blended : 0x40_20_10)))
            // Below it, something changes twice, over a part of it.
            for colour: UInt32 in [0x90_00_00, 0x00_90_00] {
                let spot = PixelRect(x: 10, y: 40, width: 200, height: 30)
                stage.painter.fill(spot, colour, in: stage.window)
                var canvas = stage.canvas.filled(spot, colour)
                for (rect, below) in [(place, Self.ground), (place.intersection(spot), colour)] {
                    canvas.fill(
                        rect,
                        isComposited ? PointerImage.over(0x80_40_20_10, below) & 0xff_ffff : 0x40_20_10)
                }
                #expect(recording.wait(for: canvas))
            }
        }

        @Test func thePointerIsDrawnWhereItIsInAMovedMenu() throws {
            let stage = try Stage()
            stage.painter.setPointer(size: 8, isWhite: true)
            stage.painter.warpPointer(to: 600, 20)
            let recording = try stage.record(cursor: true)
            defer { recording.stop() }
            #expect(recording.wait(for: stage.canvas))
            _ = stage.painter.popup(stage.onScreen(PixelRect(x: 250, y: 20, width: 100, height: 90)), 0x30_3030)
            let menu = stage.canvas.filled(PixelRect(x: 200, y: 20, width: 100, height: 90), 0x30_3030)
            #expect(recording.wait(for: menu))
            // 80, 40 in the menu, outside the window.
            stage.painter.warpPointer(to: Self.frame.x + 330, Self.frame.y + 60)
            #expect(recording.wait(for: menu.filled(PixelRect(x: 276, y: 56, width: 8, height: 8), 0xff_ffff)))
        }

        @Test(arguments: [
            (PixelRect(x: 10, y: 10, width: 5, height: 5), 10, 10),
            (PixelRect(x: 98, y: -3, width: 5, height: 5), 95, 0),
            (PixelRect(x: 30, y: 20, width: 200, height: 5), 0, 20),
            (PixelRect(x: -150, y: 0, width: 200, height: 5), -100, 0),
        ])
        func aRectangleIsMovedInsideByTheShortestWay(rect: PixelRect, x: Int, y: Int) {
            let moved = WindowPopups.inside(rect, PixelSize(width: 100, height: 80))
            #expect(moved == PixelRect(x: x, y: y, width: rect.width, height: rect.height))
        }
    }
}
