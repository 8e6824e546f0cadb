import Foundation
import Testing

/// Notes of many authors: every log has all of them, each once, in each author's order.
extension EndToEnd {
    @Suite(.needsProgram) struct RoomNoteTests {
        private final class Author {
            let machine: Machine
            var program: ProgramProcess
            /// Of its present life: one that was started again is another author, whose log is its own.
            var name: String
            var written = 0

            init(_ machine: Machine, _ program: ProgramProcess, _ name: String) {
                (self.machine, self.program, self.name) = (machine, program, name)
            }

            func write(_ count: Int) {
                for _ in 0..<count {
                    written += 1
                    program.write("{\"note\":\"\(name) \(written)\"}")
                }
            }
        }

        /// Each author's notes by the author's name, in their order.
        private func log(_ program: ProgramProcess) -> [String: [Int]] {
            program.notes.reduce(into: [:]) { log, note in
                let words = note.text.split(separator: " ")
                guard words.count == 2, let number = Int(words[1]) else { return }
                log[String(words[0]), default: []].append(number)
            }
        }

        private func write(_ authors: [Author], to host: ProgramProcess, restart: (Author) throws -> Void) throws {
            let killed = authors.suffix(2)
            for author in authors { author.write(15) }
            // In the middle of their writing, as far as that can be.
            for author in killed {
                author.program.kill()
                try restart(author)
                author.name += "b"
            }
            for author in authors { author.write(15) }
            // A killed author's last notes may be lost with it; that must be the same for all.
            let isEqual = eventually(timeout: 45) {
                pause(seconds: 0.3)
                let whole = log(host)
                guard authors.allSatisfy({ whole[$0.name]?.last == 30 }) else { return false }
                return authors.allSatisfy { log($0.program) == whole }
            }
            let whole = log(host)
            for author in authors where log(author.program) != whole {
                Issue.record("\(author.name) has \(log(author.program)) instead of \(whole)")
            }
            #expect(isEqual)
            for author in authors.dropLast(2) { #expect(whole[author.name] == Array(1...30), "\(author.name)") }
            for author in killed {
                let before = whole[String(author.name.dropLast())] ?? []
                #expect(before == Array((1...15).prefix(before.count)), "\(before)")
                #expect(whole[author.name] == Array(16...30))
            }
            for program in [host] + authors.map(\.program) { #expect(program.unreadableLines == []) }
        }

        @Test(.enabled(if: LossyNetwork.obstacle == nil, "\(LossyNetwork.obstacle ?? "")"))
        func everyLogIsEqualDespiteLossAndKilledAuthors() throws {
            let network = try LossyNetwork("loss=5%,delay=2ms", seed: 15)
            let host = try network.share(["--source", "pattern", "--size", "160x90", "--max-fps", "5"])
            defer { host.end() }
            let authors = try (1...8).map { number in
                let machine = try Machine()
                return Author(machine, try network.watch([], as: machine, input: .pipe), "a\(number)")
            }
            defer { for author in authors { author.program.end() } }
            for author in authors { try author.program.waitFor("room") }
            try write(authors, to: host) { author in
                author.program = try network.watch([], as: author.machine, input: .pipe)
            }
            #expect(try #require(network.end()["lost"]) > 0)
        }

        /// The control connections are cut and restored meanwhile.
        @Test func everyLogIsEqualAfterConnectionsWereCut() throws {
            let ports = try Ports()
            let far = "127.0.0.3"
            let host = try Program.share(
                ["--source", "pattern", "--size", "160x90", "--max-fps", "5", "--bind", far], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let near = "127.0.0.4"
            let control = try TCPRelay(
                at: Endpoint(ports.control, on: near), to: Endpoint(ports.control, on: far))
            defer { control.end() }
            let media = try UDPRelay(
                at: Endpoint(ports.media, on: near), target: Endpoint(ports.media, on: far))
            defer { withExtendedLifetime(media) {} }
            func join(_ machine: Machine) throws -> ProgramProcess {
                let viewer = try Program.watch(["\(near):\(ports.control)"], machine: machine, input: .pipe)
                return viewer
            }
            let authors = try (1...4).map { number in
                let machine = try Machine()
                return Author(machine, try join(machine), "a\(number)")
            }
            defer { for author in authors { author.program.end() } }
            for author in authors { try author.program.waitFor("room") }
            try write(authors, to: host) { author in
                control.cut()
                pause(seconds: 0.5)
                control.restore()
                author.program = try join(author.machine)
            }
            #expect(authors.dropLast(2).allSatisfy { $0.program.events("room").count == 1 }, "it is the same room")
        }

        @Test func aHostMayTakeNoNotes() throws {
            let ports = try Ports()
            let host = try Program.share(.pattern + ["--notes", "off"], ports: ports, input: .pipe)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target], input: .pipe)
            defer { viewer.end() }
            #expect(try viewer.waitFor("room").fields["notes"] == .bool(false))
            viewer.write(#"{"note":"hello"}"#)
            let error = try viewer.waitFor("error")
            #expect(error.string("what") == "note" && error.string("reason") == "the host takes no notes")
            try viewer.waitForWords("That note wasn't sent: the host takes no notes")
            // The host's own are notes all the same, and so are messages.
            host.write(#"{"note":"from the host"}"#)
            try viewer.waitFor("note") { $0.text == "from the host" }
            viewer.write(#"{"message":1,"id":"m"}"#)
            try viewer.waitFor("delivered") { $0.string("id") == "m" }
            #expect(host.notes.map(\.text) == ["from the host"])
        }
    }
}
