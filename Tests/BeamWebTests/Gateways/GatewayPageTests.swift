import BeamMedia
import BeamWire
import Foundation
import Testing

@testable import BeamWeb

/// The page on another web server than the host's: here a file.
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
