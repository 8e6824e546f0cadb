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

    var isWhollyReadable: Bool { readable.contains(PixelRect(size)) }

    /// Whether pixels grabbed for `other` are valid for this target too.
    func hasSamePixels(as other: CaptureTarget) -> Bool {
        drawable == other.drawable && origin == other.origin && size == other.size && readable == other.readable
            && layout.visual == other.layout.visual
    }
}

/// The captured part of a display, and how to follow it when it moves.
protocol CaptureArea: AnyObject {
    /// Person-facing: "monitor HDMI-1".
    var description: String { get }
    /// The window whose damage, including that of its descendants, covers the area.
    var damageWindow: xcb_window_t { get }
    var warnings: [String] { get }
    /// False while a window is hidden.
    var isVisible: Bool { get }
    /// The picture's current position.
    func resolve() throws(AreaFailure) -> CaptureTarget
    /// Whether the target may have changed with this event. Throws if the area ended with it.
    func isMoved(by event: XEvent) throws(AreaFailure) -> Bool
}

extension CaptureArea {
    /// A screen can't be hidden.
    var isVisible: Bool { true }
}

/// Why an area can't be located on the display.
enum AreaFailure: Error {
    /// Permanently.
    case ended(CaptureError)
    /// Possibly for a moment only: tools that rearrange monitors switch them off and on.
    case absent(CaptureError)
    case x(XFailure)
}
