import BeamMedia
import CYUV

/// Draws pictures of any size into one of a fixed size: as large as they fit, in the middle of black. Used by one thread.
public final class PictureFitting {
    /// What the picture is drawn into: i420 or i444.
    private var canvas: PixelBuffer
    /// Where the last picture was drawn, and in which range of samples; nil: what is around it isn't black.
    private var drawn: (rect: PixelRect, isFullRange: Bool)?

    /// - Parameter format: `i420` or `i444`.
    public init(format: PixelFormat, size: PixelSize) {
        precondition(format != .bgrx && !PixelRect(size).isEmpty)
        canvas = PixelBuffer(format: format, size: size)
    }

    public var size: PixelSize { canvas.size }
    public var format: PixelFormat { canvas.format }

    /// `picture` (i420 or i444) at this size, in its own colour description. What was returned before changes.
    public func fit(_ picture: Picture) -> Picture {
        precondition(picture.format != .bgrx)
        let rect = Self.place(of: picture.size, in: size)
        if drawn?.rect != rect || drawn?.isFullRange != picture.colour.isFullRange {
            blacken(isFullRange: picture.colour.isFullRange)
            drawn = (rect, picture.colour.isFullRange)
        }
        for index in 0..<3 {
            let isWhole = index == 0 || format == .i444
            let column = isWhole ? rect.x : rect.x / 2
            let row = isWhole ? rect.y : rect.y / 2
            let (columns, rows) = format.plane(index, of: rect.size)
            let target = canvas.planes[index]
            let from = picture.format.plane(index, of: picture.size)
            PlaneScaling.scale(
                picture.buffer.planes[index], PixelSize(width: from.rowBytes, height: from.rows),
                into: Plane(base: target.base + row * target.stride + column, stride: target.stride),
                PixelSize(width: columns, height: rows))
        }
        return Picture(buffer: canvas, colour: picture.colour, time: picture.time, number: picture.number)
    }

    /// Black at this size. What was returned before changes.
    public func black(at time: MediaTime) -> Picture {
        blacken(isFullRange: false)
        drawn = nil
        return Picture(buffer: canvas, time: time)
    }

    private func blacken(isFullRange: Bool) {
        for index in 0..<3 {
            let (rowBytes, rows) = format.plane(index, of: size)
            let plane = canvas.planes[index]
            let value: UInt8 = index > 0 ? 128 : isFullRange ? 0 : 16
            for row in 0..<rows {
                (plane.base + row * plane.stride).initializeMemory(as: UInt8.self, repeating: value, count: rowBytes)
            }
        }
    }

    /// Where a picture is drawn: at an even column and row, as chroma needs. One that lacks at most a column and a row isn't
    /// scaled, which would blur it.
    static func place(of picture: PixelSize, in canvas: PixelSize) -> PixelRect {
        if (0...1).contains(canvas.width - picture.width), (0...1).contains(canvas.height - picture.height) {
            return PixelRect(picture)
        }
        var size = canvas
        if canvas.width * picture.height <= canvas.height * picture.width {
            size.height = side(picture.height * canvas.width, picture.width, atMost: canvas.height)
        } else {
            size.width = side(picture.width * canvas.height, picture.height, atMost: canvas.width)
        }
        return PixelRect(
            x: (canvas.width - size.width) / 4 * 2, y: (canvas.height - size.height) / 4 * 2, width: size.width,
            height: size.height)
    }

    /// The quotient, rounded to an even number.
    private static func side(_ dividend: Int, _ divisor: Int, atMost most: Int) -> Int {
        min(most, max(2, (dividend + divisor) / (2 * divisor) * 2))
    }
}
