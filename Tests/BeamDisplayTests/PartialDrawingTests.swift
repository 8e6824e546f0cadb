import BeamMedia
import Glibc
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// Partial drawing gives the same result as drawing everything, in the window's memory and on the X server.
    @Suite(.serialized) @MainActor struct Parts {
        /// Noise in every plane, generated quickly.
        private func noise(_ format: PixelFormat, _ size: PixelSize, seed: UInt64) -> Picture {
            let buffer = PixelBuffer(format: format, size: size)
            var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
            for index in 0..<format.planeCount {
                let rows = format.plane(index, of: size).rows
                let words = buffer.planes[index].stride / 8 * rows
                let memory = buffer.planes[index].base.bindMemory(to: UInt64.self, capacity: words)
                for word in 0..<words {
                    state ^= state << 13
                    state ^= state >> 7
                    state ^= state << 17
                    memory[word] = state
                }
            }
            return Picture(buffer: buffer, time: .zero)
        }

        /// Noise from `seed`, and from `otherSeed` in `rects`, which have even positions.
        private func noise(
            _ format: PixelFormat, _ size: PixelSize, seed: UInt64, changedIn rects: [PixelRect], to otherSeed: UInt64
        ) -> Picture {
            var picture = noise(format, size, seed: seed)
            let other = noise(format, size, seed: otherSeed)
            picture.damage = DamageRegion()
            for rect in rects { picture.damage.insert(rect.intersection(PixelRect(size))) }
            let bytes = format == .bgrx ? 4 : 1
            for (index, plane) in picture.buffer.planes.enumerated() {
                for rect in picture.damage.rects {
                    let part = index > 0 && format == .i420 ? rect.halved : rect
                    for y in part.y..<part.maxY {
                        let offset = y * plane.stride + part.x * bytes
                        (plane.base + offset).copyMemory(
                            from: other.buffer.planes[index].base + offset, byteCount: part.width * bytes)
                    }
                }
            }
            return picture
        }

        private func areEqual(_ a: PixelBuffer, _ b: PixelBuffer) -> Bool {
            guard a.size == b.size else { return false }
            let (p, q) = (a.planes[0], b.planes[0])
            return (0..<a.size.height).allSatisfy {
                memcmp(p.base + $0 * p.stride, q.base + $0 * q.stride, a.size.width * 4) == 0
            }
        }

        nonisolated static let sizes = [
            (1280, 720), (640, 360), (1920, 1080), (501, 301), (1366, 767),
        ].map { PixelSize(width: $0.0, height: $0.1) }

        @Test("A partial change gives the same result as a full redraw", arguments: sizes, [false, true])
        func change(size: PixelSize, hasStatistics: Bool) throws {
            let display = try TestDisplay.shared.get()
            let (width, height) = (size.width, size.height)
            let rects = [
                PixelRect(x: 0, y: 0, width: 2, height: 2), PixelRect(x: 64, y: 48, width: 64, height: 16),
                PixelRect(x: width / 2 & ~1, y: height / 2 & ~1, width: 200, height: 90),
                PixelRect(x: (width - 10) & ~1, y: (height - 20) & ~1, width: 10, height: 20),
            ]
            for format in [PixelFormat.i420, .i444, .bgrx] {
                let second = noise(format, size, seed: 7, changedIn: rects, to: 8)
                let window = try WindowTests.open(fullscreen: true, statistics: hasStatistics)
                if hasStatistics { window.setOverlay(["Size\t\(size)", "Rate\t60 frames/s"]) }
                window.show(noise(format, size, seed: 7))
                window.redrawIfNeeded()
                _ = window.readBack()
                window.show(second)
                let parts = try #require(window.readBack())
                #expect(display.differences(from: parts, at: (0, 0), step: 9) == 0)
                // A message forces a full redraw.
                window.setMessage(WindowMessage(headline: "Wait"))
                window.redrawIfNeeded()
                window.setMessage(nil)
                let whole = try #require(window.readBack())
                #expect(areEqual(parts, whole), "\(format)")
                #expect(display.differences(from: whole, at: (0, 0), step: 9) == 0)
            }
        }

        @Test("A picture that changes everywhere is shown completely", arguments: sizes)
        func everything(size: PixelSize) throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open(fullscreen: true)
            for seed in 1...3 {
                window.show(noise(.i420, size, seed: UInt64(seed)))
                _ = window.readBack()
            }
            #expect(display.differences(from: try #require(window.readBack()), at: (0, 0), step: 5) == 0)
        }

        @Test("A picture without damage changes nothing", arguments: [RendererChoice.software, .opengl])
        func nothing(renderer: RendererChoice) throws {
            let size = PixelSize(width: 320, height: 180)
            let window = try WindowTests.open(renderer)
            window.show(TestPictures.plain(size, y: 90))
            WindowTests.settle(window)
            let before = try #require(window.readBack())
            var same = TestPictures.plain(size, y: 90)
            same.damage = DamageRegion()
            for _ in 0..<3 { window.show(same) }
            #expect(try #require(window.readBack()).largestDifference(before) == 0)
        }

        @Test("A server without shared memory, or with another pixel format, works too", arguments: [24, 16])
        func withoutSharedMemory(depth: Int) throws {
            let display = try TestDisplay(
                width: 800, height: 600, depth: depth, without: depth == 24 ? ["MIT-SHM"] : [])
            let size = PixelSize(width: 640, height: 360)
            let window = try VideoWindow(WindowOptions(display: display.name))
            window.show(noise(.i420, size, seed: 1))
            WindowTests.settle(window)
            let part = PixelRect(x: 100, y: 80, width: 90, height: 60)
            window.show(noise(.i420, size, seed: 1, changedIn: [part], to: 2))
            let shown = try #require(window.readBack())
            let place = try #require(display.windows().first)
            #expect((place.width, place.height) == (640, 360))
            if depth == 24 { #expect(display.differences(from: shown, at: (place.x, place.y), step: 3) == 0) }
        }

        @Test("The screen follows the window's size", .enabled(if: Tool.exists("xdotool")))
        func resizing() throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open(title: "resizing in parts")
            let size = PixelSize(width: 400, height: 300)
            window.show(noise(.i420, size, seed: 4))
            WindowTests.settle(window)
            for (width, height) in [(700, 500), (300, 200), (801, 451), (400, 300)] {
                try display.xdotool("search", "--name", "resizing in parts", "windowsize", "\(width)", "\(height)")
                let wanted = PixelSize(width: width, height: height)
                #expect(WindowTests.wait(window) { $0.contains(.resized(wanted)) })
                let part = PixelRect(x: 30, y: 30, width: 64, height: 32)
                for seed in [5, 4] as [UInt64] {
                    window.show(noise(.i420, size, seed: 4, changedIn: [part], to: seed))
                    let shown = try #require(window.readBack())
                    #expect(shown.size == wanted)
                    let place = try #require(display.windows().first)
                    #expect(display.differences(from: shown, at: (place.x, place.y), step: 3) == 0)
                }
            }
        }
    }
}
