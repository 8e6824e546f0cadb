import Foundation
import Testing

/// Wayland desktops, shared through the real portals of sway and GNOME.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct PortalTests {
        private static let swayObstacle = PortalDesktop.Kind.sway.obstacle
        private static let gnomeObstacle = PortalDesktop.Kind.gnome.obstacle

        private func pictures(_ host: ProgramProcess) throws -> Int {
            Int(try #require(try host.waitFor("stats", from: host.lineCount).number("captured")))
        }

        /// The screen is lost by `fault`, is told so, and comes back by `repair`.
        private func survives(
            _ host: ProgramProcess, fault: () throws -> Void, repair: () throws -> Void
        ) throws {
            // The newest event counts: on a busy machine a change of size before may have lost the screen, too.
            func isVisible() -> Bool? { host.events("source-visible").last?.fields["visible"]?.bool }
            try fault()
            #expect(eventually(timeout: 30) { isVisible() == false })
            #expect(host.events("source-visible").last?.string("why") == "monitor-off")
            try repair()
            #expect(eventually(timeout: 30) { isVisible() == true })
        }

        @Test(.enabled(if: swayObstacle == nil, Comment(rawValue: swayObstacle ?? "")))
        func swaysMonitorIsSharedAndOutlivesItsPortal() throws {
            let desktop = try PortalDesktop(.sway, size: "1280x720")
            let ports = try Ports()
            let host = try Program.share([], ports: ports, environment: desktop.environment)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.string("source") == "a monitor of the desktop")
            #expect(ready.number("width") == 1280)
            let screen = try XServer(width: 1280, height: 720)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try desktop.paint("204060")
            try viewer.waitFor("first-frame")
            #expect(try screen.shows("204060"))
            try desktop.paint("a03010")
            #expect(try screen.shows("a03010"))

            // Nothing changes, nothing is sent.
            let before = try pictures(host)
            _ = try pictures(host)
            #expect(try pictures(host) == before)

            // As wide: the picture fills the screen's middle row. After a change of size this portal sends nothing before the
            // next change.
            for size in ["1024x576", "1920x1080", "1280x720"] {
                try desktop.perform("run swaymsg output HEADLESS-1 resolution \(size)")
                let isRight = try eventually(timeout: 20) {
                    try desktop.paint("204060")
                    try desktop.paint("a03010")
                    return try host.errorText.contains("The picture is now \(size.replacing("x", with: " × "))")
                        && screen.shows("a03010", timeout: 1)
                }
                #expect(isRight, "\(size)")
            }

            // A turned monitor is upright. Back in its place it is as large as before.
            for (turn, size) in [("90", "720 × 1280"), ("normal", "1280 × 720")] {
                let begin = host.errorText.count
                try desktop.perform("run swaymsg output HEADLESS-1 transform \(turn)")
                let isRight = try eventually(timeout: 20) {
                    try desktop.paint("204060")
                    try desktop.paint("a03010")
                    return host.errorText.dropFirst(begin).contains("The picture is now \(size)")
                }
                #expect(isRight, "\(turn)")
            }

            try survives(host) {
                try desktop.perform("kill backend")
            } repair: {
                try desktop.perform("start backend")
            }
            try desktop.paint("204060")
            #expect(try screen.shows("204060"))
            try survives(host) {
                try desktop.perform("kill pipewire")
            } repair: {
                for command in [
                    "kill wireplumber", "start pipewire", "start wireplumber", "kill backend", "start backend",
                ] {
                    try desktop.perform(command)
                }
            }
            try desktop.paint("a03010")
            #expect(try screen.shows("a03010"))
            try survives(host) {
                try desktop.perform("kill compositor")
            } repair: {
                for command in ["kill backend", "start compositor", "start backend"] { try desktop.perform(command) }
            }
            try desktop.paint("204060")
            #expect(try screen.shows("204060"))
            #expect(host.isRunning)
        }

        @Test(.enabled(if: swayObstacle == nil, Comment(rawValue: swayObstacle ?? "")))
        func aRegionIsCutOutAndOptionsOfX11AreRefused() throws {
            let desktop = try PortalDesktop(.sway, size: "640x360")
            let host = try Program.share(
                ["--region", "200x100+40+20", "--max-fps", "10"], ports: try Ports(), environment: desktop.environment)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.number("width") == 200)
            #expect(ready.number("height") == 100)
            for (arguments, words) in [
                (["--region", "200x100+600+20"], "doesn't lie on the screen, which is 640x360"),
                (["--choose", "window"], "--choose monitor"),
            ] {
                let (ending, _, said) = try Program.run(
                    ["share", "--no-discovery"] + arguments, environment: desktop.environment)
                #expect(ending == .exited(1), "\(arguments)")
                #expect(said.contains(words), "\(said)")
            }
            for arguments in [["--source", "portal", "--monitor", "0"], ["--source", "pattern", "--ask-again"]] {
                let (ending, _, said) = try Program.run(["share"] + arguments, environment: desktop.environment)
                #expect(ending == .exited(64), "\(said)")
                #expect(said.contains("doesn't apply"), "\(said)")
            }
        }

        /// Clicks in GNOME's dialog: its first monitor or window, then *Share*; and *Cancel*.
        private static let agree = "point sleep 0.5; click 640 386; sleep 0.3; click 852 233; sleep 0.3"
        private static let refuse = "point sleep 0.5; click 430 233; sleep 0.3"

        private func share(
            _ arguments: [String], _ desktop: PortalDesktop, _ ports: Ports, on machine: Machine, clicking: String?
        ) throws -> ProgramProcess {
            let host = try Program.share(arguments, ports: ports, environment: desktop.environment, machine: machine)
            if let clicking {
                try host.waitForWords("The desktop asks what to share")
                // On a busy machine the dialog may not be there yet.
                for _ in 0..<6 {
                    try desktop.perform(clicking)
                    let isAnswered = host.process.state.wait(timeout: 3) { state in
                        state.ending != nil || state.output.contains { $0.contains("\"ready\"") } ? true : nil
                    }
                    if isAnswered == true { break }
                }
            }
            return host
        }

        /// GNOME ends all sharing when its screen is locked.
        private func outlivesTheLock(
            _ host: ProgramProcess, _ viewer: ProgramProcess, _ ports: Ports, _ desktop: PortalDesktop
        )
            throws
        {
            func isLocked(_ event: Event) -> Bool { event.string("why") == "screen-locked" }
            func isVisible(_ event: Event) -> Bool { event.fields["visible"] == .bool(true) }
            try desktop.perform("lock")
            for program in [host, viewer] { try program.waitFor("source-visible", where: isLocked) }
            try host.waitForWords("The screen is locked")
            // Who comes meanwhile sees the last picture, and why it stands.
            let late = try Program.watch([ports.target])
            defer { late.end() }
            try late.waitFor("first-frame")
            try late.waitFor("source-visible", where: isLocked)
            // Longer than a session that somebody has ended is kept.
            pause(seconds: 2.5)
            try desktop.perform("unlock")
            for program in [host, viewer, late] { try program.waitFor("source-visible", where: isVisible) }
            let before = try #require(try late.waitFor("stats", from: late.lineCount).number("frames"))
            try desktop.perform("point move 100 100; sleep 0.2; move 200 200; sleep 0.2")
            try late.waitFor("stats", from: late.lineCount) { ($0.number("frames") ?? 0) > before }
            #expect(!host.events("source-visible").contains { $0.string("why") == "consent-awaited" })
        }

        @Test(.enabled(if: gnomeObstacle == nil, Comment(rawValue: gnomeObstacle ?? "")))
        func gnomeAsksOnceMovesThePointerAloneAndEndsNothingByItsLock() throws {
            let desktop = try PortalDesktop(.gnome, size: "1280x720")
            let machine = try Machine()
            let ports = try Ports()
            let refused = try share([], desktop, try Ports(), on: machine, clicking: Self.refuse)
            #expect(try refused.waitForEnd() == .exited(1))
            #expect(refused.errorText.contains("Sharing was declined in the desktop's dialog."))

            let first = try share(["--choose", "monitor"], desktop, ports, on: machine, clicking: Self.agree)
            defer { first.end() }
            #expect(try first.waitFor("ready").string("source") == "a monitor of the desktop")
            first.interrupt()
            #expect(try first.waitForEnd() == .exited(0))

            // Nobody clicks.
            let host = try share(["--choose", "monitor"], desktop, ports, on: machine, clicking: nil)
            defer { host.end() }
            try host.waitFor("ready")
            #expect(!host.errorText.contains("The desktop asks"))
            let screen = try XServer(width: 1280, height: 720)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            // Away from where the pointer will be, and from what the viewer writes into its window.
            try desktop.perform("point move 100 100; sleep 0.2")
            let before = try Screenshot.take(of: screen.display, x: 600, y: 300, width: 32, height: 32)
            try desktop.perform("point move 604 304; sleep 0.2")
            #expect(
                try eventually(timeout: 20) {
                    try Screenshot.take(of: screen.display, x: 600, y: 300, width: 32, height: 32)
                        .differingPixels(before) > 20
                })
            // Where it was, nothing of it is left.
            try desktop.perform("point move 100 100; sleep 0.2")
            #expect(
                try eventually(timeout: 20) {
                    try Screenshot.take(of: screen.display, x: 600, y: 300, width: 32, height: 32)
                        .differingPixels(before) == 0
                })
            try outlivesTheLock(host, viewer, ports, desktop)
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            try beginsAfterTheUnlock(desktop, machine)
        }

        /// Started while the screen is locked, a share doesn't use its consent up. Nobody clicks.
        private func beginsAfterTheUnlock(_ desktop: PortalDesktop, _ machine: Machine) throws {
            try desktop.perform("lock")
            let host = try share(["--choose", "monitor"], desktop, try Ports(), on: machine, clicking: nil)
            defer { host.end() }
            try host.waitForWords("The screen is locked, and this desktop shares nothing until it is unlocked.")
            pause(seconds: 1.5)
            #expect(host.events("ready").isEmpty && host.isRunning)
            try desktop.perform("unlock")
            try host.waitFor("ready")
            #expect(!host.errorText.contains("The desktop asks"), "\(host.errorText)")
            expectPlainWords(host.errorText)
        }

        @Test(.enabled(if: gnomeObstacle == nil, Comment(rawValue: gnomeObstacle ?? "")))
        func aWindowOfGnomeIsSharedUntilItIsClosed() throws {
            let desktop = try PortalDesktop(.gnome, size: "1280x720")
            // A window that doesn't change may never be sent: in its first row a dot comes and goes.
            let blinking = "sh -c 'while sleep 0.2; do printf \"\\r.\"; sleep 0.2; printf \"\\r \"; done'"
            try desktop.perform("open foot -W 60x20 -o colors.background=a03010 \(blinking)")
            try desktop.perform("point window 42")
            let ports = try Ports()
            let host = try share(["--choose", "window"], desktop, ports, on: try Machine(), clicking: Self.agree)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.string("source") == "a window of the desktop")
            // Only the window, not the monitor.
            #expect((100..<1000).contains(ready.number("width") ?? 0))
            let screen = try XServer(width: 1280, height: 720)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(try screen.shows("a03010"))
            try desktop.perform("kill open-1")
            #expect(try host.waitForEnd() == .exited(1))
            #expect(host.errorText.contains("was ended at the desktop"))
            _ = try viewer.waitFor("host-ended")
        }
    }
}
