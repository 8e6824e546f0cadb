/// A point in pixels, from the top left corner.
public struct PixelPoint: Hashable, Sendable {
    public var x: Int
    public var y: Int

    public init(x: Int, y: Int) {
        self.x = x
        self.y = y
    }
}

/// What a mouse pointer looks like.
public struct PointerLook: Sendable, Equatable {
    /// In pixels. Pointers that are larger are drawn into the pictures.
    public static let longestSide = 128

    /// Each side 1 to `longestSide`.
    public let size: PixelSize
    /// The pixel that points, from the look's top left corner. It may lie beside the look.
    public let hotspot: PixelPoint
    /// `size.area` of them, row by row: blue in the lowest byte, then green, red and alpha; colours are premultiplied
    /// by alpha.
    public let pixels: [UInt32]

    /// Nil: it is too large or empty, or has another number of pixels.
    public init?(size: PixelSize, hotspot: PixelPoint, pixels: [UInt32]) {
        let sides = 1...Self.longestSide
        guard sides.contains(size.width), sides.contains(size.height), pixels.count == size.area else { return nil }
        self.size = size
        self.hotspot = hotspot
        self.pixels = pixels
    }
}

/// Where the mouse pointer of a shared screen is, if it goes beside the pictures.
public enum ScreenPointer: Sendable, Equatable {
    /// The pictures show it, or nothing is known of it: there is nothing to draw.
    case inPicture
    /// It is elsewhere, or a program has hidden it.
    case hidden
    /// It points at this pixel of a picture of this size; the look may reach beyond the picture.
    case shown(PointerLook, at: PixelPoint, in: PixelSize)
}
