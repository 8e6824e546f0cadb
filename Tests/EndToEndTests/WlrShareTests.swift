import Foundation
import Testing

/// Sharing from a Wayland desktop without a question, by wlr-screencopy.
extension EndToEnd {
    @Suite(
        .needsProgram, .needsXServer,
        .enabled(if: WaylandDesktop.isAvailable, "sway or Xwayland isn't installed (packages sway, xwayland)"))
    struct WlrShareTests {
        @Test func aMonitorIsSharedUntilTheDesktopEnds() throws {
            let desktop = try WaylandDesktop()
            let session = desktop.environment.merging(["XDG_RUNTIME_DIR": desktop.runtime]) { $1 }
            let list = try Program.run(["share", "--source", "wlr", "--list-monitors"], environment: session)
            #expect(list.ending == .exited(0))
            #expect(list.output == "0: HEADLESS-1 (1280x720)")

            let painter = try Painter(desktop.display, framesPerSecond: 10)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(["--source", "wlr", "-m", "640"], ports: ports, environment: session)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.number("width") == 640 && ready.number("height") == 360)
            let screen = try XServer(width: 640, height: 360)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(try eventually(timeout: 20) { try Screenshot.take(of: screen.display).litShare > 0.7 })

            let part = try Program.share(
                ["--source", "wlr", "--monitor", "HEADLESS-1", "--region", "320x200+10+20"], ports: try Ports(),
                environment: session)
            defer { part.end() }
            #expect(try part.waitFor("ready").number("width") == 320)

            desktop.end()
            for program in [host, part] {
                #expect(try program.waitForEnd() == .exited(1))
                #expect(program.errorText.contains("The Wayland display wayland-1 has gone"), "\(program.errorText)")
                expectPlainWords(program.errorText)
            }
        }

        @Test(arguments: [
            (["--window", "foot"], "--window doesn't apply to a monitor"),
            (["--select"], "--select doesn't apply to a monitor"),
            (["--size", "64x64"], "Share the test pattern"),
            (["--monitor", "A", "--region", "9x9+0+0", "--window", "1"], "--window doesn't apply to a monitor"),
        ])
        func whatDoesNotApplyIsRefused(arguments: [String], part: String) throws {
            let (ending, _, words) = try Program.run(["share", "--source", "wlr"] + arguments)
            #expect(ending == .exited(64))
            #expect(words.contains(part), "\(words)")
        }

        @Test(
            arguments: [
                ([:], "There is no Wayland desktop to share"),
                (["WAYLAND_DISPLAY": "wayland-77"], "The Wayland display wayland-77 can't be opened"),
            ] as [([String: String], String)])
        func withoutADesktopASentenceSaysSo(variables: [String: String], part: String) throws {
            let scratch = try ScratchDirectory()
            let environment = variables.merging(["XDG_RUNTIME_DIR": scratch.path]) { $1 }.mapValues { Optional($0) }
            let (ending, _, words) = try Program.run(
                ["share", "--source", "wlr", "--no-discovery", "--time-limit", "10"], environment: environment)
            #expect(ending == .exited(1))
            #expect(words.contains(part), "\(words)")
            expectPlainWords(words)
        }
    }
}
