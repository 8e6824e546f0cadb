import BeamMedia
import CXCB

/// Where on the X server the picture lies at the moment.
struct CaptureTarget {
    /// What images are asked of.
    var drawable: xcb_drawable_t
    /// The picture's top left pixel in `drawable`.
    var origin: (x: Int, y: Int)
    var size: PixelSize
    /// The part of the picture that `drawable` has; in the picture's coordinates.
    var readable: PixelRect
    /// The picture's top left pixel in the window whose damage is watched.
    var damageOrigin: (x: Int, y: Int)
    /// The window that the pointer's place is asked of, and the picture's top left pixel in it.
    var pointerWindow: xcb_window_t
    var pointerOrigin: (x: Int, y: Int)
    var layout: PixelLayout

    var isWhollyReadable: Bool { readable.contains(PixelRect(size)) }

    /// Whether pixels that were fetched from `other` are this target's too.
    func hasSamePixels(as other: CaptureTarget) -> Bool {
        drawable == other.drawable && origin == other.origin && size == other.size && readable == other.readable
            && layout.visual == other.layout.visual
    }
}

/// The part of a display that is captured, and how it is followed.
protocol CaptureArea: AnyObject {
    /// For a person: "monitor HDMI-1".
    var description: String { get }
    /// The window whose damage, with that of all inside it, is the area's.
    var damageWindow: xcb_window_t { get }
    var warnings: [String] { get }
    /// Where the picture is now.
    func resolve() throws(AreaFailure) -> CaptureTarget
    /// Whether the target may be another one after this event. Throws when it is the area's end.
    func isMoved(by event: XEvent) throws(AreaFailure) -> Bool
}

/// Why an area has no place on the display.
enum AreaFailure: Error {
    /// For good.
    case ended(CaptureError)
    /// Perhaps for a moment: programs that arrange monitors switch them off and on.
    case absent(CaptureError)
    case x(XFailure)
}
