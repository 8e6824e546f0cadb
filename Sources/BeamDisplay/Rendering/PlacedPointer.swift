import BeamMedia
import CPango

/// A pointer's look at its place over a picture, scaled as that is.
struct PlacedPointer {
    /// In pixels of the canvas. A look that would be larger isn't drawn: a picture can be zoomed eightfold, so the host
    /// has said that the look belongs to a picture far smaller than the one that is shown.
    private static let longestSide = 8.0 * Double(PointerLook.longestSide)

    let look: PointerLook
    /// Of the scaled look.
    let size: PixelSize
    /// Of its top left pixel in the canvas.
    let corner: PixelPoint
    /// The picture's rectangle in the canvas.
    let viewport: PixelRect

    /// Nil: there is nothing to draw.
    init?(_ pointer: ScreenPointer, over viewport: PixelRect) {
        guard case .shown(let look, let tip, let picture) = pointer, !viewport.isEmpty, picture.width > 0,
            picture.height > 0
        else { return nil }
        let across = Double(viewport.width) / Double(picture.width)
        let down = Double(viewport.height) / Double(picture.height)
        let (width, height) = (Double(look.size.width) * across, Double(look.size.height) * down)
        guard max(width, height) <= Self.longestSide else { return nil }
        self.look = look
        self.viewport = viewport
        size = PixelSize(
            width: max(1, Int(clamping: width.rounded())), height: max(1, Int(clamping: height.rounded())))
        corner = PixelPoint(
            x: viewport.x + Int(clamping: (Double(tip.x - look.hotspot.x) * across).rounded()),
            y: viewport.y + Int(clamping: (Double(tip.y - look.hotspot.y) * down).rounded()))
        // What is beside the picture could be farther away than drawing can count.
        let rect = PixelRect(x: corner.x, y: corner.y, width: size.width, height: size.height)
        guard !rect.intersection(viewport).isEmpty else { return nil }
    }

    /// The scaled look: the pixels as they are, each as a square where the scale is a whole factor, else smoothed.
    func bitmap() -> Bitmap {
        var pixels = look.pixels
        return Bitmap(size) { pen in
            pixels.withUnsafeMutableBytes { bytes in
                let source = cairo_image_surface_create_for_data(
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_ARGB32,
                    Int32(look.size.width), Int32(look.size.height), Int32(4 * look.size.width))
                cairo_scale(
                    pen.raw, Double(size.width) / Double(look.size.width),
                    Double(size.height) / Double(look.size.height))
                cairo_set_source_surface(pen.raw, source, 0, 0)
                let isWhole =
                    size.width.isMultiple(of: look.size.width) && size.height.isMultiple(of: look.size.height)
                cairo_pattern_set_filter(cairo_get_source(pen.raw), isWhole ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD)
                // At the edges, the outermost pixels count for what is beyond.
                cairo_pattern_set_extend(cairo_get_source(pen.raw), CAIRO_EXTEND_PAD)
                cairo_paint(pen.raw)
                cairo_surface_finish(source)
                cairo_surface_destroy(source)
            }
        }
    }

    /// - Parameter bitmap: the one that `bitmap()` has made of the same look in the same size; nil: it is made now.
    func layer(_ bitmap: Bitmap? = nil) -> Layer {
        Layer(bitmap: bitmap ?? self.bitmap(), x: corner.x, y: corner.y, clip: viewport)
    }
}

/// The pointer of one source, with its scaled look.
struct PointerDrawing {
    private(set) var pointer = ScreenPointer.inPicture
    private var made: (look: PointerLook, bitmap: Bitmap)?

    /// Returns whether it is another one than before.
    mutating func take(_ pointer: ScreenPointer) -> Bool {
        defer { self.pointer = pointer }
        return pointer != self.pointer
    }

    /// Nil: there is nothing to draw.
    mutating func layer(over viewport: PixelRect) -> Layer? {
        guard let placed = PlacedPointer(pointer, over: viewport) else { return nil }
        if let made, made.bitmap.size == placed.size, made.look == placed.look { return placed.layer(made.bitmap) }
        let bitmap = placed.bitmap()
        made = (placed.look, bitmap)
        return placed.layer(bitmap)
    }
}
