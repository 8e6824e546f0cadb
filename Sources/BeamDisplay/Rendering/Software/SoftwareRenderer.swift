import BeamMedia
import BeamPixels

/// Draws with the processor, straight into the memory that the X server shows.
///
/// At the picture's own size only what changed is converted and shown.
@MainActor final class SoftwareRenderer: Renderer {
    let name = "software"
    private let surface: WindowSurface
    private let scaler = PictureScaler()
    /// A few rows before they are magnified; grown as needed.
    private var strip: PixelBuffer?

    init(_ window: WindowHandle) throws(DisplayError) {
        surface = WindowSurface(window)
        // Known now, while there is still another renderer to try.
        guard surface.canvas() != nil else { throw .noWindow(reason: SDLVideo.error) }
    }

    func draw(_ scene: Scene, change: SceneChange) {
        guard let (canvas, isNew) = surface.canvas() else { return }
        if case .picture(let damage) = change, !isNew, let (picture, viewport) = scene.picture, let fit = scene.fit {
            surface.present(redraw(picture, damage, at: viewport, fit, scene, on: canvas))
        } else {
            drawEverything(scene, on: canvas)
            surface.present([PixelRect(canvas.size)])
        }
    }

    func readBack(_ scene: Scene) -> PixelBuffer? {
        guard let (canvas, isNew) = surface.canvas() else { return nil }
        if isNew { drawEverything(scene, on: canvas) }
        let buffer = PixelBuffer(format: .bgrx, size: canvas.size)
        let plane = buffer.planes[0]
        for y in 0..<canvas.size.height {
            (plane.base + y * plane.stride).copyMemory(from: canvas.address(0, y), byteCount: canvas.size.width * 4)
        }
        return buffer
    }

    private func drawEverything(_ scene: Scene, on canvas: PixelCanvas) {
        if let (picture, viewport) = scene.picture, let fit = scene.fit {
            canvas.fill(around: viewport, scene.background.colour)
            paint(picture, PixelRect(picture.size), at: viewport, fit, on: canvas)
        } else {
            canvas.fill(PixelRect(canvas.size), scene.background.colour)
        }
        Compositing.compose(scene, on: canvas)
    }

    /// Draws what `damage` touches, and says what that is in the window.
    private func redraw(
        _ picture: Picture, _ damage: DamageRegion, at viewport: PixelRect, _ fit: Fit, _ scene: Scene,
        on canvas: PixelCanvas
    ) -> [PixelRect] {
        guard scene.dimming == 0 else {
            drawEverything(scene, on: canvas)
            return [PixelRect(canvas.size)]
        }
        var shown: [PixelRect] = []
        if case .exact(let times) = fit {
            for rect in region(of: damage, under: scene.layers, picture.size, at: viewport, times).rects {
                paint(picture, rect, at: viewport, fit, on: canvas)
                shown.append(rect.magnified(times, at: viewport))
            }
        } else {
            paint(picture, PixelRect(picture.size), at: viewport, fit, on: canvas)
            shown.append(viewport)
        }
        for layer in scene.layers {
            // The parts of a panel beside the picture stand on bare background.
            let beside = layer.rect.intersection(PixelRect(canvas.size)).outside(viewport)
            canvas.fill(beside, scene.background.colour)
            shown += beside
        }
        Compositing.compose(scene, on: canvas)
        return shown
    }

    /// What to draw again, in the picture's pixels.
    private func region(
        of damage: DamageRegion, under layers: [Layer], _ size: PixelSize, at viewport: PixelRect, _ times: Int
    ) -> DamageRegion {
        let bounds = PixelRect(size)
        var region = DamageRegion()
        for rect in damage.rects {
            // Chroma is interpolated: a change reaches a pixel or two beyond itself.
            let reach = PixelRect(x: rect.x - 2, y: rect.y - 2, width: rect.width + 4, height: rect.height + 4)
            region.insert(reach.intersection(bounds))
        }
        // What lies under a panel is drawn as a whole, since the panel is laid over it again.
        for layer in layers { region.insert(layer.rect.covered(by: viewport, times: times).intersection(bounds)) }
        return region
    }

