import Foundation
import Testing

/// BeamRoom's own windows on a shared screen: a card stands for them, and nobody sees a picture in a picture, or the code.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct OwnWindowTests {
        /// Blue, green, red.
        private static let card: [UInt8] = [0x33, 0x2d, 0x2b]

        /// The share of a rectangle's pixels that have the card's ground, as far as a codec keeps it.
        private static func cardShare(_ shot: Screenshot, x: Int, y: Int, width: Int, height: Int) -> Double {
            var count = 0
            // A window may still be on its way to its place, and partly outside the screen.
            for row in (y..<max(y, y + height)).clamped(to: 0..<shot.height) {
                for column in (x..<max(x, x + width)).clamped(to: 0..<shot.width)
                where zip(shot.pixel(column, row), card).allSatisfy({ abs(Int($0) - Int($1)) < 12 }) { count += 1 }
            }
            return Double(count) / Double(width * height)
        }

        private func member(_ name: String, on screen: XServer, _ arguments: [String]) throws -> (
            ProgramProcess, UInt16
        ) {
            let port = try FreePort.stream()
            let program = try ProgramProcess(
                [
                    "room", "--json", "--no-discovery", "--bind", "127.0.0.1", "--port", "\(port)", "--media-port", "0",
                    "--name", name, "--display", screen.display, "--window-display", screen.display, "--no-cursor",
                    "--time-limit", "90",
                ] + arguments, input: .pipe)
            try program.waitFor("ready")
            return (program, port)
        }

        /// The program's window on a screen.
        private func window(on screen: XServer) throws -> (x: Int, y: Int, width: Int, height: Int) {
            let connection = try XConnection(screen.display)
            let mark = connection.intern("_BEAMROOM_WINDOW")
            var found: (x: Int, y: Int, width: Int, height: Int)?
            _ = eventually(timeout: 20) {
                let own = connection.visibleWindows().last { connection.hasProperty(mark, $0.id) }
                found = own.map { ($0.x, $0.y, $0.width, $0.height) }
                return found != nil
            }
            return try #require(found, "no window is marked")
        }

        @Test func aMemberWhoSharesTheWholeScreenShowsACardAndNoMirror() throws {
            let desk = try XServer(width: 1280, height: 800)
            let painter = try Painter(desk.display, framesPerSecond: 0)
            defer { painter.freeze() }
            // The code for newcomers stands in Anna's window.
            let code = ["--code", "482913", "--accept", "none"]
            let (anna, port) = try member("Anna", on: desk, ["study", "--share"] + code)
            defer { anna.end() }
            let own = try window(on: desk)
            let screen = try XServer(width: 1280, height: 800)
            let (ben, _) = try member(
                "Ben", on: screen, ["--at", "127.0.0.1:\(port)", "--fullscreen"] + code)
            defer { ben.end() }
            try ben.waitFor("first-frame") { $0.string("host") == "Anna" }
            func seen() throws -> Screenshot { try Screenshot.take(of: screen.display) }
            // The middle of Anna's window, without what Ben's own window writes at its edges for a moment.
            func covered(_ rect: (x: Int, y: Int, width: Int, height: Int)) throws -> Double {
                let shot = try seen()
                return Self.cardShare(
                    shot, x: rect.x + 8, y: rect.y + 8, width: rect.width - 16, height: rect.height - 16)
            }
            #expect(try eventually(timeout: 30) { try covered(own) > 0.9 })
            // There is a sentence on it, and the desk is around it.
            #expect(try covered(own) < 0.999)
            let desktop = try Screenshot.take(of: desk.display)
            let below = own.y + own.height
            #expect(
                try eventually(timeout: 20) {
                    desktop.psnr(try seen(), x: 0, y: below, width: 1280, height: 800 - below) > 25
                })

            // Ben shares, too, so that Anna's window is full of moving pictures: none of it comes back.
            ben.write(#"{"share":true}"#)
            try anna.waitFor("first-frame") { $0.string("host") == "Ben" }
            pause(seconds: 1)
            #expect(try covered(own) > 0.9)

            // Another program's window above is shown.
            let other = try XConnection(desk.display)
            let (x, y) = (own.x + own.width / 4, own.y + own.height / 4)
            _ = other.show("Above", x: x, y: y, width: 200, height: 150, colour: 0xf0_20_20, isPopup: true)
            #expect(
                try eventually(timeout: 20) {
                    let pixel = try seen().pixel(x + 100, y + 75)
                    return pixel[2] > 0xc0 && pixel[1] < 0x60
                })
        }

        /// `share` and `watch` on one screen.
        @Test func aViewerOnTheSharedScreenDoesNotSeeItself() throws {
            let desk = try XServer(width: 1280, height: 800)
            let painter = try Painter(desk.display, framesPerSecond: 10)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(["--display", desk.display, "--no-cursor"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target], display: desk.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            func share() throws -> Double {
                let own = try window(on: desk)
                // Its picture of the screen, scaled, has a card where the window is.
                let scale = Double(own.width) / 1280
                let (x, y) = (
                    own.x + Int(Double(own.x) * scale),
                    own.y + (own.height - Int(800 * scale)) / 2 + Int(Double(own.y) * scale)
                )
                let (width, height) = (Int(Double(own.width) * scale), Int(Double(own.height) * scale))
                return Self.cardShare(
                    try Screenshot.take(of: desk.display), x: x + 10, y: y + 10, width: width - 20, height: height - 20)
            }
            #expect(try eventually(timeout: 30) { try share() > 0.85 })
            let own = try window(on: desk)
            // A program that was killed leaves its entry behind, which covers nothing.
            viewer.kill()
            _ = try viewer.waitForEnd()
            let second = try XServer(width: 1280, height: 800)
            let other = try Program.watch([ports.target, "--fullscreen"], display: second.display)
            defer { other.end() }
            try other.waitFor("first-frame")
            #expect(
                try eventually(timeout: 20) {
                    Self.cardShare(
                        try Screenshot.take(of: second.display), x: own.x, y: own.y, width: own.width,
                        height: own.height)
                        < 0.05
                })
        }
    }
}
