import BeamMedia
import Testing

@testable import BeamDisplay

extension WindowTests {
    @Suite(.serialized) @MainActor struct Pictures {
        nonisolated static let colours = [ColourDescription.Matrix.bt601, .bt709, .bt2020].flatMap { matrix in
            [false, true].map { ColourDescription(matrix: matrix, isFullRange: $0) }
        }

        /// The pictures as a renderer shows them at their own size.
        func shown(_ renderer: RendererChoice, _ pictures: [Picture]) throws -> [PixelBuffer] {
            let window = try WindowTests.open(renderer)
            return try pictures.map { picture in
                window.show(picture)
                _ = window.waitForEvents(timeout: .milliseconds(20))
                return try #require(window.readBack())
            }
        }

        @Test("Both renderers show the same, correct colours", arguments: [PixelFormat.i420, .i444])
        func colours(format: PixelFormat) throws {
            let size = PixelSize(width: 162, height: 91)
            let pictures =
                Self.colours.map { TestPictures.noise(format, size, colour: $0) }
                + Self.colours.map { TestPictures.bars(size, colour: $0) }
            let software = try shown(.software, pictures)
            let openGL = try shown(.opengl, pictures)
            for (index, picture) in pictures.enumerated() {
                #expect(software[index].size == size)
                let difference = try #require(software[index].largestDifference(openGL[index]))
                #expect(difference <= 2, "\(picture.colour)")
                for buffer in [software[index], openGL[index]] {
                    var worst = 0.0
                    for y in 0..<size.height {
                        for (x, step) in (0..<size.width).enumerated() where (x + y) % 3 == 0 {
                            let wanted = TestPictures.reference(picture, x: step, y: y)
                            for (seen, wanted) in zip(buffer.rgb(step, y), wanted) {
                                worst = max(worst, abs(Double(seen) - wanted))
                            }
                        }
                    }
                    #expect(worst <= 1.5, "\(picture.colour)")
                }
            }
        }

        @Test("At its own size a picture is shown pixel by pixel", arguments: [RendererChoice.software, .opengl])
        func exact(renderer: RendererChoice) throws {
            let size = PixelSize(width: 641, height: 359)
            let picture = TestPictures.make(
                .i444, size, ColourDescription(matrix: .bt709, isFullRange: true), 0
            ) { plane, x, y in plane == 0 ? ((x ^ y) & 1 == 0 ? 255 : 0) : 128 }
            let buffer = try #require(shown(renderer, [picture]).first)
            #expect(buffer.size == size)
            for (x, y) in [(0, 0), (1, 0), (640, 358), (639, 358), (320, 179), (77, 200)] {
                #expect(buffer.rgb(x, y).allSatisfy { $0 == ((x ^ y) & 1 == 0 ? 255 : 0) }, "\(x), \(y)")
            }
        }

        @Test("RGB pictures are shown too", arguments: [RendererChoice.software, .opengl])
        func rgb(renderer: RendererChoice) throws {
            let picture = TestPictures.noise(.bgrx, PixelSize(width: 320, height: 200))
            let buffer = try #require(shown(renderer, [picture]).first)
            #expect(buffer.largestDifference(picture.buffer) == 0)
        }

        @Test("What the renderer reads back is what the X server shows", arguments: [RendererChoice.software, .opengl])
        func screen(renderer: RendererChoice) throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open(renderer)
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            WindowTests.settle(window)
            let buffer = try #require(window.readBack())
            let place = try #require(display.windows().first)
            #expect((place.width, place.height) == (640, 360))
            for x in stride(from: 40, to: 640, by: 80) {
                #expect(display.screenPixel(x: place.x + x, y: place.y + 100) == buffer.rgb(x, 100))
            }
        }

        @Test("All of the damage is redrawn", arguments: [RendererChoice.software, .opengl])
        func damage(renderer: RendererChoice) throws {
            let size = PixelSize(width: 400, height: 300)
            let window = try WindowTests.open(renderer)
            window.show(TestPictures.noise(.i420, size, seed: 5))
            WindowTests.settle(window)
            // The same noise except for a square that isn't aligned to the chroma grid.
            let changed = PixelRect(x: 101, y: 51, width: 63, height: 41)
            var picture = TestPictures.noise(.i420, size, seed: 5)
            let other = TestPictures.noise(.i420, size, seed: 6)
            for index in 0..<3 {
                let part = index == 0 ? changed : changed.halved
                for y in part.y..<part.maxY {
                    for x in part.x..<part.maxX {
                        picture.buffer.planes[index][x, y] = other.buffer.planes[index][x, y]
                    }
                }
            }
            picture.damage = DamageRegion(
                PixelRect(x: 100, y: 50, width: 64, height: 42))
            window.show(picture)
            let buffer = try #require(window.readBack())
            for (x, y) in [(101, 51), (100, 50), (163, 91), (164, 92), (99, 49), (165, 93), (10, 10), (399, 299)] {
                for (seen, wanted) in zip(buffer.rgb(x, y), TestPictures.reference(picture, x: x, y: y)) {
                    #expect(abs(Double(seen) - wanted) <= 1.5, "\(x), \(y)")
                }
            }
        }

