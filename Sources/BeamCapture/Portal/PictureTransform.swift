import BeamMedia

/// How a stream's picture was turned, and how it is read upright: the values of PipeWire's spa_meta_videotransform_value.
/// It was flipped from left to right, if at all, and then turned counter-clockwise.
enum PictureTransform: UInt32, CaseIterable {
    case none
    case turned90
    case turned180
    case turned270
    case flipped
    case flipped90
    case flipped180
    case flipped270

    /// The upright picture's size, of one that is stored with `size`.
    func upright(_ size: PixelSize) -> PixelSize {
        rawValue.isMultiple(of: 2) ? size : PixelSize(width: size.height, height: size.width)
    }

    /// Where the upright picture's first pixel is stored, and how far the next one in its row, and the next row, are from
    /// it, in bytes.
    func path(through size: PixelSize, stride: Int) -> (start: Int, pixel: Int, row: Int) {
        let right = (size.width - 1) * 4
        let bottom = (size.height - 1) * stride
        return switch self {
        case .none: (0, 4, stride)
        case .turned90: (bottom, -stride, 4)
        case .turned180: (bottom + right, -4, -stride)
        case .turned270: (right, stride, -4)
        case .flipped: (right, -4, stride)
        case .flipped90: (0, stride, 4)
        case .flipped180: (bottom, 4, -stride)
        case .flipped270: (bottom + right, -stride, -4)
        }
    }
}
