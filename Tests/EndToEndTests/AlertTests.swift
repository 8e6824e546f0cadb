import Foundation
import Testing

/// What happens to a share is told to everybody who watches: paused and resumed, locked, low on battery, ended.
extension EndToEnd {
    @Suite(.needsProgram) struct AlertTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        private func share(
            _ arguments: [String] = [], environment: [String: String?] = [:], machine: Machine? = nil,
            input: ChildProcess.Input = .pipe
        ) throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--name", "desk"] + arguments, ports: ports, environment: environment, machine: machine,
                input: input)
            try host.waitFor("ready")
            return host
        }

        private func watch(display: String? = nil) throws -> ProgramProcess {
            let viewer = try Program.watch([ports.target], display: display)
            try viewer.waitFor("first-frame")
            try viewer.waitFor("room")
            return viewer
        }

        /// Waits for the alert that `cause` makes. Prints how long it took.
        @discardableResult private func expect(
            _ what: String, at viewer: ProgramProcess, after cause: () throws -> Void
        ) throws -> Event {
            let line = viewer.lineCount
            let start = secondsNow()
            try cause()
            let event = try viewer.waitFor("alert", from: line) { $0.string("what") == what }
            report(
                "alert “\(what)”, from its cause to the viewer's event", "\(((secondsNow() - start) * 1000).short) ms")
            return event
        }

        @Test func aPauseIsToldAndEnds() throws {
            let host = try share()
            defer { host.end() }
            let viewers = [try watch(), try watch()]
            defer { for viewer in viewers { viewer.end() } }
            for _ in 0..<2 {
                let marks = viewers.map(\.lineCount)
                let event = try expect("paused", at: viewers[0]) { host.process.type(#"{"pause":true}"#) }
                #expect(event.string("name") == "desk")
                try viewers[1].waitFor("alert", from: marks[1]) { $0.string("what") == "paused" }
                for viewer in viewers { try viewer.waitForWords("“desk” has paused") }
                // What was on its way has come, and then nothing does.
                pause(seconds: 1)
                let frames = try host.waitFor("stats", from: host.lineCount).number("captured")
                pause(seconds: 1)
                #expect(try host.waitFor("stats", from: host.lineCount).number("captured") == frames)
                let words = viewers[0].process.state.current.errors.count
                try expect("resumed", at: viewers[0]) { host.process.type(#"{"pause":false}"#) }
                try viewers[0].waitForWords("live again", from: words)
                try viewers[0].waitFor("stats", from: viewers[0].lineCount) { ($0.number("fps") ?? 0) > 5 }
            }
            #expect(viewers.allSatisfy { $0.events("stall").isEmpty && $0.events("reconnect").isEmpty })
            expectPlainWords(viewers[0].errorText)
            // The same twice is one alert; what isn't true or false is none.
            let line = viewers[0].lineCount
            for text in [#"{"pause":false}"#, #"{"pause":"yes"}"#] { host.process.type(text) }
            try host.waitFor("error")
            pause(seconds: 0.5)
            #expect(!viewers[0].process.state.current.output.dropFirst(line).contains { $0.contains(#""alert""#) })
        }

        @Test func whoJoinsAPausedHostIsToldWhyThereIsNoPicture() throws {
            let host = try share()
            defer { host.end() }
            host.process.type(#"{"pause":true}"#)
            try host.waitFor("paused")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitForWords("“desk” has paused")
            pause(seconds: 2)
            #expect(viewer.events("first-frame").isEmpty && viewer.events("stall").isEmpty)
            host.process.type(#"{"pause":false}"#)
            try viewer.waitFor("first-frame")
        }

        @Test func aHostThatIsStartedAgainIsNotPausedAnyMore() throws {
            let desk = try Machine()
            let first = try share(machine: desk)
            defer { first.end() }
            let viewer = try watch()
            defer { viewer.end() }
            try expect("paused", at: viewer) { first.process.type(#"{"pause":true}"#) }
            let line = viewer.lineCount
            first.kill()
            _ = try first.waitForEnd()
            try viewer.waitForWords("“desk” hasn't been reachable since ")
            let words = viewer.process.state.current.errors.count
            let second = try share(machine: desk)
            defer { second.end() }
            try viewer.waitFor("room", from: line)
            try viewer.waitForWords("live again", from: words)
        }

        @Test func aGoodbyeIsNoTimeout() throws {
            let host = try share()
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            let line = viewer.lineCount
            let start = secondsNow()
            host.interrupt()
            try viewer.waitFor("host-ended", from: line)
            report("a goodbye, from Ctrl-C to the viewer's event", "\(((secondsNow() - start) * 1000).short) ms")
            try viewer.waitForWords("“desk” has ended its share")
            #expect(viewer.events("stall").isEmpty && viewer.events("reconnect").isEmpty)
        }

        @Test(.enabled(if: DesktopMocks.obstacle == nil, "\(DesktopMocks.obstacle ?? "")"))
        func aHostIsKeptAwakeWhileSomebodyWatches() throws {
            let mocks = try DesktopMocks()
            try mocks.run("awake()")
            let host = try share(environment: mocks.environment)
            defer { host.end() }
            try host.waitFor("stats")
            #expect(!mocks.hasSeen("awake"))
            let viewer = try watch()
            defer { viewer.end() }
            _ = try mocks.waitForEvent("awake")
            #expect(!mocks.hasSeen("released"))
            viewer.interrupt()
            _ = try mocks.waitForEvent("released")
        }

        @Test(.enabled(if: DesktopMocks.obstacle == nil, "\(DesktopMocks.obstacle ?? "")"))
        func aLockedScreenAndALowBatteryAreTold() throws {
            let mocks = try DesktopMocks()
            try mocks.run("logind(by_pid='7'); add_session('7'); upower(percent=50.0)")
            let host = try share(environment: mocks.environment)
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            // The host follows the buses by now.
            pause(seconds: 1)
            try expect("locked", at: viewer) { try mocks.run("hint('7', True)") }
            try viewer.waitForWords("The screen of “desk” is locked.")
            let low = try expect("battery-low", at: viewer) { try mocks.run("battery(Percentage=dbus.Double(14.0))") }
            #expect(low.number("percent") == 14)
            try viewer.waitForWords("The battery of “desk” is at 14 % and isn't charging.")
            // Latecomers are told what still holds, once.
            pause(seconds: 5)
            let late = try watch()
            defer { late.end() }
            try late.waitForWords("The battery of “desk” is at 14 %")
            try late.waitForWords("The screen of “desk” is locked.")
            try expect("unlocked", at: viewer) { try mocks.run("hint('7', False)") }
            try late.waitForWords("The screen of “desk” is unlocked.")
            try expect("battery-fine", at: viewer) { try mocks.run("battery(State=dbus.UInt32(1))") }
            try late.waitForWords("The battery of “desk” is no longer low.")
            for process in [viewer, late] {
                #expect(process.process.state.current.errors.count { $0.contains("is locked") } == 1)
                expectPlainWords(process.errorText)
            }
        }

        @Test(
            .needsXServer, .needsXdotool,
            .enabled(if: DesktopMocks.obstacle == nil, "\(DesktopMocks.obstacle ?? "")"))
        func theWindowSaysItForAWhile() throws {
            let mocks = try DesktopMocks()
            try mocks.run("logind(by_pid='7'); add_session('7')")
            let screen = try XServer(width: 640, height: 360)
            let desk = try XServer(width: 640, height: 360)
            let painter = try Painter(desk.display, framesPerSecond: 0)
            let host = try Program.share(
                ["--display", desk.display, "--no-cursor"], ports: ports, environment: mocks.environment)
            defer {
                host.end()
                painter.freeze()
            }
            try host.waitFor("ready")
            let viewer = try watch(display: screen.display)
            defer { viewer.end() }
            pause(seconds: 1.5)
            let window = try ViewedWindow(screen)
            let before = try window.top()
            try expect("locked", at: viewer) { try mocks.run("hint('7', True)") }
            #expect(try window.waits { try window.top().differingPixels(before) > 500 }, "no notice appears")
            #expect(try window.waits { try window.top().differingPixels(before) < 100 }, "the notice stays")
        }
    }
}

/// The viewer's window on a screen of its own.
struct ViewedWindow {
    let screen: XServer

    init(_ screen: XServer) throws {
        self.screen = screen
        let appears = eventually(timeout: 30) { Self.place(screen) != nil }
        guard appears else { throw HarnessError("no window appears on \(screen.display)") }
    }

    private static func place(_ screen: XServer) -> (x: Int, y: Int, width: Int, height: Int)? {
        guard let window = (try? XConnection(screen.display))?.visibleWindows().last else { return nil }
        let (x, y) = (max(0, window.x), max(0, window.y))
        return (
            x, y, min(window.x + window.width, screen.width) - x, min(window.y + window.height, screen.height) - y
        )
    }

    /// A part of the window: from `top` to `bottom`, 0 to 1 of its height, and from `left` on.
    func part(from top: Double, to bottom: Double, left: Double = 0) throws -> Screenshot {
        guard let place = Self.place(screen) else { throw HarnessError("the window has gone") }
        let first = Int(Double(place.height) * top)
        let start = Int(Double(place.width) * left)
        return try Screenshot.take(
            of: screen.display, x: place.x + start, y: place.y + first, width: place.width - start,
            height: max(1, Int(Double(place.height) * bottom) - first))
    }

    /// Where notices appear.
    func top() throws -> Screenshot { try part(from: 0, to: 0.25) }
    /// Where captions and the line for a note appear.
    func bottom() throws -> Screenshot { try part(from: 0.6, to: 1) }

    /// Waits within a bound against hangs.
    func waits(_ condition: () throws -> Bool) rethrows -> Bool { try eventually(timeout: 30, condition) }

    /// Presses keys with the pointer over the window.
    func press(_ keys: String...) throws {
        guard let place = Self.place(screen) else { throw HarnessError("the window has gone") }
        try Tool.run(
            "xdotool",
            [
                "mousemove", "\(place.x + place.width / 2)", "\(place.y + place.height / 3)", "key", "--delay", "30",
            ] + keys, on: screen.display)
    }

    func type(_ text: String) throws {
        try Tool.run("xdotool", ["type", "--delay", "30", text], on: screen.display)
    }
}
