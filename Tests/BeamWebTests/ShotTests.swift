import BeamMedia
import BeamSession
import Foundation
import Testing

@testable import BeamWeb

/// Pictures of the page in each state, for somebody to look at: BEAMROOM_WEB_SHOTS=FOLDER.
@Suite(.serialized)
struct ShotTests {
    static let folder = ProcessInfo.processInfo.environment["BEAMROOM_WEB_SHOTS"]

    enum Device: String, CaseIterable {
        case desktop, light, phone, turned

        func open() throws -> Chromium {
            switch self {
            case .desktop: try Chromium()
            case .light: try Chromium(isDark: false)
            case .phone: try Chromium(width: 390, height: 844, isPhone: true, language: "de")
            case .turned: try Chromium(width: 844, height: 390, isPhone: true, isDark: false, language: "de")
            }
        }
    }

    @Test(.enabled(if: folder != nil, "BEAMROOM_WEB_SHOTS names no folder"), arguments: Device.allCases)
    func eachState(_ device: Device) throws {
        let folder = URL(filePath: try #require(Self.folder))
        let address = try #require(BrowserTests.address)
        let web = try TestWeb(bind: nil, hasSound: true)
        let chromium = try device.open()
        func shoot(_ name: String) throws {
            usleep(400_000)
            try chromium.screenshot().write(to: folder.appending(path: "\(device.rawValue)-\(name).png"))
        }
        func state(_ name: String) throws { try chromium.wait(until: "document.body.dataset.state === '\(name)'") }
        func enter(_ code: String, scheme: String = "http") throws {
            let host = scheme == "http" ? address : "127.0.0.1"
            try chromium.navigate("about:blank")
            try chromium.navigate("\(scheme)://\(host):\(web.server.port)/#\(code)")
        }
        func id() throws -> ConnectionID {
            let hellos = web.told.all.compactMap { if case .hello(let id, _) = $0 { id } else { nil } }
            return try #require(hellos.last)
        }

        try chromium.navigate("http://\(address):\(web.server.port)/")
        try state("code")
        try shoot("code")
        try enter("333333")
        try chromium.wait(until: "document.getElementById('problem').textContent !== ''")
        try shoot("wrong")
        try enter("111111")
        try state("asked")
        try shoot("asked")
        web.server.tell(.refused(.declined, reason: "Declined"), to: try id())
        try state("refused")
        try shoot("refused")
        try enter("482913")
        try state("waiting")
        try shoot("waiting")
        web.server.tellAll(.paused)
        try chromium.wait(until: "document.getElementById('banner').textContent !== ''")
        try shoot("paused-before")
        web.server.tellAll(.resumed)

        let film = Film(web, PixelSize(width: 1283, height: 721))
        try enter("482913")
        try state("playing")
        try shoot("playing-http")
        web.server.tellAll(.paused)
        try chromium.wait(until: "document.getElementById('banner').textContent !== ''")
        try shoot("paused")
        web.server.tellAll(.resumed)
        let lost = try id()
        web.server.handle.perform { $0.pages[lost]?.connection?.channel.close(promise: nil) }
        try state("code")
        try shoot("lost-http")

        try enter("482913", scheme: "https")
        try state("playing")
        web.server.tellAll(.caption("A caption of two lines, the second of which\nis this one."))
        web.server.tellAll(.note(sender: "Ada", "A note for everybody"))
        try chromium.press("i")
        try chromium.click("#sound")
        usleep(1_500_000)
        try shoot("playing-https")
        let kicked = try id()
        web.server.tell(.refused(.sentAway, reason: "Away"), to: kicked)
        try state("kicked")
        try shoot("kicked")

        try chromium.send("Page.enable", [:])
        try chromium.send(
            "Page.addScriptToEvaluateOnNewDocument",
            ["source": "RTCRtpReceiver.getCapabilities = () => ({ codecs: [] });"])
        try enter("482913")
        try state("unusable")
        try shoot("insecure")
        try enter("000000", scheme: "https")
        try chromium.wait(until: "document.getElementById('problem').textContent !== ''")
        try shoot("wrong-https")
        try enter("482913", scheme: "https")
        try state("playing")
        web.server.shutdown()
        try state("ended")
        try shoot("ended")
        withExtendedLifetime(film) {}
    }
}
