import BeamMedia

/// How a stale region is fetched: the server writes an image's rows without gaps, so only bands of the picture's full width
/// can go straight to their place. What is narrow goes through other memory and is copied.
struct GrabPlan: Equatable {
    /// Of full width. None overlaps or touches another; from the top down.
    private(set) var bands: [PixelRect] = []
    /// The rest, none inside a band.
    private(set) var pieces: [PixelRect] = []

    /// For pictures of `size`, of which `readable` can be fetched at all. `inPlace` false: everything is copied.
    init(_ region: DamageRegion, size: PixelSize, readable: PixelRect, inPlace: Bool) {
        let spansRows = readable.x <= 0 && readable.maxX >= size.width
        for rect in region.rects {
            let rect = rect.intersection(PixelRect(size)).intersection(readable)
            guard !rect.isEmpty else { continue }
            // Twice the pixels, once by the server and once by the copy, cost more than a band of up to twice the width.
            if inPlace, spansRows, rect.width * 2 >= size.width {
                bands.append(PixelRect(x: 0, y: rect.y, width: size.width, height: rect.height))
            } else {
                pieces.append(rect)
            }
        }
        joinBands()
        let joined = bands
        pieces.removeAll { piece in joined.contains { $0.contains(piece) } }
    }

    private mutating func joinBands() {
        var joined: [PixelRect] = []
        for band in bands.sorted(by: { $0.y < $1.y }) {
            if let last = joined.last, band.y <= last.maxY {
                joined[joined.count - 1] = last.union(band)
            } else {
                joined.append(band)
            }
        }
        bands = joined
    }
}
