import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// ext-image-copy-capture, with a compositor that does what real ones seldom do.
@Suite(.enabled(if: TestCompositor.isAvailable, "python3 isn't installed"))
struct CopyCaptureTests {
    private static let size = PixelSize(width: 64, height: 48)
    private static let ground: UInt32 = 0x20_40_60

    private func options(
        _ compositor: TestCompositor, region: PixelRect? = nil, drawsCursor: Bool = true, probe: Duration = .seconds(60)
    ) -> WlrOptions {
        var options = WlrOptions(display: compositor.socket, region: region, drawsCursor: drawsCursor)
        options.probeInterval = probe
        return options
    }

    private func canvas(_ size: PixelSize = size, _ rects: (PixelRect, UInt32)...) -> X11Canvas {
        var canvas = X11Canvas(size, Self.ground)
        for (rect, colour) in rects { canvas.fill(rect, colour) }
        return canvas
    }

    private func noErrors(_ compositor: TestCompositor) -> Bool {
        !compositor.requests.contains { $0.hasPrefix("error") }
    }

    @Test func theFirstPictureIsWholeAndThenOnlyChangesCome() throws {
        let compositor = try TestCompositor()
        let source = try WlrSource(options(compositor))
        #expect(source.info.size == Self.size)
        let recording = X11Recording(source)
        defer { recording.stop() }
        #expect(recording.wait(for: canvas()))
        #expect(recording.shots.first?.damage == DamageRegion(PixelRect(Self.size)))
        // The next copy waits.
        #expect(compositor.wait(forRequests: { $0.count >= 3 }))
        let rects = [PixelRect(x: 3, y: 40, width: 7, height: 5), PixelRect(x: 0, y: 0, width: 64, height: 2)]
        try compositor.perform("paint 3 40 7 5 c03010")
        #expect(recording.wait(for: canvas(Self.size, (rects[0], 0xc0_30_10))))
        #expect(recording.shots.count == 2)
        #expect(recording.shots.last?.damage == DamageRegion(PixelRect(x: 0, y: 32, width: 64, height: 16)))
        // What changes while no copy can be asked for isn't missed.
        try compositor.perform("hold")
        #expect(compositor.wait(forRequests: { $0.count >= 4 }))
        try compositor.perform("paint 0 0 64 1 00ff00")
        try compositor.perform("paint 0 0 64 2 0000ff")
        try compositor.perform("release")
        #expect(recording.wait(for: canvas(Self.size, (rects[0], 0xc0_30_10), (rects[1], 0x00_00_ff))))
        #expect(recording.shots.count == 3)
        // Nothing changes, and nothing comes.
        recording.settle()
        #expect(recording.shots.count == 3)
        // One session, and one copy that is whole: the compositor adds the rest.
        let requests =
            ["session 1", "capture 64x48 1 64x48+0+0"] + [String](repeating: "capture 64x48 1 -", count: 3)
        #expect(compositor.wait(forRequests: { $0 == requests }), "\(compositor.requests)")
        #expect((recording.shots.last?.time ?? .zero) > .now - .seconds(60))
    }

    @Test func nobodyWatchesAndNothingIsAskedFor() throws {
        let compositor = try TestCompositor(["formats=875709016,875708993"])
        let recording = X11Recording(try WlrSource(options(compositor, drawsCursor: false)), isActive: false)
        defer { recording.stop() }
        recording.settle()
        #expect(compositor.requests == [])
        for round in 1...3 {
            let before = recording.shots.count
            recording.source.setActive(true)
            // Red and blue are in each other's place.
            #expect(recording.wait { $0.count == before + 1 && $0.last?.canvas[0, 0] == 0x60_40_20 })
            #expect(compositor.wait(forRequests: { $0.filter { $0 == "session 0" }.count == round }))
            recording.source.setActive(false)
            try compositor.perform("paint 5 5 5 5 ff0000")
            recording.settle()
        }
        #expect(recording.shots.last?.canvas[5, 5] == 0x00_00_ff)
    }