    /// Paints the part `rect` (in the picture's pixels) of `picture`, which fills `viewport`.
    private func paint(
        _ picture: Picture, _ rect: PixelRect, at viewport: PixelRect, _ fit: Fit, on canvas: PixelCanvas
    ) {
        guard !viewport.isEmpty, !rect.isEmpty else { return }
        switch fit {
        case .exact(1):
            convert(
                picture.buffer, picture.colour, rect, into: canvas.address(viewport.x + rect.x, viewport.y + rect.y),
                stride: canvas.stride)
        case .exact(let times):
            magnify(picture, rect, at: viewport, times, on: canvas)
        case .enlarged, .reduced:
            guard let scaled = scaler.scale(picture.buffer, to: viewport.size, fit: fit) else { return }
            convert(
                scaled, picture.colour, PixelRect(viewport.size), into: canvas.address(viewport.x, viewport.y),
                stride: canvas.stride)
        }
    }

    private func convert(
        _ source: PixelBuffer, _ colour: ColourDescription, _ rect: PixelRect, into target: UnsafeMutableRawPointer,
        stride: Int
    ) {
        guard source.format == .bgrx else {
            PixelConversion.toBGRX(source, colour: colour, into: target, stride: stride, rect: rect)
            return
        }
        let plane = source.planes[0]
        for y in 0..<rect.height {
            (target + y * stride).copyMemory(
                from: plane.base + (rect.y + y) * plane.stride + rect.x * 4, byteCount: rect.width * 4)
        }
    }

    /// Each pixel becomes a square of `times` pixels a side.
    private func magnify(
        _ picture: Picture, _ rect: PixelRect, at viewport: PixelRect, _ times: Int, on canvas: PixelCanvas
    ) {
        let rows = 16
        if strip.map({ $0.size.width < rect.width }) ?? true {
            strip = PixelBuffer(format: .bgrx, size: PixelSize(width: rect.width, height: rows))
        }
        guard let plane = strip?.planes[0] else { return }
        let x = viewport.x + rect.x * times
        for top in stride(from: rect.y, to: rect.maxY, by: rows) {
            let part = PixelRect(x: rect.x, y: top, width: rect.width, height: min(rows, rect.maxY - top))
            convert(picture.buffer, picture.colour, part, into: plane.base, stride: plane.stride)
            for row in 0..<part.height {
                let source = (plane.base + row * plane.stride).assumingMemoryBound(to: UInt32.self)
                let y = viewport.y + (top + row) * times
                let first = canvas.address(x, y)
                var target = first.assumingMemoryBound(to: UInt32.self)
                for column in 0..<part.width {
                    target.update(repeating: source[column], count: times)
                    target += times
                }
                for copy in 1..<times {
                    canvas.address(x, y + copy).copyMemory(from: first, byteCount: part.width * times * 4)
                }
            }
        }
    }
}

extension PixelCanvas {
    func fill(_ rects: [PixelRect], _ colour: (red: UInt8, green: UInt8, blue: UInt8)) {
        for rect in rects { fill(rect, colour) }
    }
}

extension PixelRect {
    /// The rectangle of a picture's pixels, in the window: the picture's pixels are `times` wide and start at `viewport`.
    func magnified(_ times: Int, at viewport: PixelRect) -> PixelRect {
        PixelRect(x: viewport.x + x * times, y: viewport.y + y * times, width: width * times, height: height * times)
    }

    /// The picture's pixels under this rectangle of the window, those in part included; may reach beyond the picture.
    func covered(by viewport: PixelRect, times: Int) -> PixelRect {
        let inside = intersection(viewport)
        guard !inside.isEmpty else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
        let left = (inside.x - viewport.x) / times
        let top = (inside.y - viewport.y) / times
        let right = (inside.maxX - viewport.x + times - 1) / times
        let bottom = (inside.maxY - viewport.y + times - 1) / times
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// What is left of the rectangle without `hole`, in at most four pieces.
    func outside(_ hole: PixelRect) -> [PixelRect] {
        let inner = intersection(hole)
        guard !inner.isEmpty else { return [self] }
        return [
            PixelRect(x: x, y: y, width: width, height: inner.y - y),
            PixelRect(x: x, y: inner.maxY, width: width, height: maxY - inner.maxY),
            PixelRect(x: x, y: inner.y, width: inner.x - x, height: inner.height),
            PixelRect(x: inner.maxX, y: inner.y, width: maxX - inner.maxX, height: inner.height),
        ].filter { !$0.isEmpty }
    }
}
