import BeamMedia

/// Where the frame's bars lie, in pixels of the screen.
enum FrameShape {
    /// At 96 dpi.
    static let thickness = 3
    /// The length of a dash and of the gap behind it, in thicknesses.
    private static let dash = 4

    /// Around `rect`, never in it. A side that has no room in `screen` is left out.
    static func outside(_ rect: PixelRect, thickness: Int, screen: PixelRect) -> [PixelRect] {
        let shown = rect.intersection(screen)
        guard !shown.isEmpty else { return [] }
        return sides(of: shown.expanded(by: thickness), thickness).map { $0.intersection(screen) }
            .filter { !$0.isEmpty }
    }

    /// Around `rect` where there is room in `room`, otherwise at the edge inside it, because what lies over a window
    /// isn't in its picture.
    static func around(_ rect: PixelRect, thickness: Int, room: PixelRect) -> [PixelRect] {
        let outer = rect.expanded(by: thickness).intersection(room)
        guard outer.width > 2 * thickness, outer.height > 2 * thickness else { return [] }
        return sides(of: outer, thickness)
    }

    /// Above, below, left and right, without overlaps.
    private static func sides(of outer: PixelRect, _ thickness: Int) -> [PixelRect] {
        let inner = outer.height - 2 * thickness
        return [
            PixelRect(x: outer.x, y: outer.y, width: outer.width, height: thickness),
            PixelRect(x: outer.x, y: outer.maxY - thickness, width: outer.width, height: thickness),
            PixelRect(x: outer.x, y: outer.y + thickness, width: thickness, height: inner),
            PixelRect(x: outer.maxX - thickness, y: outer.y + thickness, width: thickness, height: inner),
        ]
    }

    /// What is seen of a bar while the share is paused, in the bar's coordinates.
    static func dashes(of bar: PixelRect, thickness: Int) -> [PixelRect] {
        let length = max(bar.width, bar.height)
        return stride(from: 0, to: length, by: 2 * dash * thickness).map { start in
            let part = min(dash * thickness, length - start)
            return bar.width >= bar.height
                ? PixelRect(x: start, y: 0, width: part, height: bar.height)
                : PixelRect(x: 0, y: start, width: bar.width, height: part)
        }
    }
}
