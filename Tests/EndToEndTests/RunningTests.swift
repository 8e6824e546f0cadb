import Foundation
import Testing

/// `beamroom status`, `pause`, `resume`, `note`, `kick` and `stop`, for programs of the same user that run.
extension EndToEnd {
    @Suite(.needsProgram) struct RunningTests {
        private let machine: Machine

        init() throws { machine = try Machine() }

        private func run(_ arguments: [String], status: Int32 = 0) throws -> String {
            let (ending, output, words) = try Program.run(arguments, machine: machine)
            #expect(ending == .exited(status), "\(arguments): \(words)")
            return output + words
        }

        @Test func aShareIsSteeredFromAnotherTerminal() throws {
            #expect(try run(["status"], status: 1).contains("Nothing is shared by this user."))
            let ports = try Ports()
            let last = machine.file("last")
            let host = try Program.share(
                [
                    "--source", "pattern", "--size", "320x180", "--name", "desk", "--on-stop",
                    "sleep 2; touch '\(last)'",
                ],
                ports: ports, machine: machine)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--name", "tablet"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            // What it tells is at most a second old.
            try host.waitFor("stats", from: host.lineCount) { $0.number("viewers") == 1 }
            let status = try #require(Event(line: try run(["status", "--json"])))
            #expect(status.name == "status" && status.string("command") == "share" && status.string("name") == "desk")
            #expect(status.number("process") == Double(host.pid) && status.number("width") == 320)
            let words = try run(["status"])
            #expect(words.contains("“desk”, `beamroom share` in process \(host.pid)") && words.contains("“tablet”"))

            _ = try run(["pause"])
            try viewer.waitFor("alert") { $0.string("what") == "paused" }
            #expect(try run(["status"]).contains("paused"))
            _ = try run(["resume", "--name", "DESK"])
            try viewer.waitFor("alert") { $0.string("what") == "resumed" }
            _ = try run(["note", "We", "go on", "at ten"])
            try viewer.waitFor("note") { $0.string("text") == "We go on at ten" }
            #expect(try run(["kick", "sofa"], status: 1).contains("No viewer is called “sofa”."))
            _ = try run(["kick", "tablet", "--for-good"])
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(try run(["pause", "--name", "sofa"], status: 1).contains("Nothing that runs is called “sofa”."))
            #expect(try run(["note", " "], status: 64).contains("The note is empty."))
            _ = try run(["stop"])
            // It has waited for all that belongs to the end.
            #expect(FileManager.default.fileExists(atPath: last))
            #expect(try host.waitForEnd(timeout: 5) == .exited(0))
            #expect(try run(["status", "--json"], status: 1).contains("Nothing is shared by this user."))
        }

        @Test func ofSeveralOneIsNamedAndAStoppedOneHoldsUpNobody() throws {
            // The system may have started one of them, without the session's folder.
            let places: [(name: String, runtime: String?)] = [("desk", nil), ("sofa", machine.runtime)]
            let hosts = try places.map { name, runtime in
                try Program.share(
                    ["--source", "pattern", "--size", "320x180", "--name", name], ports: try Ports(),
                    environment: ["XDG_RUNTIME_DIR": runtime], machine: machine)
            }
            defer { for host in hosts { host.end() } }
            for host in hosts { try host.waitFor("ready") }
            let words = try run(["pause"], status: 1)
            #expect(words.contains("Several programs run.") && words.contains("“desk”") && words.contains("“sofa”"))
            _ = try run(["pause", "--name", "\(hosts[1].pid)"])
            try hosts[1].waitFor("paused")
            #expect(hosts[0].events("paused").isEmpty)
            // One that was stopped by its terminal is said not to answer; the other one is told of all the same.
            kill(hosts[0].pid, SIGSTOP)
            let told = try run(["status"])
            kill(hosts[0].pid, SIGCONT)
            #expect(told.contains("process \(hosts[0].pid) doesn't answer") && told.contains("“sofa”"))
            _ = try run(["stop", "--name", "sofa"])
            #expect(hosts[0].isRunning)
        }
    }
}
