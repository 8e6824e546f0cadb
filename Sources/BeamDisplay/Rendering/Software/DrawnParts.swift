import BeamMedia

/// The parts of a picture that have to be redrawn. A part is in picture pixels if the scale is a whole factor,
/// otherwise in window pixels relative to the viewport's corner.
extension Fit {
    /// The extent of the whole picture, as a part.
    func extent(_ picture: PixelSize, _ viewport: PixelRect) -> PixelSize {
        if case .exact = self { picture } else { viewport.size }
    }

    /// What has to be redrawn for `damage`, and under `rects` of the window, where panels have come, gone or changed.
    func parts(
        of damage: DamageRegion, _ picture: PixelSize, under rects: [PixelRect], at viewport: PixelRect
    ) -> [PixelRect] {
        let bounds = PixelRect(extent(picture, viewport))
        var region = DamageRegion()
        for rect in damage.rects { region.insert(reach(of: rect, picture, viewport).intersection(bounds)) }
        for rect in rects { region.insert(rect.covered(by: viewport, times: times).intersection(bounds)) }
        if case .exact = self { return region.rects }
        return region.rects.joinedInRows
    }

    /// What of a part is in the window: a zoomed picture reaches beyond it.
    func visible(_ part: PixelRect, at viewport: PixelRect, in canvas: PixelSize) -> PixelRect {
        let inside = PixelRect(canvas)
        if inside.contains(viewport) { return part }
        return part.intersection(inside.covered(by: viewport, times: times))
    }

    /// A part's rectangle in the window.
    func place(of part: PixelRect, at viewport: PixelRect) -> PixelRect { part.magnified(times, at: viewport) }

    /// Window pixels per part pixel along one side.
    private var times: Int {
        if case .exact(let times) = self { times } else { 1 }
    }

    /// The largest area that a change in `rect` of the picture affects.
    private func reach(of rect: PixelRect, _ picture: PixelSize, _ viewport: PixelRect) -> PixelRect {
        // Luma-guided chroma interpolation reaches up to three pixels. Four keeps even positions even; odd ones take
        // longer to convert.
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
    /// Covering rectangles of which no two share a row, because rows are scaled as a whole, once each.
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

    /// The window rectangle of a rectangle of picture pixels that are `times` wide and start at `viewport`.
    func magnified(_ times: Int, at viewport: PixelRect) -> PixelRect {
        PixelRect(x: viewport.x + x * times, y: viewport.y + y * times, width: width * times, height: height * times)
    }

    /// The picture pixels wholly or partly under this window rectangle; may extend beyond the picture.
    func covered(by viewport: PixelRect, times: Int) -> PixelRect {
        let inside = intersection(viewport)
        guard !inside.isEmpty else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
        let left = (inside.x - viewport.x) / times
        let top = (inside.y - viewport.y) / times
        let right = (inside.maxX - viewport.x + times - 1) / times
        let bottom = (inside.maxY - viewport.y + times - 1) / times
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// The rectangle without `hole`, in at most four pieces.
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
