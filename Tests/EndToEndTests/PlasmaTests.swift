import Foundation
import Testing

/// A desktop of KDE's KWin, shared through its real portal.
extension EndToEnd {
    @Suite(
        .needsProgram, .needsXServer,
        .enabled(if: PortalDesktop.Kind.kde.obstacle == nil, Comment(rawValue: PortalDesktop.Kind.kde.obstacle ?? ""))
    )
    struct PlasmaTests {
        /// Clicks in its dialog of 1280 × 720 pixels. The monitor is the second of two: the first one would be made for this.
        private static let agreeToMonitor = "point sleep 0.5; click 756 300; sleep 0.3; click 514 602; sleep 0.3"
        private static let agreeToWindow = "point sleep 0.5; click 526 310; sleep 0.3; click 514 602; sleep 0.3"
        private static let refuse = "point sleep 0.5; click 767 602; sleep 0.3"

        private func share(
            _ choice: String, _ desktop: PortalDesktop, _ ports: Ports, on machine: Machine, clicking: String?
        ) throws -> ProgramProcess {
            let host = try Program.share(
                ["--choose", choice], ports: ports, environment: desktop.environment, machine: machine)
            guard let clicking else { return host }
            try host.waitForWords("The desktop asks what to share")
            // On a busy machine the dialog may not be there yet.
            for _ in 0..<6 {
                try desktop.perform(clicking)
                let isAnswered = host.process.state.wait(timeout: 3) { state in
                    state.ending != nil || state.output.contains { $0.contains("\"ready\"") } ? true : nil
                }
                if isAnswered == true { break }
            }
            return host
        }

        private func captured(_ host: ProgramProcess) throws -> Int {
            Int(try #require(try host.waitFor("stats", from: host.lineCount).number("captured")))
        }

        @Test func plasmaAsksOnceAndItsMonitorOutlivesItsPortal() throws {
            let desktop = try PortalDesktop(.kde, size: "1280x720")
            try desktop.openWindow("204060")
            let (machine, ports) = (try Machine(), try Ports())
            let refused = try share("monitor", desktop, try Ports(), on: machine, clicking: Self.refuse)
            #expect(try refused.waitForEnd() == .exited(1))
            #expect(refused.errorText.contains("Sharing was declined in the desktop's dialog."))

            let first = try share("monitor", desktop, try Ports(), on: machine, clicking: Self.agreeToMonitor)
            defer { first.end() }
            #expect(try first.waitFor("ready").string("source") == "a monitor of the desktop")
            first.interrupt()
            #expect(try first.waitForEnd() == .exited(0))

            // Nobody clicks.
            let host = try share("monitor", desktop, ports, on: machine, clicking: nil)
            defer { host.end() }
            #expect(try host.waitFor("ready").number("width") == 1280)
            #expect(!host.errorText.contains("The desktop asks"))
            let screen = try XServer(width: 1280, height: 720)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(try screen.shows("204060"))
            try desktop.paint("a03010")
            #expect(try screen.shows("a03010"))
            try thePointerMovesAlone(desktop, screen)

            // Two changes at once: KWin 5.27.5 sends the last picture again and again from then on.
            for colour in ["204060", "a03010"] { try desktop.paint(colour) }
            try desktop.perform("point move 90 90; move 91 91; move 92 92; sleep 0.5")
            let before = try captured(host)
            _ = try captured(host)
            #expect(try captured(host) == before)

            try desktop.perform("kill backend")
            try host.waitFor("source-visible") { $0.fields["visible"] == .bool(false) }
            try desktop.perform("start backend")
            try host.waitFor("source-visible", from: host.lineCount) { $0.fields["visible"] == .bool(true) }
            try desktop.paint("204060")
            #expect(try screen.shows("204060"))
            expectPlainWords(host.errorText)
        }

        private func thePointerMovesAlone(_ desktop: PortalDesktop, _ screen: XServer) throws {
            func shot() throws -> Screenshot {
                try Screenshot.take(of: screen.display, x: 600, y: 300, width: 32, height: 32)
            }
            // Away from where the pointer will be, and from what the viewer writes into its window.
            try desktop.perform("point move 100 100; sleep 0.2")
            let before = try shot()
            try desktop.perform("point move 604 304; sleep 0.2")
            #expect(try eventually(timeout: 20) { try shot().differingPixels(before) > 20 })
            // Where it was, nothing of it is left.
            try desktop.perform("point move 100 100; sleep 0.2")
            #expect(try eventually(timeout: 20) { try shot().differingPixels(before) == 0 })
        }

        @Test func aWindowOfPlasmaIsSharedUntilItIsClosed() throws {
            let desktop = try PortalDesktop(.kde, size: "1280x720")
            try desktop.openWindow("204060", size: "640x360")
            pause(seconds: 1)
            let ports = try Ports()
            let host = try share("window", desktop, ports, on: try Machine(), clicking: Self.agreeToWindow)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.string("source") == "a window of the desktop")
            #expect((600..<700).contains(ready.number("width") ?? 0))
            let screen = try XServer(width: 1280, height: 720)
            let viewer = try Program.watch([ports.target, "--fullscreen"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try desktop.paint("a03010")
            #expect(try screen.shows("a03010"))
            try desktop.perform("kill open-1")
            #expect(try host.waitForEnd() == .exited(1))
            #expect(host.errorText.contains("was ended at the desktop"))
            _ = try viewer.waitFor("host-ended")
        }
    }
}
