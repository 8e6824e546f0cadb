import BeamMedia
import BeamPixels
import CPango
import Foundation
import Synchronization
import Testing

@testable import BeamDisplay

/// Screenshots in real files. No display needed.
@Suite struct ScreenshotTests {
    private final class Folder {
        let path = NSTemporaryDirectory() + "beamroom-shots-\(UInt64.random(in: 0...UInt64.max))"

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    }

    private static func write(_ picture: Picture, of name: String = "desk", into folder: String?) -> ScreenshotOutcome?
    {
        let writer = ScreenshotWriter(into: { folder })
        let result = Mutex<ScreenshotOutcome?>(nil)
        let isTaken = withExtendedLifetime(result) {
            writer.write(picture, of: name) { outcome in result.withLock { $0 = outcome } }
        }
        writer.finish()
        return isTaken ? result.withLock { $0 } : nil
    }

    /// Of each format, range and matrix: the pixels that the window shows, and no chunk but size, pixels and end.
    @Test(arguments: [PixelFormat.i420, .i444, .bgrx], [true, false])
    func theFileHasThePixelsAndNothingElse(format: PixelFormat, isFullRange: Bool) throws {
        let folder = try Folder()
        let colour = ColourDescription(matrix: isFullRange ? .bt601 : .bt709, isFullRange: isFullRange)
        let picture = TestPictures.noise(format, PixelSize(width: 67, height: 41), colour: colour)
        guard case .written(let path, picture.size)? = Self.write(picture, into: folder.path) else {
            throw TestFailure("nothing is written")
        }
        #expect(folder.names.count == 1 && path == "\(folder.path)/\(folder.names[0])")
        #expect(path.contains(/\/BeamRoom desk \d{4}-\d\d-\d\d \d\d-\d\d-\d\d\.png$/))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        var chunks: [String] = []
        var place = 8
        while place + 8 <= bytes.count {
            chunks.append(String(decoding: bytes[place + 4..<place + 8], as: UTF8.self))
            place += 12 + bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        #expect(place == bytes.count && chunks.first == "IHDR" && chunks.last == "IEND")
        #expect(Set(chunks) == ["IHDR", "IDAT", "IEND"], "\(chunks)")

        let surface = cairo_image_surface_create_from_png(path)
        defer { cairo_surface_destroy(surface) }
        #expect(cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS)
        let data = try #require(cairo_image_surface_get_data(surface))
        let stride = Int(cairo_image_surface_get_stride(surface))
        var wrong = 0
        for y in 0..<picture.size.height {
            for x in 0..<picture.size.width {
                let found = [2, 1, 0].map { Double(data[y * stride + 4 * x + $0]) }
                let expected =
                    format == .bgrx
                    ? picture.buffer.rgb(x, y).map(Double.init) : TestPictures.reference(picture, x: x, y: y)
                // 4:2:0 is compared with the conversion itself, the formula's rounding may differ by one.
                let most = format == .i444 ? 1.0 : 0
                if zip(found, expected).contains(where: { abs($0 - $1) > most + 0.5 }) { wrong += 1 }
            }
        }
        #expect(wrong == 0)
    }

    @Test func nothingIsOverwritten() throws {
        let folder = try Folder()
        let writer = ScreenshotWriter(into: { [path = folder.path] in path })
        let paths = Mutex<Set<String>>([])
        let picture = TestPictures.plain(PixelSize(width: 16, height: 16), y: 90)
        for _ in 0..<ScreenshotWriter.most {
            withExtendedLifetime(paths) {
                _ = writer.write(picture, of: "a/b: ‮c") { outcome in
                    if case .written(let path, _) = outcome { paths.withLock { _ = $0.insert(path) } }
                }
            }
        }
        writer.finish()
        #expect(paths.withLock { $0.count } == ScreenshotWriter.most && folder.names.count == ScreenshotWriter.most)
        #expect(folder.names.allSatisfy { $0.hasPrefix("BeamRoom a-b- c 2") }, "\(folder.names)")
    }

    @Test func onlyAFewWait() throws {
        let folder = try Folder()
        let gate = DispatchSemaphore(value: 0)
        let writer = ScreenshotWriter(into: { [path = folder.path] in
            gate.wait()
            return path
        })
        let picture = TestPictures.plain(PixelSize(width: 16, height: 16), y: 90)
        for _ in 0..<ScreenshotWriter.most { #expect(writer.write(picture, of: "") { _ in }) }
        #expect(!writer.write(picture, of: "") { _ in })
        for _ in 0..<ScreenshotWriter.most { gate.signal() }
        writer.finish()
        #expect(folder.names.count == ScreenshotWriter.most)
        gate.signal()
        #expect(writer.write(picture, of: "") { _ in })
        writer.finish()
    }

    @Test func whatIsWrongIsSaid() throws {
        let picture = TestPictures.plain(PixelSize(width: 16, height: 16), y: 90)
        for (folder, words) in [
            (nil, "HOME isn't set"), ("/nonexistent/pictures", "no such file or directory"),
            ("/proc", "can't be saved in /proc"),
        ] as [(String?, String)] {
            guard case .failed(let reason)? = Self.write(picture, into: folder) else {
                Issue.record("\(folder ?? "nil"): it is written")
                continue
            }
            #expect(reason.contains(words), "\(reason)")
        }
    }

    @Test func thePersonsFolderIsFound() throws {
        let folder = try Folder()
        let home = folder.path
        func find(_ environment: [String: String] = [:]) -> String? {
            PicturesFolder.find(environment: ["HOME": home].merging(environment) { $1 })
        }
        func make(_ name: String) throws {
            try FileManager.default.createDirectory(atPath: "\(home)/\(name)", withIntermediateDirectories: true)
        }
        #expect(PicturesFolder.find(environment: [:]) == nil && find() == home)
        try make("Pictures")
        #expect(find() == home + "/Pictures")
        try make(".config")
        try make("my \"Bilder\"")
        let file = "# a comment\nXDG_PICTURES_DIR=\"/elsewhere\"\n  XDG_PICTURES_DIR=\"$HOME/my \\\"Bilder\\\"\"\n"
        try Data(file.utf8).write(to: URL(fileURLWithPath: home + "/.config/user-dirs.dirs"))
        #expect(find() == home + "/my \"Bilder\"")
        #expect(find(["XDG_CONFIG_HOME": "/nonexistent"]) == home + "/Pictures")
        #expect(PicturesFolder.named("XDG_PICTURES_DIR", in: "XDG_PICTURES_DIR=\"relative\"", home: home) == nil)
        #expect(PicturesFolder.named("XDG_PICTURES_DIR", in: "XDG_PICTURES_DIR=\"/open", home: home) == nil)
        #expect(PicturesFolder.named("XDG_PICTURES_DIR", in: "XDG_PICTURES_DIR=\"$HOME\"", home: home) == home)
    }

    /// The picture comes in pieces of any size.
    @Test func chunksThatSayMoreAreLeftOut() {
        func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
            [0, 0, 0, UInt8(data.count)] + Array(type.utf8) + data + [1, 2, 3, 4]
        }
        let signature = [UInt8](0..<8)
        let size = chunk("IHDR", Array(0..<13))
        let whole =
            signature + size + chunk("bKGD", [9, 9]) + chunk("IDAT", []) + chunk("tEXt", [7]) + chunk("IEND", [])
        for length in 1...whole.count {
            var filter = PNGChunks()
            var kept: [UInt8] = []
            for start in stride(from: 0, to: whole.count, by: length) {
                Array(whole[start..<min(whole.count, start + length)]).withUnsafeBytes {
                    filter.take($0) { kept += $0 }
                }
            }
            #expect(kept == signature + size + chunk("IDAT", []) + chunk("IEND", []), "\(length)")
        }
    }
}