    @Test func aStillScreenIsLookedAtAnewNowAndThen() throws {
        let compositor = try TestCompositor()
        let recording = X11Recording(try WlrSource(options(compositor, probe: .milliseconds(300))))
        defer { recording.stop() }
        #expect(compositor.wait(forRequests: { $0.filter { $0 == "session 1" }.count >= 3 }))
        #expect(recording.shots.count == 1)
        // It no longer shows anything.
        try compositor.perform("hold")
        #expect(recording.wait(forVisibility: [.monitorOff]))
        try compositor.perform("release")
        #expect(recording.wait(forVisibility: [.monitorOff, .visible]))
        #expect(noErrors(compositor))
    }

    @Test func anotherSizeBringsOtherConstraints() throws {
        let compositor = try TestCompositor()
        let region = PixelRect(x: 10, y: 10, width: 40, height: 30)
        let recordings = [
            X11Recording(try WlrSource(options(compositor))),
            X11Recording(try WlrSource(options(compositor, region: region))),
        ]
        defer { for recording in recordings { recording.stop() } }
        #expect(recordings[1].wait(for: canvas(region.size)))
        for (round, size) in [(100, 90), (33, 48), (1, 1), (64, 48)].enumerated() {
            try compositor.perform("resize \(size.0) \(size.1)")
            let size = PixelSize(width: size.0, height: size.1)
            #expect(recordings[0].wait(for: canvas(size)), "round \(round)")
            if size.area == 1 { #expect(recordings[1].wait(forVisibility: [.regionOutside])) }
        }
        #expect(recordings[1].wait(for: canvas(region.size)))
        #expect(recordings[0].visibility == [])
        // Other memory, while a copy waits.
        for formats in ["0", "875708993", "0,1"] {
            try compositor.perform("formats \(formats)")
            try compositor.perform("paint 60 40 4 8 0000ff")
            #expect(
                recordings[0].wait { $0.last?.canvas[62, 44] == (formats == "875708993" ? 0xff_00_00 : 0x00_00_ff) },
                "\(formats): \(compositor.requests.suffix(4))")
        }
        #expect(noErrors(compositor))
    }

    @Test(arguments: [0, 1, 2, 77]) func aCopyThatFailsIsMadeAgain(reason: Int) throws {
        let compositor = try TestCompositor()
        try compositor.perform("fail 3 \(reason)")
        let recording = X11Recording(try WlrSource(options(compositor)))
        defer { recording.stop() }
        #expect(recording.wait(for: canvas()))
        try compositor.perform("fail 1 \(reason)")
        try compositor.perform("paint 0 0 10 10 ffffff")
        #expect(recording.wait(for: canvas(Self.size, (PixelRect(x: 0, y: 0, width: 10, height: 10), 0xff_ff_ff))))
        #expect(recording.visibility == [])
        try compositor.perform("fail 100000 \(reason)")
        try compositor.perform("paint 0 0 10 10 000000")
        #expect(recording.wait(forVisibility: [.monitorOff]))
        // Not as fast as it can.
        #expect(compositor.requests.count < 100)
        try compositor.perform("fail 0 0")
        #expect(recording.wait(for: canvas(Self.size, (PixelRect(x: 0, y: 0, width: 10, height: 10), 0))))
        #expect(recording.wait(forVisibility: [.monitorOff, .visible]))
        #expect(noErrors(compositor))
    }

    @Test func aSessionStopsTheOutputGoesAndThenTheCompositor() throws {
        let compositor = try TestCompositor()
        let recording = X11Recording(try WlrSource(options(compositor)))
        defer { recording.stop() }
        #expect(recording.wait(for: canvas()))
        try compositor.perform("stop")
        #expect(compositor.wait(forRequests: { $0.filter { $0 == "session 1" }.count == 2 }))
        try compositor.perform("paint 1 1 2 2 ffffff")
        let painted = canvas(Self.size, (PixelRect(x: 1, y: 1, width: 2, height: 2), 0xff_ff_ff))
        #expect(recording.wait(for: painted))
        try compositor.perform("unplug")
        #expect(recording.wait(forVisibility: [.monitorOff]))
        // Who comes now gets the last picture.
        let count = recording.shots.count
        recording.source.setActive(false)
        recording.source.setActive(true)
        #expect(recording.wait { $0.count == count + 1 && $0.last?.canvas == painted })
        try compositor.perform("plug")
        #expect(recording.wait(forVisibility: [.monitorOff, .visible]))
        #expect(noErrors(compositor))
        compositor.kill()
        #expect(recording.waitForEnd() == .compositorGone(display: compositor.socket))
    }

