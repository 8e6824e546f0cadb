import BeamMedia
import CXCB

/// The current position of the captured picture on the X server.
struct CaptureTarget {
    /// The drawable that is grabbed.
    var drawable: xcb_drawable_t
    /// The picture's top left pixel, in `drawable`'s coordinates.
    var origin: (x: Int, y: Int)
    var size: PixelSize
    /// The part of the picture that `drawable` contains, in the picture's coordinates.
    var readable: PixelRect
    /// The picture's top left pixel, in the coordinates of the window whose damage is reported.
    var damageOrigin: (x: Int, y: Int)
    /// The window that pointer positions are queried for, and the picture's top left pixel in its coordinates.
    var pointerWindow: xcb_window_t
    var pointerOrigin: (x: Int, y: Int)
    var layout: PixelLayout
    /// Windows that are drawn over `drawable`'s pixels, from the lowest to the topmost.
    var layers: [CaptureLayer] = []
    /// What cards cover.
    var covers: [Cover] = []

    var isWhollyReadable: Bool { readable.contains(PixelRect(size)) }

    /// Whether pixels grabbed for `other` are valid for this target too, where no layer and no cover has changed.
    func hasSamePixels(as other: CaptureTarget) -> Bool {
        drawable == other.drawable && origin == other.origin && size == other.size && readable == other.readable
            && layout.visual == other.layout.visual
    }

    /// Where the layers of both differ, in the picture's coordinates.
    func changedLayers(since other: CaptureTarget) -> DamageRegion {
        var region = DamageRegion()
        guard !layers.isEmpty || !other.layers.isEmpty else { return region }
        // Those that both have at the bottom look the same; all above may cover each other in another order.
        var same = 0
        while same < min(layers.count, other.layers.count), layers[same].isDrawn(as: other.layers[same]) { same += 1 }
        for layer in layers[same...] + other.layers[same...] {
            region.insert(layer.frame.intersection(PixelRect(size)))
        }
        return region
    }
}

/// The captured part of a display, and how to follow it when it moves.
protocol CaptureArea: AnyObject {
    /// Person-facing: "monitor HDMI-1".
    var description: String { get }
    /// The window whose damage, including that of its descendants, covers the area.
    var damageWindow: xcb_window_t { get }
    var warnings: [String] { get }
    /// Whether a window is hidden. A monitor's or a region's absence shows in `resolve`.
    var visibility: SourceVisibility { get }
    /// Nil: the area can't contain BeamRoom's own windows.
    var ownWindows: OwnWindows? { get }
    /// The picture's current position.
    func resolve() throws(AreaFailure) -> CaptureTarget
    /// Whether the target may have changed with this event. Throws if the area ended with it.
    func isMoved(by event: XEvent) throws(AreaFailure) -> Bool
}

extension CaptureArea {
    /// A screen can't be hidden.
    var visibility: SourceVisibility { .visible }
}

/// Why an area can't be located on the display.
enum AreaFailure: Error {
    /// Permanently.
    case ended(CaptureError)
    /// For now: a monitor sleeps, or for a moment only, because tools that rearrange monitors switch them off and on. The
    /// error is for an area that was never there.
    case absent(SourceVisibility, CaptureError)
    case x(XFailure)
}
