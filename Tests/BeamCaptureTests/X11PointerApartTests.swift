import BeamMedia
import Testing

@testable import BeamCapture

extension X11Tests {
    /// The pointer that is told in place of being drawn.
    @Suite struct PointerApart {
        private static let screen = PixelSize(width: 640, height: 480)

        private func point(_ pointer: ScreenPointer?, in size: PixelSize = screen) -> PixelPoint? {
            guard case .shown(_, let point, size)? = pointer else { return nil }
            return point
        }

        private func waits(_ recording: X11Recording, for x: Int, _ y: Int, in size: PixelSize = screen) -> Bool {
            recording.wait(untilPointer: { point($0, in: size) == PixelPoint(x: x, y: y) })
        }

        /// The hotspot is the middle.
        private func drawn(_ canvas: X11Canvas, _ x: Int, _ y: Int) -> X11Canvas {
            canvas.filled(PixelRect(x: x - 8, y: y - 8, width: 16, height: 16), 0xff_ffff)
        }

        private func start(_ scene: X11Scene, _ area: X11Options.Area = .screen, usesEvents: Bool = true) throws
            -> X11Recording
        {
            scene.painter.setPointer(size: 16, isWhite: true)
            scene.painter.warpPointer(to: 100, 100)
            var options = scene.options(area, cursor: true)
            options.usesPointerEvents = usesEvents
            let source = try X11Source(options)
            #expect(source.tellsPointer)
            return X11Recording(source)
        }

        @Test(arguments: [true, false]) func movesMakeNoPictures(usesEvents: Bool) throws {
            let scene = try X11Scene()
            let recording = try start(scene, usesEvents: usesEvents)
            defer { recording.stop() }
            #expect(recording.wait(for: drawn(scene.canvas, 100, 100)) && recording.pointers.isEmpty)
            recording.source.setPointerApart(true)
            // Where it was drawn, the picture is restored; after that the pointer is told.
            #expect(waits(recording, for: 100, 100) && recording.shots.last?.canvas == scene.canvas)
            guard case .shown(let look, _, _)? = recording.pointers.last else { throw X11TestFailure("it isn't told") }
            #expect(look.size == PixelSize(width: 16, height: 16) && look.hotspot == PixelPoint(x: 8, y: 8))
            #expect(look.pixels.allSatisfy { $0 == 0xffff_ffff })
            let count = recording.shots.count
            for (x, y) in [(108, 104), (400, 300), (0, 0), (639, 479), (320, 200)] {
                scene.painter.warpPointer(to: x, y)
                #expect(waits(recording, for: x, y), "\(x), \(y)")
            }
            #expect(recording.shots.count == count)
            recording.source.setPointerApart(false)
            #expect(recording.wait(for: drawn(scene.canvas, 320, 200)))
            #expect(recording.wait(untilPointer: { $0 == .inPicture }))
            // As before it was told.
            scene.painter.warpPointer(to: 200, 150)
            #expect(recording.wait(for: drawn(scene.canvas, 200, 150)) && recording.pointers.last == .inPicture)
        }

        @Test func whatChangesBelowItIsWithoutIt() throws {
            var scene = try X11Scene()
            let recording = try start(scene)
            defer { recording.stop() }
            recording.source.setPointerApart(true)
            #expect(waits(recording, for: 100, 100))
            scene.paint(PixelRect(x: 90, y: 90, width: 30, height: 30), 0xff_8000)
            #expect(recording.wait(for: scene.canvas))
            scene.painter.setPointer(size: 8, isWhite: false)
            #expect(
                recording.wait(untilPointer: {
                    guard case .shown(let look, _, _)? = $0 else { return false }
                    return look.size.width == 8 && look.pixels.allSatisfy { $0 == 0xff00_0000 }
                }))
            #expect(recording.shots.last?.canvas == scene.canvas)
        }

        @Test func outsideOfARegionItIsHidden() throws {
            let scene = try X11Scene()
            let region = PixelRect(x: 90, y: 80, width: 200, height: 200)
            let recording = try start(scene, .region(region))
            defer { recording.stop() }
            recording.source.setPointerApart(true)
            #expect(waits(recording, for: 10, 20, in: region.size))
            scene.painter.warpPointer(to: 400, 120)
            #expect(recording.wait(untilPointer: { $0 == .hidden }))
            scene.painter.warpPointer(to: 289, 279)
            #expect(waits(recording, for: 199, 199, in: region.size))
            #expect(recording.shots.last?.canvas == scene.canvas.cut(region))
        }

        /// A look that viewers don't draw.
        @Test func aLargePointerIsDrawn() throws {
            let scene = try X11Scene()
            let recording = try start(scene)
            defer { recording.stop() }
            recording.source.setPointerApart(true)
            #expect(waits(recording, for: 100, 100))
            scene.painter.setPointer(size: 130, isWhite: true)
            scene.painter.warpPointer(to: 200, 200)
            let large = PixelRect(x: 135, y: 135, width: 130, height: 130)
            #expect(recording.wait(for: scene.canvas.filled(large, 0xff_ffff)))
            #expect(recording.wait(untilPointer: { $0 == .inPicture }))
            scene.painter.setPointer(size: 16, isWhite: true)
            #expect(waits(recording, for: 200, 200) && recording.shots.last?.canvas == scene.canvas)
        }

        /// While nobody watches, nothing is told; whoever comes gets a picture without the pointer, and is told.
        @Test func nobodyIsToldWhileNobodyWatches() throws {
            let scene = try X11Scene()
            let recording = try start(scene)
            defer { recording.stop() }
            recording.source.setPointerApart(true)
            #expect(waits(recording, for: 100, 100))
            recording.source.setActive(false)
            #expect(recording.wait(untilPointer: { $0 == .inPicture }))
            let told = recording.pointers.count
            scene.painter.warpPointer(to: 300, 300)
            recording.settle()
            #expect(recording.pointers.count == told)
            recording.source.setActive(true)
            #expect(waits(recording, for: 300, 300) && recording.shots.last?.canvas == scene.canvas)
        }
    }
}
