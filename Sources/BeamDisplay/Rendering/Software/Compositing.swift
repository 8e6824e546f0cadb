import BeamMedia
import CPango

/// Draws a scene's dimming and panels over the picture with Cairo.
enum Compositing {
    static func compose(_ scene: Scene, on canvas: PixelCanvas) {
        let shade = scene.dimming > 0 ? scene.picture?.viewport : nil
        guard shade != nil || !scene.layers.isEmpty else { return }
        let surface = cairo_image_surface_create_for_data(
            canvas.base.assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_RGB24, Int32(canvas.size.width),
            Int32(canvas.size.height), Int32(canvas.stride))
        defer { cairo_surface_destroy(surface) }
        let context = cairo_create(surface)
        defer { cairo_destroy(context) }
        if let shade {
            cairo_set_source_rgba(context, 0, 0, 0, scene.dimming)
            cairo_rectangle(context, Double(shade.x), Double(shade.y), Double(shade.width), Double(shade.height))
            cairo_fill(context)
        }
        for layer in scene.layers {
            cairo_set_source_surface(context, layer.bitmap.raw, Double(layer.x), Double(layer.y))
            cairo_paint(context)
        }
        cairo_surface_flush(surface)
    }
}
