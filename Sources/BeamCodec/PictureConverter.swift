import BeamLibAV
import BeamMedia
import BeamPixels
import CAVCodec

/// Converts any picture to the encoder's input: i420 or i444 of the coded size, BT.709 limited range. Used by one
/// thread.
///
/// A picture that has that form is passed through. An RGB picture of the right size is converted into a kept buffer,
/// and only where it is damaged. That requires every picture of the source, or one that stands for several
/// (`Picture.replacing`).
public final class PictureConverter {
    private var kept: PixelBuffer?
    /// The source format of `kept`. Its damage is usable only for a picture of the same format.
    private var keptFormat: PixelFormat?
    private var scaler: PlaneScaler?
    private var source: FrameHandle?
    private var target: FrameHandle?

    private let format: PixelFormat

    /// Converts for an encoder of `chroma`.
    public init(_ chroma: ChromaFormat = .subsampled) { format = chroma.pixelFormat }

    /// Returns `picture` as i420 (i444 for full colour) at `size`, BT.709 limited.
    ///
    /// The kept buffer is reused only if nobody else holds the last result. So release it after encoding: otherwise the
    /// next picture is converted as a whole into a new buffer.
    ///
    /// - Throws: `unsupportedSize` or `conversionFailed`.
    public func convert(_ picture: Picture, to size: PixelSize) throws(CodecError) -> Picture {
        guard LibAV.isSupported(size), LibAV.isSupported(picture.size) else {
            throw .unsupportedSize(LibAV.isSupported(size) ? picture.size : size)
        }
        if picture.size == size {
            if picture.format == format, picture.colour == .bt709Limited { return picture }
            if picture.format == .bgrx { return convertDamage(picture) }
        }
        return try scale(picture, to: size)
    }

    private func convertDamage(_ picture: Picture) -> Picture {
        let (buffer, isKept) = writableBuffer(picture.size)
        let whole = DamageRegion(PixelRect(picture.size))
        let rects = isKept && keptFormat == .bgrx ? picture.damage : whole
        if format == .i444 {
            PixelConversion.bgrxToI444(picture.buffer, into: buffer, rects: rects)
        } else {
            PixelConversion.bgrxToI420(picture.buffer, into: buffer, rects: rects)
        }
        keptFormat = .bgrx
        return result(picture, buffer)
    }

    private func scale(_ picture: Picture, to size: PixelSize) throws(CodecError) -> Picture {
        let from = PlaneScaler.End(
            format: picture.format.libAVFormat, size: picture.size,
            colour: picture.format == .bgrx ? .bt709Limited : picture.colour)
        let to = PlaneScaler.End(format: format.libAVFormat, size: size, colour: .bt709Limited)
        if scaler?.from != from || scaler?.to != to { scaler = PlaneScaler(from: from, to: to) }
        source = source ?? FrameHandle()
        target = target ?? FrameHandle()
        guard let scaler, let source, let target else {
            throw .conversionFailed(reason: "\(picture.format) of \(picture.size) can't be scaled to \(size)")
        }
        let (buffer, _) = writableBuffer(size)
        keptFormat = nil
        // The frames refer to the pictures only during this call.
        defer {
            av_frame_unref(source.pointer)
            av_frame_unref(target.pointer)
        }
        guard source.lend(picture.buffer, format: from.format, size: from.size),
            target.lend(buffer, format: to.format, size: to.size)
        else { throw .conversionFailed(reason: "there is not enough memory") }
        try scaler.scale(source, into: target)
        return result(picture, buffer)
    }

    /// The kept buffer, if it has this size and nobody else holds it; else a new one in its place.
    private func writableBuffer(_ size: PixelSize) -> (buffer: PixelBuffer, isKept: Bool) {
        if isKnownUniquelyReferenced(&kept), let kept, kept.size == size { return (kept, true) }
        let fresh = PixelBuffer(format: format, size: size)
        kept = fresh
        return (fresh, false)
    }

    private func result(_ picture: Picture, _ buffer: PixelBuffer) -> Picture {
        Picture(
            buffer: buffer, colour: .bt709Limited, time: picture.time,
            damage: picture.size == buffer.size ? picture.damage : nil, number: picture.number)
    }
}

extension PixelFormat {
    /// libavutil's constant for the format.
    var libAVFormat: AVPixelFormat {
        switch self {
        case .bgrx: AV_PIX_FMT_BGR0
        case .i420: AV_PIX_FMT_YUV420P
        case .i444: AV_PIX_FMT_YUV444P
        }
    }
}
