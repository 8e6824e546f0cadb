import BeamMedia

/// Which parts of a picture are drawn again. A part is in the picture's pixels where each becomes a square of the window's, and
/// in the window's, counted from the viewport's corner, where the picture is scaled.
extension Fit {
    /// The picture as a whole, as one part.
    func extent(_ picture: PixelSize, _ viewport: PixelRect) -> PixelSize {
        if case .exact = self { picture } else { viewport.size }
    }

    /// What to draw again when `damage` has changed. What lies under a panel is drawn as a whole, since the panel is laid
    /// over it again.
    func parts(
        of damage: DamageRegion, _ picture: PixelSize, under layers: [Layer], at viewport: PixelRect
    ) -> [PixelRect] {
        let bounds = PixelRect(extent(picture, viewport))
        var region = DamageRegion()
        for rect in damage.rects { region.insert(reach(of: rect, picture, viewport).intersection(bounds)) }
        for layer in layers {
            region.insert(layer.rect.covered(by: viewport, times: times).intersection(bounds))
        }
        if case .exact = self { return region.rects }
        return region.rects.joinedInRows
    }

    /// Where a part stands in the window.
    func place(of part: PixelRect, at viewport: PixelRect) -> PixelRect { part.magnified(times, at: viewport) }

    /// How many of the window's pixels a side one of a part's has.
    private var times: Int {
        if case .exact(let times) = self { times } else { 1 }
    }

    /// What a change of the picture's pixels in `rect` changes at most.
    private func reach(of rect: PixelRect, _ picture: PixelSize, _ viewport: PixelRect) -> PixelRect {
        // Chroma is interpolated, and goes with the luma of the samples around: a change reaches up to three pixels beyond
        // itself. Four, lest an even place become an odd one, which takes longer to convert.
        if case .exact = self { return rect.grown(by: 4) }
        let wide = rect.grown(by: PictureScaler.reach.source)
        let (left, right) = (wide.x * viewport.width, wide.maxX * viewport.width + picture.width - 1)
        let (top, bottom) = (wide.y * viewport.height, wide.maxY * viewport.height + picture.height - 1)
        let (x, y) = (left / picture.width, top / picture.height)
        return PixelRect(x: x, y: y, width: right / picture.width - x, height: bottom / picture.height - y)
            .grown(by: PictureScaler.reach.target)
    }
}

extension [PixelRect] {
    /// Rectangles that cover these, of which no two share a row: rows are scaled as a whole, and once.
    fileprivate var joinedInRows: [PixelRect] {
        var joined: [PixelRect] = []
        for rect in sorted(by: { $0.y < $1.y }) {
            if let last = joined.last, rect.y < last.maxY {
                joined[joined.count - 1] = last.union(rect)
            } else {
                joined.append(rect)
            }
        }
        return joined
    }
}

extension PixelRect {
    fileprivate func grown(by pixels: Int) -> PixelRect {
        PixelRect(x: x - pixels, y: y - pixels, width: width + 2 * pixels, height: height + 2 * pixels)
    }

    /// The rectangle of a picture's pixels, in the window: the picture's pixels are `times` wide and start at `viewport`.
    func magnified(_ times: Int, at viewport: PixelRect) -> PixelRect {
        PixelRect(x: viewport.x + x * times, y: viewport.y + y * times, width: width * times, height: height * times)
    }

    /// The picture's pixels under this rectangle of the window, those in part included; may reach beyond the picture.
    func covered(by viewport: PixelRect, times: Int) -> PixelRect {
        let inside = intersection(viewport)
        guard !inside.isEmpty else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
        let left = (inside.x - viewport.x) / times
        let top = (inside.y - viewport.y) / times
        let right = (inside.maxX - viewport.x + times - 1) / times
        let bottom = (inside.maxY - viewport.y + times - 1) / times
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// What is left of the rectangle without `hole`, in at most four pieces.
    func outside(_ hole: PixelRect) -> [PixelRect] {
        let inner = intersection(hole)
        guard !inner.isEmpty else { return [self] }
        return [
            PixelRect(x: x, y: y, width: width, height: inner.y - y),
            PixelRect(x: x, y: inner.maxY, width: width, height: maxY - inner.maxY),
            PixelRect(x: x, y: inner.y, width: inner.x - x, height: inner.height),
            PixelRect(x: inner.maxX, y: inner.y, width: maxX - inner.maxX, height: inner.height),
        ].filter { !$0.isEmpty }
    }
}
