import BeamMedia
import Testing

@testable import BeamDisplay

@Suite struct GeometryTests {
    struct Placing: Sendable {
        var picture: PixelSize
        var canvas: PixelSize
        var place: PixelRect

        init(_ picture: (Int, Int), _ canvas: (Int, Int), _ place: (x: Int, y: Int, width: Int, height: Int)) {
            self.picture = PixelSize(width: picture.0, height: picture.1)
            self.canvas = PixelSize(width: canvas.0, height: canvas.1)
            self.place = PixelRect(x: place.x, y: place.y, width: place.width, height: place.height)
        }
    }

    static let placings = [
        Placing((1920, 1080), (1920, 1080), (0, 0, 1920, 1080)),
        Placing((1280, 720), (1280, 800), (0, 40, 1280, 720)),
        Placing((300, 300), (1280, 720), (280, 0, 720, 720)),
        // Slightly less than twice the size: exactly twice is sharper.
        Placing((950, 535), (1920, 1080), (10, 5, 1900, 1070)),
        // Slightly less than its own size: same, but never larger than the window.
        Placing((1366, 767), (1366, 768), (0, 0, 1366, 767)),
        Placing((1930, 1085), (1920, 1080), (0, 0, 1920, 1079)),
        Placing((8192, 16), (640, 480), (0, 239, 640, 1)),
    ]

    @Test("A picture's place in the window", arguments: placings)
    func viewport(placing: Placing) {
        #expect(placing.picture.viewport(in: placing.canvas) == placing.place)
    }

    @Test func fit() {
        func fit(_ a: (Int, Int), _ b: (Int, Int)) -> Fit {
            Fit(picture: PixelSize(width: a.0, height: a.1), viewport: PixelSize(width: b.0, height: b.1))
        }
        #expect(fit((640, 360), (640, 360)) == .exact(1))
        #expect(fit((640, 360), (1920, 1080)) == .exact(3))
        #expect(fit((640, 360), (1000, 563)) == .enlarged)
        #expect(fit((640, 360), (500, 281)) == .reduced)
    }

    @Test func piecesOutside() {
        let panel = PixelRect(x: 10, y: 10, width: 100, height: 50)
        #expect(panel.outside(PixelRect(x: 0, y: 0, width: 500, height: 500)).isEmpty)
        #expect(panel.outside(PixelRect(x: 200, y: 0, width: 10, height: 10)) == [panel])
        let pieces = panel.outside(PixelRect(x: 40, y: 0, width: 30, height: 30))
        #expect(pieces.reduce(0) { $0 + $1.area } == panel.area - 30 * 20)
    }

    @Test func halvedRects() {
        #expect(
            PixelRect(x: 3, y: 5, width: 4, height: 1).halved == PixelRect(x: 1, y: 2, width: 3, height: 1))
        #expect(PixelRect(PixelSize(width: 7, height: 7)).halved == PixelRect(PixelSize(width: 4, height: 4)))
    }

    @Test func codeGroups() {
        #expect(MessagePanel.groups(of: "482913") == ["482", "913"])
        #expect(MessagePanel.groups(of: "482 913") == ["482", "913"])
        #expect(MessagePanel.groups(of: "12345678") == ["12345678"])
        #expect(MessagePanel.groups(of: " ").isEmpty)
    }

    @Test func theSelectionStaysOnItsEntry() {
        let (anna, ben, carl) = (PickerEntry(name: "Anna"), PickerEntry(name: "Ben"), PickerEntry(name: "Carl"))
        var picker = Picker()
        picker.update([ben])
        picker.update([anna, ben, carl])
        #expect(picker.selected == 1)
        picker.update([anna, carl])
        #expect(picker.selected == 1)
        picker.update([])
        #expect(picker.selected == 0)
        picker.select(5)
        #expect(picker.selected == 0)
    }

    @Test func theListScrollsToItsSelection() {
        var picker = Picker()
        picker.update((0..<20).map { PickerEntry(name: "Host \($0)") })
        picker.select(12)
        picker.scroll(toFit: 5)
        #expect(picker.first == 8)
        #expect(picker.entry(forDigit: 1) == 8)
        picker.select(3)
        picker.scroll(toFit: 5)
        #expect(picker.first == 3)
        picker.select(19)
        picker.scroll(toFit: 30)
        #expect(picker.first == 0)
        #expect(picker.entry(forDigit: 0) == nil)
    }
}

@Suite struct GraphicsHardwareTests {
    struct Machine: Sendable {
        var driver = "x11"
        var display: String? = ":0"
        var dri: [String] = []
        var dev: [String] = []
        var isLikely = false
    }

    static let machines = [
        Machine(dri: ["card0", "renderD128"], isLikely: true),
        Machine(display: "unix:0", dri: ["renderD128"], isLikely: true),
        Machine(driver: "wayland", display: nil, dri: ["renderD128"], isLikely: true),
        Machine(dev: ["nvidia0"], isLikely: true),
        Machine(dri: ["card0"], dev: ["null"]),
        Machine(),
        Machine(display: "localhost:10.0", dri: ["renderD128"]),
        Machine(driver: "offscreen", display: nil, dri: ["renderD128"]),
    ]

    @Test("A graphics processor is detected without an OpenGL context", arguments: machines)
    func likely(machine: Machine) {
        let found = GraphicsHardware.isLikely(driver: machine.driver, display: machine.display) {
            $0 == "/dev/dri" ? machine.dri : machine.dev
        }
        #expect(found == machine.isLikely)
    }

    @Test func emulationsByName() {
        for name in [
            "llvmpipe (LLVM 15.0.6, 256 bits)", "softpipe", "Software Rasterizer", "swrast", "Google SwiftShader",
        ] {
            #expect(GraphicsHardware.isEmulated(name))
        }
        for name in [
            "Mesa Intel(R) UHD Graphics 620 (KBL GT2)", "NVIDIA GeForce RTX 3060/PCIe/SSE2", "V3D 4.2", "virgl",
        ] {
            #expect(!GraphicsHardware.isEmulated(name))
        }
    }
}
