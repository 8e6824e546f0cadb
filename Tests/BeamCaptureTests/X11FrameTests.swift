import BeamMedia
import CXCB
import Foundation
import Testing

@testable import BeamCapture

/// The frame around what is shared.
extension X11Tests {
    @Suite struct Frames {
        /// A screen of one colour, which the server draws where a window was.
        private static func scene(without: [String] = []) throws -> X11Scene {
            var scene = try X11Scene(without: without)
            let screen = PixelRect(scene.canvas.size)
            _ = scene.painter.window(screen, 0x20_40_60)
            scene.canvas.fill(screen, 0x20_40_60)
            return scene
        }

        private static func framed(_ scene: X11Scene, _ area: X11Options.Area) throws -> X11Recording {
            var options = scene.options(area)
            options.showsFrame = true
            return X11Recording(try X11Source(options))
        }

        /// Waits until the screen shows exactly this.
        private static func wait(for canvas: X11Canvas, on scene: X11Scene) -> Bool {
            wait { scene.painter.screenshot() == canvas }
        }

        private static func wait(until holds: () -> Bool) -> Bool {
            let deadline = Date(timeIntervalSinceNow: 20)
            while !holds() {
                if Date() > deadline { return false }
                Thread.sleep(forTimeInterval: 0.02)
            }
            return true
        }

        /// Around a rectangle of the screen, as far as that has room.
        private static func frame(
            _ canvas: X11Canvas, _ rect: PixelRect, _ colour: UInt32 = FrameBars.colour, thickness: Int = 3
        ) -> X11Canvas {
            let outer = rect.expanded(by: thickness)
            return outer.subtracting(rect).reduce(canvas) { $0.filled($1, colour) }
        }

        @Test(.enabled(if: X11TestServer.hasXdotool, "xdotool isn't installed"))
        func aRegionHasAFrameOutsideThatTakesNoClicks() throws {
            let scene = try Self.scene()
            // There is no room on the left.
            let region = PixelRect(x: 0, y: 100, width: 200, height: 150)
            let recording = try Self.framed(scene, .region(region))
            defer { recording.stop() }
            #expect(Self.wait(for: Self.frame(scene.canvas, region), on: scene))
            #expect(recording.wait(for: scene.canvas.cut(region)))

            // A window that comes later is below the frame, and gets the clicks on it.
            let place = PixelRect(x: 20, y: 20, width: 300, height: 80)
            let window = scene.painter.window(place, 0x00_80_00)
            #expect(Self.wait(for: Self.frame(scene.canvas.filled(place, 0x00_80_00), region), on: scene))
            xcb_change_window_attributes(
                scene.painter.raw, window, XCB_CW_EVENT_MASK.rawValue, [XCB_EVENT_MASK_BUTTON_PRESS.rawValue])
            scene.painter.synchronise()
            try scene.server.xdotool("mousemove", "100", "98", "click", "1")
            #expect(
                Self.wait {
                    guard let event = xcb_poll_for_event(scene.painter.raw) else { return false }
                    defer { free(event) }
                    return Int32(event.pointee.response_type & 0x7f) == XCB_BUTTON_PRESS
                })

