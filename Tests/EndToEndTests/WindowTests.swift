import CXCB
import Foundation
import Testing

/// `beamroom watch`'s window on an X server of its own.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct WindowTests {
        @Test(.needsXdotool) func theWindowShowsTheHostsMovingScreen() throws {
            let scene = try Scene()
            defer { scene.end() }
            let viewer = try scene.watch()
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let window = try scene.waitForWindow()
            try Tool.run("xdotool", ["windowsize", "--sync", "\(window.id)", "640", "480"], on: scene.viewer.display)
            #expect(eventually(timeout: 30) { scene.window.map { ($0.width, $0.height) == (640, 480) } ?? false })
            let title = try XConnection(scene.viewer.display).title(of: window.id)
            #expect(title.contains("Jürgens desk"), "the title is \"\(title)\"")

            // The upper half is still: it must match once the picture has settled.
            let screen = try Screenshot.take(of: scene.host.display)
            var likeness = 0.0
            let isAlike = try eventually(timeout: 30) {
                let shown = try scene.screenshot()
                guard shown.width == 640, shown.height == 480 else { return false }
                likeness = max(likeness, shown.psnr(screen, x: 0, y: 0, width: 640, height: 232))
                return likeness > 24
            }
            report("the window against the host's screen, still half, RGB", "\(likeness.short) dB")
            #expect(isAlike)
            let before = try scene.screenshot()
            #expect(
                try eventually(timeout: 30) { try scene.screenshot().differingPixels(before) > 5000 }, "nothing moves")

            try Tool.run("xdotool", ["mousemove", "60", "60", "key", "q"], on: scene.viewer.display)
            #expect(try viewer.waitForEnd() == .exited(0))
            #expect((viewer.events("summary").first?.number("shown") ?? 0) > 0)
        }

        @Test func closingTheWindowEndsTheViewer() throws {
            let scene = try Scene()
            defer { scene.end() }
            let viewer = try scene.watch()
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let window = try scene.waitForWindow()
            try XConnection(scene.viewer.display).askToClose(window.id)
            #expect(try viewer.waitForEnd() == .exited(0))
        }

        @Test func ctrlCAndTheTimeLimitEndAViewerWithAWindow() throws {
            let scene = try Scene()
            defer { scene.end() }
            let viewer = try scene.watch()
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            let limited = try scene.watch(["--time-limit", "2"])
            defer { limited.end() }
            #expect(try limited.waitForEnd() == .exited(0))
        }

        @Test func theWindowShowsATextWhileThereIsNoPicture() throws {
            let display = try XServer(width: 800, height: 600)
            let viewer = try Program.watch(["127.0.0.1:\(try FreePort.stream())"], display: display.display)
            defer { viewer.end() }
            var lit = 0.0
            let isLit = try eventually(timeout: 30) {
                lit = try Screenshot.take(of: display.display).litShare
                return lit > 0.002
            }
            report("lit part of the window while connecting to nowhere", "\((lit * 100).short) %")
            #expect(isLit, "the window stays black")
        }

        @Test func aStallIsShownInTheWindow() throws {
            let scene = try Scene()
            defer { scene.end() }
            let viewer = try scene.watch()
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            _ = try scene.waitForWindow()
            pause(seconds: 1)
            scene.program.kill()
            pause(seconds: 0.5)
            let last = try scene.screenshot()
            var changed = 0
            let isTold = try eventually(timeout: 30) {
                let now = try scene.screenshot()
                guard now.width == last.width, now.height == last.height else { return false }
                changed = now.differingPixels(last)
                return changed > 200
            }
            report("pixels that changed for the words over a stalled picture", "\(changed)")
            #expect(isTold, "the window shows no text during the stall")
            #expect(viewer.isRunning)
        }

        @Test(.needsXdotool) func theKeyFTogglesFullScreen() throws {
            let scene = try Scene()
            defer { scene.end() }
            let viewer = try scene.watch()
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            func waitForSize(_ width: Int, _ height: Int) -> Bool {
                eventually(timeout: 30) { scene.window.map { ($0.width, $0.height) == (width, height) } ?? false }
            }
            #expect(waitForSize(640, 480), "the window takes the picture's size")
            try Tool.run("xdotool", ["mousemove", "640", "480", "key", "f"], on: scene.viewer.display)
            #expect(waitForSize(1280, 960), "\(String(describing: scene.window))")
            try Tool.run("xdotool", ["key", "F11"], on: scene.viewer.display)
            #expect(waitForSize(640, 480), "\(String(describing: scene.window))")
            let whole = try scene.watch(["--fullscreen"])
            defer { whole.end() }
            viewer.end()
            try whole.waitFor("first-frame")
            #expect(waitForSize(1280, 960), "\(String(describing: scene.window))")
        }

        @Test(.needsXdotool) func theKeyITogglesStatistics() throws {
            let scene = try Scene(framesPerSecond: 0)
            defer { scene.end() }
            let viewer = try scene.watch()
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            _ = try scene.waitForWindow()
            pause(seconds: 1.5)
            let before = try scene.screenshot()
            try Tool.run("xdotool", ["mousemove", "60", "60", "key", "i"], on: scene.viewer.display)
            var shown = 0
            #expect(
                try eventually(timeout: 30) {
                    shown = try scene.screenshot().differingPixels(before)
                    return shown > 5000
                })
            try Tool.run("xdotool", ["key", "i"], on: scene.viewer.display)
            var hidden = 0
            // Some pixels differ all the same: a still picture is refined with each keyframe.
            let isGone = try eventually(timeout: 30) {
                hidden = try scene.screenshot().differingPixels(before)
                return hidden < shown / 5
            }
            report("pixels that the statistics change, and after they are hidden", "\(shown), \(hidden)")
            #expect(isGone)
        }
    }
}

/// A host that shares a moving screen of one X server, and another X server for the viewer's window.
private final class Scene {
    let host: XServer
    let viewer: XServer
    let painter: Painter
    let program: ProgramProcess
    private let ports: Ports

    init(framesPerSecond: Int = 20) throws {
        host = try XServer(width: 640, height: 480)
        viewer = try XServer(width: 1280, height: 960)
        painter = try Painter(host.display, framesPerSecond: framesPerSecond)
        ports = try Ports()
        program = try Program.share(["--display", host.display, "--name", "Jürgens desk", "--no-cursor"], ports: ports)
        try program.waitFor("ready")
    }

    func watch(_ arguments: [String] = []) throws -> ProgramProcess {
        try Program.watch([ports.target] + arguments, display: viewer.display)
    }

    /// The viewer's window, nil while there is none.
    var window: (id: xcb_window_t, x: Int, y: Int, width: Int, height: Int)? {
        (try? XConnection(viewer.display))?.visibleWindows().last
    }

    func waitForWindow() throws -> (id: xcb_window_t, x: Int, y: Int, width: Int, height: Int) {
        _ = eventually(timeout: 30) { window != nil }
        guard let window else { throw HarnessError("no window appears on \(viewer.display)") }
        return window
    }

    /// What the window shows.
    func screenshot() throws -> Screenshot {
        let window = try waitForWindow()
        let left = max(0, window.x)
        let top = max(0, window.y)
        return try Screenshot.take(
            of: viewer.display, x: left, y: top, width: min(window.width, viewer.width - left),
            height: min(window.height, viewer.height - top))
    }

    func end() {
        program.end()
        painter.freeze()
    }
}
