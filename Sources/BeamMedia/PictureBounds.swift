/// The largest pictures that a viewer decodes and shows. They bound the memory that a host's stream can take there.
public struct PictureBounds: Sendable, Hashable, CustomStringConvertible {
    /// The longest sides, in pixels.
    public var sides: PixelSize
    /// The most pixels.
    public var area: Int

    /// The default: as much memory as 4096 × 4096 pixels take, in any shape that a graphics device holds. Several
    /// screens side by side are wide and low: 7680 × 2160, 5120 × 1440, 5760 × 1080.
    public static let standard = PictureBounds(
        sides: PixelSize(width: 8192, height: 8192), area: 4096 * 4096)
    /// What is encoded and decoded at all: 8192 pixels in a line, and the 139,264 macroblocks of H.264's highest level
    /// (6.2, table A-1).
    public static let possible = PictureBounds(
        sides: PixelSize(width: 8192, height: 8192), area: 139_264 * 256)
    /// Of a viewer of version 2 that doesn't say: programs before 2026-11-26.
    public static let unstated = PictureBounds(sides: PixelSize(width: 4096, height: 4096))

    /// `area` is nil for any picture with these sides.
    public init(sides: PixelSize, area: Int? = nil) {
        self.sides = sides
        self.area = area ?? sides.width.multipliedReportingOverflow(by: sides.height).partialValue
    }

    public func contains(_ size: PixelSize) -> Bool {
        guard size.width <= sides.width, size.height <= sides.height else { return false }
        let (area, isTooMuch) = size.width.multipliedReportingOverflow(by: size.height)
        return !isTooMuch && area <= self.area
    }

    /// The largest part of `full` that is within the bounds, in eighths of its width and height; 1 if none is.
    public func eighths(of full: PixelSize) -> Int {
        (1...StreamDemand.wholeSize).last { contains(full.part($0)) } ?? 1
    }

    /// As part of a sentence.
    public var description: String {
        let whole = sides.width.multipliedReportingOverflow(by: sides.height)
        guard whole.overflow || area < whole.partialValue else { return "\(sides.width) × \(sides.height) pixels" }
        let tenths = (area + 50_000) / 100_000
        let sides =
            sides.width == sides.height ? "\(sides.width) in a line" : "\(sides.width) × \(sides.height)"
        return "\(tenths / 10).\(tenths % 10) million pixels, \(sides)"
    }
}

extension PixelSize {
    /// Encoders take hardly less, and less saves nothing.
    private static let leastSide = 64

    /// This share of the size, in eighths: even in both directions, but no side below 64 pixels, or what it is if it is
    /// less.
    public func part(_ eighths: Int) -> PixelSize {
        guard eighths < StreamDemand.wholeSize else { return self }
        func side(_ full: Int) -> Int { max(2, min(full, Self.leastSide) / 2 * 2, (full * eighths + 15) / 16 * 2) }
        return PixelSize(width: side(width), height: side(height))
    }
}
