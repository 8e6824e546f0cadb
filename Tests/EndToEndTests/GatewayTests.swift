import Foundation
import Testing

/// The real program, real Janus and real browsers: `share --web-gateway`.
extension EndToEnd {
    @Suite(
        .needsProgram, .enabled(if: Chromium.isInstalled, "Chromium isn't installed (package chromium)"),
        .enabled(if: Janus.isInstalled, "Janus isn't installed (package janus)"))
    struct GatewayTests {
        private static func state(_ name: String) -> String { "document.body.dataset.state === '\(name)'" }
        private static let frames = "document.getElementById('video').getVideoPlaybackQuality().totalVideoFrames"

        private func share(_ janus: Janus, on machine: Machine) throws -> (host: ProgramProcess, page: String) {
            let host = try Program.share(
                [
                    "--source", "pattern", "--size", "640x360", "--web", "--web-port", "0", "--web-media-port", "0",
                    "--web-code-file", try machine.codeFile("482913"), "--web-gateway", janus.address,
                    "--web-gateway-token-file", janus.tokenFile,
                ], ports: try Ports(), accept: "none", machine: machine, input: .pipe)
            let ready = try host.waitFor("ready")
            try host.waitFor("gateway") { $0.string("state") == "ready" }
            // A secure context: the browser could have the stream from the host, too, and is sent to the gateway.
            return (host, "http://127.0.0.1:\(try #require(ready.number("webPort").map { Int($0) }))/")
        }

        private func watches(_ chromium: Chromium) throws {
            try chromium.wait(until: Self.state("playing"))
            let before = try chromium.number(Self.frames)
            try chromium.wait(until: "\(Self.frames) > \(Int(before) + 10)")
        }

        private func kept(_ machine: Machine) throws -> [Int] {
            let data = try Data(contentsOf: URL(filePath: machine.store + "/gateways.json"))
            let form = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            return (form?["mountpoints"] as? [[String: Any]])?.compactMap { $0["id"] as? Int } ?? []
        }

        /// Two browsers get in by the host's code, and stay when the gateway is killed.
        @Test func browsersWatchByTheGatewayAndComeBackToIt() throws {
            let (janus, machine) = (try Janus(), try Machine())
            let (host, page) = try share(janus, on: machine)
            defer { host.end() }
            let first = try Chromium()
            try first.navigate(page)
            try first.wait(until: Self.state("code"))
            try first.type("111111")
            try first.press("Enter", code: 13, text: "\r")
            try host.waitFor("wrong-code")
            try first.wait(until: "document.getElementById('problem').textContent !== ''")
            try first.evaluate("document.getElementById('code').value = ''")
            try first.type("482913")
            try first.press("Enter", code: 13, text: "\r")
            try watches(first)
            // It has its place at the host.
            #expect(try host.waitFor("browser-started").string("gateway") == janus.address)
            let second = try Chromium()
            try second.navigate(page + "#482913")
            try watches(second)
            try host.waitFor("gateway") { $0.number("viewers") == 2 }
            try host.waitFor("stats") { stats in
                guard stats.number("viewers") == 2, case .array(let viewers)? = stats.fields["viewerStats"] else {
                    return false
                }
                return viewers.allSatisfy {
                    $0.object?["watching"] == .bool(true) && $0.object?["gateway"] == .string(janus.address)
                }
            }

            try janus.kill()
            try first.wait(until: Self.state("lost"))
            try host.waitFor("gateway") { $0.string("state") == "problem" }
            try janus.start()
            try watches(first)
            try watches(second)
            #expect(
                host.errorText.contains(
                    "Warning: The gateway \(janus.address) can't be used: the connection to it is lost."))
            expectPlainWords(host.errorText)

            let session = try #require(host.events.last { $0.name == "paired" }?.string("session"))
            host.process.type("{\"kick\":\"\(session)\"}")
            try second.wait(until: Self.state("kicked"))
            try host.waitFor("gateway") { $0.number("viewers") == 1 }

            host.interrupt()
            try first.wait(until: Self.state("ended"))
            #expect(try host.process.waitForEnd() == .exited(0))
            #expect(try kept(machine) == [])
        }

        @Test func aMountpointOfAKilledHostIsReplaced() throws {
            let (janus, machine) = (try Janus(), try Machine())
            let (killed, page) = try share(janus, on: machine)
            defer { killed.end() }
            let chromium = try Chromium()
            try chromium.navigate(page + "#482913")
            try watches(chromium)
            killed.process.kill()
            _ = try killed.process.waitForEnd()
            let old = try kept(machine)
            #expect(old.count == 1)
            let (host, _) = try share(janus, on: machine)
            defer { host.end() }
            try chromium.wait(until: Self.state("code"))
            #expect(
                try eventually(timeout: 30) {
                    let new = try kept(machine)
                    return new.count == 1 && new != old
                })
            host.interrupt()
            #expect(try host.process.waitForEnd() == .exited(0))
            #expect(try kept(machine) == [])
        }

        /// Everybody else is served as without it.
        @Test func withoutItsGatewayTheHostServesBrowsersItself() throws {
            let machine = try Machine()
            let host = try Program.share(
                [
                    "--source", "pattern", "--size", "640x360", "--web", "--web-port", "0", "--web-media-port", "0",
                    "--web-code-file", try machine.codeFile("482913"), "--web-gateway", "ws://127.0.0.1:9",
                ], ports: try Ports(), accept: "none", machine: machine)
            defer { host.end() }
            let port = try #require(try host.waitFor("ready").number("webPort").map { Int($0) })
            let problem = try host.waitFor("gateway")
            #expect(problem.string("reason") == "nothing listens there (connection refused)")
            let chromium = try Chromium()
            try chromium.navigate("http://127.0.0.1:\(port)/#482913")
            try chromium.wait(until: Self.state("playing"))
            try host.waitFor("browser-started")
        }

        @Test(arguments: [
            (["--web-gateway", "wss://gateway.example"], "is for --web"),
            (["--web", "--web-gateway", "ws://192.0.2.7"], "use wss://"),
            (["--web", "--web-gateway", "wss://[2001:db8::7]"], "Give its name"),
            (["--web", "--web-gateway-token-file", "f"], "are for --web-gateway"),
            (["--web", "--web-gateway", "wss://a", "--web-gateway", "wss://a"], "twice"),
        ])
        func whatDoesNotFitIsRefused(arguments: [String], part: String) throws {
            let (ending, _, words) = try Program.run(["share"] + arguments)
            #expect(ending == .exited(64))
            #expect(words.contains(part), "\(words)")
        }

        @Test func aTokenFileThatOthersCanReadIsRefused() throws {
            let scratch = try ScratchDirectory()
            let path = scratch.file("token")
            try Data("token = abc\n".utf8).write(to: URL(filePath: path))
            #expect(chmod(path, 0o644) == 0)
            let (ending, _, words) = try Program.run([
                "share", "--source", "pattern", "--no-discovery", "--port", "0", "--web", "--web-port", "0",
                "--web-gateway", "wss://gateway.example", "--web-gateway-token-file", path, "--time-limit", "10",
            ])
            #expect(ending == .exited(1))
            #expect(words.contains("Run `chmod 600 \(path)`"), "\(words)")
        }
    }
}
