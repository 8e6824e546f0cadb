import Foundation
import Testing

/// Screens wider than 4096 pixels.
extension EndToEnd {
    @Suite(.needsProgram) struct WideScreenTests {
        @Test(arguments: ["5120x1440", "5760x1080"]) func aWideScreenIsSeenWhole(size: String) throws {
            let ports = try Ports()
            let host = try Program.share(["--source", "pattern", "--size", size, "--max-fps", "5"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            let first = try viewer.waitFor("first-frame")
            #expect("\(Int(first.number("width") ?? 0))x\(Int(first.number("height") ?? 0))" == size)
            #expect(host.events("viewer-limited").isEmpty && viewer.events("picture-limited").isEmpty)
        }

        /// Another viewer sees all of it at the same time.
        @Test func aViewerThatTakesLessGetsLessAndBothEndsSaySo() throws {
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "5120x1440", "--max-fps", "5"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let whole = try Program.watch([ports.target])
            defer { whole.end() }
            let small = try Program.watch([ports.target, "--max-picture", "2560x1440"])
            defer { small.end() }
            let first = try small.waitFor("first-frame")
            #expect(first.number("width") == 2560 && first.number("height") == 720)
            let limited = try small.waitFor("picture-limited")
            #expect(limited.number("fullWidth") == 5120 && limited.number("fullHeight") == 1440)
            let told = try host.waitFor("viewer-limited")
            #expect(told.number("width") == 2560 && told.number("fullWidth") == 5120 && told.number("maxWidth") == 2560)
            try host.waitForWords("gets a smaller picture, 2560 × 720 of 5120 × 1440")
            try small.waitForWords("--max-picture 5120x1440")
            try whole.waitFor("first-frame") { $0.number("width") == 5120 }
            expectPlainWords(host.errorText)
            expectPlainWords(small.errorText)
        }

        @Test(.needsXServer) func aWideXScreenIsWatchedInAWindow() throws {
            let server = try XServer(width: 5120, height: 1440)
            let painter = try Painter(server.display, framesPerSecond: 0)
            let ports = try Ports()
            let host = try Program.share(["--display", server.display], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let screen = try XServer(width: 1280, height: 720)
            let viewer = try Program.watch([ports.target, "--renderer", "software"], display: screen.display)
            defer { viewer.end() }
            let first = try viewer.waitFor("first-frame")
            // The window shows it small, so it may be sent small; nothing is refused.
            #expect((first.number("width") ?? 0) >= 1280)
            try viewer.waitFor("stats") { ($0.number("shown") ?? 0) > 0 }
            _ = painter
        }
    }
}
