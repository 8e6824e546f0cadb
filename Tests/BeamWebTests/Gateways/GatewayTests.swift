import BeamMedia
import BeamSession
import BeamWire
import Foundation
import Testing

@testable import BeamWeb

/// Real Janus, with a real browser where somebody watches.
@Suite(
    .serialized,
    .enabled(
        if: Janus.isInstalled, "Janus isn't installed (package janus; Scripts/setup --test does it without its service)"
    ))
struct GatewayTests {
    /// A browser that watches at a gateway by its number and PIN, without a host's page.
    private final class Watcher {
        let chromium: Chromium
        private let entry: String

        init(_ janus: Janus, _ gateway: TestGateway, pin: String? = nil) throws {
            chromium = try Chromium()
            let token = try janus.credentials.token(at: Int(Date().timeIntervalSince1970), lasting: 600) ?? ""
            entry = """
                {url: '\(janus.address)', id: \(gateway.point.id), pin: '\(pin ?? gateway.point.pin)', token: '\(token)'}
                """
            let code = String(decoding: PackageResources.gateway_js, as: UTF8.self)
            try chromium.evaluate(
                """
                (() => {
                  \(code)
                  const video = window.video = document.createElement('video');
                  video.muted = video.autoplay = true;
                  document.body.append(video);
                  window.enter = entry => {
                    window.state = 'entering';
                    const peer = window.peer = new RTCPeerConnection();
                    const client = window.client = new GatewayClient(entry, {
                      offer: async sdp => {
                        await peer.setRemoteDescription({ type: 'offer', sdp });
                        await peer.setLocalDescription(await peer.createAnswer());
                        client.answer(peer.localDescription.sdp);
                      },
                      lost: why => { window.state = 'lost'; window.why = why ?? ''; }, refused: () => { window.state = 'refused'; },
                      unreachable: () => { window.state = 'unreachable'; },
                    });
                    peer.onicecandidate = event => client.candidate(event.candidate);
                    peer.ontrack = event => { video.srcObject = event.streams[0]; video.play(); };
                    client.open();
                  };
                })()
                """)
            try enter()
        }

        func enter() throws { try chromium.evaluate("enter(\(entry))") }
        func wait(state: String) throws { try chromium.wait(until: "window.state === '\(state)'") }

        /// Pictures are shown, more and more of them.
        func waitForPictures() throws {
            try chromium.wait(until: "video.videoWidth === 640")
            let before = try frames
            try chromium.wait(until: "video.getVideoPlaybackQuality().totalVideoFrames > \(Int(before) + 10)")
        }

        /// Why it is lost, as `GatewayClient` says it.
        var why: String { get throws { try chromium.text("window.why") } }

        var frames: Double { get throws { try chromium.number("video.getVideoPlaybackQuality().totalVideoFrames") } }
    }

    private static let size = PixelSize(width: 640, height: 360)

    @Test(.enabled(if: Chromium.isInstalled, "Chromium isn't there"))
    func twoBrowsersWatchAndComeBackWhenTheGatewayWasKilled() throws {
        let janus = try Janus()
        let gateway = try TestGateway(janus.address, try janus.credentials)
        let film = Film(Self.size, gateway.told) { gateway.gateway.submit($0) }
        try #require(gateway.isReady())
        // Nothing is asked of the encoder, and nothing sent, while nobody watches.
        #expect(gateway.told.all.isEmpty && gateway.gateway.figures.packets == 0)
        let first = try Watcher(janus, gateway)
        try first.waitForPictures()
        let keyframes = gateway.gateway.figures.keyframes
        // It joins with a keyframe, and the first one misses nothing.
        let second = try Watcher(janus, gateway)
        try second.waitForPictures()
        #expect(gateway.gateway.figures.keyframes > keyframes)
        try first.waitForPictures()
        #expect(gateway.events.wait { $0 == .viewers(2) } != nil)
        // Somebody without the PIN sees nothing.
        let stranger = try Watcher(janus, gateway, pin: "guess")
        try stranger.wait(state: "refused")

        try janus.kill()
        #expect(gateway.events.wait { $0 == .problem(.lost) } != nil)
        try first.wait(state: "lost")
        #expect(try first.why == "")
        try janus.start()
        try #require(gateway.isReady(again: true))
        try first.enter()
        try first.waitForPictures()
        // The end destroys the mountpoint, which ends the browser's stream.
        gateway.gateway.shutdown()
        try first.wait(state: "lost")
        #expect(try first.why == "destroyed")
        try first.enter()
        try first.chromium.wait(until: "window.why === 'missing'")
        #expect(gateway.cleared.all == [gateway.point])
        withExtendedLifetime(film) {}
    }

    /// A host was killed, and has left a mountpoint.
    @Test func whatAKilledHostHasLeftIsReplaced() throws {
        let janus = try Janus()
        let killed = try TestGateway(janus.address, try janus.credentials)
        try #require(killed.isReady())
        let next = try TestGateway(janus.address, try janus.credentials, leftovers: [killed.point])
        try #require(next.isReady())
        #expect(next.cleared.all == [killed.point])
    }

    @Test func withoutATokenItIsRefusedAndSaidSo() throws {
        let janus = try Janus()
        var credentials = try janus.credentials
        #expect(try TestGateway(janus.address).problem == .unauthorised(hasToken: false))
        credentials.adminKey = nil
        #expect(try TestGateway(janus.address, credentials).problem == .adminKey(isGiven: false))
        credentials.adminKey = "another"
        #expect(try TestGateway(janus.address, credentials).problem == .adminKey(isGiven: true))
        credentials.tokenSecret = "another"
        #expect(try TestGateway(janus.address, credentials).problem == .unauthorised(hasToken: true))
    }

    @Test func aCertificateOfItsOwnHasToBeGiven() throws {
        let janus = try Janus(["--self-signed"], scheme: "wss")
        let problem = try TestGateway(janus.address, try janus.credentials).problem
        #expect(problem == .certificate(reason: "nobody whom this machine trusts vouches for it, or it has expired"))
        let gateway = try TestGateway(janus.address, try janus.credentials, certificate: janus.certificate)
        #expect(gateway.isReady())
        #expect(throws: WebError.self) { try TestGateway(janus.address, certificate: "/dev/null") }
    }

    @Test func whereNothingListensItIsTriedAgain() throws {
        let gateway = try TestGateway("ws://127.0.0.1:9")
        #expect(gateway.problem == .unreachable(reason: "nothing listens there (connection refused)"))
        gateway.gateway.shutdown()
        // Nothing was ever made there.
        #expect(gateway.cleared.all == [gateway.point])
    }
}
