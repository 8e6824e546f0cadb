import Foundation
import Testing

/// Several hosts that the viewer doesn't know yet: one question after another.
extension EndToEnd {
    @Suite(.needsProgram) struct WallPairingTests {
        private let sofa: Machine

        init() throws { sofa = try Machine() }

        private func share(_ name: String, code: String) throws -> (program: ProgramProcess, ports: Ports) {
            let ports = try Ports()
            let host = try Program.share(
                .pattern + ["--name", name, "--code", code, "--no-bluetooth"], ports: ports, accept: nil)
            try host.waitFor("ready")
            return (host, ports)
        }

        @Test func eachHostsCodeIsAskedForInTurnInTheTerminal() throws {
            let codes = ["Alpha": "111222", "Beta": "333444", "Gamma": "555666"]
            let hosts = try codes.keys.sorted().map { try share($0, code: codes[$0] ?? "") }
            defer { for host in hosts { host.program.end() } }
            let viewer = try Program.watch(
                hosts.map(\.ports.target) + ["--no-bluetooth"], machine: sofa, input: .terminal, errors: .read)
            defer { viewer.end() }
            var answered: Set<String> = []
            for _ in hosts {
                let asked = viewer.process.state.wait(timeout: 30) { state in
                    codes.keys.first { name in
                        !answered.contains(name)
                            && state.errors.contains { $0.contains("Type the code that the screen of “\(name)” shows") }
                    }
                }
                let name = try #require(asked, "\(viewer.errorText)")
                // Only one is asked at a time.
                let questions = codes.keys.count { other in
                    viewer.errorText.contains("Type the code that the screen of “\(other)” shows")
                }
                #expect(questions == answered.count + 1, "\(viewer.errorText)")
                // What is typed at once might be meant for the question before.
                pause(seconds: 1.2)
                viewer.process.type(codes[name] ?? "")
                answered.insert(name)
            }
            for host in hosts { try viewer.waitFor("first-frame") { $0.string("host") == host.ports.target } }
            #expect(try sofa.devices().count == 3)
        }

        @Test(.needsXServer, .needsXdotool) func codesAreTypedIntoTheWindowOneAfterAnother() throws {
            let hosts = try ["Alpha", "Beta"].map { try share($0, code: "482913") }
            defer { for host in hosts { host.program.end() } }
            let screen = try XServer(width: 1280, height: 800)
            let viewer = try Program.watch(
                hosts.map(\.ports.target) + ["--no-bluetooth"], display: screen.display, machine: sofa)
            defer { viewer.end() }
            for host in hosts { try viewer.waitFor("code-needed") { $0.string("host") == host.ports.target } }
            func type() throws {
                pause(seconds: 0.7)
                let keys = "482913".map { String($0) }
                try Tool.run("xdotool", ["mousemove", "640", "400", "key", "--delay", "30"] + keys, on: screen.display)
            }
            try type()
            try viewer.waitFor("first-frame")
            #expect(viewer.events("first-frame").count == 1, "the code was given to one host")
            try type()
            for host in hosts { try viewer.waitFor("first-frame") { $0.string("host") == host.ports.target } }
            #expect(try sofa.devices().count == 2)
        }

        /// A host whose code isn't typed is left alone, and the others go on.
        @Test(.needsXServer, .needsXdotool) func escapeLeavesAHostOut() throws {
            let hosts = try ["Alpha", "Beta"].map { try share($0, code: "482913") }
            defer { for host in hosts { host.program.end() } }
            let screen = try XServer(width: 1280, height: 800)
            let viewer = try Program.watch(
                hosts.map(\.ports.target) + ["--no-bluetooth"], display: screen.display, machine: sofa)
            defer { viewer.end() }
            for host in hosts { try viewer.waitFor("code-needed") { $0.string("host") == host.ports.target } }
            pause(seconds: 0.7)
            try Tool.run("xdotool", ["mousemove", "640", "400", "key", "Escape"], on: screen.display)
            pause(seconds: 0.7)
            let keys = "482913".map { String($0) }
            try Tool.run("xdotool", ["key", "--delay", "30"] + keys, on: screen.display)
            try viewer.waitFor("first-frame")
            pause(seconds: 1)
            #expect(viewer.isRunning && viewer.events("first-frame").count == 1)
        }
    }
}