        @Test("The aspect ratio is kept, with black bars", arguments: [RendererChoice.software, .opengl])
        func letterbox(renderer: RendererChoice) throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open(renderer, fullscreen: true)
            let picture = TestPictures.plain(PixelSize(width: 300, height: 300), y: 180)
            window.show(picture)
            WindowTests.settle(window)
            let buffer = try #require(window.readBack())
            #expect(buffer.size == PixelSize(width: display.size.width, height: display.size.height))
            let grey = TestPictures.reference(picture, x: 0, y: 0).map { Int($0.rounded()) }
            // 720 high, so 720 wide, in the middle of 1280.
            for (x, expected) in [(0, [0, 0, 0]), (278, [0, 0, 0]), (282, grey), (997, grey), (1001, [0, 0, 0])] {
                for (seen, wanted) in zip(buffer.rgb(x, 360), expected) {
                    #expect(abs(seen - wanted) <= 1, "\(x)")
                }
            }
        }

        @Test("Twice the size is sharp: squares, not interpolation", arguments: [RendererChoice.software, .opengl])
        func magnified(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer, fullscreen: true)
            let picture = TestPictures.noise(.i420, PixelSize(width: 640, height: 360), seed: 3)
            window.show(picture)
            WindowTests.settle(window)
            let buffer = try #require(window.readBack())
            for (x, y) in [(0, 0), (1, 1), (2, 3), (1279, 719), (641, 400)] {
                for (seen, wanted) in zip(buffer.rgb(x, y), TestPictures.reference(picture, x: x / 2, y: y / 2)) {
                    #expect(abs(Double(seen) - wanted) <= 1.5, "\(x), \(y)")
                }
            }
        }

        @Test(
            "Scaled pictures look alike in both renderers",
            arguments: [
                PixelSize(width: 500, height: 300), PixelSize(width: 1920, height: 1080),
                PixelSize(width: 2733, height: 1537),
            ])
        func scaled(size: PixelSize) throws {
            // Smooth shapes with a few edges, because rounding differences in noise would dominate.
            let picture = TestPictures.make(.i420, size, .bt709Limited, 0) { plane, x, y in
                let (x, y) = plane == 0 ? (x, y) : (x * 2, y * 2)
                if plane > 0 { return UInt8(96 + (plane == 1 ? x * 64 / size.width : y * 64 / size.height)) }
                return (x / 40 + y / 40) & 1 == 0 ? 60 : UInt8(100 + x * 100 / size.width)
            }
            var shown: [PixelBuffer] = []
            for renderer in [RendererChoice.software, .opengl] {
                let window = try WindowTests.open(renderer, fullscreen: true)
                window.show(picture)
                WindowTests.settle(window)
                shown.append(try #require(window.readBack()))
                WindowTests.keep(window, as: "scaled-\(size)-\(renderer.rawValue)")
            }
            var sum = 0
            for y in stride(from: 0, to: shown[0].size.height, by: 3) {
                for x in stride(from: 0, to: shown[0].size.width, by: 3) {
                    sum += zip(shown[0].rgb(x, y), shown[1].rgb(x, y)).reduce(0) { $0 + abs($1.0 - $1.1) }
                }
            }
            let mean = Double(sum) / Double(shown[0].size.area / 9 * 3)
            #expect(mean < 1.0)
        }

        @Test(
            "Changes of size, format and colours are followed",
            arguments: [
                RendererChoice.software, .opengl,
            ])
        func changes(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            let sizes = [(640, 360), (360, 640), (2, 2), (1, 1), (8192, 16), (16, 8192), (1366, 767), (640, 360)]
            for (index, (width, height)) in sizes.enumerated() {
                let format: PixelFormat = index % 2 == 0 ? .i420 : .i444
                let picture = TestPictures.plain(
                    PixelSize(width: width, height: height), y: UInt8(100 + index * 10), format: format)
                window.show(picture)
                WindowTests.settle(window)
                let buffer = try #require(window.readBack())
                let wanted = TestPictures.reference(picture, x: 0, y: 0)
                let place = picture.size.viewport(in: buffer.size)
                let middle = buffer.rgb(place.x + place.width / 2, place.y + place.height / 2)
                for (seen, wanted) in zip(middle, wanted) {
                    #expect(abs(Double(seen) - wanted) <= 1.5, "\(width)x\(height)")
                }
            }
        }

        @Test("Other screen depths work too", arguments: [16, 30])
        func depth(depth: Int) throws {
            let display = try TestDisplay(width: 800, height: 600, depth: depth)
            let window = try VideoWindow(WindowOptions(display: display.name))
            let picture = TestPictures.bars(PixelSize(width: 640, height: 360))
            window.show(picture)
            WindowTests.settle(window)
            let buffer = try #require(window.readBack())
            for (seen, wanted) in zip(buffer.rgb(120, 100), TestPictures.reference(picture, x: 120, y: 100)) {
                #expect(abs(Double(seen) - wanted) <= 1.5)
            }
        }
    }
}
