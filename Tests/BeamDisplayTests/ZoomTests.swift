import BeamMedia
import CSDL2
import Testing

@testable import BeamDisplay

/// Which part of a picture is shown. No display needed.
@Suite struct ZoomTests {
    private let picture = PixelSize(width: 1920, height: 1080)
    private let canvas = PixelSize(width: 960, height: 540)

    private func next(_ zoom: Zoom?, larger: Bool = true, at point: (x: Int, y: Int)) -> Zoom? {
        Zoom.next(zoom, larger: larger, at: point, picture, in: canvas)
    }

    @Test("The point under the pointer stays there", arguments: [(480, 270), (100, 400), (0, 0), (959, 539)])
    func pointer(point: (x: Int, y: Int)) throws {
        var zoom: Zoom?
        var times: [Double] = []
        for _ in 0..<8 {
            let before = zoom?.viewport(of: picture, in: canvas) ?? picture.viewport(in: canvas)
            zoom = next(zoom, at: point)
            let now = try #require(zoom)
            times.append(now.times)
            let after = now.viewport(of: picture, in: canvas)
            let (old, new) = (
                Double(point.x - before.x) / Double(before.width), Double(point.x - after.x) / Double(after.width)
            )
            #expect(abs(old - new) * Double(after.width) <= 2 * now.times, "\(now.times)")
            #expect(after.x <= 0 && after.maxX >= canvas.width && after.y <= 0 && after.maxY >= canvas.height)
        }
        // From the picture's own size on in whole factors, which are exact.
        #expect(times.contains(1) && times.filter { $0 >= 1 }.allSatisfy { $0 == $0.rounded() })
        for _ in 0..<12 { zoom = next(zoom, larger: false, at: point) }
        #expect(zoom == nil)
    }

    @Test func itHasBounds() throws {
        var zoom: Zoom?
        for _ in 0..<40 { zoom = next(zoom, at: (3, 3)) }
        #expect(zoom?.times == 8)
        var moved = try #require(zoom)
        moved.move(x: .max / 4, y: -.max / 4, picture, in: canvas)
        let place = moved.viewport(of: picture, in: canvas)
        #expect(place.x == 0 && place.maxY == canvas.height)
        // A window larger than the zoomed picture shows it in its middle.
        let small = Zoom.actualPixels(of: PixelSize(width: 100, height: 50))
        #expect(
            small.viewport(of: PixelSize(width: 100, height: 50), in: canvas)
                == PixelRect(x: 430, y: 245, width: 100, height: 50))
    }

    @Test func anotherSizeOfTheSamePictureIsShownAsLarge() throws {
        let half = PixelSize(width: 960, height: 540)
        var zoom = Zoom.actualPixels(of: half)
        // A tile's picture grows when it is zoomed: one pixel for one.
        zoom.follow(picture, from: half)
        #expect(zoom.times == 1)
        // During congestion it is smaller.
        zoom.follow(half, from: picture)
        #expect(zoom.times == 2)
        zoom.follow(picture, from: half)
        #expect(zoom.times == 1)
        var free = try #require(next(nil, at: (0, 0)))
        let width = free.viewport(of: picture, in: canvas).width
        free.follow(half, from: picture)
        #expect(abs(free.viewport(of: half, in: canvas).width - width) < width / 3)
        free.follow(PixelSize(width: 0, height: 0), from: half)
        #expect(free.times > 0)
    }
}

