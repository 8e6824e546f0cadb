import BeamMedia
import CXCB
import Foundation
import Testing

@testable import BeamCapture

/// BeamRoom's own windows are left out of a shared screen.
extension X11Tests {
    @Suite struct Own {
        private static let secret: UInt32 = 0xff_00ff
        private static let place = PixelRect(x: 100, y: 80, width: 240, height: 160)

        /// The card's ground and its letters; nothing else has these colours here.
        private static func isCard(_ colour: UInt32) -> Bool {
            let (red, green, blue) = (colour >> 16, colour >> 8 & 0xff, colour & 0xff)
            return (0x2b...0xc2).contains(red) && (0x2d...0xc6).contains(green) && (0x33...0xce).contains(blue)
                && abs(Int(red) - Int(green)) < 8 && abs(Int(green) - Int(blue)) < 12
        }

        /// Whether `picture` is `canvas`, but for a card in the rectangles.
        private static func isCovered(_ picture: X11Canvas, _ canvas: X11Canvas, _ cards: [PixelRect]) -> Bool {
            guard picture.size == canvas.size else { return false }
            var letters = 0
            for y in 0..<canvas.size.height {
                for x in 0..<canvas.size.width {
                    if cards.contains(where: { $0.contains(PixelRect(x: x, y: y, width: 1, height: 1)) }) {
                        guard isCard(picture[x, y]) else { return false }
                        if picture[x, y] != CoverCard.ground { letters += 1 }
                    } else if picture[x, y] != canvas[x, y] {
                        return false
                    }
                }
            }
            return letters > 100
        }

        @Test(arguments: [[], ["DAMAGE"]])
        func anOwnWindowIsReplacedByACard(without: [String]) throws {
            var scene = try X11Scene(without: without)
            let other = try X11Painter(scene.server.display)
            // One that was there before the share.
            let window = other.own(Self.place, Self.secret)
            let recording = X11Recording(try X11Source(scene.options()))
            defer { recording.stop() }
            func shows(_ cards: [PixelRect], _ canvas: X11Canvas) -> Bool {
                recording.wait { $0.last.map { Self.isCovered($0.canvas, canvas, cards) } == true }
            }
            #expect(shows([Self.place], scene.canvas))
            // What it draws costs nothing.
            let count = recording.shots.count
            for colour: UInt32 in [0xff_0000, 0x00_ff00, Self.secret] {
                other.fill(PixelRect(Self.place.size), colour, in: window)
            }
            recording.settle()
            #expect(recording.shots.count == count)
            // What is drawn around it does come, and only that.
            scene.paint(PixelRect(x: 0, y: 90, width: 640, height: 20), 0x11_eeff)
            #expect(shows([Self.place], scene.canvas))
            if without.isEmpty {
                let damage = recording.shots.dropFirst(count).flatMap(\.damage.rects)
                #expect(damage.allSatisfy { !$0.intersects(Self.place) })
            }

            // Moved, resized, hidden, shown.
            other.move(window, to: 20, 30)
            other.resize(window, to: PixelSize(width: 200, height: 180))
            let now = PixelRect(x: 20, y: 30, width: 200, height: 180)
            // All places that it has left.
            scene.paint(PixelRect(x: 0, y: 20, width: 640, height: 250), 0x20_4060)
            #expect(shows([now], scene.canvas))
            other.hide(window)
            scene.paint(now, 0x33_ee33)
            #expect(recording.wait(for: scene.canvas))
            other.show(window)
            #expect(shows([now], scene.canvas))
            // Windows above it are shown.
            let above = PixelRect(x: 150, y: 10, width: 300, height: 120)
            let cover = scene.painter.window(above, 0xee_ee00)
            #expect(shows(now.subtracting(above), scene.canvas.filled(above, 0xee_ee00)))
            // A second process of the program.
            let second = try X11Painter(scene.server.display)
            let another = PixelRect(x: 400, y: 300, width: 220, height: 150)
            let fresh = second.own(another, Self.secret)
            #expect(shows(now.subtracting(above) + [another], scene.canvas.filled(above, 0xee_ee00)))
            other.raise(window)
            #expect(
                shows([now, another], scene.canvas.filled(above, 0xee_ee00)))
            second.close(fresh)
            scene.painter.close(cover)
            other.close(window)
            for rect in [above, now, another] { scene.paint(rect, 0x10_2030) }
            #expect(recording.wait(for: scene.canvas))
            let leaks = recording.shots.count { $0.canvas.pixels.contains(Self.secret) }
            #expect(leaks == 0)
        }

