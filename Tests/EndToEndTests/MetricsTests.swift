import Foundation
import Testing

/// `--metrics` of the real program, read as Prometheus does.
extension EndToEnd {
    @Suite(.needsProgram) struct MetricsTests {
        /// What is served at a port of 127.0.0.1.
        private struct Scrape {
            let text: String

            init(_ port: UInt16) throws {
                let socket = try Socket.connect(to: Endpoint(port))
                socket.send("GET /metrics HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
                var answer: [UInt8] = []
                while case .bytes(let bytes) = socket.receive(timeout: 30) { answer += bytes }
                let parts = String(decoding: answer, as: UTF8.self).components(separatedBy: "\r\n\r\n")
                guard parts.count == 2, parts[0].hasPrefix("HTTP/1.1 200 ") else {
                    throw HarnessError("no metrics: \(parts)")
                }
                text = parts[1]
            }

            /// The value of a series, as it is written; nil: there is none.
            func value(_ series: String) -> Double? {
                text.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap {
                    Double($0.dropFirst(series.utf8.count + 1))
                }
            }
        }

        /// Scrapes until it fits: what is served changes once a second.
        private func scrape(
            _ port: UInt16, timeout: Double = 30, until fits: (Scrape) -> Bool
        ) throws -> Scrape {
            let end = ContinuousClock.now + .seconds(timeout)
            while true {
                let scrape = try Scrape(port)
                if fits(scrape) { return scrape }
                guard ContinuousClock.now < end else { throw HarnessError("still so:\n\(scrape.text)") }
                usleep(200_000)
            }
        }

        /// Prometheus' own check of the format, the names and the descriptions.
        private func check(_ scrape: Scrape) throws {
            let directory = try ScratchDirectory()
            let file = directory.file("metrics")
            try Data(scrape.text.utf8).write(to: URL(fileURLWithPath: file))
            let complaints = try Tool.run("/bin/sh", ["-c", "promtool check metrics < '\(file)' 2>&1 || echo failed"])
            #expect(complaints == "", "\(complaints)\n\(scrape.text)")
        }

        @Test(.enabled(if: Tool.exists("promtool"), "promtool isn't installed: run Scripts/setup --test"))
        func hostAndViewerTellPrometheus() throws {
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "320x180", "--code", "314159", "--metrics", "0"], ports: ports)
            defer { host.end() }
            let hostPort = try #require(try host.waitFor("ready").number("metricsPort").map { UInt16($0) })
            let viewer = try Program.watch(
                [ports.target, "--code", "314159", "--name", "so\"fa\\", "--metrics", "127.0.0.1:0"])
            defer { viewer.end() }
            let viewerPort = try #require(try viewer.waitFor("metrics").number("port").map { UInt16($0) })
            try viewer.waitFor("first-frame")

            let name = "viewer=\"so'fa\\\\\",number=\"1\""
            let frames = "beamroom_viewer_sent_frames_total{\(name)}"
            let first = try scrape(hostPort) { ($0.value(frames) ?? 0) > 0 }
            try check(first)
            let later = try scrape(hostPort) { ($0.value(frames) ?? 0) > first.value(frames) ?? 0 }
            #expect(later.value("beamroom_host_viewers") == 1)
            for counter in ["beamroom_host_sent_bytes_total", "process_cpu_seconds_total"] {
                #expect(later.value(counter) ?? 0 > first.value(counter) ?? 0, "\(counter)")
            }
            let decoded = "beamroom_watch_decoded_frames_total"
            try check(scrape(viewerPort) { ($0.value(decoded) ?? 0) > 0 })

            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            let last = try scrape(hostPort) { !$0.text.contains("viewer=") }
            #expect(last.value("beamroom_host_viewers") == 0)
            #expect(
                last.value("beamroom_host_sent_frames_total") ?? 0 >= later.value("beamroom_host_sent_frames_total")
                    ?? 1)
            #expect(host.errorText.contains("Metrics: http://127.0.0.1:\(hostPort)/metrics"))
        }

        /// Nothing is shared then.
        @Test func aPortInUseEndsTheProgram() throws {
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "320x180", "--metrics", "0"], ports: ports)
            defer { host.end() }
            let port = try #require(try host.waitFor("ready").number("metricsPort").map { UInt16($0) })
            let (ending, output, words) = try Program.run(
                ["share", "--source", "pattern", "--no-discovery", "--json", "--port", "0", "--metrics", "\(port)"])
            #expect(ending == .exited(1) && output.isEmpty)
            #expect(words.contains("Another program uses port \(port)") && words.contains("--metrics 0"))
            let (usage, _, help) = try Program.run(["watch", "127.0.0.1", "--metrics", "desk:9464"])
            #expect(usage == .exited(64) && help.contains("It takes a port"))
        }
    }
}
