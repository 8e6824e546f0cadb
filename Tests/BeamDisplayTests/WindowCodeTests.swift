import BeamMedia
import Testing

@testable import BeamDisplay

/// The QR code of a room's window. No display needed.
@Suite @MainActor struct WindowCodeTests {
    private static let canvas = PixelSize(width: 1280, height: 720)

    /// A pattern that differs in each direction.
    private static func code(_ width: Int) -> WindowCode {
        WindowCode(
            modules: WindowCode.Modules(
                width: width, dark: (0..<width * width).map { $0 % width == 0 || $0 / width == 1 || $0 % 3 == 1 }),
            headline: "http://192.0.2.7:52347", detail: "Open this address in a browser, and type 482 913.")
    }

    private func setting(_ canvas: PixelSize) -> PanelStack.Setting {
        PanelStack.Setting(canvas: canvas, textScale: 1, isOverPicture: true)
    }

    /// How light the middle of a module is, from 0 to 255; positions outside of the code are those of its margin.
    private func light(_ layer: Layer, _ x: Int, _ y: Int, of width: Int, module: Int) -> Int {
        let side = (width + 8) * module
        let left = (layer.rect.width - side) / 2
        let top = layer.bitmap.size.height > side ? firstWhiteRow(layer) : 0
        let (column, row) = (left + (x + 4) * module + module / 2, top + (y + 4) * module + module / 2)
        return Int(
            layer.bitmap.base.load(fromByteOffset: row * layer.bitmap.stride + column * 4 + 1, as: UInt8.self))
    }

    private func firstWhiteRow(_ layer: Layer) -> Int {
        let middle = layer.rect.width / 2
        return (0..<layer.rect.height).first {
            layer.bitmap.base.load(fromByteOffset: $0 * layer.bitmap.stride + middle * 4 + 1, as: UInt8.self) == 255
        } ?? 0
    }

    @Test func itIsDarkOnWhiteWithItsMargin() throws {
        let panels = PanelStack()
        let code = Self.code(29)
        panels.code = code
        #expect(panels.layers(setting(Self.canvas)).isEmpty, "it isn't shown before it is wanted")
        panels.showsPeople = true
        let layer = try #require(panels.layers(setting(Self.canvas)).first)
        PanelFitTests.keep([layer], Self.canvas, as: "code")
        let module = 720 * 62 / 100 / 37
        let modules = try #require(code.modules)
        for y in -4..<33 {
            for x in -4..<33 {
                let expected = modules.isDark(x, y) ? 0 : 255
                #expect(light(layer, x, y, of: 29, module: module) == expected, "\(x), \(y)")
            }
        }
    }

    /// The largest code that an address and six digits can need is far below 61 modules.
    @Test(arguments: PanelFitTests.canvases) func itFits(canvas: PixelSize) throws {
        let panels = PanelStack()
        panels.code = Self.code(61)
        panels.showsPeople = true
        let layer = try #require(panels.layers(setting(canvas)).first)
        #expect(PixelRect(canvas).contains(layer.rect), "\(layer.rect)")
    }
}
