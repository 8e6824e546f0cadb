import Foundation
import Testing

/// What may come over a shared desktop while it is watched: on sway, with its real portal.
extension EndToEnd {
    @Suite(
        .needsProgram, .needsXServer,
        .enabled(if: PortalDesktop.Kind.sway.obstacle == nil, Comment(rawValue: PortalDesktop.Kind.sway.obstacle ?? ""))
    )
    struct PortalFaultTests {
        private let desktop: PortalDesktop
        private let host: ProgramProcess
        private let screen: XServer
        private let viewer: ProgramProcess

        init() throws {
            desktop = try PortalDesktop(.sway, size: "1280x720")
            let ports = try Ports()
            host = try Program.share([], ports: ports, environment: desktop.environment)
            try host.waitFor("ready")
            screen = try XServer(width: 1280, height: 720)
            viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            try desktop.paint("a03010")
            try viewer.waitFor("first-frame")
            #expect(try screen.shows("a03010"))
        }

        private func end() {
            viewer.end()
            host.end()
        }

        @Test(.enabled(if: DesktopMocks.obstacle == nil, Comment(rawValue: DesktopMocks.obstacle ?? "")))
        func aDesktopThatStandsStillIsSharedOnAndOneThatAsksAgainIsTold() throws {
            defer { end() }
            try standStill()
            try askAgain()
        }

        /// As on a machine that is suspended: its desktop stands still, and then the program, too. For longer than a stream
        /// that is paused lives.
        private func standStill() throws {
            for (stopsHost, colour) in [(false, "204060"), (true, "104080")] {
                try desktop.perform("freeze")
                if stopsHost { host.process.signal(SIGSTOP, toGroup: false) }
                pause(seconds: 2.5)
                if stopsHost { host.process.signal(SIGCONT, toGroup: false) }
                try desktop.perform("thaw")
                try desktop.paint(colour)
                #expect(try screen.shows(colour), "\(stopsHost)")
            }
            // A still picture isn't one that can't be seen.
            #expect(host.events("source-visible").isEmpty)
            #expect(host.isRunning && viewer.isRunning)
        }

        /// A session that broke is begun again, and the desktop asks: a mock in the place of its portal.
        private func askAgain() throws {
            let mock = (#filePath as NSString).deletingLastPathComponent + "/../BeamCaptureTests/Support/portal.py"
            // It waits for the name that the portal has.
            try desktop.perform(
                "open bash -c \"tail -f /dev/null | /usr/bin/python3 '\(mock)' $DBUS_SESSION_BUS_ADDRESS hang=Start\"")
            let bus = "org.freedesktop.DBus"
            try desktop.perform(
                "run for i in {1..200}; do gdbus call --session -d \(bus) -o /org/freedesktop/DBus -m \(bus).ListQueuedOwners "
                    + "org.freedesktop.portal.Desktop | grep , && exit; sleep 0.05; done; exit 1")
            try desktop.perform("kill portal")
            for program in [host, viewer] {
                try program.waitFor("source-visible") { $0.string("why") == "consent-awaited" }
            }
            try host.waitForWords("The desktop asks again what to share: answer its dialog, on this machine's screen.")
            expectPlainWords(host.errorText)
            try desktop.perform("kill open-1")
            try desktop.perform("start portal")
            for program in [host, viewer] {
                try program.waitFor("source-visible") { $0.fields["visible"] == .bool(true) }
            }
            try desktop.paint("204060")
            #expect(try screen.shows("204060"))
        }

        /// sway goes on showing what is on the screen, which is the lock's picture.
        @Test(.enabled(if: Tool.exists("swaylock"), "swaylock isn't installed (package swaylock)"))
        func aLockedScreenHidesTheDesktopUntilItIsUnlocked() throws {
            defer { end() }
            try desktop.perform("open swaylock -u -c 208020")
            #expect(try screen.shows("208020"))
            // Nothing of what happens behind it.
            try desktop.paint("204060")
            pause(seconds: 0.5)
            #expect(try screen.shows("208020", timeout: 0))
            // A lock that is unlocked ends.
            try desktop.perform("kill open-1")
            #expect(try screen.shows("204060"))
            #expect(host.events("source-visible").isEmpty)
        }
    }
}
