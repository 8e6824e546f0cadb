import BeamMedia
import BeamSession
import BeamWire
import Foundation
import Testing

@testable import BeamWeb

/// The page at a gateway: the host's own, and the one on another web server, here a file.
@Suite(
    .serialized, .enabled(if: Janus.isInstalled, "Janus isn't installed (package janus)"),
    .enabled(if: Chromium.isInstalled, "Chromium isn't there"))
struct GatewayPageTests {
    private static func state(_ name: String) -> String { "document.body.dataset.state === '\(name)'" }

    /// A gateway that has a host's mountpoint, and the page for it, as a file.
    private struct Place {
        let janus: Janus
        let gateway: TestGateway
        let door: GatewayDoor
        let page: URL
        var link: String { page.absoluteString + door.fragment }

        init(host: String? = nil) throws {
            janus = try Janus()
            let address = try GatewayAddress(janus.address)
            gateway = try TestGateway(janus.address, try janus.credentials)
            try #require(gateway.isReady())
            door = GatewayDoor(address, gateway.point, try janus.credentials)
            page = janus.folder.appending(path: "index.html")
            try Data(WebPage.alone(gateway: address, host: host).utf8).write(to: page)
        }

        func film() -> Film {
            Film(PixelSize(width: 640, height: 360), gateway.told) { [gateway] in gateway.gateway.submit($0) }
        }
    }

    /// The host's page, sent to the gateway with tokens that last so many seconds.
    private static func enter(
        _ place: Place, by scheme: String = "http", tokens: Int = 600
    ) throws -> (TestWeb, Chromium) {
        var credentials = try place.janus.credentials
        credentials.times.usual = tokens
        let door = GatewayDoor(try GatewayAddress(place.janus.address), place.gateway.point, credentials)
        return try enter(door, by: scheme, until: "playing")
    }

    private static func enter(
        _ door: GatewayDoor, by scheme: String, until reached: String
    ) throws -> (TestWeb, Chromium) {
        let web = try TestWeb(gateway: door)
        let chromium = try Chromium()
        _ = try chromium.send("Page.enable", [:])
        _ = try chromium.send("Page.addScriptToEvaluateOnNewDocument", ["source": Self.spy])
        try chromium.navigate("\(scheme)://127.0.0.1:\(web.server.port)/#482913")
        try chromium.wait(until: state(reached))
        return (web, chromium)
    }

    /// Keeps the page's WebSockets with what passes there, and lets its timers beat each second.
    private static let spy = """
        window.sockets = [];
        window.WebSocket = class extends WebSocket {
          constructor(...all) {
            super(...all);
            [this.sent, this.got] = [[], []];
            this.addEventListener('message', event => this.got.push(JSON.parse(event.data)));
            sockets.push(this);
          }
          send(text) { this.sent.push(JSON.parse(text)); super.send(window.change?.(text) ?? text); }
        };
        window.hosts = () => sockets.filter(one => one.url.endsWith('/ws'));
        window.gateway = () => sockets.find(one => !one.url.endsWith('/ws'));
        window.setInterval = (set => (act, time) => set(act, Math.min(time, 1000)))(window.setInterval);
        """

    private static func startedAtGateway(_ web: TestWeb) -> ConnectionID? {
        let told = web.told.wait { if case .event(.startedAtGateway) = $0 { true } else { false } }
        if case .event(.startedAtGateway(let id, _, _))? = told { return id }
        return nil
    }

    /// Janus looks at the token of each request, and so puts out a page that stays by an old one.
    @Test func whoKeepsItsPlaceGetsFurtherTokens() throws {
        let place = try Place()
        let film = place.film()
        let (web, chromium) = try Self.enter(place, tokens: 5)
        #expect(Self.startedAtGateway(web) != nil)
        let first = try chromium.text("hosts()[0].got.find(one => one.t === 'gateway').token")
        let end = try #require(first.split(separator: ",").first)
        try chromium.wait(until: "Date.now() / 1000 > \(end) + 1")
        // What it says from now on.
        try chromium.evaluate("gateway().sent.length = gateway().got.length = 0")
        try chromium.wait(
            until:
                "gateway().sent.some(one => one.janus === 'keepalive') && gateway().got.some(one => one.janus === 'ack')"
        )
        #expect(try chromium.evaluate(Self.state("playing")) as? Bool == true)
        try chromium.evaluate("window.change = text => JSON.stringify({ ...JSON.parse(text), token: '\(first)' })")
        try chromium.wait(until: Self.state("refused"))
        // Its place is free.
        #expect(web.told.wait { if case .closed = $0 { true } else { false } } != nil)
        withExtendedLifetime((web, film)) {}
    }

