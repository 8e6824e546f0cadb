import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// A desktop with a window of known content.
private struct WlrScene {
    static let ground: UInt32 = 0x20_40_60
    static let place = PixelRect(x: 100, y: 60, width: 200, height: 150)

    let desktop: SwayTestDesktop
    let painter: X11Painter
    let window: UInt32
    /// The window's, without what surrounds it.
    private(set) var content = X11Canvas(place.size, 0xc0_30_10)

    init() throws {
        desktop = try SwayTestDesktop()
        painter = try X11Painter(desktop.display)
        window = painter.popup(Self.place, 0xc0_30_10)
    }

    /// Fills a part of the window.
    mutating func paint(_ rect: PixelRect, _ colour: UInt32) {
        painter.fill(rect, colour, in: window)
        content.fill(rect, colour)
    }

    func canvas(_ size: PixelSize = PixelSize(width: 640, height: 480)) -> X11Canvas {
        var canvas = X11Canvas(size, Self.ground)
        for y in 0..<Self.place.height {
            for x in 0..<Self.place.width {
                canvas.fill(PixelRect(x: Self.place.x + x, y: Self.place.y + y, width: 1, height: 1), content[x, y])
            }
        }
        return canvas
    }

    func options(region: PixelRect? = nil, monitor: String? = nil, rate: Double = 60) -> WlrOptions {
        var options = WlrOptions(display: desktop.socket, monitor: monitor, region: region, maxFrameRate: rate)
        options.probeInterval = .milliseconds(500)
        return options
    }
}

@Suite(
    .serialized,
    .enabled(if: SwayTestDesktop.isAvailable, "sway or Xwayland isn't installed (packages sway, swaybg, xwayland)"))
struct WlrTests {
    @Test func theWholePictureComesFirstThenWhatChanges() throws {
        var scene = try WlrScene()
        let source = try WlrSource(scene.options())
        #expect(source.info.size == PixelSize(width: 640, height: 480))
        #expect(source.info.description == "Wayland display \(scene.desktop.socket), monitor HEADLESS-1")
        let recording = X11Recording(source)
        defer { recording.stop() }
        #expect(recording.wait(for: scene.canvas()))
        #expect(recording.shots.first?.damage == DamageRegion(PixelRect(scene.canvas().size)))
        recording.settle()
        for rect in [
            PixelRect(x: 10, y: 5, width: 20, height: 30), PixelRect(x: 0, y: 100, width: 200, height: 3),
            PixelRect(x: 199, y: 149, width: 1, height: 1),
        ] {
            let before = recording.shots.count
            scene.paint(rect, UInt32.random(in: 0...0xff_ffff))
            #expect(recording.wait(for: scene.canvas()))
            #expect(recording.shots.count == before + 1)
            let changed = rect.moved(by: WlrScene.place.x, WlrScene.place.y)
            let damage = recording.shots.last?.damage.rects ?? []
            #expect(damage.contains { $0.contains(changed) })
            #expect(damage.allSatisfy { $0.width <= changed.width + 128 && $0.height <= changed.height + 32 })
        }
        // Nothing changes, and nothing comes.
        let count = recording.shots.count
        Thread.sleep(forTimeInterval: 0.5)
        #expect(recording.shots.count == count)

        // Pictures that nobody returns yet: capturing waits, and goes on.
        let held = X11Recording(try WlrSource(scene.options(region: WlrScene.place)), holdsPictures: true)
        defer { held.stop() }
        #expect(held.wait(for: scene.content))
        for colour in UInt32(1)...8 {
            scene.paint(PixelRect(x: 20, y: Int(colour) * 10, width: 30, height: 5), colour)
            held.settle()
        }
        #expect(held.shots.count <= FrameStore.limit)
        held.release()
        #expect(held.wait(for: scene.content))
        #expect(recording.wait(for: scene.canvas()))

        // A pause of no length: the whole picture comes again.
        recording.settle()
        for _ in 0..<10 {
            let count = recording.shots.count
            recording.source.setActive(false)
            recording.source.setActive(true)
            #expect(recording.wait { $0.count == count + 1 })
            #expect(recording.shots.last?.damage == DamageRegion(PixelRect(scene.canvas().size)))
        }
        #expect(recording.shots.map(\.number) == (0..<UInt64(recording.shots.count)).map { $0 })
    }

    @Test func aRateIsKeptAndTheLastChangeIsShown() throws {
        var scene = try WlrScene()
        let recording = X11Recording(try WlrSource(scene.options(rate: 10)))
        defer { recording.stop() }
        #expect(recording.wait(for: scene.canvas()))
        for round in 0..<3 {
            let (start, before) = (MediaTime.now, recording.shots.count)
            for step in 0..<60 {
                scene.paint(PixelRect(x: step * 3, y: round * 40, width: 3, height: 30), UInt32(step + 1) * 0x02_03_04)
                Thread.sleep(forTimeInterval: 0.01)
            }
            #expect(recording.wait(for: scene.canvas()))
            let seconds = (MediaTime.now - start).inSeconds
            #expect(Double(recording.shots.count - before) <= seconds * 10 + 3)
        }
    }

