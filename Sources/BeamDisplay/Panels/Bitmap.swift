import BeamMedia
import CPango

/// Owns a small BGRA bitmap with premultiplied alpha, drawn once in `init`.
final class Bitmap {
    let raw: OpaquePointer
    let size: PixelSize

    init(_ size: PixelSize, _ draw: (Pen) -> Void) {
        self.size = PixelSize(width: max(1, size.width), height: max(1, size.height))
        raw = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, Int32(self.size.width), Int32(self.size.height))
        let context: OpaquePointer = cairo_create(raw)
        draw(Pen(context))
        cairo_destroy(context)
        cairo_surface_flush(raw)
    }

    deinit { cairo_surface_destroy(raw) }

    var base: UnsafeMutableRawPointer { UnsafeMutableRawPointer(cairo_image_surface_get_data(raw)) }

    /// Bytes from one row to the next.
    var stride: Int { Int(cairo_image_surface_get_stride(raw)) }
}

/// Drawing functions for a bitmap under construction.
struct Pen {
    let raw: OpaquePointer

    init(_ raw: OpaquePointer) { self.raw = raw }

    func set(_ colour: Theme.Colour) {
        cairo_set_source_rgba(raw, colour.red, colour.green, colour.blue, colour.alpha)
    }

    /// The outline of a rectangle with round corners.
    func outline(x: Double, y: Double, width: Double, height: Double, radius: Double) {
        let radius = min(radius, width / 2, height / 2)
        cairo_new_sub_path(raw)
        cairo_arc(raw, x + width - radius, y + radius, radius, -.pi / 2, 0)
        cairo_arc(raw, x + width - radius, y + height - radius, radius, 0, .pi / 2)
        cairo_arc(raw, x + radius, y + height - radius, radius, .pi / 2, .pi)
        cairo_arc(raw, x + radius, y + radius, radius, .pi, .pi * 1.5)
        cairo_close_path(raw)
    }

    func fill(x: Double, y: Double, width: Double, height: Double, radius: Double, _ colour: Theme.Colour) {
        outline(x: x, y: y, width: width, height: height, radius: radius)
        set(colour)
        cairo_fill(raw)
    }

    /// Strokes a line along the inside of a rounded rectangle.
    func frame(
        x: Double, y: Double, width: Double, height: Double, radius: Double, line: Double, _ colour: Theme.Colour
    ) {
        outline(x: x + line / 2, y: y + line / 2, width: width - line, height: height - line, radius: radius - line / 2)
        set(colour)
        cairo_set_line_width(raw, line)
        cairo_stroke(raw)
    }

    /// An arch: a line up from (x, y), a half circle, and a line down by `otherLeg`. `height` is its total height,
    /// `width` the distance between the legs.
    func arch(
        x: Double, y: Double, width: Double, height: Double, otherLeg: Double, line: Double, _ colour: Theme.Colour
    ) {
        let radius = width / 2
        let top = y - height + radius
        cairo_new_path(raw)
        cairo_move_to(raw, x, y)
        cairo_arc(raw, x + radius, top, radius, .pi, 0)
        cairo_line_to(raw, x + width, top + otherLeg)
        set(colour)
        cairo_set_line_width(raw, line)
        cairo_set_line_cap(raw, CAIRO_LINE_CAP_ROUND)
        cairo_stroke(raw)
    }

    func draw(_ text: TextBlock, x: Double, y: Double, _ colour: Theme.Colour) {
        set(colour)
        cairo_move_to(raw, x, y)
        text.show(on: raw)
    }
}