    @Test func whatTheHostSaysReachesAPageAtAGateway() throws {
        let place = try Place()
        let film = place.film()
        let (web, chromium) = try Self.enter(place)
        let id = try #require(Self.startedAtGateway(web))
        #expect(
            web.server.figures.first?.gateway == place.janus.address && web.server.figures.first?.isWatching == true)
        web.server.tellAll(.paused)
        try chromium.wait(until: "document.getElementById('banner').textContent.includes('paused')")
        // It is the gateway's picture that the page goes on with.
        try place.janus.kill()
        try chromium.wait(until: Self.state("lost"))
        try chromium.wait(until: "hosts()[0].sent.some(one => one.on === false)")
        #expect(web.server.figures.first?.isWatching == false)
        try place.janus.start()
        try chromium.wait(until: Self.state("playing"))
        #expect(try chromium.text("document.getElementById('banner').textContent").contains("paused"))
        web.server.tellAll(.resumed)
        web.server.tellAll(.caption("Hello"))
        try chromium.wait(until: "document.getElementById('caption').textContent === 'Hello'")
        #expect(try chromium.text("document.getElementById('banner').textContent") == "")
        web.server.tell(.refused(.sentAway, reason: "You were sent away"), to: id)
        try chromium.wait(until: Self.state("kicked"))
        #expect(try chromium.evaluate("sockets.every(one => one.readyState >= WebSocket.CLOSING)") as? Bool == true)
        withExtendedLifetime((web, film)) {}
    }

    /// By https, as by http a listener could come with its token.
    @Test func thePictureGoesOnWhileThePageComesBackToItsHost() throws {
        let place = try Place()
        let film = place.film()
        let (web, chromium) = try Self.enter(place, by: "https")
        let id = try #require(Self.startedAtGateway(web))
        try chromium.evaluate(
            "window.states = []; new MutationObserver(() => states.push(document.body.dataset.state))"
                + ".observe(document.body, { attributeFilter: ['data-state'] })")
        try chromium.evaluate("hosts()[0].close(4000)")
        try chromium.wait(until: "hosts()[1]?.got.some(one => one.t === 'again')")
        #expect(try chromium.text("states.join()") == "")
        #expect(web.told.all.allSatisfy { $0 != .closed(id) })
        // Without a place the page doesn't stay.
        try chromium.evaluate(
            """
            window.change = text => text.includes('resume') ? JSON.stringify({ t: 'resume', token: 'none' }) : text;
            hosts()[1].close(4000);
            """)
        try chromium.wait(until: Self.state("code"))
        withExtendedLifetime((web, film)) {}
    }

    /// As long as it may come to a picture yet.
    @Test func aPageThatCannotReachTheGatewayKeepsItsPlaceForAWhile() throws {
        var random = SystemRandomNumberGenerator()
        let door = GatewayDoor(
            try GatewayAddress("ws://127.0.0.1:9"), GatewayMountpoint(random: &random), GatewayCredentials())
        let (web, chromium) = try Self.enter(door, by: "https", until: "unreachable")
        try chromium.evaluate("hosts()[0].close(4000)")
        try chromium.wait(until: "hosts()[1]?.got.some(one => one.t === 'again')")
        #expect(try chromium.evaluate(Self.state("unreachable")) as? Bool == true)
        // Without another code.
        try chromium.evaluate("sockets.length = 0; document.getElementById('again').click()")
        try chromium.wait(until: "sockets.length === 1 && \(Self.state("unreachable"))")
        #expect(try chromium.evaluate("hosts().length === 0") as? Bool == true)
        web.server.handle.perform { driver in
            for page in driver.pages.values { page.withoutPictureSince = .now - WebTimes.withoutPicture }
        }
        try chromium.wait(until: Self.state("code"))
        let reason = "it has shown no picture of its gateway for 6 minutes"
        #expect(web.told.wait { if case .event(.failed(_, reason)) = $0 { true } else { false } } != nil)
    }

    /// As in a network that lets out nothing but that: the browser is told to use nothing else. By the host, and by a link.
    @Test(
        .enabled(if: TURNServer.isInstalled, "coturn isn't installed"),
        .enabled(if: TURNServer.address != nil, "this machine has no address but loopback's"))
    func aTURNServerIsUsedWhereNothingElseGetsThrough() throws {
        let place = try Place()
        let film = place.film()
        let relay = try TURNServer(secret: "relay")
        var credentials = try place.janus.credentials
        credentials.relays = try TURNRelays([relay.url], secret: "relay")
        let door = GatewayDoor(try GatewayAddress(place.janus.address), place.gateway.point, credentials)
        let web = try TestWeb(gateway: door)
        let chromium = try Chromium()
        _ = try chromium.send("Page.enable", [:])
        _ = try chromium.send(
            "Page.addScriptToEvaluateOnNewDocument",
            [
                "source": """
                window.RTCPeerConnection = class extends RTCPeerConnection {
                  constructor(configuration) { super({ ...configuration, iceTransportPolicy: 'relay' }); }
                };
                """
            ])
        for link in ["http://127.0.0.1:\(web.server.port)/#482913", place.page.absoluteString + door.fragment] {
            try chromium.navigate("about:blank")
            try chromium.navigate(link)
            try chromium.wait(until: Self.state("playing"))
        }
        withExtendedLifetime((web, film, relay)) {}
    }

    @Test func whoHasTheLinkWatches() throws {
        let place = try Place(host: "http://192.0.2.7:52347")
        let film = place.film()
        let chromium = try Chromium()
        try chromium.navigate(place.page.absoluteString)
        try chromium.wait(until: Self.state("code"))
        #expect(try chromium.text("document.getElementById('detail').textContent").contains("http://192.0.2.7:52347"))
        #expect(try chromium.evaluate("document.getElementById('code').offsetParent === null") as? Bool == true)

        try chromium.navigate("about:blank")
        try chromium.navigate(place.link)
        try chromium.wait(until: Self.state("playing"))
        // It doesn't stay in the history.
        #expect(try chromium.text("location.hash") == "")
        #expect(try chromium.number("document.getElementById('video').videoWidth") == 640)

        try chromium.navigate("about:blank")
        try chromium.navigate(place.link.replacing(/pin=[^&]*/, with: "pin=guess"))
        try chromium.wait(until: Self.state("refused"))
        withExtendedLifetime(film) {}
    }

    /// As while the host has paused. The link needn't be opened again.
    @Test func whoeverSawNoPictureCanTryAgain() throws {
        let place = try Place()
        let chromium = try Chromium()
        try chromium.navigate(place.link)
        try chromium.wait(until: Self.state("unreachable"))
        let film = place.film()
        try chromium.evaluate("document.getElementById('again').click()")
        try chromium.wait(until: Self.state("playing"))
        withExtendedLifetime(film) {}
    }

    /// The host ends: at first it may be about to make another mountpoint.
    @Test func theEndOfTheShareIsSaid() throws {
        let place = try Place()
        let film = place.film()
        let chromium = try Chromium()
        try chromium.navigate(place.link)
        try chromium.wait(until: Self.state("playing"))
        place.gateway.gateway.shutdown()
        try chromium.wait(until: Self.state("lost"))
        try chromium.wait(
            until: "document.getElementById('detail').textContent.startsWith('The share may have ended')")
        try chromium.evaluate("(now => { Date.now = () => now() + 21000; })(Date.now)")
        try chromium.wait(until: Self.state("ended"))
        #expect(try chromium.text("document.getElementById('headline').textContent") == "The host has ended its share")
        withExtendedLifetime(film) {}
    }

    /// A host that was killed sends nothing more, and its mountpoint stays.
    @Test func thePageSaysSinceWhenNoPictureHasCome() throws {
        let place = try Place()
        var running: Film? = place.film()
        let chromium = try Chromium()
        try chromium.navigate(place.link)
        try chromium.wait(until: Self.state("playing"))
        withExtendedLifetime(running) {}
        running = nil
        try chromium.wait(
            until: "document.getElementById('banner').textContent.startsWith('No picture has come since')")
        #expect(try chromium.evaluate(Self.state("playing")) as? Bool == true)
        running = place.film()
        try chromium.wait(until: "document.getElementById('banner').textContent === ''")
        withExtendedLifetime(running) {}
    }

    /// Each would be another connection.
    @Test func onlyTheFirstOfferIsTaken() throws {
        let chromium = try Chromium()
        try chromium.evaluate(
            """
            (() => {
              const element = () => document.createElement('video');
              \(String(decoding: PackageResources.packets_js, as: UTF8.self))
              window.made = window.failed = 0;
              window.RTCPeerConnection = class extends RTCPeerConnection { constructor() { super(); window.made += 1; } };
              const stream = new PacketStream({ failed: () => { window.failed += 1; } });
              for (let i = 0; i < 100; i++) stream.offer('v=0');
              stream.close();
              stream.offer('v=0');
            })()
            """)
        try chromium.wait(until: "window.failed === 1")
        #expect(try chromium.number("window.made") == 1)
    }

    @Test func whereNoGatewayAnswersThePageSaysSo() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-page-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "index.html")
        try Data(WebPage.alone(gateway: try GatewayAddress("ws://127.0.0.1:9"), host: nil).utf8).write(to: file)
        let chromium = try Chromium()
        try chromium.navigate(file.absoluteString + "#g=4294967296&pin=a")
        try chromium.wait(until: Self.state("unreachable"))
        #expect(try chromium.text("document.getElementById('headline').textContent") == "The gateway can’t be reached")
    }
}
