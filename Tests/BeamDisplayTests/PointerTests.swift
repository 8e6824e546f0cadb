import BeamMedia
import CPango
import Foundation
import Synchronization
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// The host's pointer over the picture: in its place, and gone without traces.
    @Suite(.serialized) @MainActor struct Pointers {
        nonisolated static let renderers = [RendererChoice.software, .opengl]

        /// Opaque and coloured, so that each pixel of it shows; the hotspot is its pixel at 2, 3.
        nonisolated static let look = PointerLook(
            size: PixelSize(width: 12, height: 16), hotspot: PixelPoint(x: 2, y: 3),
            pixels: (0..<192).map { 0xff00_0000 | UInt32($0) << 8 | 0xc0 })!

        private func shown(_ x: Int, _ y: Int, of picture: Picture) -> ScreenPointer {
            .shown(Self.look, at: PixelPoint(x: x, y: y), in: picture.size)
        }

        private func source(_ window: VideoWindow) throws -> Int { try #require(window.focus.source) }

        /// The pixels at which two pictures differ; empty if none does.
        private func difference(_ one: PixelBuffer, _ other: PixelBuffer) -> PixelRect {
            var rect = PixelRect(x: 0, y: 0, width: 0, height: 0)
            // As words, and equal rows at once, because unoptimised tests compare millions of pixels.
            for y in 0..<one.size.height {
                let (row, otherRow) = (
                    one.planes[0].base + y * one.planes[0].stride, other.planes[0].base + y * other.planes[0].stride
                )
                guard memcmp(row, otherRow, 4 * one.size.width) != 0 else { continue }
                let (words, others) = (
                    row.assumingMemoryBound(to: UInt32.self), otherRow.assumingMemoryBound(to: UInt32.self)
                )
                for x in 0..<one.size.width where (words[x] ^ others[x]) & 0xff_ffff != 0 {
                    rect = rect.union(PixelRect(x: x, y: y, width: 1, height: 1))
                }
            }
            return rect
        }

        @Test("A pointer is where it is, and leaves nothing behind", arguments: renderers)
        func moves(renderer: RendererChoice) throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open(renderer, fullscreen: true)
            let picture = TestPictures.noise(.i420, PixelSize(width: 1280, height: 720))
            window.show(picture)
            WindowTests.settle(window)
            let bare = try #require(window.readBack())
            let source = try source(window)
            for (x, y) in [(100, 90), (104, 95), (700, 400), (1279, 719), (0, 0), (-5, 30), (640, 360)] {
                window.setPointer(shown(x, y, of: picture), of: source)
                let drawn = try #require(window.readBack())
                let place = PixelRect(x: x - 2, y: y - 3, width: 12, height: 16)
                    .intersection(PixelRect(picture.size))
                #expect(difference(bare, drawn) == place, "\(x), \(y)")
                for row in place.y..<place.maxY {
                    for column in place.x..<place.maxX {
                        let number = (row - y + 3) * 12 + column - x + 2
                        #expect(drawn.rgb(column, row) == [0, number, 0xc0])
                    }
                }
                if renderer == .software { #expect(display.differences(from: drawn, at: (0, 0), step: 3) == 0) }
            }
            // A picture that changes below it, and one elsewhere.
            var next = TestPictures.noise(.i420, picture.size)
            next.damage = DamageRegion(PixelRect(x: 600, y: 340, width: 64, height: 40))
            window.show(next)
            #expect(
                try difference(bare, #require(window.readBack()))
                    == PixelRect(x: 638, y: 357, width: 12, height: 16))
            for gone in [ScreenPointer.hidden, .inPicture] {
                window.setPointer(gone, of: source)
                #expect(try #require(window.readBack()).differingPixels(from: bare) == 0)
                window.setPointer(shown(50, 60, of: picture), of: source)
                #expect(try #require(window.readBack()).differingPixels(from: bare) == 192)
            }
            // With the picture it goes.
            window.forgetPicture(of: source)
            window.show(picture)
            #expect(try #require(window.readBack()).differingPixels(from: bare) == 0)
        }

        /// Moved in steps, it looks as if everything had been drawn at once.
        @Test(
            "A scaled pointer leaves nothing behind", arguments: renderers, [(640, 360), (1920, 1080), (1000, 600)])
        func scaled(renderer: RendererChoice, size: (Int, Int)) throws {
            let window = try WindowTests.open(renderer, fullscreen: true)
            let picture = TestPictures.noise(.i420, PixelSize(width: size.0, height: size.1))
            window.show(picture)
            WindowTests.settle(window)
            let bare = try #require(window.readBack())
            let source = try source(window)
            let viewport = picture.size.viewport(in: bare.size)
            let scale = Double(viewport.width) / Double(size.0)
            for step in 0..<8 {
                let (x, y) = (40 + step * 37, 50 + step * 21)
                window.setPointer(shown(x, y, of: picture), of: source)
                let drawn = try #require(window.readBack())
                let place = difference(bare, drawn)
                #expect(abs(Double(place.x - viewport.x) - Double(x - 2) * scale) <= 1.5, "\(place)")
                #expect(abs(Double(place.y - viewport.y) - Double(y - 3) * scale) <= 1.5, "\(place)")
                #expect(abs(Double(place.width) - 12 * scale) <= 1.5 && abs(Double(place.height) - 16 * scale) <= 1.5)
                // A message forces a full redraw.
                window.setMessage(WindowMessage(headline: "Wait"))
                window.redrawIfNeeded()
                window.setMessage(nil)
                #expect(try #require(window.readBack()).differingPixels(from: drawn) == 0, "step \(step)")
            }
            window.setPointer(.hidden, of: source)
            #expect(try #require(window.readBack()).differingPixels(from: bare) == 0)
        }

        @Test("It is not over a picture that is held, or that words cover", arguments: renderers)
        func held(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer, fullscreen: true)
            let picture = TestPictures.plain(PixelSize(width: 1280, height: 720), y: 90)
            window.show(picture)
            WindowTests.settle(window)
            let source = try source(window)
            let bare = try #require(window.readBack())
            let message = WindowMessage(headline: "Reconnecting…")
            window.setMessage(message)
            let covered = try #require(window.readBack())
            window.setMessage(nil)
            window.setHeld(Held.paused)
            let held = try #require(window.readBack())
            window.setPointer(shown(200, 100, of: picture), of: source)
            #expect(try #require(window.readBack()).differingPixels(from: held) == 0)
            window.setHeld(nil)
            #expect(try #require(window.readBack()).differingPixels(from: bare) == 192)
            window.setMessage(message)
            #expect(try #require(window.readBack()).differingPixels(from: covered) == 0)
        }

        @Test("In a grid each picture has its own, within its tile", arguments: renderers)
        func grid(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer, fullscreen: true)
            window.setSources((0..<4).map { WindowSource(id: $0 + 10, name: "Host \($0 + 1)") })
            WindowTests.settle(window)
            let picture = TestPictures.plain(PixelSize(width: 640, height: 360), y: 90)
            window.show((0..<4).map { (source: $0 + 10, picture: picture) })
            let bare = try #require(window.readBack())
            for index in 0..<4 {
                let tile = window.grid.layout(window.gridSetting).tiles[index].picture
                for (x, y) in [(320, 180), (0, 0), (639, 359)] {
                    window.setPointer(shown(x, y, of: picture), of: index + 10)
                    let place = try difference(bare, #require(window.readBack()))
                    #expect(!place.isEmpty && tile.contains(place), "tile \(index): \(place) in \(tile)")
                    let scale = Double(tile.width) / 640
                    let corner = (
                        max(0, Double(x - 2) * scale) + Double(tile.x), max(0, Double(y - 3) * scale) + Double(tile.y)
                    )
                    #expect(abs(Double(place.x) - corner.0) <= 2 && abs(Double(place.y) - corner.1) <= 2, "\(place)")
                }
                window.setPointer(.inPicture, of: index + 10)
                #expect(try #require(window.readBack()).differingPixels(from: bare) == 0)
            }
            // Of a source that isn't there.
            window.setPointer(shown(1, 1, of: picture), of: 77)
            #expect(window.pointer(of: 77) == .inPicture)
        }

        /// What a host says that means harm.
        @Test("Pointers of any place and size are drawn within the picture", arguments: renderers)
        func hostile(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer, fullscreen: true)
            let picture = TestPictures.plain(PixelSize(width: 1280, height: 720), y: 90)
            window.show(picture)
            WindowTests.settle(window)
            let source = try source(window)
            let bare = try #require(window.readBack())
            let far = 1 << 17
            for (x, y, width, height) in [
                (far, far, 1280, 720), (-far, -far, 1280, 720), (0, 0, 1, 1), (far, -far, 1, 65_535),
                (0, 0, 65_535, 65_535),
            ] {
                window.setPointer(
                    .shown(Self.look, at: PixelPoint(x: x, y: y), in: PixelSize(width: width, height: height)),
                    of: source)
                #expect(try #require(window.readBack()).differingPixels(from: bare) <= 1, "\(x), \(y)")
            }
        }
    }
}

