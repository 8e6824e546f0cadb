import Foundation
import Testing

/// A viewer's window on a Wayland desktop: as sharp as on X11, at whole and fractional scales.
extension EndToEnd {
    @Suite(
        .needsProgram, .needsXServer,
        .enabled(
            if: WaylandDesktop.isAvailable && Tool.exists("grim"),
            "sway, Xwayland or grim isn't installed (packages sway, xwayland, grim)"))
    struct WaylandWatchTests {
        /// A viewer of `screen`, on `desktop`, which has an X display, too.
        private func watch(
            _ arguments: [String], _ screen: XServer, _ ports: Ports, on desktop: WaylandDesktop
        ) throws -> (host: ProgramProcess, viewer: ProgramProcess) {
            let host = try Program.share(["--display", screen.display, "--no-cursor"], ports: ports)
            try host.waitFor("ready")
            let viewer = try ProgramProcess(
                ["watch", "--json", "--no-audio", "--time-limit", "60", ports.target] + arguments,
                environment: desktop.environment.merging(["XDG_RUNTIME_DIR": desktop.runtime]) { $1 })
            try viewer.waitFor("first-frame")
            return (host, viewer)
        }

        @Test(arguments: ["1", "1.5", "2"]) func eachPixelOfAFullScreenIsOneOfTheDisplay(scale: String) throws {
            let desktop = try WaylandDesktop()
            // A whole number of the desktop's units at each scale.
            try desktop.command("output HEADLESS-1 resolution 1440x810 scale \(scale)")
            let screen = try XServer(width: 1440, height: 810)
            let painter = try Painter(screen.display, framesPerSecond: 30)
            let (host, viewer) = try watch(["--fullscreen"], screen, try Ports(), on: desktop)
            defer {
                viewer.end()
                host.end()
            }
            // What moved is drawn in parts, into several images in turn. None may be left of before.
            pause(seconds: 1)
            painter.freeze()
            let original = try Screenshot.take(of: screen.display)
            // Without the lower edge, where the keys are told. Where the compositor enlarges the window it is below 30 dB.
            var psnr = 0.0
            let isSharp = try eventually(timeout: 20) {
                psnr = try desktop.screenshot().psnr(original, x: 0, y: 0, width: 1440, height: 700)
                return psnr > 36
            }
            #expect(isSharp, "\(psnr) dB")
            report("a full screen at scale \(scale)", "\(psnr) dB")
            #expect(try desktop.window(of: "beamroom")?["inhibit_idle"] as? Bool == true)
        }

        @Test(arguments: [("1", 641, 361), ("1.5", 428, 241), ("2", 321, 181)])
        func aWindowIsAsLargeAsItsPicture(scale: String, width: Int, height: Int) throws {
            let desktop = try WaylandDesktop()
            try desktop.command("output HEADLESS-1 scale \(scale)")
            try desktop.command("for_window [app_id=beamroom] \"floating enable, border none\"")
            let screen = try XServer(width: 641, height: 361)
            let painter = try Painter(screen.display, framesPerSecond: 0)
            defer { painter.freeze() }
            let (host, viewer) = try watch([], screen, try Ports(), on: desktop)
            defer {
                viewer.end()
                host.end()
            }
            var size: [Int?] = []
            let isFitted = try eventually(timeout: 20) {
                let rect = try desktop.window(of: "beamroom")?["rect"] as? [String: Any]
                size = ["width", "height"].map { rect?[$0] as? Int }
                return size == [width, height]
            }
            #expect(isFitted, "\(size)")
        }

