import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

extension X11Tests {
    @Suite struct Areas {
        @Test func aRegionIsCaptured() throws {
            var scene = try X11Scene()
            let region = PixelRect(x: 101, y: 53, width: 203, height: 151)
            let source = try X11Source(scene.options(.region(region)))
            #expect(source.info.size == region.size)
            let recording = X11Recording(source)
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas.cut(region)))
            // Paint beside the region, then across its edge.
            scene.paint(PixelRect(x: 400, y: 300, width: 50, height: 50), 0xff_ffff)
            recording.settle()
            #expect(recording.shots.count == 1)
            scene.paint(PixelRect(x: 90, y: 60, width: 20, height: 20), 0x00_ff00)
            #expect(recording.wait(for: scene.canvas.cut(region)))
            #expect(recording.shots.last?.damage == DamageRegion(PixelRect(x: 0, y: 7, width: 9, height: 20)))
        }

        @Test(arguments: [
            PixelRect(x: 600, y: 0, width: 100, height: 100), PixelRect(x: -5, y: 0, width: 10, height: 10),
            PixelRect(x: 700, y: 500, width: 10, height: 10), PixelRect(x: 0, y: 0, width: 0, height: 10),
        ])
        func aRegionMustBeInsideTheScreen(region: PixelRect) throws {
            let scene = try X11Scene()
            let error = #expect(throws: CaptureError.self) { try X11Source(scene.options(.region(region))) }
            #expect(error == .regionOffScreen(region, screen: scene.canvas.size))
        }

        @Test func aMonitorByNameAndByNumber() throws {
            let scene = try X11Scene()
            let left = PixelRect(x: 0, y: 0, width: 320, height: 480)
            let right = PixelRect(x: 320, y: 100, width: 300, height: 200)
            scene.painter.setMonitor("LEFT", left)
            scene.painter.setMonitor("RIGHT", right)
            let monitors = try X11Source.monitors(display: scene.server.display)
            #expect(monitors.contains { $0.name == "LEFT" && $0.frame == left })
            let number = try #require(monitors.firstIndex { $0.name == "RIGHT" })
            #expect(monitors[number].number == number)
            for name in ["RIGHT", "\(number)"] {
                let source = try X11Source(scene.options(.monitor(name)))
                #expect(source.info.description == "display \(scene.server.display), monitor RIGHT")
                let recording = X11Recording(source)
                defer { recording.stop() }
                #expect(recording.wait(for: scene.canvas.cut(right)))
            }
            let error = #expect(throws: CaptureError.self) { try X11Source(scene.options(.monitor("HDMI-7"))) }
            #expect(error?.description.contains("\(number): RIGHT (300x200+320+100)") == true)
        }

        @Test func aMonitorIsFollowedUntilItIsGone() throws {
            var scene = try X11Scene(width: 800, height: 600)
            let first = PixelRect(x: 0, y: 0, width: 320, height: 480)
            scene.painter.setMonitor("DESK", first)
            let recording = X11Recording(try X11Source(scene.options(.monitor("DESK"))))
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas.cut(first)))
            // The same size at another position, then another size. Xvfb reports monitors only when the screen's size
            // changes.
            for (frame, screen) in [
                (PixelRect(x: 100, y: 0, width: 320, height: 480), PixelSize(width: 780, height: 580)),
                (PixelRect(x: 120, y: 70, width: 200, height: 300), PixelSize(width: 760, height: 560)),
            ] {
                // xrandr moves a monitor by deleting and creating it.
                scene.painter.deleteMonitor("DESK")
                #expect(scene.painter.setScreenSize(screen))
                Thread.sleep(forTimeInterval: 0.3)
                scene.painter.setMonitor("DESK", frame)
                scene.canvas = X11Canvas(screen)
                scene.paint(PixelRect(screen), 0x40_80_c0)
                scene.paint(PixelRect(x: 150, y: 100, width: 50, height: 60), 0xff_ff00)
                #expect(recording.wait(for: scene.canvas.cut(frame)))
            }
        }

        /// For longer than tools need that rearrange monitors; and back at another place, in another size.
        @Test(arguments: [true, false])
        func aMonitorThatIsOffKeepsItsLastPictureUntilItIsBack(isBackAtTheSamePlace: Bool) throws {
            var scene = try X11Scene(width: 800, height: 600)
            let first = PixelRect(x: 40, y: 0, width: 320, height: 480)
            scene.painter.setMonitor("DESK", first)
            let recording = X11Recording(try X11Source(scene.options(.monitor("DESK"))))
            defer { recording.stop() }
            let last = scene.canvas.cut(first)
            #expect(recording.wait(for: last))
            // A short absence isn't worth a word.
            scene.painter.deleteMonitor("DESK")
            #expect(scene.painter.setScreenSize(PixelSize(width: 790, height: 600)))
            scene.painter.setMonitor("DESK", first)
            recording.settle()
            #expect(recording.visibility == [])

            scene.painter.deleteMonitor("DESK")
            #expect(scene.painter.setScreenSize(PixelSize(width: 780, height: 600)))
            #expect(recording.wait(forVisibility: [.monitorOff]))
            // The rest of the screen goes on, and what is drawn there isn't shared.
            let count = recording.shots.count
            scene.paint(PixelRect(x: 100, y: 100, width: 90, height: 70), 0x77_00_77)
            recording.settle()
            #expect(recording.shots.count == count)
            // A viewer that comes now gets the last picture.
            recording.source.setActive(false)
            recording.source.setActive(true)
            #expect(recording.wait { $0.count > count })
            #expect(recording.shots.last?.canvas == recording.shots[count - 1].canvas)
            Thread.sleep(forTimeInterval: 3)

            let place = isBackAtTheSamePlace ? first : PixelRect(x: 200, y: 100, width: 240, height: 200)
            scene.painter.setMonitor("DESK", place)
            scene.canvas = X11Canvas(PixelSize(width: 780, height: 600))
            scene.paint(PixelRect(scene.canvas.size), 0x40_80_c0)
            scene.paint(PixelRect(x: 210, y: 120, width: 50, height: 60), 0xff_ffff)
            #expect(recording.wait(forVisibility: [.monitorOff, .visible]))
            #expect(recording.wait(for: scene.canvas.cut(place)))
        }

        /// Its viewer comes while the monitor is off: it is told, and sees black.
        @Test func aMonitorThatIsOffBeforeTheFirstViewerIsBlackUntilItIsBack() throws {
            let scene = try X11Scene(width: 800, height: 600)
            let first = PixelRect(x: 40, y: 0, width: 320, height: 480)
            scene.painter.setMonitor("DESK", first)
            let recording = X11Recording(try X11Source(scene.options(.monitor("DESK"))), isActive: false)
            defer { recording.stop() }
            scene.painter.deleteMonitor("DESK")
            #expect(scene.painter.setScreenSize(PixelSize(width: 780, height: 600)))
            recording.settle()
            recording.source.setActive(true)
            #expect(recording.wait(forVisibility: [.monitorOff]))
            #expect(recording.wait(for: X11Canvas(first.size)))
            scene.painter.setMonitor("DESK", first)
            scene.painter.fill(PixelRect(x: 0, y: 0, width: 780, height: 600), 0x40_80_c0)
            #expect(recording.wait(for: X11Canvas(first.size, 0x40_80_c0)))
        }

        @Test func aChangeOfTheScreensSizeIsFollowed() throws {
            var scene = try X11Scene(width: 800, height: 600)
            let recording = X11Recording(try X11Source(scene.options()), holdsPictures: true)
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas))
            for size in [PixelSize(width: 640, height: 480), PixelSize(width: 800, height: 600)] {
                #expect(scene.painter.setScreenSize(size))
                scene.canvas = X11Canvas(size)
                scene.paint(PixelRect(size), 0x33_66_99)
                scene.paint(PixelRect(x: size.width - 50, y: size.height - 40, width: 50, height: 40), 0xff_0000)
                #expect(recording.wait(for: scene.canvas))
                #expect(recording.shots.first { $0.canvas.size == size }?.damage == DamageRegion(PixelRect(size)))
            }
        }

        @Test func aRegionIsClippedWhenTheScreenShrinks() throws {
            var scene = try X11Scene(width: 800, height: 600)
            let region = PixelRect(x: 500, y: 400, width: 300, height: 200)
            let recording = X11Recording(try X11Source(scene.options(.region(region))))
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas.cut(region)))
            #expect(scene.painter.setScreenSize(PixelSize(width: 640, height: 480)))
            scene.canvas = X11Canvas(PixelSize(width: 640, height: 480))
            scene.paint(PixelRect(scene.canvas.size), 0x11_66_99)
            #expect(recording.wait(for: scene.canvas.cut(PixelRect(x: 500, y: 400, width: 140, height: 80))))
            #expect(scene.painter.setScreenSize(PixelSize(width: 320, height: 240)))
            #expect(recording.wait(forVisibility: [.regionOutside]))
            #expect(scene.painter.setScreenSize(PixelSize(width: 800, height: 600)))
            scene.canvas = X11Canvas(PixelSize(width: 800, height: 600))
            scene.paint(PixelRect(scene.canvas.size), 0x77_66_99)
            #expect(recording.wait(for: scene.canvas.cut(region)))
            #expect(recording.visibility == [.regionOutside, .visible])
        }
    }

    @Suite struct Windows {
        private let frame = PixelRect(x: 50, y: 60, width: 200, height: 150)

        @Test func aWindowIsCapturedWholeWhenCovered() throws {
            let scene = try X11Scene()
            let window = scene.painter.window(frame, 0x00_80_00, border: 3)
            let source = try X11Source(scene.options(.window(window)))
            #expect(source.info.size == frame.size)
            #expect(source.info.warnings == [])
            let recording = X11Recording(source)
            defer { recording.stop() }
            var canvas = X11Canvas(frame.size, 0x00_80_00)
            #expect(recording.wait(for: canvas))
            let cover = scene.painter.window(PixelRect(x: 0, y: 0, width: 600, height: 400), 0xff_ffff)
            let spot = PixelRect(x: 20, y: 30, width: 40, height: 50)
            scene.painter.fill(spot, 0xff_00ff, in: window)
            canvas.fill(spot, 0xff_00ff)
            #expect(recording.wait(for: canvas))
            #expect(recording.shots.last?.damage == DamageRegion(spot))
            scene.painter.close(cover)
            recording.settle()
            #expect(recording.shots.last?.canvas == canvas)
            // Moving the window doesn't change its picture.
            let count = recording.shots.count
            for step in 0..<20 { scene.painter.move(window, to: 50 + step, 60) }
            recording.settle()
            #expect(recording.shots.dropFirst(count).allSatisfy { $0.canvas == canvas })
        }

        @Test func aWindowsSizeIsFollowed() throws {
            let scene = try X11Scene()
            let window = scene.painter.window(frame, 0x00_80_00)
            let recording = X11Recording(try X11Source(scene.options(.window(window))))
            defer { recording.stop() }
            #expect(recording.wait { !$0.isEmpty })
            for size in [PixelSize(width: 301, height: 99), PixelSize(width: 10, height: 400)] {
                scene.painter.resize(window, to: size)
                scene.painter.fill(PixelRect(size), 0x12_34_56, in: window)
                #expect(recording.wait(for: X11Canvas(size, 0x12_34_56)))
            }
            // Quick resizing, as by a person dragging its corner.
            for step in 1...60 {
                scene.painter.resize(window, to: PixelSize(width: 100 + 4 * step, height: 100 + step))
            }
            let last = PixelSize(width: 340, height: 160)
            scene.painter.fill(PixelRect(last), 0xab_cd_ef, in: window)
            #expect(recording.wait(for: X11Canvas(last, 0xab_cd_ef)))
        }

        @Test func aHiddenWindowKeepsItsLastPicture() throws {
            let scene = try X11Scene()
            let window = scene.painter.window(frame, 0x00_80_00)
            let recording = X11Recording(try X11Source(scene.options(.window(window))))
            defer { recording.stop() }
            let canvas = X11Canvas(frame.size, 0x00_80_00)
            #expect(recording.wait(for: canvas))
            scene.painter.hide(window)
            recording.settle()
            #expect(recording.shots.allSatisfy { $0.canvas == canvas })
            // A viewer joins while the window is hidden.
            let count = recording.shots.count
            recording.source.setActive(false)
            recording.settle()
            recording.source.setActive(true)
            #expect(recording.wait { $0.count > count })
            #expect(recording.shots.last?.canvas == canvas)
            scene.painter.show(window)
            scene.painter.fill(PixelRect(frame.size), 0xff_ffff, in: window)
            #expect(recording.wait(for: X11Canvas(frame.size, 0xff_ffff)))
        }

        @Test func aWindowHiddenFromTheStartIsBlackUntilShown() throws {
            let scene = try X11Scene()
            let window = scene.painter.window(frame, 0x00_80_00)
            scene.painter.hide(window)
            let source = try X11Source(scene.options(.window(window)))
            #expect(source.info.warnings.contains { $0.contains("hidden") })
            let recording = X11Recording(source)
            defer { recording.stop() }
            #expect(recording.wait(for: X11Canvas(frame.size)))
            #expect(recording.wait(forVisibility: [.windowHidden]))
            scene.painter.show(window)
            #expect(recording.wait(for: X11Canvas(frame.size, 0x00_80_00)))
            #expect(recording.wait(forVisibility: [.windowHidden, .visible]))
        }

        @Test(arguments: [true, false])
        func aWindowThatIsHiddenIsReported(isActive: Bool) throws {
            let scene = try X11Scene()
            let window = scene.painter.window(frame, 0x00_80_00)
            let recording = X11Recording(try X11Source(scene.options(.window(window))), isActive: isActive)
            defer { recording.stop() }
            scene.painter.hide(window)
            #expect(recording.wait(forVisibility: [.windowHidden]))
            scene.painter.show(window)
            #expect(recording.wait(forVisibility: [.windowHidden, .visible]))
            // Marked only, as by window managers that keep the pixels for thumbnails.
            scene.painter.setState(["_NET_WM_STATE_FOCUSED", "_NET_WM_STATE_HIDDEN"], of: window)
            #expect(recording.wait(forVisibility: [.windowHidden, .visible, .windowHidden]))
            scene.painter.setState(["_NET_WM_STATE_FOCUSED"], of: window)
            #expect(recording.wait(forVisibility: [.windowHidden, .visible, .windowHidden, .visible]))
            // Covered, moved, resized: not hidden.
            _ = scene.painter.window(PixelRect(x: 0, y: 0, width: 600, height: 400), 0xff_ffff)
            scene.painter.move(window, to: 70, 80)
            scene.painter.resize(window, to: PixelSize(width: 90, height: 70))
            recording.settle()
            #expect(recording.visibility.count == 4)
        }

        @Test func aWindowWhoseFrameIsHiddenIsReported() throws {
            let scene = try X11Scene()
            let window = scene.painter.window(frame, 0x00_80_00)
            let recording = X11Recording(try X11Source(scene.options(.window(window))))
            defer { recording.stop() }
            #expect(recording.wait(for: X11Canvas(frame.size, 0x00_80_00)))
            // A window manager starts, and puts the window into a frame, and that into another.
            let outer = scene.painter.window(PixelRect(x: 0, y: 0, width: 400, height: 300), 0xff_ffff)
            let inner = scene.painter.window(PixelRect(x: 0, y: 0, width: 300, height: 200), 0xff_ffff)
            scene.painter.reparent(window, into: inner)
            scene.painter.reparent(inner, into: outer)
            recording.settle()
            let count = recording.visibility.count
            scene.painter.hide(outer)
            // Its last picture stays, and what was drawn meanwhile comes when it is shown.
            recording.settle()
            #expect(recording.visibility.dropFirst(count) == [.windowHidden])
            #expect(recording.shots.last?.canvas == X11Canvas(frame.size, 0x00_80_00))
            scene.painter.show(outer)
            scene.painter.fill(PixelRect(frame.size), 0xff_00ff, in: window)
            #expect(recording.wait(for: X11Canvas(frame.size, 0xff_00ff)))
            recording.settle()
            #expect(recording.visibility.dropFirst(count) == [.windowHidden, .visible])
            // The frame goes and the window stays, as when a window manager ends.
            scene.painter.reparent(window, into: scene.painter.root)
            scene.painter.close(outer)
            scene.painter.fill(PixelRect(frame.size), 0x12_34_56, in: window)
            #expect(recording.wait(for: X11Canvas(frame.size, 0x12_34_56)))
        }

        @Test(arguments: [true, false])
        func closingAWindowEndsTheCapture(isActive: Bool) throws {
            let scene = try X11Scene()
            let window = scene.painter.window(frame, 0x00_80_00)
            let recording = X11Recording(try X11Source(scene.options(.window(window))), isActive: isActive)
            defer { recording.stop() }
            #expect(!isActive || recording.wait { !$0.isEmpty })
            scene.painter.close(window)
            #expect(recording.waitForEnd() == .windowClosed(window))
        }

        @Test func anUnknownWindowIsRefused() throws {
            let scene = try X11Scene()
            let error = #expect(throws: CaptureError.self) { try X11Source(scene.options(.window(0x7654321))) }
            #expect(error == .noSuchWindow(0x7654321))
            #expect(error?.description.contains("--list-windows") == true)
        }

        @Test func theRootWindowIsCapturedAsTheScreen() throws {
            let scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options(.window(scene.painter.root))))
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas))
        }

        @Test func withoutCompositeTheScreenIsCapturedAtTheWindowsPosition() throws {
            let scene = try X11Scene(without: ["COMPOSITE"])
            // Half of the window is outside the screen.
            let window = scene.painter.window(PixelRect(x: 540, y: 60, width: 200, height: 150), 0x00_80_00)
            let source = try X11Source(scene.options(.window(window)))
            #expect(source.info.warnings.contains { $0.contains("Composite") })
            let recording = X11Recording(source)
            defer { recording.stop() }
            var canvas = X11Canvas(frame.size)
            canvas.fill(PixelRect(x: 0, y: 0, width: 100, height: 150), 0x00_80_00)
            #expect(recording.wait(for: canvas))
            scene.painter.fill(PixelRect(x: 10, y: 10, width: 30, height: 30), 0xff_0000, in: window)
            canvas.fill(PixelRect(x: 10, y: 10, width: 30, height: 30), 0xff_0000)
            #expect(recording.wait(for: canvas))
            scene.painter.hide(window)
            recording.settle()
            #expect(recording.shots.last?.canvas == canvas)
        }
    }
}
