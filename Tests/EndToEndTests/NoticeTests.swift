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

        /// While the screen is recorded no notice pops up, but for the question who is let in. What a host that is killed
        /// leaves is put back by the next one.
        @Test func otherNoticesWaitWhileTheScreenIsRecorded() throws {
            let desktop = try NoticeDesktop()
            let screen = try XServer(width: 320, height: 240)
            let (ports, machine, folder) = (try Ports(), try Machine(), try ScratchDirectory())
            func note(_ text: String) throws {
                _ = try ChildProcess("dunstify", [text], environment: desktop.environment).waitForEnd()
            }
            let host = try Program.share(
                ["--display", screen.display, "--record", folder.file("film.mkv")], ports: ports, accept: nil,
                environment: desktop.environment, machine: machine)
            defer { host.end() }
            try host.waitFor("ready")
            #expect(try eventually(timeout: 30) { try desktop.isPaused == true })
            try note("A private message")
            let viewer = try Program.watch([ports.target, "--name", "tablet"])
            defer { viewer.end() }
            _ = try desktop.wait(forNotice: "“tablet” asks to watch")
            try desktop.press("Refuse") { !viewer.isRunning }
            #expect(try eventually(timeout: 30) { try desktop.isPaused == true })
            host.kill()
            _ = try host.waitForEnd()
            #expect(try desktop.isPaused == true)

            let next = try Program.share(
                ["--source", "pattern", "--size", "320x180"], ports: ports, environment: desktop.environment,
                machine: machine)
            defer { next.end() }
            #expect(try eventually(timeout: 30) { try desktop.isPaused == false })
            _ = try desktop.wait(forNotice: "A private message")
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
