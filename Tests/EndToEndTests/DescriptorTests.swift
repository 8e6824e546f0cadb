import Foundation
import Testing

extension EndToEnd {
    /// A host that runs out of file descriptors: it continues to stream, doesn't spin, and admits viewers again later.
    @Suite(.needsProgram) struct DescriptorTests {
        @Test func runningOutOfDescriptorsDoesNotSpin() throws {
            let ports = try Ports()
            let host = try Program.share(["--source", "pattern"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            // Ten more descriptors than it has open.
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(host.pid)/fd").count
            let limit = try ChildProcess("prlimit", ["--pid", "\(host.pid)", "--nofile=\(open + 10):\(open + 10)"])
            #expect(try limit.waitForEnd() == .exited(0))

            var crowd: [Socket] = []
            for number in 0..<60 {
                crowd.append(try .connect(to: Endpoint(ports.control), from: "127.0.0.\(2 + number % 8)"))
            }
            try host.waitForWords("no room for another connection")
            let before = (time: Date(), busy: try processorTime(host.pid))
            // The stream continues.
            for _ in 0..<3 { try viewer.waitFor("stats", from: viewer.lineCount) { ($0.number("fps") ?? 0) > 0 } }
            let share = (try processorTime(host.pid) - before.busy) / Date().timeIntervalSince(before.time)
            #expect(share < 0.8, "\(share) of a core: accepting spins")
            crowd.removeAll()
            let late = try Program.watch([ports.target])
            defer { late.end() }
            try late.waitFor("first-frame")
        }

        @Test(arguments: ["share --source pattern --no-discovery", "watch 127.0.0.1 --no-window"])
        func withTooFewDescriptorsItEndsWithASentence(command: String) throws {
            let words = ["--nofile=14:14", Program.path] + command.split(separator: " ").map(String.init)
            let machine = try Machine()
            defer { withExtendedLifetime(machine) {} }
            let program = try ChildProcess(
                "prlimit", words, environment: ["DISPLAY": nil, "XDG_STATE_HOME": machine.state])
            defer { program.end() }
            #expect(try program.waitForEnd() == .exited(1))
            #expect(program.errorText.contains("ulimit -n"), "\(program.errorText)")
        }

        /// User and system time, in seconds.
        private func processorTime(_ pid: pid_t) throws -> Double {
            let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            // From field 3, the state, on (proc(5)).
            let fields = text.drop { $0 != ")" }.dropFirst().split(separator: " ")
            return ((Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
    }
}
