import Foundation
import Testing

/// Errors at the start or during a run: the exit status, and a helpful message.
extension EndToEnd {
    @Suite(.needsProgram) struct ErrorTests {
        @Test(arguments: [
            ["share", "--max-fps", "0"], ["share", "--max-fps", "fast"], ["share", "--port", "99999"],
            ["share", "--accept", "maybe"], ["share", "--monitor", "1", "--region", "10x10+0+0"],
            ["share", "--region", "big"], ["share", "--window", "0x0"], ["share", "-b", "lots"], ["share", "--what"],
            ["share", "--time-limit", "-1"], ["watch", "--no-window", "--fullscreen"], ["watch", "--code", "12345"],
            ["watch", "one", "one"], ["watch", "--video-decoder", "nonsense"], ["hosts", "--wait", "-1"], ["pattern"],
            ["nonsense"], ["watch", "192.0.2.7:99999"], ["watch", "192.0.2.7:abc"], ["watch", "http://desk"],
            ["watch", "999.1.1.1"], ["watch", "fe80::1"],
        ])
        func wrongUsageIs64(arguments: [String]) throws {
            let (ending, output, words) = try Program.run(arguments)
            #expect(ending == .exited(64))
            #expect(output == "")
            #expect(words.contains("Usage") || words.contains("--help") || words.contains("Error"))
        }

        @Test func helpIsNoError() throws {
            for arguments in [["--help"], ["share", "-h"], ["watch", "--help"], ["hosts", "--help"]] {
                let (ending, output, _) = try Program.run(arguments)
                #expect(ending == .exited(0))
                #expect(!output.isEmpty)
            }
        }

        @Test func theVersionIsOneLineWithTheCommit() throws {
            let (ending, output, words) = try Program.run(["--version"])
            #expect(ending == .exited(0))
            #expect(words == "")
            #expect(output.contains(/^beamroom \d+\.\d+\.\d+( \([0-9a-f]{7,}\))?$/), "\(output)")
            #expect(output.split(separator: "\n", omittingEmptySubsequences: false).count == 1, "\(output)")
        }

