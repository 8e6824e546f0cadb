import CPango

/// Owns a text of several styles laid out by Pango, whose lines can be drawn one by one.
final class RichText {
    struct Style {
        var colour: Theme.Colour
        var isBold = false
        var isUnderlined = false
    }

    struct Span {
        var text: String
        var style: Style
        /// Characters in it have no influence on the direction of what is beside it: a name before a text.
        var isIsolated = false
    }

    /// In pixels from the layout's top left corner.
    struct Line {
        var top: Double
        var bottom: Double
        var left: Double
        var right: Double
        /// The line's base line.
        var base: Double
    }

    private let layout: OpaquePointer
    let isRightToLeft: Bool
    /// At least one.
    let lines: [Line]

    /// Lines are wrapped at `maxWidth` pixels, long words without a hyphen that isn't theirs, and begin at its left or right end, by the direction of `directedBy`:
    /// that of its first letter that has one. An ellipsis ends a paragraph after `mostLines`; nil: nothing is cut.
    init(
        _ spans: [Span], _ font: Theme.Font, scale: Double, maxWidth: Double, mostLines: Int? = nil,
        directedBy text: String
    ) {
        // A context for measuring. The layout is later drawn on another context of the same kind.
        let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 1, 1)
        let context = cairo_create(surface)
        layout = pango_cairo_create_layout(context)
        cairo_destroy(context)
        cairo_surface_destroy(surface)

        isRightToLeft = VisibleText.isRightToLeft(text)
        pango_context_set_base_dir(
            pango_layout_get_context(layout), isRightToLeft ? PANGO_DIRECTION_RTL : PANGO_DIRECTION_LTR)
        // Otherwise the first letter of a name before the text would decide.
        pango_layout_set_auto_dir(layout, 0)
        pango_layout_set_alignment(layout, isRightToLeft ? PANGO_ALIGN_RIGHT : PANGO_ALIGN_LEFT)

        let description = pango_font_description_new()
        pango_font_description_set_family(description, font.family)
        pango_font_description_set_absolute_size(description, font.pixels(scale) * Double(PANGO_SCALE))
        pango_layout_set_font_description(layout, description)
        pango_font_description_free(description)

        let attributes: OpaquePointer = pango_attr_list_new()
        var whole = ""
        for span in spans {
            let start = whole.utf8.count
            // U+2068 and U+2069 isolate (Unicode Standard Annex 9, 2.4).
            whole += span.isIsolated ? "\u{2068}\(span.text)\u{2069}" : span.text
            Self.insert(span.style, into: attributes, from: start, to: whole.utf8.count)
        }
        pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(0))
        pango_layout_set_text(layout, whole, Int32(clamping: whole.utf8.count))
        pango_layout_set_attributes(layout, attributes)
        pango_attr_list_unref(attributes)
        pango_layout_set_width(layout, Int32(min(max(1, maxWidth), 100_000)) * PANGO_SCALE)
        pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
        if let mostLines {
            pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END)
            // A negative height is a number of lines.
            pango_layout_set_height(layout, Int32(-mostLines))
        }
        lines = Self.lines(of: layout)
    }

    deinit { g_object_unref(UnsafeMutableRawPointer(layout)) }

    var height: Double { lines.last?.bottom ?? 0 }

    /// The byte of the text, isolating characters included, with which a line begins.
    func start(ofLine line: Int) -> Int {
        pango_layout_get_line_readonly(layout, Int32(clamping: line)).map { Int($0.pointee.start_index) } ?? 0
    }

    /// The cursor before byte `index` of the text, isolating characters included, in pixels.
    func cursor(_ index: Int) -> (x: Double, top: Double, bottom: Double) {
        var strong = PangoRectangle()
        pango_layout_get_cursor_pos(layout, Int32(clamping: index), &strong, nil)
        let scale = Double(PANGO_SCALE)
        return (Double(strong.x) / scale, Double(strong.y) / scale, Double(strong.y + strong.height) / scale)
    }

    /// Draws lines `range`, the first one's top left corner at (x, y). Nothing of the others is drawn: their letters reach
    /// into lines beside them.
    func draw(_ range: Range<Int>, on pen: Pen, x: Double, y: Double) {
        guard let first = range.first, let last = range.last, lines.indices.contains(last) else { return }
        let top = y - lines[first].top
        pango_cairo_update_layout(pen.raw, layout)
        for (index, line) in zip(range, lines[range]) {
            cairo_move_to(pen.raw, x + line.left, top + line.base)
            pango_cairo_show_layout_line(pen.raw, pango_layout_get_line_readonly(layout, Int32(index)))
        }
    }

    private static func insert(_ style: Style, into list: OpaquePointer, from start: Int, to end: Int) {
        func level(_ part: Double) -> UInt16 { UInt16((part * 65535).rounded()) }
        let colour = style.colour
        var attributes = [pango_attr_foreground_new(level(colour.red), level(colour.green), level(colour.blue))]
        if style.isBold { attributes.append(pango_attr_weight_new(PANGO_WEIGHT_SEMIBOLD)) }
        if style.isUnderlined { attributes.append(pango_attr_underline_new(PANGO_UNDERLINE_SINGLE)) }
        for attribute in attributes.compactMap(\.self) {
            attribute.pointee.start_index = UInt32(clamping: start)
            attribute.pointee.end_index = UInt32(clamping: end)
            pango_attr_list_insert(list, attribute)
        }
    }

    private static func lines(of layout: OpaquePointer) -> [Line] {
        let scale = Double(PANGO_SCALE)
        var lines: [Line] = []
        let iterator = pango_layout_get_iter(layout)
        defer { pango_layout_iter_free(iterator) }
        repeat {
            var (top, bottom) = (Int32(0), Int32(0))
            pango_layout_iter_get_line_yrange(iterator, &top, &bottom)
            var extent = PangoRectangle()
            pango_layout_iter_get_line_extents(iterator, nil, &extent)
            lines.append(
                Line(
                    top: (Double(top) / scale).rounded(), bottom: (Double(bottom) / scale).rounded(),
                    left: Double(extent.x) / scale, right: Double(extent.x + extent.width) / scale,
                    base: Double(pango_layout_iter_get_baseline(iterator)) / scale))
        } while pango_layout_iter_next_line(iterator) != 0
        return lines
    }
}

extension RichText {
    /// A text with a name before it, if there is one. Both must be cleaned. `directedBy`: nil for the text.
    convenience init(
        name: String?, _ nameStyle: Style, text: String, _ style: Style, _ font: Theme.Font, scale: Double,
        maxWidth: Double, mostLines: Int? = nil, directedBy whole: String? = nil
    ) {
        var spans = [Span(text: text, style: style)]
        if let name, !name.isEmpty {
            spans.insert(Span(text: ": ", style: nameStyle), at: 0)
            spans.insert(Span(text: name, style: nameStyle, isIsolated: true), at: 0)
        }
        self.init(spans, font, scale: scale, maxWidth: maxWidth, mostLines: mostLines, directedBy: whole ?? text)
    }
}