extension WindowTests {
    /// By a real X server's keyboard and mouse.
    @Suite(.serialized, .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed")) @MainActor
    struct Zooming {
        let display: TestDisplay

        init() throws { display = try TestDisplay.shared.get() }

        private func wheel(_ button: String, _ window: VideoWindow, until isDone: () -> Bool) throws -> Bool {
            try display.xdotool("keydown", "ctrl", "click", button, "keyup", "ctrl")
            return WindowTests.wait(window) { _ in isDone() }
        }

        /// The window's content without the notice at its upper edge, compared with the picture's pixels.
        private func expectPixels(_ window: VideoWindow, _ picture: Picture, _ place: String) throws {
            window.setNotice(nil)
            let shown = try #require(window.readBack())
            let zoom = try #require(window.zoom)
            let viewport = zoom.viewport(of: picture.size, in: shown.size)
            let times = Int(zoom.times)
            var worst = 0.0
            for y in stride(from: 0, to: shown.size.height, by: 37) {
                for x in stride(from: 0, to: shown.size.width, by: 41) {
                    let expected = TestPictures.reference(
                        picture, x: (x - viewport.x) / times, y: (y - viewport.y) / times)
                    for (value, want) in zip(shown.rgb(x, y), expected) {
                        worst = max(worst, abs(Double(value) - want))
                    }
                }
            }
            #expect(worst <= 2, "\(place): the pixels aren't the picture's")
        }

        @Test(
            "Ctrl and the wheel, 1:1, dragging: each pixel of the window is one of the picture",
            arguments: [RendererChoice.software, .opengl], [false, true])
        func pixelsAreThePictures(renderer: RendererChoice, isFullscreen: Bool) throws {
            try display.xdotool("mousemove", "640", "360")
            let window = try WindowTests.open(renderer, fullscreen: isFullscreen)
            // Larger than the screen, so that all of it is reduced.
            let picture = TestPictures.noise(.i444, PixelSize(width: 2000, height: 1300))
            window.show(picture)
            WindowTests.settle(window)
            let all = try #require(window.readBack())
            try display.xdotool("key", "z")
            #expect(WindowTests.wait(window) { _ in window.zoom?.isActual == true })
            WindowTests.settle(window)
            try expectPixels(window, picture, "1:1")
            WindowTests.keep(window, as: "zoom-\(renderer)-\(isFullscreen)")

            try display.xdotool("mousemove", "500", "300", "mousedown", "1", "mousemove", "400", "250", "mouseup", "1")
            let before = window.zoom?.viewport(of: picture.size, in: all.size)
            #expect(
                WindowTests.wait(window) { _ in
                    let place = window.zoom?.viewport(of: picture.size, in: all.size)
                    return place != before || place?.x ?? 0 < (all.size.width - picture.size.width) / 2
                })
            WindowTests.settle(window)
            try expectPixels(window, picture, "dragged")
            let place = try #require(window.zoom?.viewport(of: picture.size, in: all.size))
            #expect(place.x == (all.size.width - picture.size.width) / 2 - 100)
            #expect(place.y == (all.size.height - picture.size.height) / 2 - 50)

            #expect(try wheel("4", window) { window.zoom?.times == 2 })
            #expect(try wheel("4", window) { window.zoom?.times == 3 })
            WindowTests.settle(window)
            try expectPixels(window, picture, "3 times")
            // A new picture, of which a part has changed.
            var changed = TestPictures.noise(.i444, picture.size, seed: 2, number: 1)
            changed.damage = DamageRegion(PixelRect(x: 700, y: 400, width: 500, height: 400))
            for y in 0..<picture.size.height {
                for x in 0..<picture.size.width
                where !(700..<1200).contains(x) || !(400..<800).contains(y) {
                    for plane in 0..<3 {
                        changed.buffer.planes[plane][x, y] = picture.buffer.planes[plane][x, y]
                    }
                }
            }
            window.show(changed)
            try expectPixels(window, changed, "3 times, a part of it new")

            try display.xdotool("key", "ctrl+0")
            #expect(WindowTests.wait(window) { _ in window.zoom == nil })
            window.show(picture)
            window.setNotice(nil)
            WindowTests.settle(window)
            #expect((try #require(window.readBack()).largestDifference(all) ?? 255) <= 1, "all of it, as before")
        }

        /// Less than the picture's own size, and more than all of it.
        @Test(arguments: [RendererChoice.software, .opengl]) func betweenAllAndOneToOne(renderer: RendererChoice) throws
        {
            try display.xdotool("mousemove", "640", "360")
            let window = try WindowTests.open(renderer)
            let picture = TestPictures.bars(PixelSize(width: 2600, height: 1400))
            window.show(picture)
            WindowTests.settle(window)
            #expect(try wheel("4", window) { window.zoom != nil })
            window.setNotice(nil)
            let shown = try #require(window.readBack())
            let zoom = try #require(window.zoom)
            #expect(zoom.times < 1)
            let viewport = zoom.viewport(of: picture.size, in: shown.size)
            for bar in 1..<7 {
                let x = viewport.x + viewport.width * (2 * bar + 1) / 16
                guard (0..<shown.size.width).contains(x) else { continue }
                let expected = TestPictures.reference(
                    picture, x: picture.size.width * (2 * bar + 1) / 16, y: picture.size.height / 2)
                for (value, want) in zip(shown.rgb(x, shown.size.height / 2), expected) {
                    #expect(abs(Double(value) - want) <= 3, "bar \(bar)")
                }
            }
        }

        /// A host of several is asked for its full size while its picture is zoomed, and nothing is zoomed in the grid.
        @Test func aZoomedSourceIsWantedInFull() throws {
            try display.xdotool("mousemove", "640", "360")
            let window = try WindowTests.open()
            window.setSources([WindowSource(id: 1, name: "desk"), WindowSource(id: 2, name: "lab")])
            window.show([(1, TestPictures.bars(PixelSize(width: 1600, height: 900)))])
            WindowTests.settle(window)
            try display.xdotool("key", "z")
            WindowTests.settle(window)
            #expect(window.zoom == nil && window.shownSizes.count == 2)
            try display.xdotool("key", "1")
            #expect(WindowTests.wait(window) { _ in window.focus.isAlone })
            let version = window.layoutVersion
            try display.xdotool("key", "z")
            #expect(WindowTests.wait(window) { _ in window.zoom != nil })
            #expect(window.shownSizes[1] == nil && window.shownSizes[2] != nil && window.layoutVersion != version)
            try display.xdotool("key", "g")
            #expect(WindowTests.wait(window) { _ in !window.focus.isAlone })
            #expect(window.zoom == nil && window.shownSizes[1] != nil)
        }
    }
}