/// No display needed.
@Suite struct PointerShotTests {
    @Test(arguments: [PixelFormat.i420, .i444, .bgrx], [(64, 48), (128, 96)])
    func aScreenshotHasThePointer(format: PixelFormat, said: (Int, Int)) throws {
        let path = NSTemporaryDirectory() + "beamroom-pointer-\(UInt64.random(in: 0...UInt64.max)).png"
        defer { unlink(path) }
        let picture = TestPictures.noise(format, PixelSize(width: 64, height: 48))
        let before = (0..<48).map { y in (0..<64).map { picture.format == .bgrx ? picture.buffer.rgb($0, y) : [y] } }
        func shot(_ pointer: ScreenPointer) throws -> OpaquePointer {
            let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            defer { close(file) }
            #expect(PNGFile.write(picture, pointer, to: file) == nil)
            return try #require(cairo_image_surface_create_from_png(path))
        }
        func pixel(_ surface: OpaquePointer, _ x: Int, _ y: Int) -> UInt32 {
            let row = cairo_image_surface_get_data(surface) + y * Int(cairo_image_surface_get_stride(surface))
            return UnsafeRawPointer(row).load(fromByteOffset: 4 * x, as: UInt32.self) & 0xff_ffff
        }
        let bare = try shot(.inPicture)
        let look = WindowTests.Pointers.look
        let drawn = try shot(
            .shown(look, at: PixelPoint(x: said.0 / 2, y: said.1 / 2), in: PixelSize(width: said.0, height: said.1)))
        defer { for surface in [bare, drawn] { cairo_surface_destroy(surface) } }
        let divisor = said.0 / 64
        let place = PixelRect(
            x: 32 - 2 / divisor, y: 24 - (divisor == 1 ? 3 : 1), width: 12 / divisor, height: 16 / divisor)
        for y in 0..<48 {
            for x in 0..<64 {
                if !place.contains(PixelRect(x: x, y: y, width: 1, height: 1)) {
                    #expect(pixel(drawn, x, y) == pixel(bare, x, y), "\(x), \(y)")
                } else if divisor == 1 {
                    #expect(pixel(drawn, x, y) == look.pixels[(y - 21) * 12 + x - 30] & 0xff_ffff)
                } else {
                    #expect(pixel(drawn, x, y) & 0xff00ff == 0xc0)
                }
            }
        }
        // The picture itself stays as it is.
        #expect(
            before == (0..<48).map { y in (0..<64).map { picture.format == .bgrx ? picture.buffer.rgb($0, y) : [y] } })
    }
}
