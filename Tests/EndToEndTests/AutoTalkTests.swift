import Foundation
import Testing

/// Two programs behind `share --trusted-only --json` and `watch --auto --json`, which find each other by themselves.
extension EndToEnd {
    @Suite(
        .needsProgram,
        .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct AutoTalkTests {
        let network: PrivateMachine
        let desk: Machine
        let sofa: Machine

        init() throws {
            network = try PrivateMachine()
            desk = try Machine()
            sofa = try Machine()
        }

        @Test func twoProgramsTalkAgainWhicheverComesFirst() throws {
            try pair()
            var viewer = try watch()
            defer { viewer.end() }
            // The viewer waits for its host.
            pause(seconds: 1.5)
            #expect(viewer.isRunning && viewer.events("room").isEmpty)
            var host = try share()
            defer { host.end() }
            try talk(host, viewer, "the viewer was there first", from: 0)

            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            try host.waitFor("viewer-left")
            viewer = try watch()
            try talk(host, viewer, "the viewer was restarted", from: 0)

            // What is written while the host is away arrives, once.
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            try viewer.waitFor("host-ended")
            viewer.write(#"{"message":"meanwhile","id":"away"}"#)
            var seen = viewer.lineCount
            host = try share()
            try talk(host, viewer, "the host was restarted", from: seen)
            try viewer.waitFor("delivered") { $0.string("id") == "away" && $0.number("count") == 1 }
            #expect(host.events("message").count { $0.string("id") == "away" } == 1)

            viewer.kill()
            _ = try viewer.waitForEnd()
            viewer = try watch()
            try talk(host, viewer, "the viewer was killed and restarted", from: 0)

            host.kill()
            _ = try host.waitForEnd()
            seen = viewer.lineCount
            host = try share()
            try talk(host, viewer, "the host was killed and restarted", from: seen)

            // Both at once.
            for program in [host, viewer] {
                program.kill()
                _ = try program.waitForEnd()
            }
            (viewer, host) = (try watch(), try share())
            try talk(host, viewer, "both were killed and restarted", from: 0)
            for program in [host, viewer] {
                #expect(program.unreadableLines == [])
                expectPlainWords(program.errorText)
            }
        }

        private func share() throws -> ProgramProcess {
            try network.share(
                name: "Desk", ["--trusted-only", "--max-fps", "5"], accept: nil, as: desk, input: .pipe)
        }

        private func watch() throws -> ProgramProcess {
            try network.watch(["--auto", "Desk"], as: sofa, input: .pipe)
        }

        /// A message each way, as soon as the viewer is in the room: after its line `first`. Both sides are there already.
        private func talk(
            _ host: ProgramProcess, _ viewer: ProgramProcess, _ what: String, from first: Int
        ) throws {
            let start = secondsNow()
            try viewer.waitFor("room", from: first)
            let id = "\(what)-\(viewer.pid)"
            for program in [host, viewer] { program.write("{\"message\":\"\(what)\",\"id\":\"\(id)\"}") }
            for program in [host, viewer] {
                let message = try program.waitFor("message") { $0.string("id") == id }
                #expect(message.fields["message"] == .string(what))
            }
            report("\(what): messages both ways after", "\((secondsNow() - start).short) s")
            for program in [host, viewer] {
                #expect(try program.waitFor("delivered") { $0.string("id") == id }.number("count") == 1)
                #expect(program.events("message").count { $0.string("id") == id } == 1)
            }
            for name in ["code-needed", "device-paired"] {
                #expect(viewer.events(name).isEmpty && host.events(name).isEmpty)
            }
        }

        private func pair() throws {
            let host = try network.share(name: "Desk", ["--code", "482913"], accept: nil, as: desk)
            defer { host.end() }
            let viewer = try network.watch(["10.77.0.1", "--code", "482913"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("device-paired")
            try host.waitFor("device-paired")
            guard eventually(timeout: 30, { (try? sofa.devices().count == 1 && desk.devices().count == 1) == true })
            else {
                throw HarnessError("the two devices don't know each other")
            }
            host.interrupt()
            _ = try host.waitForEnd()
        }
    }
}
