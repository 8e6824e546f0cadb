import Foundation
import Testing

/// A Wayland desktop has no screen that an X client could grab: that is said, instead of sharing black.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct WaylandTests {
        private static let refusal = "This is a Wayland desktop"
        private static let nowhere = "unix:path=/nowhere"
        private static let ofWayland: [String: String?] = [
            "WAYLAND_DISPLAY": "wayland-0", "XDG_SESSION_TYPE": "wayland", "DBUS_SESSION_BUS_ADDRESS": nowhere,
        ]

        /// The environment counts for the session's own display, and only where the server doesn't tell.
        @Test(arguments: [true, false])
        func theSessionsEnvironmentCountsWhereTheServerDoesNotTell(tells: Bool) throws {
            let server = try XServer(width: 320, height: 240, tells ? [] : ["-extension", "RANDR"])
            let session = Self.ofWayland.merging(["DISPLAY": server.display]) { $1 }
            for (arguments, environment, isRefused) in [
                (["--source", "x11"], session, !tells),
                (["--source", "x11"], ["DISPLAY": server.display, "XDG_SESSION_TYPE": "wayland"], !tells),
                ([], ["DISPLAY": server.display, "XDG_SESSION_TYPE": "x11"], false),
                // The desktop is asked, by a bus that isn't there.
                ([], session, true),
                (["--display", server.display], Self.ofWayland, false),
            ] {
                let host = try Program.share(arguments, ports: try Ports(), environment: environment)
                defer { host.end() }
                if isRefused {
                    #expect(try host.waitForEnd() == .exited(1))
                    #expect(host.errorText.contains(Self.refusal), "\(host.errorText)")
                } else {
                    try host.waitFor("ready")
                }
            }
        }

        @Test(.enabled(if: WaylandDesktop.isAvailable, "sway or Xwayland isn't installed (packages sway, xwayland)"))
        func theScreenIsRefusedAndAWindowIsShared() throws {
            let desktop = try WaylandDesktop()
            for arguments in [[], ["--display", desktop.display], ["--region", "100x100+0+0"]] {
                let host = try Program.share(
                    arguments, ports: try Ports(),
                    environment: desktop.environment.merging(["DBUS_SESSION_BUS_ADDRESS": Self.nowhere]) { $1 })
                defer { host.end() }
                #expect(try host.waitForEnd() == .exited(1))
                #expect(host.errorText.contains(Self.refusal), "\(host.errorText)")
                #expect(host.errorText.contains("--window"))
            }

            let painter = try Painter(desktop.display, framesPerSecond: 10)
            defer { painter.freeze() }
            let window = try #require(try XConnection(desktop.display).visibleWindows().last?.id)
            let ports = try Ports()
            let host = try Program.share(["--window", "\(window)"], ports: ports, environment: desktop.environment)
            defer { host.end() }
            try host.waitFor("ready")
            let screen = try XServer(width: 640, height: 360)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(try eventually(timeout: 20) { try Screenshot.take(of: screen.display).litShare > 0.7 })

            // A desktop in a window, which a person started, has a screen.
            let nested = try ChildProcess(
                "Xwayland", ["-displayfd", "1", "-noreset"],
                environment: desktop.environment.merging(["XDG_RUNTIME_DIR": desktop.runtime]) { $1 })
            defer { nested.end() }
            let number = nested.state.wait(timeout: 30) { $0.output.first ?? ($0.ending == nil ? nil : "") }
            let display = ":" + (number ?? "")
            let other = try Program.share(["--display", display], ports: try Ports(), environment: desktop.environment)
            defer { other.end() }
            try other.waitFor("ready")
        }
    }
}