            // Paused it is grey, with gaps.
            let count = recording.shots.count
            recording.source.setPaused(true)
            #expect(
                Self.wait {
                    let screen = scene.painter.screenshot()
                    let edge = (100..<250).map { screen[201, $0] }
                    return Set(edge) == [FrameBars.pausedColour, scene.canvas[201, 100]]
                })
            recording.source.setPaused(false)
            #expect(Self.wait { scene.painter.screenshot()[201, 120] == FrameBars.colour })
            // Nothing of this is a change of what is shared.
            recording.settle()
            #expect(recording.shots.count == count)
            #expect(recording.stop() == nil)
            #expect(Self.wait { scene.painter.screenshot()[201, 120] == scene.canvas[201, 120] })
        }

        @Test func aWindowsFrameFollowsIt() throws {
            let scene = try Self.scene()
            var place = PixelRect(x: 50, y: 60, width: 200, height: 150)
            let window = scene.painter.window(place, 0x00_80_00)
            let recording = try Self.framed(scene, .window(window))
            defer { recording.stop() }
            func screen(_ place: PixelRect, thickness: Int = 3) -> X11Canvas {
                Self.frame(scene.canvas.filled(place, 0x00_80_00), place, thickness: thickness)
            }
            #expect(Self.wait(for: screen(place), on: scene))
            place = PixelRect(x: 300, y: 200, width: 200, height: 150)
            scene.painter.move(window, to: 300, 200)
            #expect(Self.wait(for: screen(place), on: scene))

            // Another window covers both, and nothing is above it.
            let cover = scene.painter.window(PixelRect(x: 250, y: 100, width: 100, height: 300), 0xff_ffff)
            let covered = screen(place).filled(PixelRect(x: 250, y: 100, width: 100, height: 300), 0xff_ffff)
            #expect(Self.wait(for: covered, on: scene))
            Thread.sleep(forTimeInterval: 0.4)
            #expect(scene.painter.screenshot() == covered)
            // One that is put between the window and its frame covers the frame, too.
            xcb_configure_window(
                scene.painter.raw, cover,
                UInt16(XCB_CONFIG_WINDOW_SIBLING.rawValue | XCB_CONFIG_WINDOW_STACK_MODE.rawValue),
                [window, XCB_STACK_MODE_ABOVE.rawValue])
            scene.painter.synchronise()
            #expect(Self.wait(for: covered, on: scene))
            scene.painter.close(cover)

            // Hidden in each of the ways that window managers have, it has no frame.
            let plain = { scene.canvas.filled(place, 0x00_80_00) }
            scene.painter.hide(window)
            #expect(Self.wait(for: scene.canvas, on: scene))
            scene.painter.show(window)
            #expect(Self.wait(for: screen(place), on: scene))
            scene.painter.setState(["_NET_WM_STATE_HIDDEN"], of: window)
            #expect(Self.wait(for: plain(), on: scene))
            scene.painter.setState([], of: window)
            #expect(Self.wait(for: screen(place), on: scene))
            scene.painter.set("_NET_CURRENT_DESKTOP", [1], of: scene.painter.root)
            scene.painter.set("_NET_WM_DESKTOP", [0], of: window)
            #expect(Self.wait(for: plain(), on: scene))
            scene.painter.set("_NET_CURRENT_DESKTOP", [0], of: scene.painter.root)
            #expect(Self.wait(for: screen(place), on: scene))

            // Twice as thick where the desktop draws twice as large.
            scene.painter.setResources("Xcursor.size:\t24\nXft.dpi:\t192\n")
            #expect(Self.wait(for: screen(place, thickness: 6), on: scene))
            // Where there is no room it lies over the window, which isn't in the picture.
            scene.painter.move(window, to: 0, 200)
            place = PixelRect(x: 0, y: 200, width: 200, height: 150)
            let edge = screen(place, thickness: 6).filled(
                PixelRect(x: 0, y: 200, width: 6, height: 150), FrameBars.colour)
            #expect(Self.wait(for: edge, on: scene))
            recording.settle()
            #expect(recording.shots.allSatisfy { $0.canvas == X11Canvas(place.size, 0x00_80_00) })
            scene.painter.close(window)
            #expect(recording.waitForEnd() == .windowClosed(window))
            #expect(Self.wait(for: scene.canvas, on: scene))
        }

        /// Then the screen is captured, with what lies over the window.
        @Test func aFrameIsNeverInThePictureWithoutComposite() throws {
            let scene = try Self.scene(without: ["Composite"])
            let place = PixelRect(x: 0, y: 60, width: 200, height: 150)
            let window = scene.painter.window(place, 0x00_80_00)
            let recording = try Self.framed(scene, .window(window))
            defer { recording.stop() }
            #expect(Self.wait(for: Self.frame(scene.canvas.filled(place, 0x00_80_00), place), on: scene))
            recording.settle()
            #expect(recording.shots.allSatisfy { $0.canvas == X11Canvas(place.size, 0x00_80_00) })
        }

        @Test func theScreenAndBeamRoomsOwnWindowsHaveNone() throws {
            let scene = try Self.scene()
            let window = scene.painter.window(PixelRect(x: 50, y: 60, width: 200, height: 150), 0x00_80_00)
            scene.painter.set(OwnWindows.markName, [1], of: window)
            let shown = scene.painter.screenshot()
            for area in [X11Options.Area.window(window), .screen] {
                let recording = try Self.framed(scene, area)
                recording.settle()
                #expect(scene.painter.screenshot() == shown)
                recording.stop()
            }
        }
    }
}
