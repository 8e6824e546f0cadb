import BeamMedia
import BeamPixels
import CBeamCamera

/// How a camera's pictures lie in memory.
struct CameraLayout: Equatable {
    enum Samples: Equatable { case i420, nv12, yuyv, bgrx }

    var samples: Samples
    var size: PixelSize
    /// Bytes from one row of the first plane to the next. Of `i420`, chroma has half of it.
    var stride: Int

    /// - Parameter stride: nil: rows without padding.
    init(_ samples: Samples, _ size: PixelSize, stride: Int? = nil) {
        self.samples = samples
        self.size = size
        self.stride = stride ?? Self.rowBytes(samples, size.width)
    }

    static func rowBytes(_ samples: Samples, _ width: Int) -> Int {
        switch samples {
        case .i420, .nv12: (width + 1) / 2 * 2
        case .yuyv: (width + 1) / 2 * 4
        case .bgrx: width * 4
        }
    }

    var byteCount: Int {
        switch samples {
        case .i420, .nv12: stride * (size.height + (size.height + 1) / 2)
        case .yuyv, .bgrx: stride * size.height
        }
    }
}

extension CameraLayout.Samples {
    init?(_ layout: beam_layout) {
        switch layout {
        case beam_layout_i420: self = .i420
        case beam_layout_nv12: self = .nv12
        case beam_layout_yuyv: self = .yuyv
        case beam_layout_bgrx: self = .bgrx
        default: return nil
        }
    }
}

/// A picture as a camera shows it: fitted into the camera's size, in its layout. Used by one thread.
final class CameraPicture {
    let layout: CameraLayout
    let bytes: UnsafeMutableRawBufferPointer
    private var fitting: PictureFitting?
    /// What `bytes` has now; nil in it: black.
    private var drawn: PixelBuffer??
    /// For pictures in other colours than those that cameras are said to have.
    private var recoloured: (rgb: PixelBuffer, yuv: PixelBuffer)?

    init(_ layout: CameraLayout) {
        self.layout = layout
        // A margin after the last row, because vector code may write a full register there.
        let memory = UnsafeMutableRawPointer.allocate(byteCount: layout.byteCount + 64, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: layout.byteCount + 64)
        bytes = UnsafeMutableRawBufferPointer(start: memory, count: layout.byteCount)
    }

    deinit { bytes.deallocate() }

    /// - Parameter picture: i420 or i444; nil: black.
    func draw(_ picture: Picture?) {
        if let drawn, drawn === picture?.buffer { return }
        drawn = .some(picture?.buffer)
        // The camera's chroma decides; full colour is of use only where the layout has it.
        let format: PixelFormat = layout.samples == .bgrx && picture?.format == .i444 ? .i444 : .i420
        if fitting?.format != format { fitting = PictureFitting(format: format, size: layout.size) }
        guard let fitting else { return }
        if layout.samples == .bgrx {
            let fitted = picture.map { fitting.fit($0) } ?? fitting.black(at: .zero)
            PixelConversion.toBGRX(
                fitted.buffer, colour: fitted.colour, into: base, stride: layout.stride, rect: PixelRect(layout.size))
        } else {
            pack(picture.map { yuv(fitting.fit($0)) } ?? fitting.black(at: .zero).buffer)
        }
    }

    private var base: UnsafeMutableRawPointer {
        // An allocated buffer has an address.
        bytes.baseAddress!
    }

    /// The fitted picture in BT.709 of limited range.
    private func yuv(_ picture: Picture) -> PixelBuffer {
        guard picture.colour != .bt709Limited else { return picture.buffer }
        let whole = PixelRect(picture.size)
        let (rgb, yuv) =
            recoloured
            ?? (PixelBuffer(format: .bgrx, size: picture.size), PixelBuffer(format: .i420, size: picture.size))
        recoloured = (rgb, yuv)
        let plane = rgb.planes[0]
        PixelConversion.toBGRX(
            picture.buffer, colour: picture.colour, into: plane.base, stride: plane.stride, rect: whole)
        PixelConversion.bgrxToI420(rgb, into: yuv, rects: DamageRegion(whole))
        return yuv
    }

    private func pack(_ source: PixelBuffer) {
        let second = base + layout.stride * layout.size.height
        switch layout.samples {
        case .yuyv: PixelConversion.toYUYV(source, into: Plane(base: base, stride: layout.stride))
        case .nv12:
            copy(source, 0, to: base, stride: layout.stride)
            PixelConversion.interleaveChroma(source, into: Plane(base: second, stride: layout.stride))
        case .i420:
            let stride = layout.stride / 2
            copy(source, 0, to: base, stride: layout.stride)
            copy(source, 1, to: second, stride: stride)
            copy(source, 2, to: second + stride * ((layout.size.height + 1) / 2), stride: stride)
        case .bgrx: preconditionFailure("is converted, not packed")
        }
    }

    private func copy(_ source: PixelBuffer, _ index: Int, to target: UnsafeMutableRawPointer, stride: Int) {
        let (rowBytes, rows) = source.format.plane(index, of: source.size)
        let plane = source.planes[index]
        for row in 0..<rows {
            (target + row * stride).copyMemory(from: plane.base + row * plane.stride, byteCount: rowBytes)
        }
    }
}
