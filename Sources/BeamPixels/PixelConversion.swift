import BeamMedia
import CBeamPixels

/// Pixel format conversions. Each is synchronous and allocates no lasting memory. Large rectangles are shared with a
/// second thread.
///
/// 4:2:0 chroma is sited in the centre of its 2 × 2 pixels (H.273 chroma sample location type 1): a Cb or Cr sample is
/// the mean of the four pixels. Chroma sample `i` is at `2i + 0.5` in pixels; outermost samples are repeated beyond the
/// edge.
///
/// The conversion to RGB interpolates chroma bilinearly, then adds detail from luma: where chroma varies linearly with
/// luma, as in text of any two colours, a pixel's luma determines its chroma (the guided filter of He, Sun and Tang;
/// for the arithmetic see CBeamPixels/chroma.c). Text is then almost as sharp as with 4:4:4. Where luma doesn't explain
/// chroma, as in film, the result is plain interpolation.
public enum PixelConversion {
    /// The compiled variant to use. All variants give identical results.
    package enum Kernel: Sendable {
        /// The fastest variant for this processor.
        case best
        /// Plain C, used on processors without a special variant.
        case portable

        var raw: beam_kernel { self == .best ? BEAM_KERNEL_BEST : BEAM_KERNEL_PORTABLE }
    }

    /// Converts `rects` of `source` (bgrx) to BT.709 limited range, at the same position in `destination` (i420).
    ///
    /// Both have the same size, which may be odd: the outermost pixels then replace the missing column and row of the
    /// last chroma samples. Rectangles are clipped to the picture and widened to even boundaries; nothing else is
    /// changed. Each sample is the exact formula's value rounded to nearest (ties may differ by 1).
    public static func bgrxToI420(_ source: PixelBuffer, into destination: PixelBuffer, rects: DamageRegion) {
        bgrxToI420(source, into: destination, rects: rects, kernel: .best)
    }

    package static func bgrxToI420(
        _ source: PixelBuffer, into destination: PixelBuffer, rects: DamageRegion, kernel: Kernel
    ) {
        precondition(source.format == .bgrx && destination.format == .i420 && source.size == destination.size)
        var coefficients = toYUVCoefficients(.bt709Limited)
        let bounds = PixelRect(source.size)
        for rect in rects.rects {
            let clipped = rect.intersection(bounds)
            guard !clipped.isEmpty else { continue }
            let raw = beam_rect(
                x0: Int32(clipped.x & ~1), y0: Int32(clipped.y & ~1),
                x1: Int32(min(source.size.width, (clipped.maxX + 1) & ~1)),
                y1: Int32(min(source.size.height, (clipped.maxY + 1) & ~1)))
            beam_bgrx_to_i420(
                source.planes[0].constant, destination.planes[0].raw, destination.planes[1].raw,
                destination.planes[2].raw, raw, &coefficients, kernel.raw)
        }
    }

    /// Converts `rects` of `source` (bgrx) to BT.709 limited range, at the same position in `destination` (i444).
    ///
    /// Both have the same size. Rectangles are clipped to the picture; nothing else is changed. Each sample is the
    /// exact formula's value rounded to nearest (ties may differ by 1).
    public static func bgrxToI444(_ source: PixelBuffer, into destination: PixelBuffer, rects: DamageRegion) {
        bgrxToI444(source, into: destination, rects: rects, kernel: .best)
    }

    package static func bgrxToI444(
        _ source: PixelBuffer, into destination: PixelBuffer, rects: DamageRegion, kernel: Kernel
    ) {
        precondition(source.format == .bgrx && destination.format == .i444 && source.size == destination.size)
        var coefficients = toYUVCoefficients(.bt709Limited)
        for rect in rects.clipped(to: PixelRect(source.size)).rects {
            let raw = rect.raw
            beam_bgrx_to_i444(
                source.planes[0].constant, destination.planes[0].raw, destination.planes[1].raw,
                destination.planes[2].raw, raw, &coefficients, kernel.raw)
        }
    }

