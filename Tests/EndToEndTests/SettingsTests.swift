import Foundation
import Testing

/// The file of settings in the real program.
extension EndToEnd {
    @Suite(.needsProgram) struct SettingsTests {
        /// A machine with this file.
        private func machine(_ text: String) throws -> Machine {
            let machine = try Machine()
            let folder = machine.settings + "/beamroom"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try text.write(toFile: folder + "/config.toml", atomically: false, encoding: .utf8)
            guard chmod(folder + "/config.toml", 0o600) == 0 else { throw HarnessError.system("chmod") }
            return machine
        }

        @Test func aProfileSharesAndAnotherWatchesIt() throws {
            let ports = try Ports()
            let machine = try machine(
                """
                [share]
                source = "pattern"
                size = "640x360"
                max-fps = 5
                json = true
                [share.talk]
                size = "320x180"
                accept = "all"
                no-discovery = true
                port = \(ports.control)
                media-port = \(ports.media)
                time-limit = 60
                [watch]
                no-window = true
                code = 271828
                [watch.desk]
                host = "\(ports.target)"
                code-file = "/nowhere"
                """)
            let host = try ProgramProcess(["share", "--profile", "talk", "--max-fps", "20"], machine: machine)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.number("width") == 320 && ready.number("port") == Double(ports.control))
            let viewer = try ProgramProcess(
                [
                    "watch", "--json", "--profile", "desk", "--unset", "code-file", "--unset", "code", "--time-limit",
                    "60",
                ],
                machine: machine)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))

            let (ending, output, words) = try Program.run(["config", "--json", "--profile", "talk"], machine: machine)
            #expect(ending == .exited(0), "\(words)")
            let events = output.split(separator: "\n").compactMap { Event(line: String($0)) }
            func setting(_ name: String, of command: String) -> Event? {
                events.first { $0.string("name") == name && $0.string("command") == command }
            }
            #expect(events.first?.string("path") == machine.settings + "/beamroom/config.toml")
            let size = setting("size", of: "share")
            #expect(
                size?.string("value") == "320x180" && size?.string("profile") == "talk" && size?.number("line") == 7)
            #expect(setting("source", of: "share")?.number("line") == 2)
            #expect(setting("port", of: "room")?.string("from") == "built-in")
            #expect(!output.contains("271828") && setting("code", of: "watch")?.string("value") == "(hidden)")
        }

        @Test func aWrongFileEndsTheProgramBeforeItBegins() throws {
            let machine = try machine("[share]\nsource = \"pattern\"\nmax-fps = 1000\n")
            let file = machine.settings + "/beamroom/config.toml"
            for command in ["share", "config"] {
                let (ending, output, words) = try Program.run([command], machine: machine)
                #expect(ending == .exited(1) && output.allSatisfy { $0 != "{" })
                #expect(words == "beamroom: \(file), line 3: max-fps takes a number from 1 to 240.", "\(words)")
            }
            // The other commands, and help, don't need it.
            #expect(try Program.run(["devices", "list"], machine: machine).ending == .exited(0))
            #expect(try Program.run(["share", "--help"], machine: machine).ending == .exited(0))
            let (ending, path, _) = try Program.run(["config", "--path"], machine: machine)
            #expect(ending == .exited(0) && path == file)
        }
    }
}