    @Test func aMonitorThatIsTurnedIsShownUpright() throws {
        let scene = try WlrScene()
        let recording = X11Recording(try WlrSource(scene.options()))
        defer { recording.stop() }
        for transform in ["90", "180", "270", "flipped", "flipped-90", "flipped-180", "flipped-270", "normal"] {
            try scene.desktop.command("output HEADLESS-1 transform \(transform)")
            let isSideways = transform.hasSuffix("90") || transform.hasSuffix("270")
            let size = isSideways ? PixelSize(width: 480, height: 640) : PixelSize(width: 640, height: 480)
            #expect(recording.wait(for: scene.canvas(size)), "\(transform)")
        }
        // Twice as many pixels for everything, but not for the picture.
        try scene.desktop.command("output HEADLESS-1 scale 2")
        #expect(recording.wait { $0.last?.canvas[250, 200] == 0xc0_30_10 && $0.last?.canvas.size.width == 640 })
    }

    @Test func aMonitorChangesItsSize() throws {
        var scene = try WlrScene()
        let region = PixelRect(x: 90, y: 50, width: 500, height: 100)
        let recording = X11Recording(try WlrSource(scene.options()))
        defer { recording.stop() }
        let part = X11Recording(try WlrSource(scene.options(region: region)))
        defer { part.stop() }
        #expect(part.wait(for: scene.canvas().cut(region)))
        for round in 0..<20 {
            let size = PixelSize(width: 400 + round * 37 % 200, height: 300 + round * 53 % 100)
            try scene.desktop.command("output HEADLESS-1 resolution \(size)")
            scene.paint(PixelRect(x: 0, y: round, width: 100, height: 1), UInt32(round) * 7)
            #expect(recording.wait(for: scene.canvas(size)), "round \(round)")
            #expect(part.wait(for: scene.canvas(size).cut(region.intersection(PixelRect(size)))), "round \(round)")
        }
        try scene.desktop.command("output HEADLESS-1 resolution 80x40")
        #expect(part.wait(forVisibility: [.regionOutside]))
        try scene.desktop.command("output HEADLESS-1 resolution 640x480")
        #expect(part.wait(forVisibility: [.regionOutside, .visible]))
        #expect(part.wait { $0.last?.canvas.size == region.size })
        #expect(recording.visibility == [])
    }

    @Test func aMonitorThatIsNoLongerRefreshedOrUnpluggedIsNoticed() throws {
        let desktop = try SwayTestDesktop()
        let inner = try SwayTestDesktop(in: desktop)
        var options = WlrOptions(display: inner.socket, monitor: "WL-1")
        options.probeInterval = .milliseconds(300)
        let recording = X11Recording(try WlrSource(options))
        defer { recording.stop() }
        #expect(recording.wait { $0.last?.canvas[0, 0] == WlrScene.ground })
        recording.settle()

        // Without a word: the window that shows it is hidden.
        try desktop.command("workspace 2")
        #expect(recording.wait(forVisibility: [.monitorOff]))
        // Who comes now gets the last picture.
        let count = recording.shots.count
        recording.source.setActive(false)
        recording.source.setActive(true)
        #expect(recording.wait { $0.count == count + 1 && $0.last?.canvas == $0[count - 1].canvas })
        try desktop.command("workspace 1")
        #expect(recording.wait(forVisibility: [.monitorOff, .visible]))

        try desktop.command("kill")
        #expect(recording.wait(forVisibility: [.monitorOff, .visible, .monitorOff]))
        #expect(throws: CaptureError.severalMonitors([])) { try WlrSource(WlrOptions(display: inner.socket)) }
    }

    @Test func oneOfSeveralMonitorsIsNamed() throws {
        let scene = try WlrScene()
        try scene.desktop.command("create_output")
        try scene.desktop.command("output HEADLESS-2 resolution 320x200 bg #204060 solid_color")
        let names = ["0: HEADLESS-1 (640x480)", "1: HEADLESS-2 (320x200)"]
        #expect(try WlrSource.monitors(display: scene.desktop.socket) == names)
        #expect(throws: CaptureError.severalMonitors(names)) { try WlrSource(scene.options()) }
        #expect(throws: CaptureError.noSuchMonitor("VGA-1", available: names)) {
            try WlrSource(scene.options(monitor: "VGA-1"))
        }
        let outside = PixelRect(x: 300, y: 0, width: 21, height: 10)
        #expect(throws: CaptureError.regionOffScreen(outside, screen: PixelSize(width: 320, height: 200))) {
            try WlrSource(scene.options(region: outside, monitor: "1"))
        }
        let recording = X11Recording(try WlrSource(scene.options(monitor: "HEADLESS-2")))
        defer { recording.stop() }
        #expect(recording.wait { $0.last?.canvas.size == PixelSize(width: 320, height: 200) })
    }

    @Test func aCompositorThatHangsOrGoesIsNoticed() throws {
        let scene = try WlrScene()
        let recording = X11Recording(try WlrSource(scene.options()))
        defer { recording.stop() }
        #expect(recording.wait(for: scene.canvas()))
        let other = X11Recording(try WlrSource(scene.options()), isActive: false)
        kill(scene.desktop.pid, SIGSTOP)
        other.source.setActive(true)
        other.settle()
        #expect(other.stop() == nil)
        // A still desktop that doesn't answer any more looks to viewers like one that has nothing new.
        #expect(recording.wait(forVisibility: [.monitorOff]))
        kill(scene.desktop.pid, SIGCONT)
        let idle = X11Recording(try WlrSource(scene.options()), isActive: false)
        defer { idle.stop() }
        scene.desktop.kill()
        #expect(recording.waitForEnd() == .compositorGone(display: scene.desktop.socket))
        #expect(idle.waitForEnd() == .compositorGone(display: scene.desktop.socket))
        let gone = #expect(throws: CaptureError.self) { try WlrSource(scene.options()) }
        #expect(gone?.description.contains("no compositor answers there") == true)
    }
}
