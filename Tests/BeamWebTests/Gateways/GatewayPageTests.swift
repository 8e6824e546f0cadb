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

    @Test func whoHasTheLinkWatches() throws {
        let janus = try Janus()
        let address = try GatewayAddress(janus.address)
        let gateway = try TestGateway(janus.address, try janus.credentials)
        let film = Film(PixelSize(width: 640, height: 360), gateway.told) { gateway.gateway.submit($0) }
        try #require(gateway.isReady())
        let file = janus.folder.appending(path: "index.html")
        try Data(WebPage.alone(gateway: address, host: "http://192.0.2.7:52347").utf8).write(to: file)
        let chromium = try Chromium()
        try chromium.navigate(file.absoluteString)
        try chromium.wait(until: Self.state("code"))
        #expect(try chromium.text("document.getElementById('detail').textContent").contains("http://192.0.2.7:52347"))
        #expect(try chromium.evaluate("document.getElementById('code').offsetParent === null") as? Bool == true)

        let door = GatewayDoor(address, gateway.point, try janus.credentials)
        try chromium.navigate("about:blank")
        try chromium.navigate(file.absoluteString + door.fragment)
        try chromium.wait(until: Self.state("playing"))
        // It doesn't stay in the history.
        #expect(try chromium.text("location.hash") == "")
        #expect(try chromium.number("document.getElementById('video').videoWidth") == 640)

        try chromium.navigate("about:blank")
        let wrong = door.fragment.replacing(/pin=[^&]*/, with: "pin=guess")
        try chromium.navigate(file.absoluteString + wrong)
        try chromium.wait(until: Self.state("refused"))
        withExtendedLifetime(film) {}
    }

    /// As while the host has paused. The link needn't be opened again.
    @Test func whoeverSawNoPictureCanTryAgain() throws {
        let janus = try Janus()
        let address = try GatewayAddress(janus.address)
        let gateway = try TestGateway(janus.address, try janus.credentials)
        try #require(gateway.isReady())
        let file = janus.folder.appending(path: "index.html")
        try Data(WebPage.alone(gateway: address, host: nil).utf8).write(to: file)
        let chromium = try Chromium()
        let door = GatewayDoor(address, gateway.point, try janus.credentials)
        try chromium.navigate(file.absoluteString + door.fragment)
        try chromium.wait(until: Self.state("unreachable"))
        let film = Film(PixelSize(width: 640, height: 360), gateway.told) { gateway.gateway.submit($0) }
        try chromium.evaluate("document.getElementById('again').click()")
        try chromium.wait(until: Self.state("playing"))
        withExtendedLifetime(film) {}
    }

    /// The host ends: at first it may be about to make another mountpoint.
    @Test func theEndOfTheShareIsSaid() throws {
        let janus = try Janus()
        let address = try GatewayAddress(janus.address)
        let gateway = try TestGateway(janus.address, try janus.credentials)
        let film = Film(PixelSize(width: 640, height: 360), gateway.told) { gateway.gateway.submit($0) }
        try #require(gateway.isReady())
        let file = janus.folder.appending(path: "index.html")
        try Data(WebPage.alone(gateway: address, host: nil).utf8).write(to: file)
        let chromium = try Chromium()
        let door = GatewayDoor(address, gateway.point, try janus.credentials)
        try chromium.navigate(file.absoluteString + door.fragment)
        try chromium.wait(until: Self.state("playing"))
        gateway.gateway.shutdown()
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
        let janus = try Janus()
        let address = try GatewayAddress(janus.address)
        let gateway = try TestGateway(janus.address, try janus.credentials)
        func film() -> Film {
            Film(PixelSize(width: 640, height: 360), gateway.told) { gateway.gateway.submit($0) }
        }
        try #require(gateway.isReady())
        var running: Film? = film()
        let file = janus.folder.appending(path: "index.html")
        try Data(WebPage.alone(gateway: address, host: nil).utf8).write(to: file)
        let chromium = try Chromium()
        let door = GatewayDoor(address, gateway.point, try janus.credentials)
        try chromium.navigate(file.absoluteString + door.fragment)
        try chromium.wait(until: Self.state("playing"))
        withExtendedLifetime(running) {}
        running = nil
        try chromium.wait(
            until: "document.getElementById('banner').textContent.startsWith('No picture has come since')")
        #expect(try chromium.evaluate(Self.state("playing")) as? Bool == true)
        running = film()
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