        @Test(
            arguments: [
                (["share", "--display", ":9999"], [":9999"]),
                (["share"], ["--display"]),
                (["share", "--source", "/nowhere/film.y4m"], ["/nowhere/film.y4m"]),
                (["share", "--source", "/dev/null"], ["/dev/null"]),
                (["share", "--source", "pattern", "--video-encoder", "nonsense"], ["nonsense", "libx264"]),
                (["share", "--source", "pattern", "--bind", "203.0.113.9"], ["203.0.113.9"]),
                (["share", "--source", "pattern", "--record", "/nowhere/a.mkv"], ["/nowhere/a.mkv"]),
                (["share", "--source", "pattern", "--record", "/tmp/a.docx"], ["mkv", "mp4"]),
                (["watch", "127.0.0.1:9", "--display", ":9999"], [":9999"]),
                (["watch", "127.0.0.1:9", "--no-window", "--record", "/nowhere/a.mkv"], ["/nowhere/a.mkv"]),
                (["watch", "127.0.0.1:9", "--no-window", "--frames", "/nowhere/a.y4m"], ["/nowhere/a.y4m"]),
                (["watch", "127.0.0.1:9", "--no-window", "--record", "/tmp/a.docx"], ["mkv", "mp4"]),
                (["watch", "127.0.0.1:9", "--no-window", "--frames", "/tmp/a.mkv"], ["y4m"]),
                (["watch", "127.0.0.1:9", "--no-window", "--video-decoder", "vaapi:/no"], ["/no", "software"]),
                (["pattern", "/nowhere/a.y4m"], ["/nowhere/a.y4m"]),
            ] as [([String], [String])])
        func startErrorsNameTheReasonAndTheRemedy(arguments: [String], words: [String]) throws {
            let isHost = arguments[0] == "share"
            let ports = try Ports()
            let common =
                isHost ? ["--no-discovery", "--port", "\(ports.control)", "--media-port", "\(ports.media)"] : []
            let limit = arguments[0] == "pattern" ? [] : ["--time-limit", "10"]
            let (ending, _, said) = try Program.run(arguments + common + limit)
            #expect(ending == .exited(1), "\(said)")
            for word in words { #expect(said.contains(word), "\(said)") }
            expectPlainWords(said)
            #expect(said.split(separator: "\n").count <= 4, "an error is a line or two: \(said)")
        }

        @Test(.needsXServer) func aMissingMonitorOrWindowIsNamed() throws {
            let server = try XServer(width: 640, height: 360)
            for (option, value) in [
                ("--monitor", "NOPE-1"), ("--monitor", "7"), ("--window", "0x1234567"), ("--region", "400x400+600+300"),
            ] {
                let (ending, _, words) = try Program.run([
                    "share", "--display", server.display, "--no-discovery", "--time-limit", "5", option, value,
                ])
                #expect(ending == .exited(1), "\(option) \(value): \(words)")
                expectPlainWords(words)
            }
        }

        @Test func aControlPortInUseIsNamed() throws {
            let taken = try Socket.listen()
            let port = taken.localEndpoint.port
            let (ending, _, words) = try Program.run([
                "share", "--source", "pattern", "--no-discovery", "--port", "\(port)", "--time-limit", "5",
            ])
            #expect(ending == .exited(1))
            #expect(words.contains("Another program, “"), "\(words)")
            #expect(words.contains("has TCP port \(port). End it, or use another port with --port"), "\(words)")
            expectPlainWords(words)
        }

        @Test func aSecondShareIsToldOfTheFirst() throws {
            let ports = try Ports()
            let host = try Program.share(.pattern, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let (ending, _, words) = try Program.run([
                "share", "--source", "pattern", "--no-discovery", "--port", "\(ports.control)", "--time-limit", "5",
            ])
            #expect(ending == .exited(1))
            #expect(
                words.contains(
                    "This machine already shares: process \(host.process.pid) has TCP port \(ports.control). End that one, "
                        + "or use another port with --port"), "\(words)")
            expectPlainWords(words)
        }

        @Test(arguments: ["share --time-limit", "watch 127.0.0.1 --time-limit", "hosts --wait", "share --max-viewers"])
        func aNegativeNumberIsRefusedByItsOption(_ command: String) throws {
            let (ending, _, words) = try Program.run(command.split(separator: " ").map(String.init) + ["-1"])
            let option = String(command.split(separator: " ").last ?? "")
            #expect(ending == .exited(64) && words.contains("\(option) takes a number"), "\(words)")
            #expect(!words.contains("Missing value"))
        }

        @Test func aMediaPortInUseIsReplacedAndAnnounced() throws {
            let taken = try Socket.datagrams(on: Endpoint(0, on: "0.0.0.0"))
            var ports = try Ports()
            ports.media = taken.localEndpoint.port
            let host = try Program.share(
                ["--allow-unencrypted", "--source", "pattern", "--size", "320x180"], ports: ports)
            defer { host.end() }
            let announced = try host.waitFor("ready").number("mediaPort")
            #expect(announced != Double(ports.media))
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            try viewer.waitForFrames(5)
            #expect(viewer.current.mediaPort.map { Double($0) } == announced)
        }

        @Test func theTimeLimitEndsTheHostOrderly() throws {
            let ports = try Ports()
            let host = try Program.share(["--source", "pattern", "--time-limit", "8"], ports: ports)
            defer { host.end() }
            let viewer = try Program.watch([ports.target, "--time-limit", "5"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(0))
            #expect(try host.waitForEnd() == .exited(0))
            #expect(host.events.last?.name == "summary" && viewer.events.last?.name == "summary")
        }

        @Test func ctrlCNotifiesTheViewersFirst() throws {
            let ports = try Ports()
            let host = try Program.share(
                ["--allow-unencrypted", "--source", "pattern", "--size", "320x180"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            try viewer.waitForFrames(5)
            let start = secondsNow()
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            report("Ctrl-C to the end of the host", "\(((secondsNow() - start) * 1000).short) ms")
            try viewer.wait("the end of the broadcast") { $0.broadcast == false ? true : nil }
            try viewer.wait("the end of the connection") { $0.controlHasEnded ? true : nil }
            #expect(host.events.last?.name == "summary")

            let lonely = try Program.watch(["127.0.0.1:\(try FreePort.stream())"])
            defer { lonely.end() }
            try lonely.waitFor("connecting")
            lonely.interrupt()
            #expect(try lonely.waitForEnd() == .exited(0))
        }

        @Test(.needsXServer) func aVanishedXServerEndsTheHostWithAReason() throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 30)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(["--allow-unencrypted", "--display", server.display], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            try viewer.waitForFrames(5)
            server.kill()
            #expect(try host.waitForEnd() == .exited(1))
            #expect(host.errorText.contains(server.display), "\(host.errorText)")
            expectPlainWords(host.errorText)
            try viewer.wait("the end of the broadcast") { $0.broadcast == false ? true : nil }
        }

        @Test(.needsXServer) func aClosedWindowEndsTheHostWithAReason() throws {
            let server = try XServer(width: 640, height: 360)
            var painter: Painter? = try Painter(server.display, framesPerSecond: 30)
            let window = try #require(XConnection(server.display).visibleWindows().last?.id)
            let ports = try Ports()
            let host = try Program.share(
                ["--allow-unencrypted", "--display", server.display, "--window", "\(window)"], ports: ports)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.number("width") == 640 && ready.number("height") == 360)
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            try viewer.waitForFrames(5)
            painter?.freeze()
            painter = nil
            #expect(try host.waitForEnd() == .exited(1))
            #expect(host.errorText.localizedCaseInsensitiveContains("window"), "\(host.errorText)")
            expectPlainWords(host.errorText)
        }
    }
}

/// Messages to people have no type names, traces or memory addresses.
func expectPlainWords(_ words: String, sourceLocation: SourceLocation = #_sourceLocation) {
    for trace in [
        "Error(", "Optional(", "Fatal error", "Swift.", "NIO", "Beam.", "BeamCapture.", "BeamCodec.", "BeamNetwork.",
        "BeamSession.", "BeamLog.", "BeamWire.", ".swift:", "0x0000", "errno:", "Stack dump", "rawValue",
    ] {
        #expect(!words.contains(trace), "\"\(trace)\" in: \(words)", sourceLocation: sourceLocation)
    }
}
