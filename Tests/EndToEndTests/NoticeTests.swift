import Testing

/// Notices of the desktop, with a real notification daemon.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: NoticeDesktop.obstacle == nil, "\(NoticeDesktop.obstacle ?? "")"))
    struct NoticeTests {
        /// Nobody is at a terminal: notices ask, and let one viewer in and refuse another.
        @Test func aPersonLetsInAndRefusesByNotices() throws {
            let desktop = try NoticeDesktop()
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "320x180"], ports: ports, accept: nil,
                environment: desktop.environment)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--name", "tablet"])
            defer { viewer.end() }
            #expect(try desktop.wait(forNotice: "asks to watch").hasPrefix("“tablet” asks to watch: "))
            try desktop.press("Let in") { viewer.errorText.contains("compares these digits: ") }
            let notice = try desktop.wait(forNotice: "Does “tablet” show ")
            let digits = try #require(notice.matches(of: #/show ([0-9]{3} [0-9]{3})[?]: /#).first?.output.1)
            #expect(viewer.errorText.contains("compares these digits: \(digits)."))
            try desktop.press("Let in") { !viewer.events("first-frame").isEmpty }
            _ = try desktop.wait(forNotice: "“tablet” watches your screen")

            // A daemon that has ended meanwhile is started again.
            desktop.endDaemon()
            let other = try Program.watch([ports.target, "--name", "<b>sofa</b>"])
            defer { other.end() }
            _ = try desktop.wait(forNotice: "“<b>sofa</b>” asks to watch")
            try desktop.press("Refuse") { !other.isRunning }
            #expect(try other.waitForEnd() == .exited(2))
            viewer.interrupt()
            _ = try desktop.wait(forNotice: "Nobody watches your screen any more")
        }

        @Test func noneAreShownWhereNoneAreWanted() throws {
            let desktop = try NoticeDesktop()
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "320x180", "--notifications", "off"], ports: ports, accept: nil,
                environment: desktop.environment)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            // Nobody can be asked, as before.
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(desktop.shown.isEmpty)
        }
    }
}
