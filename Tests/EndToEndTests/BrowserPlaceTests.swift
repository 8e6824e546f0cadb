import Foundation
import Testing

/// Browsers as they are met: on a cable without a way out, with a warning, with sound, and with a host that goes.
extension EndToEnd {
    @Suite(
        .needsProgram, .needsXServer,
        .enabled(if: Chromium.isInstalled, "Chromium isn't installed (package chromium)"))
    struct BrowserPlaceTests {
        private static let code = "482913"
        let scratch: ScratchDirectory
        let codeFile: [String]

        init() throws {
            scratch = try ScratchDirectory()
            codeFile = ["--web-code-file", try WebShare.code(Self.code, in: scratch)]
        }

        /// Two machines without a default route, by both kinds of addresses.
        @Test(.enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
        func aBrowserAtTheOtherEndOfACableWatches() throws {
            let desk = try PrivateMachine(hasDaemon: false)
            let sofa = try PrivateMachine(beside: desk, hasDaemon: false)
            for (machine, address) in [(desk, "fd00:77::1/64"), (sofa, "fd00:77::2/64")] {
                let added = try machine.run(["ip", "address", "add", address, "dev", "lan0", "nodad"])
                #expect(try added.waitForEnd() == .exited(0), "\(added.errorText)")
            }
            let routes = try sofa.run(["ip", "route", "show", "default"])
            #expect(try routes.waitForEnd() == .exited(0) && routes.outputText.isEmpty)
            let host = try desk.start(
                [
                    "share", "--json", "--no-discovery", "--source", "pattern", "--accept", "none", "--time-limit",
                    "90",
                ] + WebShare.arguments + codeFile)
            defer { host.end() }
            let port = try WebShare.port(of: host)
            for address in ["10.77.0.1", "[fd00:77::1]"] {
                try host.waitForWords("http://\(address):\(port)")
                let chromium = try Chromium(prefix: sofa.prefix)
                try chromium.navigate("http://\(address):\(port)/#\(Self.code)")
                try chromium.wait(until: WebShare.state("playing"))
                #expect(try chromium.evaluate(WebShare.hasPackets) as? Bool == true)
                #expect(try chromium.evaluate(WebShare.moves) as? Bool == true)
            }
        }

        @Test(arguments: ["http", "https"]) func thePictureIsTheScreensAndFollowsItsSize(scheme: String) throws {
            let server = try XServer(width: 640, height: 480)
            let painter = try Painter(server.display, framesPerSecond: 0)
            defer { painter.freeze() }
            let connection = try XConnection(server.display)
            connection.setMonitor("DESK", x: 0, y: 0, width: 640, height: 360)
            let (host, port) = try WebShare.begin(
                codeFile, source: ["--display", server.display, "--monitor", "DESK"], ports: try Ports())
            defer { host.end() }
            let chromium = try Chromium()
            try chromium.navigate("\(try WebShare.address(scheme, port))#\(Self.code)")
            try chromium.wait(until: WebShare.state("playing"))
            #expect(try chromium.evaluate(WebShare.hasPackets) as? Bool == (scheme == "http"))
            try expectPicture(of: server.display, x: 0, y: 0, width: 640, height: 360, in: chromium)
            connection.deleteMonitor("DESK")
            connection.touchScreen()
            try host.waitFor("source-visible") { $0.fields["visible"] == .bool(false) }
            try chromium.wait(until: "document.getElementById('banner').textContent !== ''")
            connection.setMonitor("DESK", x: 100, y: 50, width: 320, height: 240)
            connection.touchScreen()
            try expectPicture(of: server.display, x: 100, y: 50, width: 320, height: 240, in: chromium)
        }

        /// Waits until a browser shows that part of a screen.
        private func expectPicture(
            of display: String, x: Int, y: Int, width: Int, height: Int, in chromium: Chromium
        ) throws {
            let screen = try Screenshot.take(of: display, x: x, y: y, width: width, height: height)
            var last = "nothing"
            let isShown = try eventually(timeout: 30) {
                let shown = try WebShare.shown(by: chromium)
                last = "\(shown.width)x\(shown.height)"
                guard (shown.width, shown.height) == (width, height) else { return false }
                let quality = shown.psnr(screen, x: 0, y: 0, width: width, height: height)
                last += ", \(quality.short) dB"
                return quality > 28
            }
            #expect(isShown, "\(last) instead of \(width)x\(height)")
        }

        /// As a person does who has compared the fingerprint: the browser doesn't trust the host's certificate.
        @Test func theWarningAboutTheCertificateIsClickedThrough() throws {
            let (host, port) = try WebShare.begin(codeFile, ports: try Ports())
            defer { host.end() }
            let chromium = try Chromium(trustsAll: false)
            try chromium.navigate("https://127.0.0.1:\(port)/#\(Self.code)")
            try chromium.wait(until: "document.getElementById('details-button')")
            #expect(host.events("paired").isEmpty)
            try chromium.click("#details-button")
            try chromium.wait(until: "document.getElementById('proceed-link').offsetParent")
            try chromium.click("#proceed-link")
            try chromium.wait(until: WebShare.state("playing"))
            #expect(try chromium.evaluate(WebShare.moves) as? Bool == true)
        }

        /// By https the page comes back by itself where the host still knows it, and asks for the code where it doesn't.
        @Test func aHostThatWasKilledIsLostAndTheNextOneAsks() throws {
            let (host, port) = try WebShare.begin(codeFile, ports: try Ports())
            defer { host.end() }
            let chromium = try Chromium()
            try chromium.navigate("https://127.0.0.1:\(port)/#\(Self.code)")
            try chromium.wait(until: WebShare.state("playing"))
            host.kill()
            try chromium.wait(until: WebShare.state("lost"))
            #expect(try chromium.text("document.getElementById('headline').textContent").contains("reachable since"))
            let (next, _) = try WebShare.begin(codeFile + ["--web-port", "\(port)"], ports: try Ports())
            defer { next.end() }
            try chromium.wait(until: WebShare.state("code"))
            try chromium.type(Self.code)
            try chromium.press("Enter", code: 13, text: "\r")
            try chromium.wait(until: WebShare.state("playing"))
        }

        /// What came at once while the decoder started doesn't keep all later sound late.
        @Test func aBurstOfSoundIsLeftOut() throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../Sources/BeamWeb/Page/sound.js")
            let source = try String(contentsOf: file, encoding: .utf8)
            let chromium = try Chromium()
            let waiting = try chromium.number(
                """
                (() => {
                  const element = () => ({ addEventListener() {} });
                  \(source)
                  const sound = new UnitSound();
                  sound.device = { currentTime: 1 };
                  const arrives = () => { if (sound.takes(0.01)) sound.next += 0.01; };
                  for (let i = 0; i < 20; i++) arrives();
                  for (let i = 0; i < 500; i++) { sound.device.currentTime += 0.01; arrives(); }
                  return sound.next - sound.device.currentTime;
                })()
                """)
            #expect((0.01..<0.05).contains(waiting), "\(waiting) s")
        }

