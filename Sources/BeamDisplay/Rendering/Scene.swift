import BeamMedia

/// Everything shown in the window, from back to front.
struct Scene {
    /// The window's inner size in pixels.
    var canvas: PixelSize
    var background: Background
    /// One, or those of a grid. They don't overlap.
    var pictures: [ScenePicture]
    /// Pointers, then text and panels.
    var layers: [Layer]

    enum Background: Hashable {
        /// Around a picture.
        case black
        /// Behind text, if there is no picture, and behind a grid.
        case plain

        /// Red, green and blue.
        var colour: (UInt8, UInt8, UInt8) { self == .black ? (0, 0, 0) : (0x14, 0x18, 0x1f) }
    }
}

/// A picture in a scene.
struct ScenePicture {
    /// The same in each scene for the pictures of one source.
    var source: Int
    var picture: Picture
    /// Its rectangle in the canvas. A zoomed picture reaches beyond that.
    var viewport: PixelRect
    /// How much it is darkened, from 0 (not at all) to 1 (black).
    var dimming: Double
    /// It is shown without its colours.
    var isGrey: Bool

    /// How it is scaled to its viewport.
    var fit: Fit { Fit(picture: picture.size, viewport: viewport.size) }
}

/// A bitmap with its position in the canvas.
struct Layer {
    var bitmap: Bitmap
    /// Position of the bitmap's top left pixel.
    var x: Int
    var y: Int
    /// What is outside this rectangle of the canvas isn't shown; nil: all of the bitmap is.
    var clip: PixelRect?

    var rect: PixelRect { PixelRect(x: x, y: y, width: bitmap.size.width, height: bitmap.size.height) }

    /// The part of `rect` that is shown.
    var shownRect: PixelRect { clip.map { rect.intersection($0) } ?? rect }

    /// Whether it is the same bitmap at the same place.
    func isSame(as other: Layer) -> Bool {
        bitmap === other.bitmap && x == other.x && y == other.y && clip == other.clip
    }
}

/// What has to be redrawn.
enum SceneChange {
    case everything
    /// These pictures, and no others, have changed. Layers may have come, gone or been replaced; nothing else has
    /// changed.
    case pictures([PictureChange])
}

/// A picture differs from its source's last one in this region, in picture pixels.
struct PictureChange {
    var source: Int
    var damage: DamageRegion
}

extension [PictureChange] {
    /// What has changed in the picture of `source`.
    func damage(of source: Int) -> DamageRegion { first { $0.source == source }?.damage ?? DamageRegion() }
}

/// How a picture is scaled.
enum Fit: Hashable {
    /// By a whole factor: each pixel becomes a square of this many pixels a side.
    case exact(Int)
    /// Catmull-Rom interpolation.
    case enlarged
    /// The mean of the pixels covered.
    case reduced

    init(picture: PixelSize, viewport: PixelSize) {
        let times = max(1, viewport.width / max(1, picture.width))
        if picture.width * times == viewport.width, picture.height * times == viewport.height {
            self = .exact(times)
        } else {
            self = viewport.width > picture.width ? .enlarged : .reduced
        }
    }
}

extension PixelSize {
    /// The rectangle for a picture of this size in `canvas`: the largest that fits, aspect ratio kept, centred.
    ///
    /// If a whole multiple of the size is at most 2 % smaller, that is used: a thin border is better than blurred
    /// pixels.
    func viewport(in canvas: PixelSize) -> PixelRect {
        guard width > 0, height > 0, canvas.width > 0, canvas.height > 0 else {
            return PixelRect(x: 0, y: 0, width: 0, height: 0)
        }
        let scale = min(Double(canvas.width) / Double(width), Double(canvas.height) / Double(height))
        let size: PixelSize
        if scale >= 1, scale / scale.rounded(.down) < 1.02 {
            let times = Int(scale)
            size = PixelSize(width: width * times, height: height * times)
        } else {
            size = PixelSize(
                width: min(canvas.width, max(1, Int((Double(width) * scale).rounded()))),
                height: min(canvas.height, max(1, Int((Double(height) * scale).rounded()))))
        }
        return PixelRect(
            x: (canvas.width - size.width) / 2, y: (canvas.height - size.height) / 2, width: size.width,
            height: size.height)
    }
}
