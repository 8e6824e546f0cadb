import Foundation
import Testing

/// Hosts that announce themselves, on machines with their own network and Avahi daemon.
extension EndToEnd {
    @Suite(
        .needsProgram,
        .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct DiscoveryTests {
        @Test func aHostOnAnotherMachineIsListedAndWatchedByItsName() throws {
            let desk = try PrivateMachine()
            let sofa = try PrivateMachine(beside: desk)
            let host = try desk.share(name: "Desk 7")
            defer { host.end() }
            var listed: [Event] = []
            #expect(
                try eventually(timeout: 30) {
                    listed = try sofa.hosts()
                    return !listed.isEmpty
                })
            #expect(listed.count == 1)
            #expect(listed.first?.string("name") == "Desk 7")
            #expect(listed.first?.number("port") == 52345)
            #expect(listed.first?.string("address") == desk.address, "IPv4 first: \(listed)")

            for arguments in [["Desk 7"], ["desk 7"], [], [desk.address]] {
                let viewer = try sofa.watch(arguments)
                defer { viewer.end() }
                let first = try viewer.waitFor("first-frame")
                report(
                    "watch \(arguments.first ?? "(no argument)"), first frame after the start",
                    "\((first.number("ms") ?? 0).short) ms")
                #expect(viewer.events("paired").first?.string("name") == "Desk 7")
            }
        }

        @Test func aHostIsListedAgainAfterTheDaemonRestarts() throws {
            let machine = try PrivateMachine()
            let host = try machine.share(name: "Desk")
            defer { host.end() }
            #expect(try eventually(timeout: 30) { try machine.hosts().map { $0.string("name") } == ["Desk"] })
            let viewer = try machine.watch(["Desk"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try machine.restartDaemon()
            let start = secondsNow()
            let isBack = try eventually(timeout: 30) {
                try machine.hosts(wait: 0.5).map { $0.string("name") } == ["Desk"]
            }
            report("daemon restarted, host listed again after at most", "\((secondsNow() - start).short) s")
            #expect(isBack)
            let seen = viewer.lineCount
            let stats = try viewer.waitFor("stats", from: seen)
            #expect((stats.number("fps") ?? 0) > 5, "the picture continues")
        }

        @Test func withoutADaemonTheHostShowsItsAddress() throws {
            let machine = try PrivateMachine(hasDaemon: false)
            let host = try machine.share(name: "Desk")
            defer { host.end() }
            try host.waitForWords("Warning")
            #expect(host.errorText.contains(machine.address), "\(host.errorText)")
            expectPlainWords(host.errorText)
            let viewer = try machine.watch([machine.address])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")

            let list = try machine.start(["hosts", "--wait", "1"])
            defer { list.end() }
            #expect(try list.waitForEnd() == .exited(1))
            expectPlainWords(list.errorText)

            // The daemon starts later: then the host is announced.
            try machine.startDaemon()
            #expect(try eventually(timeout: 30) { try machine.hosts().map { $0.string("name") } == ["Desk"] })
        }

        @Test func withSeveralHostsAndNoTerminalTheirNamesAreListed() throws {
            let machine = try PrivateMachine()
            let hosts = [try machine.share(name: "Attic"), try machine.share(name: "Cellar", ["--port", "52399"])]
            defer { for host in hosts { host.end() } }
            #expect(try eventually(timeout: 30) { try machine.hosts().count == 2 })
            let viewer = try machine.watch([])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(1))
            #expect(viewer.errorText.contains("Attic") && viewer.errorText.contains("Cellar"), "\(viewer.errorText)")
            let named = try machine.watch(["Cellar"])
            defer { named.end() }
            try named.waitFor("first-frame")
            #expect(named.events("paired").first?.string("name") == "Cellar")
        }

        @Test func aNameThatIsTakenIsChanged() throws {
            let desk = try PrivateMachine()
            let sofa = try PrivateMachine(beside: desk)
            let first = try desk.share(name: "Twin")
            defer { first.end() }
            #expect(try eventually(timeout: 30) { try sofa.hosts().count == 1 })
            let second = try sofa.share(name: "Twin")
            defer { second.end() }
            #expect(try eventually(timeout: 30) { try desk.hosts().count == 2 })
            let names = try desk.hosts().compactMap { $0.string("name") }
            #expect(Set(names).count == 2 && names.contains("Twin"), "\(names)")
            try second.waitForWords("Twin")
        }

        @Test func aHostIsWithdrawnWhenItEndsAndFoundWhenItStarts() throws {
            let machine = try PrivateMachine()
            let early = try machine.watch(["Desk"])
            defer { early.end() }
            try early.waitForWords("Looking for “Desk”")
            let host = try machine.share(name: "Desk")
            defer { host.end() }
            let start = secondsNow()
            try early.waitFor("first-frame")
            report("a host that comes: first frame at a viewer that waits after", "\((secondsNow() - start).short) s")
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            #expect(try eventually(timeout: 30) { try machine.hosts(wait: 1).isEmpty })

            // The same name at another port.
            let frames = early.events("stats").last?.number("frames") ?? 0
            let moved = try machine.share(name: "Desk", ["--port", "52399", "--media-port", "52400"])
            defer { moved.end() }
            let back = secondsNow()
            let seen = early.lineCount
            try early.waitFor("stats", from: seen) { ($0.number("frames") ?? 0) > frames + 5 }
            report("a host that has moved to another port: picture back within", "\((secondsNow() - back).short) s")
        }
    }
}
