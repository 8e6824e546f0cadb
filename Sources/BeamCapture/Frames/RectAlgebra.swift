import BeamMedia

extension PixelRect {
    func moved(by x: Int, _ y: Int) -> PixelRect {
        PixelRect(x: self.x + x, y: self.y + y, width: width, height: height)
    }

    func expanded(by margin: Int) -> PixelRect {
        PixelRect(x: x - margin, y: y - margin, width: width + 2 * margin, height: height + 2 * margin)
    }

    func intersects(_ other: PixelRect) -> Bool { !intersection(other).isEmpty }

    /// What `other` leaves of the rectangle: at most four, which don't overlap.
    func subtracting(_ other: PixelRect) -> [PixelRect] {
        let hole = intersection(other)
        guard !hole.isEmpty else { return isEmpty ? [] : [self] }
        return [
            PixelRect(x: x, y: y, width: width, height: hole.y - y),
            PixelRect(x: x, y: hole.y, width: hole.x - x, height: hole.height),
            PixelRect(x: hole.maxX, y: hole.y, width: maxX - hole.maxX, height: hole.height),
            PixelRect(x: x, y: hole.maxY, width: width, height: maxY - hole.maxY),
        ].filter { !$0.isEmpty }
    }
}

extension [PixelRect] {
    /// What `holes` leave of the rectangles.
    func subtracting(_ holes: some Sequence<PixelRect>) -> [PixelRect] {
        holes.reduce(self) { rest, hole in rest.flatMap { $0.subtracting(hole) } }
    }

    /// The same pixels in rectangles that don't overlap.
    var disjoint: [PixelRect] {
        var result: [PixelRect] = []
        for rect in self { result += [rect].subtracting(result) }
        return result
    }
}