    @Test(arguments: 0..<8) func picturesThatAreTurnedAreShownUpright(transform: Int32) throws {
        let compositor = try TestCompositor(["size=64x16"])
        try compositor.perform("turn \(transform)")
        try compositor.perform("paint 0 0 20 5 ffffff")
        let recording = X11Recording(try WlrSource(options(compositor)))
        defer { recording.stop() }
        let raw = PixelSize(width: 64, height: 16)
        let turn = OutputTurn(transform: transform)
        func upright(_ rect: PixelRect) -> PixelRect { turn.upright(rect, of: raw) }
        let first = PixelRect(x: 0, y: 0, width: 20, height: 5)
        #expect(recording.wait(for: canvas(turn.upright(raw), (upright(first), 0xff_ff_ff))))
        let second = PixelRect(x: 60, y: 10, width: 4, height: 6)
        try compositor.perform("paint 60 10 4 6 000000")
        #expect(recording.wait(for: canvas(turn.upright(raw), (upright(first), 0xff_ff_ff), (upright(second), 0))))
        #expect(recording.shots.count == 2)
    }

    @Test func nonsenseIsRefusedAndSaid() throws {
        for (settings, part) in [
            (["formats=", "protocols=ext"], "in memory of the graphics device only"),
            (["formats=1,7", "protocols="], "has neither ext-image-copy-capture nor wlr-screencopy"),
        ] {
            let compositor = try TestCompositor(settings)
            let recording = try? X11Recording(WlrSource(options(compositor)))
            defer { recording?.stop() }
            let trouble =
                recording?.waitForEnd() ?? #expect(throws: CaptureError.self) { try WlrSource(options(compositor)) }
            #expect(trouble?.description.contains(part) == true, "\(trouble?.description ?? "nothing")")
        }
        for (size, part) in [
            ("0 48", "without pixels"), ("64 0", "without pixels"), ("40000 40000", "too large"),
            ("4294967295 1", "too large"), ("30000 30000", "no memory"),
        ] {
            let compositor = try TestCompositor()
            let recording = X11Recording(try WlrSource(options(compositor)))
            defer { recording.stop() }
            #expect(recording.wait(for: canvas()))
            try compositor.perform("constraints \(size)")
            let trouble = recording.waitForEnd()
            #expect(trouble?.description.contains(part) == true, "\(size): \(trouble?.description ?? "nothing")")
        }
        let compositor = try TestCompositor(["outputs=1000"])
        #expect(try WlrSource.monitors(display: compositor.socket) == ["0: OUT-1 (64x48)"])
        let recording = X11Recording(try WlrSource(options(compositor)))
        defer { recording.stop() }
        #expect(recording.wait(for: canvas()))
        try compositor.perform("nonsense")
        try compositor.perform("paint 1 1 2 2 ffffff")
        #expect(recording.wait(for: canvas(Self.size, (PixelRect(x: 1, y: 1, width: 2, height: 2), 0xff_ff_ff))))
        #expect(recording.shots.last.map { $0.time <= .now && $0.time > .now - .seconds(60) } == true)
        #expect(noErrors(compositor))
    }

    @Test(arguments: [["protocols=wlr"], ["formats="]]) func wlrScreencopyServesWhereItDoesNot(settings: [String])
        throws
    {
        let compositor = try TestCompositor(settings)
        let recording = X11Recording(try WlrSource(options(compositor)))
        defer { recording.stop() }
        #expect(recording.wait(for: canvas()))
        // What is drawn before a copy waits for it isn't remembered.
        #expect(compositor.wait(forRequests: { $0.last == "copy waits" }))
        try compositor.perform("paint 1 1 2 2 ffffff")
        #expect(recording.wait(for: canvas(Self.size, (PixelRect(x: 1, y: 1, width: 2, height: 2), 0xff_ff_ff))))
        #expect(compositor.requests.contains("copy -"))
        #expect(!compositor.requests.contains { $0.hasPrefix("capture") })
    }
}
