import BeamMedia

/// How to fetch a stale region. The server writes an image's rows without gaps, so only bands of the picture's full
/// width can go straight into the frame. Narrower pieces go through scratch memory and are copied.
struct GrabPlan: Equatable {
    /// Full-width bands, from top to bottom, without overlaps or shared edges.
    private(set) var bands: [PixelRect] = []
    /// The remaining rectangles, none inside a band.
    private(set) var pieces: [PixelRect] = []

    /// - Parameters:
    ///   - size: the picture's size.
    ///   - readable: the part of the picture that can be fetched.
    ///   - inPlace: false if the frame can't be written directly, so that everything is copied.
    init(_ region: DamageRegion, size: PixelSize, readable: PixelRect, inPlace: Bool) {
        let spansRows = readable.x <= 0 && readable.maxX >= size.width
        for rect in region.rects {
            let rect = rect.intersection(PixelRect(size)).intersection(readable)
            guard !rect.isEmpty else { continue }
            // A piece is moved twice, by the server and by the copy, so a band of up to twice its width is no more
            // work.
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