    /// Converts `rect` of `source` (i420 or i444) to bgrx; the fourth byte is 255.
    ///
    /// Each byte is within 1 of the exact formula: `ColourMatrix` applied to interpolated chroma. A pixel depends on
    /// pixels at most three columns and rows away.
    ///
    /// - Parameters:
    ///   - colour: the meaning of the samples.
    ///   - destination: address of the rectangle's top left pixel, with room for `rect.height` rows of `rect.width` × 4
    ///     bytes.
    ///   - stride: bytes from one destination row to the next.
    ///   - rect: must be inside the picture; any position and size.
    public static func toBGRX(
        _ source: PixelBuffer, colour: ColourDescription, into destination: UnsafeMutableRawPointer, stride: Int,
        rect: PixelRect
    ) {
        toBGRX(source, colour: colour, into: destination, stride: stride, rect: rect, kernel: .best)
    }

    package static func toBGRX(
        _ source: PixelBuffer, colour: ColourDescription, into destination: UnsafeMutableRawPointer, stride: Int,
        rect: PixelRect, kernel: Kernel
    ) {
        precondition(source.format != .bgrx && PixelRect(source.size).contains(rect))
        guard !rect.isEmpty else { return }
        var coefficients = toRGBCoefficients(colour)
        let raw = rect.raw
        let output = beam_plane(base: destination.assumingMemoryBound(to: UInt8.self), stride: stride)
        let (y, u, v) = (source.planes[0].constant, source.planes[1].constant, source.planes[2].constant)
        if source.format == .i444 {
            beam_i444_to_bgrx(y, u, v, output, raw, &coefficients, kernel.raw)
        } else {
            let size = source.size.raw
            beam_i420_to_bgrx(y, u, v, size, output, raw, &coefficients, kernel.raw)
        }
    }

    /// The kernels' fixed-point matrix: 13 fraction bits for factors, 5 for sums.
    private static func toRGBCoefficients(_ colour: ColourDescription) -> beam_to_rgb {
        let matrix = ColourMatrix(colour)
        let (black, _, _) = ColourMatrix.quantisation(isFullRange: colour.isFullRange)
        func factor(_ value: Double) -> Int16 { Int16((value * 8192).rounded()) }
        return beam_to_rgb(
            luma: factor(matrix.red.y), red_v: factor(matrix.red.cr), green_u: factor(matrix.green.cb),
            green_v: factor(matrix.green.cr), blue_u: factor(matrix.blue.cb),
            // The kernels subtract 128 from chroma, so the offset is black's luma and 1/2 for rounding.
            offset: Int16((-matrix.red.y * black * 32 + 16).rounded()))
    }

    /// RGB to YCbCr with 15 fraction bits, from the same weights as `ColourMatrix`.
    private static func toYUVCoefficients(_ colour: ColourDescription) -> beam_to_yuv {
        let weight = ColourMatrix.lumaWeights(colour.matrix)
        let (black, lumaSpan, chromaSpan) = ColourMatrix.quantisation(isFullRange: colour.isFullRange)
        func factor(_ value: Double) -> Int16 { Int16((value * 32768).rounded()) }
        let luma = lumaSpan / 255
        let cb = chromaSpan / 255 / (2 * (1 - weight.blue))
        let cr = chromaSpan / 255 / (2 * (1 - weight.red))
        return beam_to_yuv(
            y_b: factor(weight.blue * luma), y_g: factor(weight.green * luma), y_r: factor(weight.red * luma),
            u_b: factor((1 - weight.blue) * cb), u_g: factor(-weight.green * cb), u_r: factor(-weight.red * cb),
            v_b: factor(-weight.blue * cr), v_g: factor(-weight.green * cr), v_r: factor((1 - weight.red) * cr),
            y_offset: Int32(black * 32768) + (1 << 14))
    }
}

extension PixelSize {
    var raw: beam_size { beam_size(width: Int32(width), height: Int32(height)) }
}

extension PixelRect {
    var raw: beam_rect { beam_rect(x0: Int32(x), y0: Int32(y), x1: Int32(maxX), y1: Int32(maxY)) }
}

extension Plane {
    var samples: UnsafeMutablePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    var raw: beam_plane { beam_plane(base: samples, stride: stride) }
    var constant: beam_const_plane { beam_const_plane(base: UnsafePointer(samples), stride: stride) }
}
