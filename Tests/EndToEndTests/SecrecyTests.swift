import Foundation
import Testing

/// Secrets aren't in the process list, the events, the log, a title, or a file that others can read.
extension EndToEnd {
    @Suite(.needsProgram) struct SecrecyTests {
        private static let code = "482913"
        let desk: Machine
        let sofa: Machine
        let ports: Ports

        init() throws {
            desk = try Machine()
            sofa = try Machine()
            ports = try Ports()
        }

        @Test(arguments: [["--code", code], ["--code=\(code)"]])
        func theCodeIsNotReadableAnywhere(options: [String]) throws {
            let host = try Program.share(.pattern + options, ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target] + options, machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            for process in [host, viewer] {
                let path = "/proc/\(process.pid)/cmdline"
                let line = try Data(contentsOf: URL(fileURLWithPath: path))
                let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                #expect(words.contains { $0.hasPrefix("--code") }, "\(words)")
                #expect(!words.contains { $0.contains(Self.code) }, "\(words)")
                process.interrupt()
                #expect(try process.waitForEnd() == .exited(0))
            }
            let secrets = try [Self.code, "482 913"] + [desk, sofa].flatMap { try Self.keyLines($0) }
            for process in [host, viewer] {
                for secret in secrets {
                    #expect(!process.process.outputText.contains(secret), "in the events")
                    #expect(!process.errorText.contains(secret), "in the log")
                }
                #expect(!process.process.outputText.contains("key\":"), "only `beamroom devices` shows keys")
            }
        }

        /// The code is on the terminal only.
        @Test func theEventsOfAHostWithATerminalDoNotHaveTheCode() throws {
            let host = try Program.share(.pattern, ports: ports, accept: nil, machine: desk, input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let code = try host.shownCode()
            let viewer = try Program.watch([ports.target, "--code", code], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try host.waitFor("stats", from: host.lineCount)
            for secret in [code, "\(code.prefix(3)) \(code.suffix(3))"] {
                #expect(!host.process.outputText.contains(secret))
                #expect(!viewer.process.outputText.contains(secret) && !viewer.errorText.contains(secret))
            }
        }

        @Test func storedFilesAreReadableByTheirOwnerOnly() throws {
            let host = try Program.share(.pattern + ["--code", Self.code], ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--code", Self.code], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            for machine in [desk, sofa] {
                #expect(mode(machine.store) == 0o700)
                // Another thread writes it a moment later.
                #expect(eventually(timeout: 10) { (try? machine.devices().count) == 1 })
                pause(seconds: 0.2)
                let files = try FileManager.default.contentsOfDirectory(atPath: machine.store)
                #expect(files.contains("identity.pem") && files.contains("devices.json"))
                #expect(
                    !files.contains { $0.contains("tmp") || $0.hasPrefix(".") }, "temporary files are left: \(files)")
                for file in files { #expect(mode(machine.store + "/" + file) == 0o600, "\(file)") }
                let devices = try String(contentsOfFile: machine.store + "/devices.json", encoding: .utf8)
                #expect(!devices.contains(Self.code))
            }
            // Several programs that start at once make one identity.
            let third = try Machine()
            let others = try (0..<4).map { _ in try Program.watch([ports.target, "--time-limit", "1"], machine: third) }
            for other in others { _ = try other.waitForEnd() }
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: third.store).sorted() == ["identity.pem", "lock"])
        }

        @Test(.needsXServer) func memorySharedWithTheXServerIsReadableByItsOwnerOnly() throws {
            let shared = try XServer(width: 640, height: 360)
            let painter = try Painter(shared.display, framesPerSecond: 20)
            defer { painter.freeze() }
            let host = try Program.share(["--display", shared.display], ports: ports, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let window = try XServer(width: 800, height: 600)
            let viewer = try Program.watch([ports.target], display: window.display, machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            pause(seconds: 0.5)
            let table = try String(contentsOfFile: "/proc/sysvipc/shm", encoding: .utf8)
            // key shmid perms size cpid …
            let rows = table.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
            for (name, process) in [("host", host), ("viewer", viewer)] {
                let segments = rows.filter { $0.count > 4 && Int32($0[4]) == process.pid }
                let modes = segments.map { (Int($0[2], radix: 8) ?? 0o777) & 0o777 }
                report("\(name): segments shared with the X server", "\(modes.map { String($0, radix: 8) })")
                #expect(!modes.isEmpty && modes.allSatisfy { $0 == 0o600 }, "\(name): \(modes)")
            }
        }

        @Test(.needsXServer) func theTitleHasNoDigits() throws {
            let host = try Program.share(.pattern, ports: ports, accept: "ask", machine: desk, input: .pipe)
            defer { host.end() }
            try host.waitFor("ready")
            let server = try XServer(width: 800, height: 600)
            let viewer = try Program.watch([ports.target], display: server.display, machine: sofa)
            defer { viewer.end() }
            try host.waitForWords("You'll compare digits first")
            host.process.type("y")
            let digits = try host.shownCode()
            try host.waitForWords("Does it show the same digits")
            noticeTheQuestion()
            let connection = try XConnection(server.display)
            for answer in [nil, "y"] {
                if let answer { host.process.type(answer) }
                pause(seconds: 1)
                let titles = connection.visibleWindows().map { connection.title(of: $0.id) }
                #expect(!titles.isEmpty)
                #expect(
                    titles.allSatisfy { !$0.filter(\.isNumber).contains(digits) && $0.contains("BeamRoom") },
                    "\(titles)")
            }
        }

        @Test func aCrashLeavesNoCoreDump() throws {
            let host = try Program.share(.pattern + ["--code", Self.code], ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let limits = try String(contentsOfFile: "/proc/\(host.pid)/limits", encoding: .utf8)
            let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") } ?? ""
            let values = line.split(separator: " ").compactMap { Int($0) }
            #expect(values.count == 2 && values.allSatisfy { $0 <= 1 }, "\(line)")
        }

        /// The base64 lines of a machine's private key.
        private static func keyLines(_ machine: Machine) throws -> [String] {
            try String(contentsOfFile: machine.store + "/identity.pem", encoding: .utf8).split(separator: "\n")
                .filter { !$0.hasPrefix("-") }.map { String($0) }
        }

        private func mode(_ path: String) -> mode_t {
            var status = stat()
            return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
        }
    }
}
