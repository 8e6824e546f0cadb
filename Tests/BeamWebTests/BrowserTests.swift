import BeamClock
import BeamMedia
import BeamSession
import BeamWire
import Foundation
import Testing

@testable import BeamWeb

/// The page in real browsers, with frames of the real encoder and a door that knows its codes.
@Suite(.serialized)
struct BrowserTests {
    /// An address at which a page isn't a secure context, as at other machines.
    static let address = OwnAddresses.all().first {
        if case .v4 = $0 { !$0.isLoopback } else { false }
    }?.description

    private static func state(_ name: String) -> String { "document.body.dataset.state === '\(name)'" }

    /// How many different pictures are seen in 0.7 s.
    private static let movement = """
        new Promise(async done => {
          const picture = document.body.classList.contains('packets') ? document.getElementById('video') : document.getElementById('canvas');
          const small = document.createElement('canvas'); small.width = 160; small.height = 90;
          const context = small.getContext('2d', { willReadFrequently: true });
          const sums = new Set();
          for (let i = 0; i < 12; i++) {
            context.drawImage(picture, 0, 0, 160, 90);
            const data = context.getImageData(0, 0, 160, 90).data;
            let sum = 0; for (let j = 0; j < data.length; j++) sum = (sum * 31 + data[j]) >>> 0;
            sums.add(sum);
            await new Promise(next => setTimeout(next, 60));
          }
          done(sums.size);
        })
        """

    @Test(.enabled(if: Chromium.isInstalled && address != nil, "Chromium or a network isn't there"))
    func chromiumWatchesByHTTP() throws {
        let address = try #require(Self.address)
        let web = try TestWeb(bind: nil)
        let film = Film(web, PixelSize(width: 1283, height: 721))
        let chromium = try Chromium()
        try chromium.navigate("http://\(address):\(web.server.port)/")
        try chromium.wait(until: Self.state("code"))
        #expect(try chromium.evaluate("isSecureContext") as? Bool == false)
        #expect(try chromium.text("document.activeElement.id") == "code")
        try chromium.type("12 34")
        try chromium.press("Enter", code: 13, text: "\r")
        #expect(try chromium.text("document.getElementById('problem').textContent") == "The code has six digits.")
        try chromium.evaluate("document.getElementById('code').value = ''")
        try chromium.type("000 000")
        try chromium.press("Enter", code: 13, text: "\r")
        try chromium.wait(until: "document.getElementById('problem').textContent.startsWith('That isn')")
        try chromium.type("482-913")
        try chromium.press("Enter", code: 13, text: "\r")
        try chromium.wait(until: Self.state("playing"))
        try chromium.wait(until: "document.getElementById('video').videoWidth === 1284")
        // An odd size: what the decoder adds isn't shown.
        #expect(
            try chromium.text("getComputedStyle(document.documentElement).getPropertyValue('--cropX')").hasPrefix(
                "1.0007"))
        #expect(try chromium.number(Self.movement) >= 6)
        #expect(web.server.figures.first?.way == .packetsGCM)

        web.server.tellAll(.paused)
        try chromium.wait(until: "document.getElementById('banner').textContent.includes('has paused')")
        web.server.tellAll(.resumed)
        try chromium.wait(until: "document.getElementById('banner').textContent === ''")
        // Nothing that others could read.
        web.server.tellAll(.caption("Secret"))
        web.server.tellAll(.sourceVisibility(.monitorOff))
        try chromium.wait(until: "document.getElementById('banner').textContent.includes('monitor is off')")
        #expect(try chromium.text("document.getElementById('caption').textContent") == "")

