import Foundation
import Testing

/// The output of `--json`.
extension EndToEnd {
    @Suite(.needsProgram) struct EventTests {
        @Test func everyLineIsAnEventAndStatsComeEachSecond() throws {
            let ports = try Ports()
            let host = try Program.share(
                [
                    "--source", "pattern", "--size", "640x360", "--max-fps", "30", "--name", "Desk \"7\"", "--code",
                    "314159",
                ], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--code", "314159", "--time-limit", "5"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(0))
            pause(seconds: 1)
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))

            for process in [host, viewer] {
                #expect(process.unreadableLines == [])
                let times = process.events.map(\.time)
                #expect(zip(times, times.dropFirst()).allSatisfy { $1 >= $0 - 0.05 }, "times increase: \(times)")
                #expect(process.events.last?.name == "summary")
                #expect(process.events("summary").count == 1)
                #expect(!process.process.outputText.contains("314159"), "the pairing code in a log")
                expectPlainWords(process.errorText)
                let stats = process.events("stats")
                #expect((3...9).contains(stats.count), "\(stats.count) stats in about 5 s")
                for key in ["fps", "kbps", "frames", "bytes", "keyframes", "datagrams", "dropped", "width", "height"] {
                    #expect(stats.last?.number(key) != nil, "stats without \(key)")
                }
            }
            #expect(host.events("ready").first?.string("name") == "Desk \"7\"")
            #expect(host.events("ready").first?.string("encoder") == "libx264")
            #expect(host.events("paired").count == 1)
            for key in ["viewers", "captured", "encoded", "replaced"] {
                #expect(host.events("stats").last?.number(key) != nil, "the host's stats without \(key)")
            }
            #expect(viewer.events.map(\.name).starts(with: ["connecting"]))
            #expect(viewer.events("paired").count == 1 && viewer.events("first-frame").count == 1)
            #expect(viewer.events("stats").last?.number("lost") == 0)

            let busiest = try #require(host.events("stats").max { ($0.number("fps") ?? 0) < ($1.number("fps") ?? 0) })
            report(
                "640x360 pattern at 30",
                "\((busiest.number("fps") ?? 0).short) frames, \(Int(busiest.number("kbps") ?? 0)) kbit a second")
            for (process, stages) in [(host, ["capture", "encode"]), (viewer, ["decode"])] {
                let latencies = process.events("summary").first?.fields["latencyMs"]
                for stage in stages {
                    let median = try #require(latencies?[stage]?["median"]?.number, "no latency of \(stage)")
                    report("latency, \(stage), median", "\(median.short) ms")
                    #expect(median >= 0 && median < 1000)
                }
            }
            let sent = host.events("summary").first?.number("frames") ?? 0
            let seen = viewer.events("summary").first?.number("frames") ?? -1
            report("frames sent and decoded", "\(Int(sent)), \(Int(seen))")
            #expect(seen <= sent && seen >= sent - 40)
        }

        @Test func version2IsEncryptedWithoutAWarning() throws {
            let ports = try Ports()
            let host = try ProgramProcess([
                "share", "--source", "pattern", "--no-discovery", "--accept", "all", "--port", "\(ports.control)",
                "--media-port", "\(ports.media)", "--json", "--time-limit", "20",
            ])
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try ProgramProcess(["watch", "--json", "--no-window", ports.target, "--time-limit", "20"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            for process in [host, viewer] {
                #expect(!process.errorText.contains("encrypted"), "\(process.errorText)")
                #expect(process.events("paired").map { $0.fields["encrypted"] } == [.bool(true)])
            }
        }

        @Test func theShownAddressesAreTheOnesItListensOn() throws {
            let ports = try Ports()
            let (ending, _, words) = try Program.run([
                "share", "--source", "pattern", "--no-discovery", "--bind", "127.0.0.1", "--port", "\(ports.control)",
                "--media-port", "\(ports.media)", "--time-limit", "0.5",
            ])
            #expect(ending == .exited(0))
            let offered = words.matches(of: /beamroom watch ([^` ]+:[0-9]+)/).map { String($0.output.1) }
            #expect(offered == [ports.target], "\(words)")
        }

        @Test func theHostSurvivesTheEndOfItsEventReader() throws {
            let ports = try Ports()
            let shell = try ChildProcess(
                "sh",
                [
                    "-c",
                    """
                    "$0" share --json --source pattern --no-discovery --port \(ports.control) \
                        --media-port \(ports.media) --time-limit 3 | head -n 1
                    """, Program.path,
                ])
            defer { shell.end() }
            #expect(try shell.waitForEnd() == .exited(0))
            #expect(shell.outputText.contains(#""event":"ready""#))
            #expect(shell.errorText.contains("Ended after"), "the host runs until its time limit: \(shell.errorText)")
        }

        @Test func withoutJSONStandardOutputStaysEmpty() throws {
            let ports = try Ports()
            let (ending, output, words) = try Program.run([
                "share", "--source", "pattern", "--no-discovery", "--accept", "all", "--port", "\(ports.control)",
                "--media-port", "\(ports.media)", "--time-limit", "1", "--name", "Desk",
            ])
            #expect(ending == .exited(0))
            #expect(output == "")
            #expect(words.contains("beamroom watch"), "the messages say how to connect: \(words)")
            #expect(words.contains("1280"), "the messages name the size: \(words)")
        }
    }
}