        /// It is known before it is shown, and a share never shows where it has just been or is about to be.
        @Test func noPictureEverShowsAnOwnWindow() throws {
            let scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options(rate: 240)))
            defer { recording.stop() }
            let other = try X11Painter(scene.server.display)
            for round in 0..<6 {
                let window = other.own(PixelRect(x: 20, y: 30, width: 150, height: 120), Self.secret)
                for step in 0..<150 {
                    other.move(window, to: (step * 7 + round * 40) % 480, (step * 5) % 350)
                    usleep(2000)
                    if step % 3 == 0 {
                        scene.painter.fill(PixelRect(x: 0, y: 0, width: 640, height: 480), UInt32(step + 1))
                    }
                }
                other.close(window)
            }
            recording.settle()
            let shots = recording.shots
            let leaks = shots.count { $0.canvas.pixels.contains(Self.secret) }
            #expect(shots.count > 3 && leaks == 0)
            // The cards have gone with it.
            let isGone = shots.last.map { !$0.canvas.pixels.contains(CoverCard.ground) } == true
            #expect(isGone)
        }

        @Test func aWindowInAFrameIsFollowedAndItsFrameIsShared() throws {
            let scene = try X11Scene()
            let manager = try X11Painter(scene.server.display)
            let other = try X11Painter(scene.server.display)
            let recording = X11Recording(try X11Source(scene.options()))
            defer { recording.stop() }
            let frame = manager.window(Self.place.expanded(by: 10), 0xee_1111)
            let window = other.own(Self.place, Self.secret)
            manager.place(window, in: frame, at: 10, 10)
            func shows(_ card: PixelRect, _ canvas: X11Canvas) -> Bool {
                recording.wait { $0.last.map { Self.isCovered($0.canvas, canvas, [card]) } == true }
            }
            #expect(shows(Self.place, scene.canvas.filled(Self.place.expanded(by: 10), 0xee_1111)))
            // A window manager rolls it up: nothing is left to be covered.
            manager.resize(frame, to: PixelSize(width: 260, height: 10))
            scene.painter.fill(PixelRect(x: 90, y: 80, width: 260, height: 170), 0x20_4060)
            let rolled = scene.canvas.filled(PixelRect(x: 90, y: 80, width: 260, height: 170), 0x20_4060)
                .filled(PixelRect(x: 90, y: 70, width: 260, height: 10), 0xee_1111)
            #expect(recording.wait(for: rolled))
        }

        /// The list of a program that was killed, a number that now is another window's, and nonsense.
        @Test func otherWindowsAreNeverCovered() throws {
            let scene = try X11Scene()
            let stranger = try X11Painter(scene.server.display)
            let window = stranger.window(Self.place, 0x55_cc00)
            stranger.setWords(
                OwnWindows.listName, XCB_ATOM_WINDOW.rawValue, [window, 0x7654321, 0, .max], of: stranger.root)
            let recording = X11Recording(try X11Source(scene.options()))
            defer { recording.stop() }
            let canvas = scene.canvas.filled(Self.place, 0x55_cc00)
            #expect(recording.wait(for: canvas))
            stranger.setText(OwnWindows.listName, "nonsense", of: stranger.root)
            recording.settle()
            let others = recording.shots.count { $0.canvas != canvas }
            #expect(others == 0)
        }

        /// With a compositing manager, a window with alpha above it isn't opaque, but for what it says of itself.
        @Test func aTranslucentWindowAboveHidesNothing() throws {
            let scene = try X11Scene()
            scene.painter.pretendToComposite()
            let other = try X11Painter(scene.server.display)
            _ = other.own(Self.place, Self.secret)
            let above = try scene.painter.translucentPopup(Self.place.expanded(by: -20), 0xff_ee_ee_00)
            let recording = X11Recording(try X11Source(scene.options()))
            defer { recording.stop() }
            #expect(recording.wait { $0.last.map { Self.isCovered($0.canvas, scene.canvas, [Self.place]) } == true })
            scene.painter.setWords("WM_STATE", scene.painter.atom("WM_STATE"), [1, 0], of: above)
            scene.painter.setWords(
                "_NET_WM_OPAQUE_REGION", XCB_ATOM_CARDINAL.rawValue, [10, 10, 50, 40], of: above)
            scene.painter.raise(above)
            let opaque = PixelRect(x: 130, y: 110, width: 50, height: 40)
            scene.painter.move(above, to: 121, 100)
            scene.painter.move(above, to: 120, 100)
            #expect(
                recording.wait {
                    $0.last.map {
                        Self.isCovered(
                            $0.canvas, scene.canvas.filled(opaque, 0xee_ee00), Self.place.subtracting(opaque))
                    } == true
                })
        }

        @Test func aWindowThatIsSharedByItsNumberIsShownEvenIfItIsOurOwn() throws {
            let scene = try X11Scene()
            let other = try X11Painter(scene.server.display)
            let window = other.own(Self.place, Self.secret)
            let recording = X11Recording(try X11Source(scene.options(.window(window))))
            defer { recording.stop() }
            #expect(recording.wait(for: X11Canvas(Self.place.size, Self.secret)))
        }
    }
}

extension X11Painter {
    /// Creates and shows a window that is marked as BeamRoom's, as the program's windows are.
    fileprivate func own(_ frame: PixelRect, _ colour: UInt32) -> xcb_window_t {
        let window = hiddenWindow(frame, colour, isOverrideRedirect: false)
        setWords(OwnWindows.markName, XCB_ATOM_CARDINAL.rawValue, [1], of: window)
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_APPEND.rawValue), root, atom(OwnWindows.listName), XCB_ATOM_WINDOW.rawValue, 32, 1,
            [window])
        show(window)
        return window
    }
}
