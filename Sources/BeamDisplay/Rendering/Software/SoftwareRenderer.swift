import BeamMedia
import BeamPixels

/// Draws with the CPU into memory that the X server displays.
///
/// Where only parts have changed, only those are converted and shown.
@MainActor final class SoftwareRenderer: Renderer {
    let name = "software"
    private let surface: any WindowSurface
    private let scaler = PictureScaler()
    /// A few rows of converted pixels before magnification; grown as needed.
    private var strip: PixelBuffer?

    init(_ window: WindowHandle) throws(DisplayError) {
        surface = X11Surface(window) ?? SDLSurface(window)
        // Check now, while another renderer can still be tried.
        guard surface.canvas() != nil else { throw .noWindow(reason: SDLVideo.error) }
    }

    func draw(_ scene: Scene, change: SceneChange) {
        guard let (canvas, isNew) = surface.canvas() else { return }
        if case .picture(let damage) = change, !isNew, scene.dimming == 0, let (picture, viewport) = scene.picture,
            let fit = scene.fit
        {
            redraw(picture, damage, at: viewport, fit, scene, on: canvas)
        } else {
            drawEverything(scene, on: canvas)
            surface.put(PixelRect(canvas.size))
        }
        surface.finish()
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
            paint(picture, PixelRect(fit.extent(picture.size, viewport)), at: viewport, fit, on: canvas)
        } else {
            canvas.fill(PixelRect(canvas.size), scene.background.colour)
        }
        Compositing.compose(scene, on: canvas)
    }

    /// Redraws what `damage` touches, then puts all of it at once, so that parts of two pictures are never visible
    /// together. (Putting each band while the next is drawn would be 0.3 ms earlier, but tears.)
    private func redraw(
        _ picture: Picture, _ damage: DamageRegion, at viewport: PixelRect, _ fit: Fit, _ scene: Scene,
        on canvas: PixelCanvas
    ) {
        let parts = fit.parts(of: damage, picture.size, under: scene.layers, at: viewport)
        for part in parts { paint(picture, part, at: viewport, fit, on: canvas) }
        var beside: [PixelRect] = []
        for layer in scene.layers {
            // The parts of a panel outside the picture are over the plain background.
            beside += layer.rect.intersection(PixelRect(canvas.size)).outside(viewport)
        }
        canvas.fill(beside, scene.background.colour)
        Compositing.compose(scene, on: canvas)
        for part in parts { surface.put(fit.place(of: part, at: viewport)) }
        for rect in beside { surface.put(rect) }
    }

    /// Paints part `rect` (see `Fit.parts`) of `picture`, which fills `viewport`.
    private func paint(
        _ picture: Picture, _ rect: PixelRect, at viewport: PixelRect, _ fit: Fit, on canvas: PixelCanvas
    ) {
        guard !viewport.isEmpty, !rect.isEmpty else { return }
        let target = canvas.address(viewport.x + rect.x, viewport.y + rect.y)
        switch fit {
        case .exact(1): convert(picture.buffer, picture.colour, rect, into: target, stride: canvas.stride)
        case .exact(let times): magnify(picture, rect, at: viewport, times, on: canvas)
        case .enlarged, .reduced:
            guard
                let scaled = scaler.scale(picture.buffer, to: viewport.size, fit: fit, rows: rect.y..<rect.maxY)
            else { return }
            convert(scaled, picture.colour, rect, into: target, stride: canvas.stride)
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

    /// Draws each pixel as a square of `times` pixels a side.
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
