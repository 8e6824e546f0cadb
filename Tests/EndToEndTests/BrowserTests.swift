import Foundation
import Testing

/// The real program with real browsers: `share --web`.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: Chromium.isInstalled, "Chromium isn't installed (package chromium)"))
    struct BrowserTests {
        /// By http, as a guest in a meeting room: the code, the picture, pause, away, and the end.
        @Test func aGuestTypesTheCodeWatchesAndIsSentAway() throws {
            let scratch = try ScratchDirectory()
            let ports = try Ports()
            let (host, port) = try WebShare.begin(
                ["--web-code-file", try WebShare.code("482913", in: scratch)], ports: ports, input: .pipe)
            defer { host.end() }
            let chromium = try Chromium()
            try chromium.navigate(try WebShare.address("http", port))
            try chromium.wait(until: WebShare.state("code"))
            try chromium.type("111111")
            try chromium.press("Enter", code: 13, text: "\r")
            try host.waitFor("wrong-code")
            try chromium.wait(until: WebShare.state("code"))
            try chromium.type("482 913")
            try chromium.press("Enter", code: 13, text: "\r")
            let paired = try host.waitFor("paired")
            #expect(paired.string("name") == "Chrome on Linux")
            try host.waitFor("browser-started")
            try chromium.wait(until: WebShare.state("playing"))
            #expect(try chromium.evaluate(WebShare.moves) as? Bool == true)
            try host.waitFor("stats") { stats in
                guard stats.number("viewers") == 1, case .array(let viewers)? = stats.fields["viewerStats"] else {
                    return false
                }
                return viewers.first?.object?["watching"] == .bool(true)
            }

            host.process.type(#"{"pause":true}"#)
            try chromium.wait(until: "document.getElementById('banner').textContent.includes('paused')")
            host.process.type(#"{"pause":false}"#)
            try chromium.wait(until: "document.getElementById('banner').textContent === ''")
            host.process.type(#"{"kick":"Chrome on Linux"}"#)
            try chromium.wait(until: WebShare.state("kicked"))
            try host.waitFor("viewer-left")
        }

        /// By https, on the same port, as a phone that has photographed the address; the host ends.
        @Test func aPhotographedAddressNeedsNoTypingAndTheEndIsTold() throws {
            let scratch = try ScratchDirectory()
            let (host, port) = try WebShare.begin(
                ["--web-code-file", try WebShare.code("482913", in: scratch)], ports: try Ports())
            defer { host.end() }
            let chromium = try Chromium(width: 390, height: 844, isPhone: true)
            try chromium.navigate("https://127.0.0.1:\(port)/#482913")
            try chromium.wait(until: WebShare.state("playing"))
            #expect(try chromium.text("location.hash") == "")
            #expect(try chromium.evaluate(WebShare.moves) as? Bool == true)
            host.interrupt()
            try chromium.wait(until: WebShare.state("ended"))
        }

        /// By a real browser: a name that another site has bound to this machine's address, and a page of another origin.
        @Test func anotherSiteGetsNothing() throws {
            let scratch = try ScratchDirectory()
            let (host, port) = try WebShare.begin(
                ["--web-code-file", try WebShare.code("482913", in: scratch)], ports: try Ports())
            defer { host.end() }
            let chromium = try Chromium(bound: "bound.example")
            try chromium.navigate("http://bound.example:\(port)/#482913")
            try chromium.wait(until: "document.body?.textContent.includes('known by that name')")

            // The host alone is to refuse, so the page's own policy rests.
            _ = try chromium.send("Page.setBypassCSP", ["enabled": true])
            try chromium.navigate("http://localhost:\(port)/")
            try chromium.wait(until: WebShare.state("code"))
            func opens(_ name: String) throws -> Bool? {
                try chromium.evaluate(
                    """
                    new Promise(done => {
                      const socket = new WebSocket('ws://\(name):\(port)/ws');
                      socket.onopen = () => { socket.close(); done(true); };
                      socket.onerror = () => done(false);
                    })
                    """) as? Bool
            }
            #expect(try opens("127.0.0.1") == false)
            #expect(try opens("localhost") == true)
            #expect(host.events("paired").isEmpty)
        }

        /// Nobody is at the host's terminal: the page says so, and nothing is let in.
        @Test func withoutACodeOrAPersonThePageSaysThatNobodyIsLetIn() throws {
            let (host, port) = try WebShare.begin([], ports: try Ports())
            defer { host.end() }
            let chromium = try Chromium()
            try chromium.navigate("https://127.0.0.1:\(port)/")
            try chromium.wait(until: "document.getElementById('headline').textContent.length > 0")
            #expect(try chromium.evaluate("document.getElementById('code').offsetParent === null") as? Bool == true)
            #expect(host.events("paired").isEmpty)
            #expect(host.errorText.contains("Give a code with --web-code-file FILE"), "\(host.errorText)")
        }

        @Test(arguments: [
            (["--web-port", "52347"], "add that, or leave them out"),
            (["--web", "--web-key", "k.pem"], "Use --web-certificate and --web-key together"),
            (["--web", "--trusted-only"], "a browser is always new"),
        ])
        func whatDoesNotFitIsRefused(arguments: [String], part: String) throws {
            let (ending, _, words) = try Program.run(["share"] + arguments)
            #expect(ending == .exited(64))
            #expect(words.contains(part), "\(words)")
        }

        @Test func aBadCertificateIsASentenceAndNothingIsShared() throws {
            let scratch = try ScratchDirectory()
            let path = scratch.file("nothing.pem")
            try Data("nothing".utf8).write(to: URL(filePath: path))
            let (ending, _, words) = try Program.run([
                "share", "--source", "pattern", "--no-discovery", "--port", "0", "--web", "--web-port", "0",
                "--web-media-port", "0", "--web-certificate", path, "--web-key", path, "--time-limit", "10",
            ])
            #expect(ending == .exited(1))
            #expect(words.contains("Give a certificate and its key as PEM files"), "\(words)")
            expectPlainWords(words)
        }
    }
}
