/// Width × height in pixels.
public struct PixelSize: Hashable, Sendable, CustomStringConvertible {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    public var area: Int { width * height }

    /// `1920x1080`, as people type it.
    public var description: String { "\(width)x\(height)" }

    /// The size scaled down to at most `longest` pixels on the longer side, aspect ratio kept. Never enlarges; at least
    /// 2 × 2.
    public func fitting(longest: Int) -> PixelSize {
        let long = max(width, height)
        guard longest > 0, long > longest else { return self }
        func scaled(_ side: Int) -> Int { max(2, (side * longest + long / 2) / long) }
        return PixelSize(width: scaled(width), height: scaled(height))
    }
}

/// A rectangle of pixels. The origin is the top left corner; `x` grows to the right, `y` downwards.
public struct PixelRect: Hashable, Sendable, CustomStringConvertible {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    public init(_ size: PixelSize) { self.init(x: 0, y: 0, width: size.width, height: size.height) }

    public var size: PixelSize { PixelSize(width: width, height: height) }
    public var maxX: Int { x + width }
    public var maxY: Int { y + height }
    public var isEmpty: Bool { width <= 0 || height <= 0 }
    public var area: Int { isEmpty ? 0 : width * height }

    /// `800x600+10+20`, X11's geometry notation.
    public var description: String { "\(width)x\(height)+\(x)+\(y)" }

    public func intersection(_ other: PixelRect) -> PixelRect {
        let left = max(x, other.x)
        let top = max(y, other.y)
        return PixelRect(
            x: left, y: top, width: max(0, min(maxX, other.maxX) - left), height: max(0, min(maxY, other.maxY) - top))
    }

    /// The smallest rectangle that contains both.
    public func union(_ other: PixelRect) -> PixelRect {
        if isEmpty { return other }
        if other.isEmpty { return self }
        let left = min(x, other.x)
        let top = min(y, other.y)
        return PixelRect(
            x: left, y: top, width: max(maxX, other.maxX) - left, height: max(maxY, other.maxY) - top)
    }

    public func contains(_ other: PixelRect) -> Bool {
        other.isEmpty || (other.x >= x && other.y >= y && other.maxX <= maxX && other.maxY <= maxY)
    }
}

/// The damage since an earlier picture: a short list of rectangles that cover every changed pixel.
///
/// With more than `limit` rectangles, the two whose union adds the fewest pixels are merged.
public struct DamageRegion: Hashable, Sendable {
    /// The maximum number of rectangles.
    public static let limit = 16

    /// None is empty; they may overlap.
    public private(set) var rects: [PixelRect] = []

    public init() {}

    public init(_ rect: PixelRect) { insert(rect) }

    public var isEmpty: Bool { rects.isEmpty }

    /// The sum of the rectangles' areas; overlaps count twice.
    public var area: Int { rects.reduce(0) { $0 + $1.area } }

    public mutating func insert(_ rect: PixelRect) {
        guard !rect.isEmpty, !rects.contains(where: { $0.contains(rect) }) else { return }
        rects.removeAll { rect.contains($0) }
        rects.append(rect)
        if rects.count > Self.limit { mergeCheapestPair() }
    }

    public mutating func formUnion(_ other: DamageRegion) {
        for rect in other.rects { insert(rect) }
    }

    /// The part of the region inside `bounds`.
    public func clipped(to bounds: PixelRect) -> DamageRegion {
        var region = DamageRegion()
        for rect in rects { region.insert(rect.intersection(bounds)) }
        return region
    }

    private mutating func mergeCheapestPair() {
        var best = (first: 0, second: 1, waste: Int.max)
        for first in rects.indices {
            for second in rects.indices.dropFirst(first + 1) {
                let a = rects[first]
                let b = rects[second]
                let waste = a.union(b).area - a.area - b.area
                if waste < best.waste { best = (first, second, waste) }
            }
        }
        let merged = rects[best.first].union(rects[best.second])
        rects.remove(at: best.second)
        rects.remove(at: best.first)
        insert(merged)
    }
}
