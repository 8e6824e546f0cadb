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
                try process.waitForWords("visible again")
            }

            // Closed by another client, as by xkill.
            xcb_destroy_window(connection.raw, window)
            connection.synchronise()
            #expect(try host.waitForEnd() == .exited(1))
            #expect(host.errorText.contains("was closed"), "\(host.errorText)")
            try viewer.waitForWords("The shared window was closed")
        }
    }
}
