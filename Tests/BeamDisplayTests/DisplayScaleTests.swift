import BeamMedia
import Testing

@testable import BeamDisplay

@Suite struct DisplayScaleTests {
    private static func monitor(
        _ width: Int, _ height: Int, inches: Double, _ shape: Double = 1
    ) -> DisplayScale.Monitor {
        DisplayScale.Monitor(
            size: PixelSize(width: width, height: height), horizontal: Double(width) / inches,
            vertical: Double(width) / inches * shape)
    }

    @Test(
        arguments: [
            ("Xft.dpi:\t144\n", nil, 1.5), ("*customization: -color\nXft.dpi: 192\nXft.rgba: rgb", nil, 2),
            ("Xft.dpi:96", "2", 1), ("Xft.hinting:\t1\n", "2", 2), (nil, "2", 2), (nil, nil, 1), ("", nil, 1),
            ("Xft.dpi:\tlarge\n", nil, 1), ("Xft.dpi:\t0\n", nil, 1), ("Xft.dpi:\t-5\n", "1", 1),
            ("Xft.dpi: 120.5", nil, 120.5 / 96), ("Xft.dpi:\t72", nil, 1), ("Xft.dpi:\t900", nil, 4), (nil, "nan", 1),
            (nil, "", 1), (nil, "1000000", 1),
        ] as [(String?, String?, Double)])
    func whatTheDesktopHasSet(resources: String?, factor: String?, scale: Double) {
        #expect(DisplayScale.onX11(resources: resources, factor: factor, monitor: nil) == scale)
    }

    @Test func theMonitorDecidesForWantOfBoth() {
        // 24 inches with 1080 rows, 27 with 1440, 27 with 2160, and a laptop of 13 with 2160: widths of 16:9.
        let usual = [(1920, 1080, 20.9, 1.0), (2560, 1440, 23.5, 1), (3840, 2160, 23.5, 1.5), (3840, 2160, 11.3, 3)]
        for (width, height, inches, scale) in usual {
            let monitor = Self.monitor(width, height, inches: inches)
            #expect(DisplayScale.onX11(resources: nil, factor: nil, monitor: monitor) == scale)
            #expect(DisplayScale.onX11(resources: "Xft.dpi:\t96\n", factor: nil, monitor: monitor) == 1)
        }
        // Sizes that can't be true: 16 × 9 mm, 16 × 9 cm with another number of pixels a row, and a projector's.
        #expect(DisplayScale.of(Self.monitor(1920, 1080, inches: 0.63)) == 1)
        #expect(DisplayScale.of(Self.monitor(1920, 1200, inches: 6.3, 1.5)) == 1)
        #expect(DisplayScale.of(Self.monitor(3840, 2160, inches: 120)) == 1)
    }
}