        let id = try #require(web.server.figures.first?.id)
        web.server.tell(.refused(.sentAway, reason: "Away"), to: id)
        try chromium.wait(until: Self.state("kicked"))
        // Another link in the same tab.
        try chromium.evaluate("location.hash = '482913'")
        try chromium.wait(until: Self.state("playing"))
        #expect(try chromium.text("location.hash") == "")
        withExtendedLifetime(film) {}
    }

    /// The headline, what listeners can read, and how to begin anew.
    @Test(
        .enabled(if: Chromium.isInstalled && address != nil, "Chromium or a network isn't there"),
        arguments: [
            (WebServer.Code.one, "Type the code", "can read this code, which is used up then", "the host shows now"),
            (WebServer.Code.any, "Type the code", "can read this code, and watch with it", "type the code again"),
            (WebServer.Code.no, "Ask the person at “desk”", "", "ask again"),
        ])
    func theWordsFitTheCode(_ code: WebServer.Code, headline: String, listener: String, again: String) throws {
        let address = try #require(Self.address)
        let web = try TestWeb(bind: nil, code: code)
        let film = Film(web, PixelSize(width: 640, height: 360))
        let chromium = try Chromium()
        try chromium.navigate("http://\(address):\(web.server.port)/")
        try chromium.wait(until: Self.state("code"))
        #expect(try chromium.text("document.querySelector('h1').textContent").hasPrefix(headline))
        let protection = try chromium.text("document.getElementById('protection').textContent")
        #expect(protection.contains("encrypted.") && protection.contains("could see everything"))
        #expect(listener.isEmpty ? !protection.contains("this code") : protection.contains(listener))
        try chromium.evaluate("document.getElementById('ask').click()")
        try chromium.wait(until: Self.state("playing"))
        let id = try #require(web.server.figures.first?.id)
        web.server.handle.perform { $0.fail(id, "a test") }
        try chromium.wait(until: Self.state("code"))
        #expect(try chromium.text("document.getElementById('detail').textContent").contains(again))
        withExtendedLifetime(film) {}
    }

    /// Also after a button was clicked, which has the focus then.
    @Test(.enabled(if: Chromium.isInstalled, "Chromium isn't there"))
    func theKeysAreNamedAndAct() throws {
        let web = try TestWeb(hasSound: true)
        let film = Film(web, PixelSize(width: 640, height: 360))
        let chromium = try Chromium()
        try chromium.navigate("https://127.0.0.1:\(web.server.port)/#482913")
        try chromium.wait(until: Self.state("playing"))
        let titles = "[...document.querySelectorAll('#bar button')].map(one => one.title).join(', ')"
        #expect(try chromium.text(titles) == "Sound (M), Full screen (F), Screenshot (S), Statistics (I)")
        let figures = "document.getElementById('figures').hidden === false"
        #expect(try chromium.evaluate(figures) as? Bool == false)
        try chromium.press("i")
        try chromium.wait(until: figures)
        try chromium.evaluate("document.getElementById('info').focus()")
        try chromium.press("i")
        try chromium.wait(until: "!(\(figures))")
        withExtendedLifetime(film) {}
    }

    @Test(.enabled(if: Chromium.isInstalled && address != nil, "Chromium or a network isn't there"))
    func aCodeInTheAddressIsSentAndRemoved() throws {
        let address = try #require(Self.address)
        let web = try TestWeb(bind: nil, hasSound: true)
        let film = Film(web, PixelSize(width: 640, height: 360))
        let chromium = try Chromium(width: 390, height: 844, isPhone: true, language: "de")
        try chromium.navigate("http://\(address):\(web.server.port)/#482913")
        try chromium.wait(until: Self.state("playing"))
        #expect(try chromium.text("location.href") == "http://\(address):\(web.server.port)/")
        #expect(try chromium.text("document.documentElement.lang") == "de")
        #expect(try chromium.text("document.getElementById('sound').textContent") == "Ton: aus")
        // It is playing already: another link changes nothing.
        try chromium.evaluate("location.hash = '111111'")
        try chromium.wait(until: "location.hash === ''")
        #expect(try chromium.evaluate(Self.state("playing")) as? Bool == true)
        web.server.shutdown()
        try chromium.wait(until: Self.state("ended"))
        withExtendedLifetime(film) {}
    }

    /// For its page the time jumps, as when the machine has slept. What the host has said meanwhile is read a moment later:
    /// the page waits for that before it takes the host for lost.
    @Test(.enabled(if: Chromium.isInstalled && address != nil, "Chromium or a network isn't there"))
    func aPageThatWasStoppedGoesOn() throws {
        let address = try #require(Self.address)
        let web = try TestWeb(bind: nil)
        let film = Film(web, PixelSize(width: 640, height: 360))
        let chromium = try Chromium()
        try chromium.navigate("http://\(address):\(web.server.port)/#482913")
        try chromium.wait(until: Self.state("playing"))
        try chromium.evaluate(
            """
            window.slept = 0;
            const now = performance.now.bind(performance), later = window.setTimeout;
            performance.now = () => now() + window.slept;
            // The second look comes when the test says so.
            window.setTimeout = (act, time) => time === 2000 ? (window.look = act) : later(act, time);
            window.slept = 60000;
            """)
        try chromium.wait(until: "window.look !== undefined")
        web.server.tellAll(.paused)
        try chromium.wait(until: "document.getElementById('banner').textContent !== ''")
        try chromium.evaluate("window.look()")
        #expect(try chromium.evaluate(Self.state("playing")) as? Bool == true)
        // A host that has said nothing until then is lost.
        try chromium.evaluate("window.slept += 60000; window.look()")
        try chromium.wait(until: Self.state("code"))
        withExtendedLifetime(film) {}
    }

    @Test(.enabled(if: Chromium.isInstalled, "Chromium isn't there"))
    func chromiumWatchesByHTTPSAndComesBack() throws {
        let web = try TestWeb(hasSound: true)
        let film = Film(web, PixelSize(width: 641, height: 361))
        let chromium = try Chromium()
        try chromium.navigate("https://127.0.0.1:\(web.server.port)/#482913")
        try chromium.wait(until: Self.state("playing"))
        #expect(web.server.figures.first?.way == .units)
        #expect(try chromium.number("document.getElementById('canvas').width") == 641)
        #expect(try chromium.number(Self.movement) >= 6)
        web.server.tellAll(.caption("Guten Tag"))
        try chromium.wait(until: "document.getElementById('caption').textContent === 'Guten Tag'")
        // Its socket is lost; nobody types a code.
        let id = try #require(web.server.figures.first?.id)
        web.server.handle.perform { $0.pages[id]?.connection?.channel.close(promise: nil) }
        try chromium.wait(until: Self.state("lost"))
        try chromium.wait(until: Self.state("playing"))
        #expect(web.server.figures.first?.id == id)
        #expect(web.told.all.count { if case .hello = $0 { true } else { false } } == 1)
        withExtendedLifetime(film) {}
    }

    @Test(.enabled(if: Firefox.isInstalled && address != nil, "Firefox or a network isn't there"))
    func firefoxWithoutH264IsSentToHTTPSAndWatchesThere() throws {
        let address = try #require(Self.address)
        let web = try TestWeb(bind: nil)
        let film = Film(web, PixelSize(width: 640, height: 360))
        let firefox = try Firefox()
        try firefox.navigate("http://\(address):\(web.server.port)/#482913")
        try firefox.wait(until: Self.state("unusable"))
        let link = try firefox.text("document.getElementById('secure').href")
        #expect(link == "https://\(address):\(web.server.port)/#482913")
        try firefox.navigate(link)
        try firefox.wait(until: Self.state("playing"))
        #expect(web.server.figures.first?.way == .units)
        withExtendedLifetime(film) {}
    }
}
