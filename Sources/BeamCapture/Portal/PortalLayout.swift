import BeamMedia

/// How the pictures of several streams, and the region of them that is shared, become one picture.
struct PortalLayout: Equatable {
    struct Part: Equatable {
        var position: PortalStream.Position?
        /// In the compositor's units.
        var logical: PixelSize?
        /// In pixels; nil: not known yet.
        var size: PixelSize?
    }

    /// The picture's size.
    private(set) var size: PixelSize
    /// Where each part is, in the picture's coordinates. May extend beyond it.
    private(set) var places: [PixelRect]
    /// The region lies outside of what is there now.
    private(set) var isRegionOutside = false

    /// Nil until a part's size is known. Parts stand as in the desktop where its units are pixels; where it scales, side by
    /// side from left to right.
    init?(_ parts: [Part], region: PixelRect?) {
        let known = parts.compactMap(\.size)
        guard !known.isEmpty else { return nil }
        let isToScale = parts.allSatisfy { part in
            part.size == nil || part.position != nil && part.logical == part.size
        }
        var places = parts.map { PixelRect($0.size ?? PixelSize(width: 0, height: 0)) }
        if parts.count > 1, isToScale {
            for index in places.indices {
                places[index].x = parts[index].position?.x ?? 0
                places[index].y = parts[index].position?.y ?? 0
            }
        } else {
            var x = 0
            let order = parts.indices.sorted { (parts[$0].position?.x ?? 0, $0) < (parts[$1].position?.x ?? 0, $1) }
            for index in order {
                places[index].x = x
                x += places[index].width
            }
        }
        let bounds = places.reduce(PixelRect(x: 0, y: 0, width: 0, height: 0)) { $0.union($1) }
        let view = region?.moved(by: bounds.x, bounds.y) ?? bounds
        isRegionOutside = !bounds.contains(view)
        self.places = places.map { $0.moved(by: -view.x, -view.y) }
        size = view.size
    }
}
