import CXCB
import Foundation
import Testing

/// A shared window that is minimised or closed: both ends say so, and the viewer keeps the last picture.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct SharedWindowTests {
        @Test func aHiddenOrClosedWindowIsReportedAtBothEnds() throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 30)
            defer { painter.freeze() }
            let connection = try XConnection(server.display)
            let window = try #require(connection.visibleWindows().last?.id)
            let ports = try Ports()
            let host = try Program.share(["--display", server.display, "--window", "\(window)"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(host.events("source-visible").isEmpty && viewer.events("source-visible").isEmpty)

            // A window manager minimises a window by unmapping it.
            xcb_unmap_window(connection.raw, window)
            connection.synchronise()
            for process in [host, viewer] {
                #expect(try process.waitFor("source-visible").fields["visible"] == .bool(false))
                try process.waitForWords("hidden")
            }
            // A viewer that comes now is told, too, and gets the last picture.
            let late = try Program.watch([ports.target])
            defer { late.end() }
            #expect(try late.waitFor("source-visible").fields["visible"] == .bool(false))
            try late.waitFor("first-frame")
            // The last picture stays: no stall, no reconnecting.
            pause(seconds: 4)
            #expect(viewer.events("stall").isEmpty && viewer.events("reconnect").isEmpty)

            xcb_map_window(connection.raw, window)
            connection.synchronise()
            for process in [host, viewer, late] {
                try process.waitFor("source-visible") { $0.fields["visible"] == .bool(true) }
                try process.waitForWords(process === host ? "visible again" : "live again")
            }

            // Closed by another client, as by xkill.
            xcb_destroy_window(connection.raw, window)
            connection.synchronise()
            #expect(try host.waitForEnd() == .exited(1))
            #expect(host.errorText.contains("was closed"), "\(host.errorText)")
            try viewer.waitForWords("The shared window was closed")
        }

        /// A menu of the shared window is in the picture; another program's window over both isn't.
        @Test func aMenuOfTheWindowIsSharedAndAStrangersWindowIsNot() throws {
            let server = try XServer(width: 640, height: 480)
            let (program, stranger) = (try XConnection(server.display), try XConnection(server.display))
            let window = program.show("Editor", x: 100, y: 80, width: 400, height: 300, colour: 0x20_40_80)
            let ports = try Ports()
            let host = try Program.share(
                ["--display", server.display, "--window", "editor", "--no-cursor"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let screen = try XServer(width: 400, height: 300)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            func shows(_ red: Int, _ green: Int, _ blue: Int, at x: Int, _ y: Int) throws -> Bool {
                let pixel = try Screenshot.take(of: screen.display).pixel(x, y)
                return zip(pixel, [blue, green, red]).allSatisfy { abs(Int($0) - $1) < 24 }
            }
            #expect(try eventually(timeout: 20) { try shows(0x20, 0x40, 0x80, at: 300, 200) })
            let menu = program.show(
                "", x: 350, y: 200, width: 120, height: 140, colour: 0xe0_e0_e0, isPopup: true, owner: window)
            #expect(try eventually(timeout: 20) { try shows(0xe0, 0xe0, 0xe0, at: 300, 200) })
            let other = stranger.show("Mail", x: 80, y: 60, width: 440, height: 340, colour: 0xc0_20_20)
            program.close(program.show("", x: 120, y: 100, width: 60, height: 40, colour: 0xffff00, isPopup: true))
            pause(seconds: 1)
            #expect(try shows(0xe0, 0xe0, 0xe0, at: 300, 200))
            #expect(try shows(0x20, 0x40, 0x80, at: 60, 60))
            stranger.close(other)
            program.close(menu)
            #expect(try eventually(timeout: 20) { try shows(0x20, 0x40, 0x80, at: 300, 200) })
        }

        /// A monitor that sleeps longer than a moment, with somebody watching: the share goes on when it is back.
        @Test func aMonitorThatIsOffIsReportedAtBothEndsAndComesBack() throws {
            let server = try XServer(width: 640, height: 480)
            let painter = try Painter(server.display, framesPerSecond: 10)
            defer { painter.freeze() }
            let connection = try XConnection(server.display)
            connection.setMonitor("DESK", x: 0, y: 0, width: 480, height: 360)
            let ports = try Ports()
            let host = try Program.share(["--display", server.display, "--monitor", "DESK"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")

            connection.deleteMonitor("DESK")
            connection.touchScreen()
            for process in [host, viewer] {
                let event = try process.waitFor("source-visible")
                #expect(event.fields["visible"] == .bool(false) && event.string("why") == "monitor-off")
            }
            try host.waitForWords("The shared monitor is off or unplugged")
            try viewer.waitForWords("The shared monitor is off")
            // A newcomer is told, too, and gets the last picture.
            let late = try Program.watch([ports.target])
            defer { late.end() }
            #expect(try late.waitFor("source-visible").string("why") == "monitor-off")
            try late.waitFor("first-frame")
            pause(seconds: 5)
            #expect(host.isRunning && viewer.events("stall").isEmpty && viewer.events("reconnect").isEmpty)

            // Another geometry.
            let lines = viewer.lineCount
            connection.setMonitor("DESK", x: 100, y: 50, width: 320, height: 240)
            connection.touchScreen()
            for process in [host, viewer, late] {
                try process.waitFor("source-visible") { $0.fields["visible"] == .bool(true) }
            }
            try host.waitForWords("The shared monitor is back")
            try viewer.waitForWords("live again")
            try viewer.waitFor("stats", from: lines) { $0.number("width") == 320 && ($0.number("fps") ?? 0) > 0 }
        }
    }
}
