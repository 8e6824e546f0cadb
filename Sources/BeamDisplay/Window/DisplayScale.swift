import BeamMedia
import CSDL2

/// How much larger than at 96 dpi text, panels and the first window are.
enum DisplayScale {
    static let range = 1.0...4.0

    /// A monitor's size.
    struct Monitor {
        /// In pixels.
        var size: PixelSize
        /// Pixels per inch.
        var horizontal: Double
        var vertical: Double
    }

    /// On an X server. As toolkits do, this takes what the desktop has set: `Xft.dpi` among the server's resources, or
    /// else GDK_SCALE. If both are absent it depends on the monitor.
    static func onX11(resources: String?, factor: String?, monitor: Monitor?) -> Double {
        let set = resources.flatMap { dpi($0) }.map { $0 / 96 } ?? factor.flatMap { Double($0) }.flatMap { valid($0) }
        return clamped(set ?? monitor.map { of($0) } ?? 1)
    }

    /// Of a monitor that nobody has set a scale for.
    static func of(_ monitor: Monitor) -> Double {
        // Some monitors and adapters report sizes of nothing, or only their shape (16 × 9 mm or cm).
        let inches = Double(monitor.size.width) / monitor.horizontal
        guard abs(monitor.horizontal / monitor.vertical - 1) < 0.2, (5...80).contains(inches) else { return 1 }
        // 110 dpi are usual on a desk. In quarters: 1 for 24″ with 1080 rows, 1.5 for 27″ with 2160, 3 for 13″ with 2160.
        return clamped((monitor.horizontal / 110 * 4).rounded() / 4)
    }

    static func clamped(_ scale: Double) -> Double { min(max(scale, range.lowerBound), range.upperBound) }

    /// The value of `Xft.dpi`.
    private static func dpi(_ resources: String) -> Double? {
        for line in resources.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].trimmingSpaces == "Xft.dpi" else { continue }
            return Double(parts[1].trimmingSpaces).flatMap { (24...960).contains($0) ? $0 : nil }
        }
        return nil
    }

    private static func valid(_ factor: Double) -> Double? { (0.25...16).contains(factor) ? factor : nil }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        return start.prefix(start.count - start.reversed().prefix { $0 == " " || $0 == "\t" }.count)
    }
}

extension WindowHandle {
    /// The scale of the display that shows the window now.
    func scale(_ x11: X11Connection?) -> Double {
        if let x11 {
            return DisplayScale.onX11(
                resources: x11.resources, factor: SDLVideo.environment("GDK_SCALE"), monitor: monitor)
        }
        // A Wayland compositor has a scale for each display, and says it. Without a desktop only the monitor is known.
        let ratio = DisplayScale.clamped(pixelRatio)
        return video.driver == "wayland" ? ratio : max(ratio, monitor.map { DisplayScale.of($0) } ?? 1)
    }

    private var monitor: DisplayScale.Monitor? {
        var (horizontal, vertical) = (Float(0), Float(0))
        guard SDL_GetDisplayDPI(displayIndex, nil, &horizontal, &vertical) == 0, horizontal > 0, vertical > 0 else {
            return nil
        }
        return DisplayScale.Monitor(
            size: video.fullBounds(displayIndex).size, horizontal: Double(horizontal), vertical: Double(vertical))
    }
}
