import BeamMedia
import CSDL2

/// The textures of one source's pictures.
@MainActor final class PictureTextures {
    /// The first of the two passes that draw a picture.
    enum FirstPass: Hashable {
        /// `slopes` is valid.
        case slopes
        /// `scaled` is valid for a viewport of this width.
        case scaled(width: Int)
    }

    private let context: GLContext
    private(set) var planes: [GLTexture] = []
    private var format: PixelFormat?
    private var size = PixelSize(width: 0, height: 0)
    /// As large as a chroma plane.
    let slopes: GLTexture
    /// The intermediate result of scaling: as wide as the viewport, as high as the picture.
    let scaled: GLTexture
    /// What was done with the present planes; nil: nothing.
    var first: FirstPass?

    init(_ context: GLContext) {
        self.context = context
        slopes = GLTexture(context, .rgba8)
        scaled = GLTexture(context, .rgba8)
    }

    /// Uploads what lies in `damage`; all of it if the size or the format has changed.
    func upload(_ buffer: PixelBuffer, _ damage: DamageRegion) {
        var rects = damage.clipped(to: PixelRect(buffer.size)).rects
        if format != buffer.format || size != buffer.size {
            if format != buffer.format {
                planes = buffer.planes.map { _ in GLTexture(context, buffer.format == .bgrx ? .bgra8 : .r8) }
            }
            format = buffer.format
            size = buffer.size
            for (index, texture) in planes.enumerated() { texture.resize(buffer.planeSize(index)) }
            rects = [PixelRect(buffer.size)]
        }
        if !rects.isEmpty { first = nil }
        for rect in rects {
            for (index, texture) in planes.enumerated() {
                let plane = buffer.planes[index]
                let part = index > 0 && buffer.format == .i420 ? rect.halved : rect
                texture.upload(plane.base, stride: plane.stride, rect: part)
            }
        }
    }
}

extension PixelBuffer {
    /// The size of plane `index` in samples.
    func planeSize(_ index: Int) -> PixelSize {
        guard format == .i420, index > 0 else { return size }
        return PixelSize(width: (size.width + 1) / 2, height: (size.height + 1) / 2)
    }
}

extension PixelRect {
    /// The rectangle in a plane of half width and height, rounded outwards.
    var halved: PixelRect {
        let (left, top) = (x / 2, y / 2)
        return PixelRect(x: left, y: top, width: (maxX + 1) / 2 - left, height: (maxY + 1) / 2 - top)
    }
}
