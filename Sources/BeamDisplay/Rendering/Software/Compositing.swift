import BeamMedia
import CPango

/// Draws a scene's panels over the picture with Cairo.
enum Compositing {
    /// Blends `layers` over `canvas`; with `parts`, only within these rectangles, which have been painted anew.
    static func compose(_ layers: [Layer], on canvas: PixelCanvas, within parts: [PixelRect]? = nil) {
        let touched = layers.filter { layer in
            parts?.contains { !$0.intersection(layer.shownRect).isEmpty } ?? true
        }
        guard !touched.isEmpty else { return }
        let surface = cairo_image_surface_create_for_data(
            canvas.base.assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_RGB24, Int32(canvas.size.width),
            Int32(canvas.size.height), Int32(canvas.stride))
        defer { cairo_surface_destroy(surface) }
        let context = cairo_create(surface)
        defer { cairo_destroy(context) }
        if let parts {
            // One path of them all: where two overlap, a panel must not be blended twice.
            for part in parts {
                cairo_rectangle(
                    context, Double(part.x), Double(part.y), Double(part.width), Double(part.height))
            }
            cairo_clip(context)
        }
        for layer in touched {
            cairo_set_source_surface(context, layer.bitmap.raw, Double(layer.x), Double(layer.y))
            let shown = layer.shownRect
            guard shown != layer.rect else {
                cairo_paint(context)
                continue
            }
            cairo_rectangle(context, Double(shown.x), Double(shown.y), Double(shown.width), Double(shown.height))
            cairo_fill(context)
        }
        cairo_surface_flush(surface)
    }
}

extension PixelCanvas {
    /// Takes the colour from `rect`, clipped to the canvas, if `isGrey`, and darkens it: by 0 (not at all) to 1 (black).
    func shade(_ rect: PixelRect, dimming: Double, isGrey: Bool) {
        let rect = rect.intersection(PixelRect(size))
        guard !rect.isEmpty, dimming > 0 || isGrey else { return }
        // In 1/256, as are the weights of luma (BT.709).
        let brightness = UInt32(((1 - dimming) * 256).rounded())
        for y in rect.y..<rect.maxY {
            let row = address(rect.x, y).assumingMemoryBound(to: UInt32.self)
            for x in 0..<rect.width {
                let pixel = row[x]
                var (red, green, blue) = (pixel >> 16 & 0xff, pixel >> 8 & 0xff, pixel & 0xff)
                if isGrey {
                    red = (red &* 54 &+ green &* 183 &+ blue &* 19 &+ 128) >> 8
                    (green, blue) = (red, red)
                }
                red = (red &* brightness &+ 128) >> 8
                green = (green &* brightness &+ 128) >> 8
                blue = (blue &* brightness &+ 128) >> 8
                row[x] = 0xff00_0000 | red << 16 | green << 8 | blue
            }
        }
    }
}
