import CXCB
import Foundation
import Testing

/// What a person does in a window with few keys: back to the list, once more after a refusal, a closer look.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer, .needsXdotool) struct WindowKeysTests {
        private func press(_ keys: [String], on screen: XServer) throws {
            try Tool.run(
                "xdotool",
                ["mousemove", "\(screen.width / 2)", "\(screen.height / 2)", "key", "--delay", "30"] + keys,
                on: screen.display)
        }

        /// The window offers what the terminal says with commands.
        @Test func whoWasDeclinedAsksAgainOrTypesTheCode() throws {
            let ports = try Ports()
            let host = try Program.share(
                .pattern + ["--name", "Desk", "--code", "482913", "--accept", "ask"], ports: ports, accept: nil,
                input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let screen = try XServer(width: 1000, height: 700)
            let viewer = try Program.watch([ports.target], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("code-needed")
            for number in 1...2 {
                // At first and after the first refusal: Enter asks.
                pause(seconds: 0.7)
                let lines = host.lineCount
                let seen = viewer.lineCount
                try press(["Return"], on: screen)
                try host.waitFor("pairing", from: lines)
                // What is typed at once might be meant for something before.
                pause(seconds: 1.5)
                host.process.type("n")
                let refused = try viewer.waitFor("refused", from: seen)
                #expect(refused.string("by") == "host", "try \(number)")
                pause(seconds: 0.3)
                #expect(viewer.isRunning)
            }
            try viewer.waitForWords("You can also try again in the window.")
            // The code is typed where the refusal stands.
            pause(seconds: 0.5)
            try press("482913".map { String($0) }, on: screen)
            try viewer.waitFor("first-frame")
            #expect(viewer.events("device-paired").count == 1)
            pause(seconds: 0.3)
            // A running picture isn't ended by Escape; `q` ends it, and nothing of the refusals is left.
            try press(["Escape", "Escape", "Escape"], on: screen)
            pause(seconds: 1)
            #expect(viewer.isRunning)
            try press(["q"], on: screen)
            #expect(try viewer.waitForEnd() == .exited(0))
        }

        @Test(.enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
        func escapeGoesBackToTheListOfHosts() throws {
            let machine = try PrivateMachine()
            let hosts = [
                try machine.share(name: "Attic"),
                try machine.share(name: "Cellar", ["--port", "52399", "--media-port", "52400"]),
            ]
            defer { for host in hosts { host.end() } }
            #expect(try eventually(timeout: 30) { try machine.hosts().count == 2 })
            let screen = try XServer(width: 1000, height: 700)
            let viewer = try machine.start(
                ["watch", "--json", "--no-bluetooth", "--time-limit", "60", "--display", screen.display])
            defer { viewer.end() }
            try viewer.waitFor("searching")
            func pick(_ digit: String, _ name: String) throws {
                // Until the list is there, the key does nothing.
                let isPicked = try eventually(timeout: 30) {
                    try press([digit], on: screen)
                    pause(seconds: 0.5)
                    return viewer.events("paired").last?.string("name") == name
                }
                #expect(isPicked, "\(viewer.errorText)")
                let seen = viewer.lineCount
                try viewer.waitFor("stats", from: seen) { ($0.number("fps") ?? 0) > 5 }
            }
            try pick("2", "Cellar")
            pause(seconds: 0.5)
            // Once may be a mistake.
            try press(["Escape"], on: screen)
            pause(seconds: 3.5)
            let seen = viewer.lineCount
            let frames = viewer.events("stats").last?.number("frames") ?? 0
            try viewer.waitFor("stats", from: seen) { ($0.number("frames") ?? 0) > frames }
            try press(["Escape", "Escape"], on: screen)
            try hosts[1].waitFor("viewer-left")
            try pick("1", "Attic")
            let picked = viewer.lineCount
            let count = viewer.events("stats").last?.number("frames") ?? 0
            try viewer.waitFor("stats", from: picked) { ($0.number("frames") ?? 0) > count }
            // One alone isn't chosen by itself when the person goes back.
            hosts[1].end()
            try press(["Escape", "Escape"], on: screen)
            try hosts[0].waitFor("viewer-left")
            pause(seconds: 1)
            #expect(viewer.events("paired").count == 2)
            try press(["q"], on: screen)
            #expect(try viewer.waitForEnd() == .exited(0))
        }

        @Test func oneToOneShowsThePixelsOfTheHostsScreen() throws {
            let host = try XServer(width: 1280, height: 960)
            let painter = try Painter(host.display, framesPerSecond: 0)
            defer { painter.freeze() }
            let ports = try Ports()
            let program = try Program.share(["--display", host.display, "--no-cursor"], ports: ports)
            defer { program.end() }
            try program.waitFor("ready")
            let screen = try XServer(width: 640, height: 480)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let whole = try Screenshot.take(of: host.display, x: 320, y: 240, width: 640, height: 480)
            // Below the notice, above the hint.
            func likeness() throws -> Double {
                try Screenshot.take(of: screen.display).psnr(whole, x: 0, y: 60, width: 640, height: 360)
            }
            pause(seconds: 1)
            let before = try likeness()
            try press(["z"], on: screen)
            var best = 0.0
            let isSharp = try eventually(timeout: 30) {
                best = max(best, try likeness())
                return best > 24 && best > before + 6
            }
            report(
                "1:1 against the middle of the host's screen; all of the picture", "\(best.short), \(before.short) dB")
            #expect(isSharp)
            // Dragged by 100 pixels to the right.
            try Tool.run(
                "xdotool",
                ["mousemove", "200", "240", "mousedown", "1", "mousemove", "300", "240", "mouseup", "1"],
                on: screen.display)
            let left = try Screenshot.take(of: host.display, x: 220, y: 240, width: 640, height: 480)
            let isMoved = try eventually(timeout: 30) {
                try Screenshot.take(of: screen.display).psnr(left, x: 0, y: 60, width: 640, height: 360) > 24
            }
            #expect(isMoved)
            try press(["0"], on: screen)
            #expect(try eventually(timeout: 30) { try abs(likeness() - before) < 2 })
        }

        /// All of the picture, though the window is smaller; or a sentence when the disk is full, and no file.
        @Test(.enabled(if: Tool.exists("ffmpeg"), "ffmpeg isn't installed"))
        func f12SavesTheWholePicture() throws {
            let host = try XServer(width: 1280, height: 960)
            let painter = try Painter(host.display, framesPerSecond: 0)
            defer { painter.freeze() }
            let ports = try Ports()
            let program = try Program.share(
                ["--display", host.display, "--no-cursor", "--name", "Desk"], ports: ports)
            defer { program.end() }
            try program.waitFor("ready")
            let screen = try XServer(width: 640, height: 480)
            let home = try ScratchDirectory()
            let machine = try Machine()
            let small = home.file("small")
            try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: false)
            let arguments = [
                "watch", "--json", "--time-limit", "60", ports.target, "--fullscreen", "--display", screen.display,
            ]
            let viewer = try ProgramProcess(
                arguments, environment: ["HOME": home.path, "XDG_CONFIG_HOME": home.path], machine: machine)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            // Until the picture has its best quality.
            let expected = try Screenshot.take(of: host.display)
            let saved = home.file("shot.ppm")
            let isLike = try eventually(timeout: 30) {
                let lines = viewer.lineCount
                try press(["F12"], on: screen)
                let event = try viewer.waitFor("screenshot", from: lines)
                let file = try #require(event.string("file"))
                #expect(event.number("width") == 1280 && event.number("height") == 960)
                #expect(file.hasPrefix(home.path + "/BeamRoom Desk ") && file.hasSuffix(".png"), "\(file)")
                try Tool.run("ffmpeg", ["-loglevel", "error", "-y", "-i", file, saved], on: screen.display)
                let shot = try Screenshot(ppm: Data(contentsOf: URL(fileURLWithPath: saved)))
                return shot.width == 1280 && shot.psnr(expected, x: 0, y: 0, width: 1280, height: 960) > 30
            }
            #expect(isLike)
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            let names = try FileManager.default.contentsOfDirectory(atPath: home.path)
            #expect(!names.contains { $0.hasSuffix(".part") }, "\(names)")

            // Less than a PNG file of that size takes at least: deflate makes a thousandth of a flat picture.
            let full = try ProgramProcess(
                wrapping: ChildProcess(
                    "unshare",
                    [
                        "--mount", "sh", "-c", "mount -t tmpfs -o size=4k none \(small) && exec \"$@\"", "sh",
                        Program.path,
                    ]
                        + arguments,
                    environment: [
                        "HOME": small, "XDG_CONFIG_HOME": small, "XDG_STATE_HOME": machine.state,
                        "XDG_RUNTIME_DIR": machine.runtime,
                        "DBUS_SESSION_BUS_ADDRESS": "unix:path=" + small + "/no-bus",
                        "PULSE_SERVER": "unix:" + small + "/no-sound", "DISPLAY": nil, "WAYLAND_DISPLAY": nil,
                    ]), on: machine)
            defer { full.end() }
            try full.waitFor("first-frame")
            pause(seconds: 0.5)
            try press(["F12"], on: screen)
            let failed = try full.waitFor("screenshot-failed")
            #expect(failed.string("reason")?.contains("the disk is full") == true, "\(failed)")
            #expect(full.isRunning && full.events("screenshot").isEmpty)
            // The folder is the process's own.
            let left = try Tool.run("ls", ["-A", "/proc/\(full.pid)/root\(small)"])
            #expect(!left.contains("BeamRoom") && !left.contains(".part"), "\(left)")
        }

        /// A press doesn't wait for the next attempt, which are 4 s apart.
        @Test func tryAgainConnectsAtOnce() throws {
            let ports = try Ports()
            let screen = try XServer(width: 1000, height: 700)
            let viewer = try Program.watch([ports.target], display: screen.display)
            defer { viewer.end() }
            let first = try viewer.waitFor("retry") { ($0.number("after") ?? 0) > 3.5 }
            let begun = viewer.lineCount
            var last = first
            for _ in 1...6 {
                let lines = viewer.lineCount
                try press(["Return"], on: screen)
                last = try viewer.waitFor("retry", from: lines)
            }
            let seconds = (last.number("t") ?? 0) - (first.number("t") ?? 0)
            report("6 attempts by Enter took", "\(seconds.short) s")
            #expect(seconds < 15 && viewer.lineCount > begun)
            // And it works.
            let host = try Program.share(.pattern, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            try press(["Return"], on: screen)
            try viewer.waitFor("first-frame")
        }

        /// No host is announced: one is named in the window, left, and chosen from those that were watched before.
        @Test(
            .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
        func anAddressIsTypedAndTheHostChosenAgain() throws {
            let machine = try PrivateMachine()
            // Only hosts that are paired are remembered.
            let host = try machine.share(
                name: "Attic", ["--no-discovery", "--port", "52399", "--code", "482913"], accept: nil, as: Machine())
            defer { host.end() }
            let screen = try XServer(width: 1000, height: 700)
            let viewer = try machine.start(
                [
                    "watch", "--json", "--no-bluetooth", "--time-limit", "60", "--code", "482913", "--display",
                    screen.display,
                ], as: Machine())
            defer { viewer.end() }
            try viewer.waitFor("searching")
            let address = "127.0.0.1:52399".map { $0 == "." ? "period" : $0 == ":" ? "colon" : String($0) }
            // Until the list is there, keys do nothing.
            #expect(
                try eventually(timeout: 30) {
                    try press(
                        ["Tab", "ctrl+a", "Home"] + address.map { _ in "Delete" } + address + ["Return"], on: screen)
                    pause(seconds: 1)
                    return !viewer.events("paired").isEmpty
                }, "\(viewer.errorText)")
            try viewer.waitFor("stats") { ($0.number("fps") ?? 0) > 5 }
            try press(["Escape", "Escape"], on: screen)
            try host.waitFor("viewer-left")
            // It is the only entry.
            #expect(
                try eventually(timeout: 30) {
                    try press(["1"], on: screen)
                    pause(seconds: 0.5)
                    return viewer.events("paired").count == 2
                }, "\(viewer.errorText)")
            try press(["q"], on: screen)
            #expect(try viewer.waitForEnd() == .exited(0))
        }

        /// The list of keys is over the picture until any key.
        @Test func theQuestionMarkShowsTheKeys() throws {
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--content", "still", "--size", "640x480", "--max-fps", "1"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let screen = try XServer(width: 800, height: 600)
            let viewer = try Program.watch([ports.target], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            // The hint goes by itself.
            pause(seconds: 6)
            let before = try Screenshot.take(of: screen.display)
            try press(["question"], on: screen)
            #expect(
                try eventually(timeout: 30) { try Screenshot.take(of: screen.display).differingPixels(before) > 30000 })
            try press(["q"], on: screen)
            #expect(
                try eventually(timeout: 30) { try Screenshot.take(of: screen.display).differingPixels(before) < 15000 })
            #expect(viewer.isRunning, "q closes the list only")
        }

        /// Somebody waits to be let into a room: its window asks for attention.
        @Test func aRequestMakesTheRoomsWindowUrgent() throws {
            let screen = try XServer(width: 1000, height: 700)
            let port = try FreePort.stream()
            let common = ["room", "--json", "--no-discovery", "--bind", "127.0.0.1", "--media-port", "0"]
            let anna = try ProgramProcess(
                common + [
                    "study", "--name", "Anna", "--port", "\(port)", "--window-display", screen.display, "--accept",
                    "ask", "--time-limit", "60",
                ], input: .terminal)
            defer { anna.end() }
            try anna.waitFor("ready")
            let connection = try XConnection(screen.display)
            #expect(eventually(timeout: 30) { !connection.visibleWindows().isEmpty })
            let window = try #require(connection.visibleWindows().last?.id)
            // Without a window manager it takes the keyboard itself, some time after it is visible.
            #expect(eventually(timeout: 30) { connection.focus == window })
            // The person is elsewhere.
            xcb_set_input_focus(connection.raw, 0, connection.screen.root, 0)
            connection.synchronise()
            pause(seconds: 1)
            #expect(!connection.isUrgent(window) && connection.focus != window)
            let ben = try ProgramProcess(
                common + [
                    "--at", "127.0.0.1:\(port)", "--name", "Ben", "--port", "\(try FreePort.stream())", "--no-window",
                    "--time-limit", "60",
                ], input: .terminal)
            defer { ben.end() }
            try ben.waitForWords("ask")
            pause(seconds: 1.5)
            ben.process.type("ask")
            try anna.waitFor("pairing")
            #expect(eventually(timeout: 30) { connection.isUrgent(window) })
        }
    }
}

extension XConnection {
    /// The window that has the keyboard.
    fileprivate var focus: xcb_window_t? {
        guard let reply = xcb_get_input_focus_reply(raw, xcb_get_input_focus(raw), nil) else { return nil }
        defer { free(reply) }
        return reply.pointee.focus
    }

    /// Whether the window asks for attention (ICCCM 4.1.2.4).
    fileprivate func isUrgent(_ window: xcb_window_t) -> Bool {
        let hints = xcb_atom_t(35)
        guard let reply = xcb_get_property_reply(raw, xcb_get_property(raw, 0, window, hints, hints, 0, 9), nil) else {
            return false
        }
        defer { free(reply) }
        guard xcb_get_property_value_length(reply) >= 4, let value = xcb_get_property_value(reply) else { return false }
        return value.loadUnaligned(as: UInt32.self) & (1 << 8) != 0
    }
}