        /// The first picture may come before the window is open.
        @Test(arguments: [true, false]) func aCompositorThatEndsIsTold(afterTheWindowIsOpen: Bool) throws {
            let desktop = try WaylandDesktop()
            let ports = try Ports()
            let host = try Program.share(["--source", "pattern"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try ProgramProcess(
                ["watch", "--json", "--no-audio", "--time-limit", "60", ports.target],
                environment: desktop.environment.merging(["XDG_RUNTIME_DIR": desktop.runtime]) { $1 })
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            if afterTheWindowIsOpen {
                #expect(try eventually(timeout: 30) { try desktop.window(of: "beamroom") != nil })
            }
            desktop.end()
            #expect(try viewer.waitForEnd() == .exited(1))
            #expect(viewer.errorText.contains("The display has gone"), "\(viewer.errorText)")
        }

        /// The environment names a compositor that has gone; or the person wants X.
        @Test func withoutACompositorTheWindowIsOneOfX() throws {
            let desktop = try WaylandDesktop()
            let ports = try Ports()
            let host = try Program.share(["--source", "pattern", "--content", "still"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            for (variable, value) in [("WAYLAND_DISPLAY", "wayland-7"), ("SDL_VIDEODRIVER", "x11")] {
                let viewer = try ProgramProcess(
                    ["watch", "--json", "--no-audio", "--time-limit", "60", ports.target],
                    environment: desktop.environment.merging(
                        ["XDG_RUNTIME_DIR": desktop.runtime, variable: value]) { $1 })
                defer { viewer.end() }
                try viewer.waitFor("first-frame")
                #expect(try !XConnection(desktop.display).visibleWindows().isEmpty, "\(variable)")
                #expect(try desktop.window(of: "beamroom") == nil)
            }
        }

        private func wait(on desktop: WaylandDesktop, _ variables: [String: String?] = [:], port: UInt16) throws
            -> ProgramProcess
        {
            let receiver = try ProgramProcess(
                [
                    "watch", "--wait", "--json", "--no-audio", "--no-discovery", "--bind", "127.0.0.1", "--port",
                    "\(port)", "--name", "Hall", "--time-limit", "60",
                ],
                environment: desktop.environment.merging(["XDG_RUNTIME_DIR": desktop.runtime]) { $1 }
                    .merging(variables) { $1 }, input: .terminal)
            try receiver.waitFor("waiting")
            return receiver
        }

        @Test func aReceiverShowsItsCodeAndASendersScreenUntilItsDisplayGoes() throws {
            let desktop = try WaylandDesktop()
            let (port, sofa) = (try FreePort.stream(), try Machine())
            let empty = try desktop.screenshot()
            let receiver = try wait(on: desktop, port: port)
            defer { receiver.end() }
            var waiting = empty
            func changes(from before: Screenshot) throws -> Bool {
                try eventually(timeout: 20) {
                    waiting = try desktop.screenshot()
                    return waiting.differingPixels(before) > 50_000
                }
            }
            #expect(try changes(from: empty))
            let sender = try Program.share(
                .pattern + ["--to", "127.0.0.1:\(port)", "--to-code-file", sofa.codeFile(receiver.shownCode())],
                ports: Ports(), accept: "none", machine: sofa)
            defer { sender.end() }
            try receiver.waitFor("first-frame")
            #expect(try changes(from: waiting))
            let seen = receiver.lineCount
            sender.interrupt()
            try receiver.waitFor("waiting", from: seen)
            desktop.end()
            #expect(try receiver.waitForEnd() == .exited(1))
            #expect(receiver.errorText.contains("The display has gone"), "\(receiver.errorText)")
        }

        /// A compositor for one program, which wants windows to draw their title bars themselves.
        @Test(.enabled(if: Tool.exists("cage"), "cage isn't installed (package cage)"))
        func aReceiverIsSeenInAKiosk() throws {
            let desktop = try WaylandDesktop()
            let command = WaylandDesktop.withoutRoot + ["cage", "--", "sleep", "60"]
            let kiosk = try ChildProcess(
                command[0], Array(command.dropFirst()),
                environment: desktop.environment.merging(
                    [
                        "XDG_RUNTIME_DIR": desktop.runtime, "WLR_BACKENDS": "wayland", "WLR_RENDERER": "pixman",
                        "WLR_LIBINPUT_NO_DEVICES": "1",
                    ]) { $1 })
            defer { kiosk.end() }
            try #require(
                eventually(timeout: 20) { access(desktop.runtime + "/wayland-0", F_OK) == 0 }, "\(kiosk.errorText)")
            let empty = try desktop.screenshot()
            let receiver = try wait(
                on: desktop, ["WAYLAND_DISPLAY": "wayland-0", "DISPLAY": nil], port: FreePort.stream())
            defer { receiver.end() }
            #expect(
                try eventually(timeout: 20) { try desktop.screenshot().differingPixels(empty) > 1280 * 720 / 2 })
        }
    }
}
