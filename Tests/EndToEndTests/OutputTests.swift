import Foundation
import Testing

/// The program continues, and ends when told to, even if its messages and events can't be written.
extension EndToEnd {
    @Suite(.needsProgram) struct OutputTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        @Test(arguments: [ChildProcess.Outlet.stuckTerminal, .stuckPipe, .file("/dev/full"), .closed])
        func aHostWhoseMessagesAreNotReadContinuesAndEnds(_ errors: ChildProcess.Outlet) throws {
            let host = try Program.share(.pattern, ports: ports, errors: errors)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try makeRefusedConnections()
            try expectFrames(at: viewer)
            try expectEnd(of: host)
        }

        @Test(arguments: [ChildProcess.Outlet.stuckPipe, .file("/dev/full"), .closed])
        func aHostWhoseEventsAreNotReadContinuesAndEnds(_ output: ChildProcess.Outlet) throws {
            let host = try Program.share(.pattern, ports: ports, output: output)
            defer { host.end() }
            try host.waitForWords("Sharing")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try makeRefusedConnections()
            try expectFrames(at: viewer)
            try expectEnd(of: host)
        }

        @Test func aViewerWhoseOutputIsNotReadContinuesAndEnds() throws {
            let scratch = try ScratchDirectory()
            let host = try Program.share(.pattern, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let pictures = scratch.file("pictures.y4m")
            let viewer = try Program.watch(
                [ports.target, "--frames", pictures], output: .stuckPipe, errors: .stuckTerminal)
            defer { viewer.end() }
            var sizes: [Int] = []
            for _ in 0..<3 {
                let least = (sizes.last ?? 0) + 1_000_000
                #expect(eventually(timeout: 30) { Self.size(pictures) >= least })
                sizes.append(Self.size(pictures))
            }
            #expect(Self.mode(pictures) == 0o600, "only the owner may read recorded pictures")
            try expectEnd(of: viewer)
        }

        @Test func anErrorEndsTheProgramEvenIfNobodyReadsIt() throws {
            let host = try Program.share(.pattern, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let second = try Program.share(.pattern, ports: ports, errors: .stuckTerminal)
            defer { second.end() }
            #expect(try second.waitForEnd() == .exited(1), "the port is in use")
        }

        @Test func aClosedStandardErrorIsReopenedOnDevNull() throws {
            let host = try Program.share(.pattern, ports: ports, errors: .closed)
            defer { host.end() }
            try host.waitFor("ready")
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(host.pid)/fd/2")
            #expect(target == "/dev/null")
        }

        @Test func refusedConnectionsAreSummedUp() throws {
            let host = try Program.share(.pattern, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            for _ in 0..<20 { try makeRefusedConnections() }
            try host.waitForWords("connections from 1 address were refused in the last 10 s")
            let told = host.errorText.split(separator: "\n").count { $0.contains("A connection from") }
            #expect((1...6).contains(told), "\(told) lines")
        }

        // MARK: -

        /// Makes connections that the host refuses, each with a message.
        private func makeRefusedConnections() throws {
            for _ in 0..<10 {
                let socket = try Socket.connect(to: Endpoint(ports.control), from: "127.0.0.1")
                // A TLS record of a version that doesn't exist.
                socket.send([0x16, 0x09, 0x09, 0x00, 0x02, 0x01, 0x00])
                _ = socket.receive(timeout: 2)
            }
        }

        private func expectFrames(at viewer: ProgramProcess) throws {
            let seen = viewer.lineCount
            for _ in 0..<3 {
                let stats = try viewer.waitFor("stats", from: seen) { ($0.number("fps") ?? 0) > 15 }
                #expect(stats.number("lost") == 0)
                pause(seconds: 1)
            }
            #expect(viewer.events("stall").isEmpty && viewer.events("reconnect").isEmpty)
        }

        /// Ctrl-C must end it within three times the time that its last messages get.
        private func expectEnd(of process: ProgramProcess) throws {
            process.interrupt()
            #expect(try process.waitForEnd() == .exited(0))
        }

        private static func size(_ path: String) -> Int {
            var status = stat()
            return stat(path, &status) == 0 ? Int(status.st_size) : 0
        }

        private static func mode(_ path: String) -> mode_t {
            var status = stat()
            return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
        }
    }
}
