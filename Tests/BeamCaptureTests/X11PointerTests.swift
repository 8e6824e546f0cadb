import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

extension X11Tests {
    @Suite struct Pointer {
        /// The hotspot is the middle; X centres a cursor made from a mask around it.
        private func square(_ size: Int, at x: Int, _ y: Int) -> PixelRect {
            PixelRect(x: x - size / 2, y: y - size / 2, width: size, height: size)
        }

        @Test(arguments: [true, false])
        func thePointerIsDrawnAtItsPosition(usesEvents: Bool) throws {
            let scene = try X11Scene()
            scene.painter.setPointer(size: 16, isWhite: true)
            scene.painter.warpPointer(to: 100, 100)
            var options = scene.options(cursor: true)
            options.usesPointerEvents = usesEvents
            let recording = X11Recording(try X11Source(options))
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas.filled(square(16, at: 100, 100), 0xff_ffff)))
            // The old position is restored, and only the two small squares are damaged. At the edge, the pointer is
            // clipped.
            var last = square(16, at: 100, 100)
            for (x, y) in [(108, 104), (400, 300), (0, 0), (639, 479), (320, 200)] {
                scene.painter.warpPointer(to: x, y)
                #expect(recording.wait(for: scene.canvas.filled(square(16, at: x, y), 0xff_ffff)))
                let damage = try #require(recording.shots.last?.damage)
                let bounds = PixelRect(scene.canvas.size)
                let (old, new) = (last.intersection(bounds), square(16, at: x, y).intersection(bounds))
                #expect(damage.rects.allSatisfy { old.contains($0) || new.contains($0) })
                last = new
            }
        }

        @Test func aNewPointerImageIsDrawn() throws {
            var scene = try X11Scene()
            scene.painter.setPointer(size: 16, isWhite: true)
            scene.painter.warpPointer(to: 100, 100)
            let recording = X11Recording(try X11Source(scene.options(cursor: true)))
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas.filled(square(16, at: 100, 100), 0xff_ffff)))
            scene.painter.setPointer(size: 8, isWhite: false)
            #expect(recording.wait(for: scene.canvas.filled(square(8, at: 100, 100), 0)))
            // The screen changes under the pointer.
            scene.paint(PixelRect(x: 90, y: 90, width: 30, height: 30), 0xff_8000)
            #expect(recording.wait(for: scene.canvas.filled(square(8, at: 100, 100), 0)))
        }

        @Test(.enabled(if: X11TestServer.hasXdotool, "xdotool isn't installed"))
        func thePointerIsFollowedWhenAnotherProgramTakesItsMotionEvents() throws {
            let scene = try X11Scene()
            let window = scene.painter.window(PixelRect(x: 0, y: 0, width: 640, height: 480), 0x00_80_00)
            scene.painter.takePointerMotion(in: window)
            scene.painter.setPointer(size: 16, isWhite: true)
            scene.painter.warpPointer(to: 100, 100)
            let recording = X11Recording(try X11Source(scene.options(cursor: true)))
            defer { recording.stop() }
            let bare = X11Canvas(scene.canvas.size, 0x00_80_00)
            #expect(recording.wait(for: bare.filled(square(16, at: 100, 100), 0xff_ffff)))
            // Through a device; pointer acceleration may move it farther than requested.
            try scene.server.xdotool("mousemove_relative", "40", "30")
            let place = scene.painter.pointerPlace
            #expect(place != (100, 100))
            #expect(recording.wait(for: bare.filled(square(16, at: place.x, place.y), 0xff_ffff)))
        }

        @Test func thePointerCanBeLeftOut() throws {
            let scene = try X11Scene()
            scene.painter.setPointer(size: 16, isWhite: true)
            scene.painter.warpPointer(to: 100, 100)
            let recording = X11Recording(try X11Source(scene.options(cursor: false)))
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas))
            scene.painter.warpPointer(to: 200, 200)
            recording.settle()
            #expect(recording.shots.count == 1)
        }

        @Test func thePointerIsDrawnInARegionOnlyWhileInside() throws {
            let scene = try X11Scene()
            scene.painter.setPointer(size: 16, isWhite: true)
            scene.painter.warpPointer(to: 50, 50)
            let region = PixelRect(x: 100, y: 100, width: 200, height: 200)
            let recording = X11Recording(try X11Source(scene.options(.region(region), cursor: true)))
            defer { recording.stop() }
            let bare = scene.canvas.cut(region)
            #expect(recording.wait(for: bare))
            scene.painter.warpPointer(to: 150, 120)
            #expect(recording.wait(for: bare.filled(square(16, at: 50, 20), 0xff_ffff)))
            scene.painter.warpPointer(to: 400, 120)
            #expect(recording.wait(for: bare))
        }

        @Test func thePointerIsDrawnInAWindow() throws {
            let scene = try X11Scene()
            let frame = PixelRect(x: 50, y: 60, width: 200, height: 150)
            let window = scene.painter.window(frame, 0x00_80_00)
            scene.painter.setPointer(size: 16, isWhite: true)
            scene.painter.warpPointer(to: 20, 20)
            let recording = X11Recording(try X11Source(scene.options(.window(window), cursor: true)))
            defer { recording.stop() }
            let bare = X11Canvas(frame.size, 0x00_80_00)
            #expect(recording.wait(for: bare))
            scene.painter.warpPointer(to: 150, 160)
            #expect(recording.wait(for: bare.filled(square(16, at: 100, 100), 0xff_ffff)))
            // The window moves away under the pointer.
            scene.painter.move(window, to: 60, 65)
            #expect(recording.wait(for: bare.filled(square(16, at: 90, 95), 0xff_ffff)))
        }

        @Test func thePointerIsBlended() {
            #expect(PointerImage.over(0xff_12_34_56, 0xff_ff_ff) == 0xff_12_34_56)
            #expect(PointerImage.over(0x00_00_00_00, 0x12_34_56) == 0x12_34_56)
            // Half-transparent black over white, and white over black.
            #expect(PointerImage.over(0x80_00_00_00, 0xff_ff_ff) == 0x7f_7f_7f)
            #expect(PointerImage.over(0x80_80_80_80, 0x00_00_00) == 0x80_80_80)
        }
    }

    @Suite struct Plans {
        private let size = PixelSize(width: 100, height: 80)

        private func plan(_ rects: [PixelRect], readable: PixelRect? = nil, inPlace: Bool = true) -> GrabPlan {
            var region = DamageRegion()
            for rect in rects { region.insert(rect) }
            return GrabPlan(region, size: size, readable: readable ?? PixelRect(size), inPlace: inPlace)
        }

        @Test func wideDamageIsGrabbedInPlaceInWholeRows() {
            let plan = plan([
                PixelRect(x: 20, y: 10, width: 60, height: 5), PixelRect(x: 0, y: 50, width: 10, height: 10),
            ])
            #expect(plan.bands == [PixelRect(x: 0, y: 10, width: 100, height: 5)])
            #expect(plan.pieces == [PixelRect(x: 0, y: 50, width: 10, height: 10)])
        }

        @Test func touchingBandsAreMergedAndAbsorbPieces() {
            let plan = plan([
                PixelRect(x: 0, y: 30, width: 90, height: 10), PixelRect(x: 40, y: 10, width: 60, height: 20),
                PixelRect(x: 2, y: 15, width: 5, height: 20), PixelRect(x: 2, y: 35, width: 5, height: 20),
            ])
            #expect(plan.bands == [PixelRect(x: 0, y: 10, width: 100, height: 30)])
            #expect(plan.pieces == [PixelRect(x: 2, y: 35, width: 5, height: 20)])
        }

        @Test func unreadablePartsAreSkipped() {
            let readable = PixelRect(x: 0, y: 0, width: 70, height: 80)
            let plan = plan([PixelRect(size)], readable: readable)
            #expect(plan.bands == [])
            #expect(plan.pieces == [readable])
            #expect(self.plan([PixelRect(size)], inPlace: false).pieces == [PixelRect(size)])
        }
    }
}
