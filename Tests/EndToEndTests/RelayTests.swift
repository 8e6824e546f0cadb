import BeamMedia
import Foundation
import Testing

/// `beamroom relay`: the real program three times, on machines of their own.
extension EndToEnd {
    @Suite(.needsProgram) struct RelayTests {
        private func relay(
            _ target: String, _ arguments: [String] = [], ports: Ports, machine: Machine? = nil
        ) throws -> ProgramProcess {
            try Program.relay(target, arguments, ports: ports, machine: machine)
        }

        /// What comes through a relay is bit for bit what comes directly.
        @Test func picturesThroughARelayAreThoseOfTheHost() throws {
            let scratch = try ScratchDirectory()
            let (hostPorts, relayPorts) = (try Ports(), try Ports())
            let host = try Program.share(
                ["--source", "pattern", "--name", "desk", "--size", "640x360", "--max-fps", "15"], ports: hostPorts)
            defer { host.end() }
            try host.waitFor("ready")
            let relay = try relay(hostPorts.target, ["--name", "den"], ports: relayPorts)
            defer { relay.end() }
            let ready = try relay.waitFor("ready")
            #expect(ready.string("name") == "den" && ready.string("source") == "desk")
            #expect(ready.number("width") == 640 && ready.string("encoder") == "relay")
            let (direct, through) = (scratch.file("direct.y4m"), scratch.file("through.y4m"))
            let viewers = try [(hostPorts, direct), (relayPorts, through)].map { ports, path in
                try Program.watch([ports.target, "--no-audio", "--frames", path, "--time-limit", "6"])
            }
            defer { for viewer in viewers { viewer.end() } }
            for viewer in viewers { #expect(try viewer.waitForEnd() == .exited(0)) }
            let (source, arrived) = (try Y4M(direct), try Y4M(through))
            let matches = arrived.matches(in: source)
            let same = matches.indices.filter { arrived.isSame($0, as: source, matches[$0].source) }
            report("pictures through a relay", "\(same.count) of \(arrived.count) bit for bit")
            // One of the two begins and ends before the other one; between that all are the same.
            let (first, last) = (try #require(same.first), try #require(same.last))
            #expect(same.count > 20 && same == Array(first...last), "\(same) of \(arrived.count)")
            let stats = try #require(viewers[1].events("summary").last)
            #expect(stats.number("keyframesRequested") == 0)
            expectPlainWords(relay.errorText)
        }

        /// Pause and words go through, both ways; the host is lost, and comes back; and a relay of the relay says how many.
        @Test func theHostIsLostAndComesBackAndWordsGoThrough() throws {
            let machine = try Machine()
            let (hostPorts, relayPorts) = (try Ports(), try Ports())
            func share() throws -> ProgramProcess {
                let host = try Program.share(
                    ["--source", "pattern", "--name", "desk", "--size", "320x180"], ports: hostPorts,
                    machine: machine, input: .pipe)
                try host.waitFor("ready")
                return host
            }
            var host = try share()
            defer { host.end() }
            let relay = try relay(hostPorts.target, ports: relayPorts)
            defer { relay.end() }
            let name = try relay.waitFor("ready").string("name") ?? ""
            #expect(name.hasPrefix("desk by "))
            let viewer = try Program.watch([relayPorts.target, "--no-audio"], input: .pipe)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")

            host.write(#"{"pause":true}"#)
            try viewer.waitFor("alert") { $0.string("what") == "paused" }
            host.write(#"{"pause":false}"#)
            try viewer.waitFor("alert") { $0.string("what") == "resumed" }
            host.write(#"{"note":"to all"}"#)
            try viewer.waitFor("note") { $0.string("text") == "desk: to all" }
            viewer.write(#"{"note":"from the den"}"#)
            try host.waitFor("note") { $0.string("text")?.hasSuffix(": from the den") == true }
            // None of them comes back.
            pause(seconds: 0.5)
            #expect(viewer.events("note").count == 2 && host.events("note").count == 2)

            host.process.kill()
            try viewer.waitFor("source-visible") { $0.string("why") == "host-lost" }
            try viewer.waitForWords("passes on can't be reached")
            host = try share()
            try viewer.waitFor("source-visible") { $0.fields["visible"]?.bool == true }
            let frames = viewer.events("stats").last?.number("frames") ?? 0
            try viewer.waitFor("stats") { ($0.number("frames") ?? 0) > frames + 20 }
            host.interrupt()
            try viewer.waitFor("source-visible") { $0.string("why") == "host-ended" }
            #expect(viewer.events("paired").count == 1, "the relay's viewers stay")
            relay.interrupt()
            try viewer.waitFor("host-ended")
            #expect(try relay.waitForEnd() == .exited(0))
            for program in [relay, viewer] { expectPlainWords(program.errorText) }
        }

        /// This machine's own host isn't relayed, nor one behind three relays.
        @Test func ownAndTooManyTimesRelayedHostsAreRefused() throws {
            let machine = try Machine()
            var ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--name", "desk", "--size", "320x180"], ports: ports, machine: machine)
            var programs = [host]
            defer { for program in programs { program.end() } }
            try host.waitFor("ready")
            let own = try relay(ports.target, ports: try Ports(), machine: machine)
            defer { own.end() }
            #expect(try own.waitForEnd() == .exited(1))
            #expect(own.errorText.contains("That host is this machine itself"))
            #expect(own.events("ready").isEmpty)
            for _ in 1...3 {
                let next = try Ports()
                programs.append(try relay(ports.target, ports: next))
                try programs.last?.waitFor("ready")
                ports = next
            }
            let fourth = try relay(ports.target, ports: try Ports())
            defer { fourth.end() }
            #expect(try fourth.waitForEnd() == .exited(1))
            #expect(fourth.errorText.contains("comes through 3 of them already"))
            expectPlainWords(fourth.errorText)
        }

        /// A browser at a relay.
        @Test(.enabled(if: Chromium.isInstalled, "Chromium isn't installed (package chromium)"))
        func aBrowserWatchesThroughARelay() throws {
            let (hostPorts, relayPorts) = (try Ports(), try Ports())
            let host = try Program.share(
                ["--source", "pattern", "--name", "desk", "--size", "640x360"], ports: hostPorts)
            defer { host.end() }
            try host.waitFor("ready")
            let relay = try relay(
                hostPorts.target, ["--web", "--web-port", "0", "--web-media-port", "0"], ports: relayPorts)
            defer { relay.end() }
            let port = try #require(try relay.waitFor("ready").number("webPort").map { Int($0) })
            let address = try Tool.run("hostname", ["-I"]).split(separator: " ").map(String.init)
                .first { $0.contains(".") }
            let chromium = try Chromium()
            try chromium.navigate("http://\(address ?? "127.0.0.1"):\(port)/")
            try chromium.wait(until: "document.getElementById('ask').offsetParent !== null")
            _ = try chromium.evaluate("document.getElementById('ask').click()")
            try chromium.wait(until: "document.body.dataset.state === 'playing'")
            host.process.kill()
            try chromium.wait(until: "document.getElementById('banner').textContent.includes('reached')")
        }
    }
}

/// The short form of `Scripts/bench relay`. Nothing is judged by time.
extension EndToEnd {
    @Suite(.needsProgram) struct RelayBenchTests {
        private static let script = (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/bench"

        @Test(.enabled(if: LossyNetwork.obstacle == nil, "\(LossyNetwork.obstacle ?? "")"))
        func theBenchmarkMeasuresBothWays() throws {
            let scratch = try ScratchDirectory()
            defer { withExtendedLifetime(scratch) {} }
            let file = scratch.file("results.json")
            let bench = try ChildProcess(
                Self.script, ["relay", "--check", "--rows", "720p30", "--no-setup", "--json", file],
                environment: ["BEAMROOM": Program.path])
            defer { bench.end() }
            let ending = try bench.waitForEnd(timeout: 120)
            try #require(ending == .exited(0), "\(bench.outputText)\n\(bench.errorText)")
            let row = try #require(
                JSONValue(try String(contentsOfFile: file, encoding: .utf8))?["rows"]?["720p30"]?.object)
            #expect(row["through"]?.array?.first?.number ?? 0 > 0 && row["direct"]?.array?.first?.number ?? 0 > 0)
        }
    }
}
