import BeamMedia
import CPango

/// BeamRoom's emblem: a screen with waves. Drawn as vectors, so that it is sharp at any size and needs no file.
enum Emblem {
    static func draw(_ pen: Pen, x: Double, y: Double, side: Double) {
        let unit = side / 64
        cairo_save(pen.raw)
        cairo_translate(pen.raw, x, y)
        cairo_scale(pen.raw, unit, unit)
        cairo_set_line_cap(pen.raw, CAIRO_LINE_CAP_ROUND)
        cairo_set_line_width(pen.raw, 4)

        pen.fill(x: 4, y: 12, width: 56, height: 38, radius: 7, Theme.accent.opacity(0.16))
        pen.outline(x: 4, y: 12, width: 56, height: 38, radius: 7)
        pen.set(Theme.accent)
        cairo_stroke(pen.raw)
        cairo_move_to(pen.raw, 22, 58)
        cairo_line_to(pen.raw, 42, 58)
        cairo_stroke(pen.raw)

        cairo_arc(pen.raw, 22, 41, 2.5, 0, .pi * 2)
        cairo_fill(pen.raw)
        for (radius, opacity) in [(10.0, 1.0), (18.0, 0.7)] {
            pen.set(Theme.accent.opacity(opacity))
            cairo_new_sub_path(pen.raw)
            cairo_arc(pen.raw, 22, 41, radius, -.pi / 2 + 0.1, -0.1)
            cairo_stroke(pen.raw)
        }
        cairo_restore(pen.raw)
    }

    /// The emblem on a dark tile, as the window's icon.
    static func icon(side: Int) -> Bitmap {
        Bitmap(PixelSize(width: side, height: side)) { pen in
            let side = Double(side)
            pen.fill(
                x: 0, y: 0, width: side, height: side, radius: side * 0.22,
                Theme.Colour(red: 0.08, green: 0.10, blue: 0.13))
            draw(pen, x: side * 0.14, y: side * 0.12, side: side * 0.72)
        }
    }
}
