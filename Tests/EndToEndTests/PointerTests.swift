import CXCB
import Foundation
import Testing

/// The mouse pointer of a shared screen, beside the pictures and in them.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer, .needsXdotool) struct PointerTests {
        /// A still shared screen with a pointer, and a viewer that shows it in a window of the same size.
        private struct Pair {
            static let colour: [UInt8] = [0x20, 0x10, 0xf0]

            let screen: XServer
            let viewerScreen: XServer
            let painter: Painter
            let ports: Ports
            let host: ProgramProcess
            let viewer: ProgramProcess
            let home: ScratchDirectory

            init(_ options: [String] = []) throws {
                screen = try XServer(width: 640, height: 360)
                viewerScreen = try XServer(width: 640, height: 360)
                painter = try Painter(screen.display, framesPerSecond: 0)
                try Self.setPointer(on: screen.display)
                ports = try Ports()
                home = try ScratchDirectory()
                host = try Program.share(["--display", screen.display, "--no-frame"] + options, ports: ports)
                try host.waitFor("ready")
                viewer = try Program.watch(
                    [ports.target, "--fullscreen"], display: viewerScreen.display,
                    environment: ["HOME": home.path, "XDG_CONFIG_HOME": home.path])
                try viewer.waitFor("first-frame")
            }

            func end() {
                painter.freeze()
                viewer.end()
                host.end()
            }

            /// A square of 16 × 16 pixels whose middle points.
            private static func setPointer(on display: String) throws {
                let connection = try XConnection(display)
                let (raw, root) = (connection.raw, connection.screen.root)
                let (bitmap, drawing, cursor) = (xcb_generate_id(raw), xcb_generate_id(raw), xcb_generate_id(raw))
                xcb_create_pixmap(raw, 1, bitmap, root, 16, 16)
                xcb_create_gc(raw, drawing, bitmap, XCB_GC_FOREGROUND.rawValue, [1])
                xcb_poly_fill_rectangle(
                    raw, bitmap, drawing, 1, [xcb_rectangle_t(x: 0, y: 0, width: 16, height: 16)])
                xcb_create_cursor(
                    raw, cursor, bitmap, bitmap, 0xf0f0, 0x1010, 0x2020, 0xf0f0, 0x1010, 0x2020, 8, 8)
                for window in connection.visibleWindows().map(\.id) + [root] {
                    xcb_change_window_attributes(raw, window, XCB_CW_CURSOR.rawValue, [cursor])
                }
                connection.synchronise()
            }

            func move(to x: Int, _ y: Int) throws {
                try Tool.run("xdotool", ["mousemove", "\(x)", "\(y)"], on: screen.display)
            }

            /// Whether the picture shows the pointer there, and nowhere else.
            static func shows(_ picture: Screenshot, _ x: Int, _ y: Int, tolerance: Int = 0) -> Bool {
                var (left, top, right, bottom, count) = (Int.max, Int.max, -1, -1, 0)
                for row in 0..<picture.height {
                    for column in 0..<picture.width {
                        let start = (row * picture.width + column) * 4
                        guard
                            (0..<3).allSatisfy({
                                abs(Int(picture.bytes[start + $0]) - Int(colour[$0])) <= tolerance
                            })
                        else { continue }
                        (left, right) = (min(left, column), max(right, column))
                        (top, bottom) = (min(top, row), max(bottom, row))
                        count += 1
                    }
                }
                guard tolerance == 0 else {
                    return count > 100 && abs(left + 8 - x) <= 2 && abs(top + 8 - y) <= 2 && right - left < 20
                }
                return count == 256 && (left, top, right, bottom) == (x - 8, y - 8, x + 7, y + 7)
            }

            func windowShows(_ x: Int, _ y: Int, timeout: Double = 20) throws -> Bool {
                try eventually(timeout: timeout) {
                    try Self.shows(Screenshot.take(of: viewerScreen.display), x, y)
                }
            }

            /// What the host has captured, encoded and sent exactly, once nothing of that goes on.
            func settledCounts() throws -> [Double] {
                var last: [Double] = []
                while true {
                    let stats = try host.waitFor("stats", from: host.lineCount)
                    let counts = ["captured", "encoded", "frames", "patches"].map { stats.number($0) ?? -1 }
                    if counts == last { return counts }
                    last = counts
                }
            }
        }

        @Test func aMoveOverAStillScreenCostsNoPicture() throws {
            let pair = try Pair()
            defer { pair.end() }
            try pair.move(to: 100, 100)
            #expect(try pair.windowShows(100, 100))
            let before = try pair.settledCounts()
            #expect(before[1] > 0)
            for step in 0..<30 {
                let (x, y) = (20 + 20 * step, 20 + 11 * step)
                try pair.move(to: x, y)
                #expect(try pair.windowShows(x, y), "step \(step)")
            }
            #expect(try pair.settledCounts() == before)
            // A screenshot has it, too.
            let lines = pair.viewer.lineCount
            try Tool.run("xdotool", ["mousemove", "320", "180", "key", "F12"], on: pair.viewerScreen.display)
            let event = try pair.viewer.waitFor("screenshot", from: lines)
            let saved = pair.home.file("shot.ppm")
            try Tool.run(
                "ffmpeg", ["-loglevel", "error", "-y", "-i", #require(event.string("file")), saved],
                on: pair.screen.display)
            let shot = try Screenshot(ppm: Data(contentsOf: URL(fileURLWithPath: saved)))
            #expect(Pair.shows(shot, 600, 339))
        }

        /// Over a picture that moves, and then where it rests.
        @Test func aMoveOverMotionIsSeen() throws {
            let pair = try Pair()
            defer { pair.end() }
            pair.painter.move(framesPerSecond: 30)
            for step in 0..<10 {
                let (x, y) = (40 + 50 * step, 40 + 30 * step)
                try pair.move(to: x, y)
                #expect(try pair.windowShows(x, y), "step \(step)")
            }
            pair.painter.freeze()
            try pair.move(to: 300, 250)
            #expect(try pair.windowShows(300, 250))
        }

        /// Somebody comes who doesn't draw pointers, and records: the pointer is in the pictures, once, and after that
        /// beside them again.
        @Test(.needsFFmpeg) func aRecordingHasThePointer() throws {
            let pair = try Pair()
            defer { pair.end() }
            try pair.move(to: 100, 100)
            #expect(try pair.windowShows(100, 100))
            let before = try pair.settledCounts()
            let file = pair.home.file("watched.mkv")
            let recorder = try Program.watch([pair.ports.target, "--record", file])
            defer { recorder.end() }
            try recorder.waitFor("first-frame")
            #expect(try pair.windowShows(100, 100))
            try pair.move(to: 300, 200)
            #expect(try pair.windowShows(300, 200))
            #expect(try pair.settledCounts()[0] > before[0])
            recorder.interrupt()
            #expect(try recorder.waitForEnd() == .exited(0))
            let last = try Screenshot.lastPicture(ofVideo: file, width: 640, height: 360, in: pair.home)
            #expect(Pair.shows(last, 300, 200, tolerance: 60))
            #expect(try pair.windowShows(300, 200))
            let after = try pair.settledCounts()
            try pair.move(to: 400, 50)
            #expect(try pair.windowShows(400, 50))
            #expect(try pair.settledCounts() == after)
        }

        /// As it is where the host records, or sends nothing beside the video.
        @Test(arguments: [true, false]) func thePointerIsInThePicture(isRecorded: Bool) throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("host.mkv")
            let pair = try Pair(isRecorded ? ["--record", file] : ["--no-exact"])
            defer { pair.end() }
            try pair.move(to: 100, 100)
            let before = try pair.settledCounts()
            try pair.move(to: 200, 120)
            #expect(
                try eventually(timeout: 20) {
                    try Pair.shows(
                        Screenshot.take(of: pair.viewerScreen.display), 200, 120, tolerance: 60)
                })
            #expect(try pair.settledCounts()[1] > before[1])
            pair.host.interrupt()
            #expect(try pair.host.waitForEnd() == .exited(0))
            if isRecorded {
                let last = try Screenshot.lastPicture(ofVideo: file, width: 640, height: 360, in: scratch)
                #expect(Pair.shows(last, 200, 120, tolerance: 60))
            }
        }
    }
}