        /// Keys and buttons, by both ways: full screen, statistics, sound, a screenshot in the picture's own size.
        @Test(.needsSoundServer, arguments: ["http", "https"]) func theControlsDoWhatTheySay(scheme: String) throws {
            let desk = try SoundServer()
            let screen = try XServer(width: 640, height: 360)
            let (host, port) = try WebShare.begin(
                codeFile, source: ["--display", screen.display], ports: try Ports(), environment: desk.environment)
            defer { host.end() }
            let chromium = try Chromium()
            try chromium.navigate("\(try WebShare.address(scheme, port))#\(Self.code)")
            try chromium.wait(until: WebShare.state("playing"))
            #expect(try chromium.evaluate(WebShare.hasPackets) as? Bool == (scheme == "http"))

            try chromium.press("f", code: 70, text: "f")
            try chromium.wait(until: "document.fullscreenElement")
            try chromium.click("#full")
            try chromium.wait(until: "!document.fullscreenElement")

            let figures = "document.getElementById('figures')"
            try chromium.click("#stage")
            try chromium.press("i", code: 73, text: "i")
            try chromium.wait(until: "!\(figures).hidden && \(figures).textContent.includes('640 × 360')")
            try chromium.click("#info")
            try chromium.wait(until: "\(figures).hidden")

            // What is saved is caught: its name, and the picture.
            _ = try chromium.evaluate(
                """
                (() => {
                  const make = URL.createObjectURL;
                  let file = null;
                  URL.createObjectURL = blob => { file = blob; return make.call(URL, blob); };
                  HTMLAnchorElement.prototype.click = function() {
                    createImageBitmap(file).then(it => { window.saved = `${it.width}x${it.height} ${this.download}`; });
                  };
                })()
                """)
            try chromium.click("#shot")
            try chromium.wait(until: "window.saved")
            let saved = try chromium.text("window.saved")
            #expect(saved.hasPrefix("640x360 ") && saved.hasSuffix(".png"), "\(saved)")

            try chromium.wait(until: "document.getElementById('sound').offsetParent")
            #expect(try chromium.evaluate("document.getElementById('volume').offsetParent === null") as? Bool == true)
            try chromium.click("#stage")
            try chromium.press("m", code: 77, text: "m")
            try chromium.wait(until: "document.getElementById('volume').offsetParent")
        }

        @Test(.needsSoundServer, .needsFFmpeg, arguments: ["http", "https"])
        func whatTheHostPlaysIsHeardOnceThePersonWantsIt(scheme: String) throws {
            let (desk, room) = (try SoundServer(), try SoundServer())
            let screen = try XServer(width: 320, height: 180)
            let (host, port) = try WebShare.begin(
                codeFile, source: ["--display", screen.display], ports: try Ports(), environment: desk.environment)
            defer { host.end() }
            try host.waitFor("sound") { $0.string("state") == "capturing" }
            let player = try desk.play(440)
            defer { player.end() }
            let chromium = try Chromium(sound: room.environment)
            try chromium.navigate("\(try WebShare.address(scheme, port))#\(Self.code)")
            try chromium.wait(until: WebShare.state("playing"))
            #expect(try chromium.evaluate(WebShare.hasPackets) as? Bool == (scheme == "http"))
            try chromium.wait(until: "document.getElementById('sound').offsetParent")
            #expect(try room.listen(1).levels(of: 440).allSatisfy { $0 < 0.01 })
            try chromium.click("#sound")
            try room.waitForTone(440)
            try chromium.click("#sound")
            #expect(try eventually(timeout: 10) { try room.listen(0.5).levels(of: 440).allSatisfy { $0 < 0.01 } })
        }
    }
}
