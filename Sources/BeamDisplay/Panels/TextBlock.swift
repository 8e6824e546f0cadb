import BeamMedia
import CPango
import Synchronization

/// Owns a paragraph laid out by Pango: any script and direction, wrapped to a width.
final class TextBlock {
    enum Alignment { case left, centre, right }

    /// In pixels. Larger widths would overflow Pango's 32-bit units.
    private static let maxLayoutWidth = 1_000_000.0

    private let layout: OpaquePointer
    /// In pixels, rounded up.
    let width: Double
    let height: Double
    /// An ellipsis ends it.
    let isCut: Bool
    let lines: Int

    /// - Parameters:
    ///   - scale: factor for the font's size.
    ///   - maxWidth: in pixels. Longer lines are wrapped, and an ellipsis ends the text after `maxLines`. `.infinity`
    ///     disables wrapping.
    init(
        _ text: String, _ font: Theme.Font, scale: Double, maxWidth: Double, maxLines: Int = 1,
        alignment: Alignment = .left
    ) {
        // A context for measuring. The layout is later drawn on another context of the same kind.
        let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 1, 1)
        let context = cairo_create(surface)
        layout = pango_cairo_create_layout(context)
        cairo_destroy(context)
        cairo_surface_destroy(surface)

        let description = pango_font_description_new()
        pango_font_description_set_family(description, font.family)
        pango_font_description_set_absolute_size(description, font.pixels(scale) * Double(PANGO_SCALE))
        if font.isBold { pango_font_description_set_weight(description, PANGO_WEIGHT_SEMIBOLD) }
        pango_layout_set_font_description(layout, description)
        pango_font_description_free(description)

        // A long word, perhaps an address, is broken without a hyphen that isn't its own.
        let attributes: OpaquePointer = pango_attr_list_new()
        pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(0))
        pango_layout_set_attributes(layout, attributes)
        pango_attr_list_unref(attributes)
        pango_layout_set_text(layout, VisibleText.unbroken(text), -1)
        let limit = Int32(min(max(1, maxWidth), Self.maxLayoutWidth)) * PANGO_SCALE
        pango_layout_set_width(layout, limit)
        pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
        pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END)
        // A negative height is a number of lines.
        pango_layout_set_height(layout, Int32(-maxLines))
        switch alignment {
        case .left: pango_layout_set_alignment(layout, PANGO_ALIGN_LEFT)
        case .centre: pango_layout_set_alignment(layout, PANGO_ALIGN_CENTER)
        case .right: pango_layout_set_alignment(layout, PANGO_ALIGN_RIGHT)
        }
        if maxLines > 1 { Self.balance(layout, isCentred: alignment == .centre) }
        var extent = PangoRectangle()
        pango_layout_get_pixel_extents(layout, nil, &extent)
        isCut = pango_layout_is_ellipsized(layout) != 0
        lines = Int(pango_layout_get_line_count(layout))
        // Use the measured width as the box, so that alignment happens inside it.
        pango_layout_set_width(layout, min(limit, (extent.width + 1) * PANGO_SCALE))
        width = Double(extent.width + 1)
        height = Double(extent.height)
    }

    /// Makes the lines about equally long, as many as they are, if they are centred or the last one is short: no line holds
    /// a single short word.
    private static func balance(_ layout: OpaquePointer, isCentred: Bool) {
        let lines = pango_layout_get_line_count(layout)
        guard lines > 1, pango_layout_is_ellipsized(layout) == 0 else { return }
        var (extent, last) = (PangoRectangle(), PangoRectangle())
        pango_layout_get_pixel_extents(layout, nil, &extent)
        pango_layout_line_get_pixel_extents(pango_layout_get_line_readonly(layout, lines - 1), nil, &last)
        guard isCentred || last.width * 3 < extent.width else { return }
        let widest = pango_layout_get_width(layout)
        // A word that is too long for a line isn't broken for that: it would stick out.
        pango_layout_set_wrap(layout, PANGO_WRAP_WORD)
        func fits(_ width: Int32) -> Bool {
            pango_layout_set_width(layout, width * PANGO_SCALE)
            var extent = PangoRectangle()
            pango_layout_get_pixel_extents(layout, nil, &extent)
            return pango_layout_get_line_count(layout) <= lines && extent.width <= width
                && pango_layout_is_ellipsized(layout) == 0
        }
        var (low, high) = (extent.width / lines, extent.width)
        guard fits(high) else {
            pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
            return pango_layout_set_width(layout, widest)
        }
        while high - low > 4 {
            let middle = (low + high) / 2
            if fits(middle) { high = middle } else { low = middle }
        }
        pango_layout_set_width(layout, high * PANGO_SCALE)
    }

    deinit { g_object_unref(UnsafeMutableRawPointer(layout)) }

    func show(on context: OpaquePointer) {
        pango_cairo_update_layout(context, layout)
        pango_cairo_show_layout(context, layout)
    }
}

/// Loads the fonts in the background, so that no picture waits for them: reading the system's font configuration takes
/// milliseconds, or seconds if its cache is stale. Text appears when loading is done.
final class FontLoader: Sendable {
    private let isDone: Done
    private let thread: StageThread

    private final class Done: Sendable {
        let flag = Atomic<Bool>(false)
    }

    /// - Parameter whenReady: called on the loader's thread.
    init(whenReady: @escaping @Sendable () -> Void) {
        let done = Done()
        isDone = done
        thread = StageThread("fonts") {
            // The font configuration is shared by the process, so reading it here helps the main thread too; the font
            // map is per thread.
            _ = TextBlock("BeamRoom 0123456789…", .headline, scale: 1, maxWidth: 1000)
            done.flag.store(true, ordering: .releasing)
            whenReady()
        }
    }

    var isReady: Bool { isDone.flag.load(ordering: .acquiring) }

    func wait() { thread.join() }
}
