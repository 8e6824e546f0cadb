import BeamMedia
import BeamPixels

/// Draws with the CPU into memory that the X server or the Wayland compositor displays.
///
/// Where only parts have changed, only those are converted and shown.
@MainActor final class SoftwareRenderer: Renderer {
    let name = "software"
    private let surface: any WindowSurface
    /// For each source in the last scene.
    private var scalers: [Int: PictureScaler] = [:]
    /// A few rows of converted pixels before magnification; grown as needed.
    private var strip: PixelBuffer?
    /// What the window's memory shows over the picture.
    private var drawnLayers: [Layer] = []

    init(_ window: WindowHandle) throws(DisplayError) {
        if let shared = X11Surface(window) {
            surface = shared
        } else if let shared = WaylandSurface(window) {
            surface = shared
        } else {
            surface = SDLSurface(window)
        }
        // Check now, while another renderer can still be tried.
        guard surface.canvas() != nil else { throw .noWindow(reason: SDLVideo.error) }
    }

    func draw(_ scene: Scene, change: SceneChange) -> Bool {
        guard let (canvas, isNew) = surface.canvas() else { return true }
        if case .pictures(let changes) = change, !isNew {
            redraw(changes, scene, on: canvas)
        } else {
            drawEverything(scene, on: canvas)
            surface.put(PixelRect(canvas.size))
        }
        return surface.finish()
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
        if scene.pictures.count == 1 {
            canvas.fill(around: scene.pictures[0].viewport, scene.background.colour)
        } else {
            canvas.fill(PixelRect(canvas.size), scene.background.colour)
        }
        scalers = scalers.filter { source, _ in scene.pictures.contains { $0.source == source } }
        for shown in scene.pictures {
            let all = PixelRect(shown.fit.extent(shown.picture.size, shown.viewport))
            paint(shown, shown.fit.visible(all, at: shown.viewport, in: canvas.size), shown.fit, on: canvas)
        }
        Compositing.compose(scene.layers, on: canvas)
        drawnLayers = scene.layers
    }

    /// Redraws what `changes` touch and what lies under panels that have changed, then puts all of it at once, so that
    /// parts of two pictures are never visible together. (Putting each band while the next is drawn would be 0.3 ms
    /// earlier, but tears.) A panel that hasn't changed is blended again only where the picture has: captions that stand
    /// still cost nothing while something moves elsewhere.
    private func redraw(_ changes: [PictureChange], _ scene: Scene, on canvas: PixelCanvas) {
        let changed = drawnLayers.difference(from: scene.layers).map { $0.intersection(PixelRect(canvas.size)) }
        var parts: [PixelRect] = []
        var beside = changed
        for shown in scene.pictures {
            let (fit, viewport) = (shown.fit, shown.viewport)
            let painted = fit.parts(
                of: changes.damage(of: shown.source), shown.picture.size, under: changed, at: viewport
            )
            .map { fit.visible($0, at: viewport, in: canvas.size) }.filter { !$0.isEmpty }
            for part in painted { paint(shown, part, fit, on: canvas) }
            parts += painted.map { fit.place(of: $0, at: viewport).intersection(PixelRect(canvas.size)) }
            if !beside.isEmpty { beside = beside.flatMap { $0.outside(viewport) } }
        }
        canvas.fill(beside, scene.background.colour)
        parts += beside
        Compositing.compose(scene.layers, on: canvas, within: parts)
        drawnLayers = scene.layers
        for part in parts { surface.put(part) }
    }

    /// Paints part `rect` (see `Fit.parts`) of a picture, which fills its viewport.
    private func paint(_ shown: ScenePicture, _ rect: PixelRect, _ fit: Fit, on canvas: PixelCanvas) {
        let (picture, viewport) = (shown.picture, shown.viewport)
        guard !viewport.isEmpty, !rect.isEmpty else { return }
        switch fit {
        case .exact(1):
            let target = canvas.address(viewport.x + rect.x, viewport.y + rect.y)
            convert(picture.buffer, picture.colour, rect, into: target, stride: canvas.stride)
        case .exact(let times): magnify(picture, rect, at: viewport, times, on: canvas)
        case .enlarged, .reduced:
            let scaler = scalers[shown.source] ?? PictureScaler()
            scalers[shown.source] = scaler
            guard
                let scaled = scaler.scale(picture.buffer, to: viewport.size, fit: fit, rows: rect.y..<rect.maxY)
            else { return }
            let target = canvas.address(viewport.x + rect.x, viewport.y + rect.y)
            convert(scaled, picture.colour, rect, into: target, stride: canvas.stride)
        }
        canvas.shade(fit.place(of: rect, at: viewport), dimming: shown.dimming, isGrey: shown.isGrey)
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

    /// Draws each pixel as a square of `times` pixels a side. Those at the window's edges may be partly outside.
    private func magnify(
        _ picture: Picture, _ rect: PixelRect, at viewport: PixelRect, _ times: Int, on canvas: PixelCanvas
    ) {
        let rows = 16
        if strip.map({ $0.size.width < rect.width }) ?? true {
            strip = PixelBuffer(format: .bgrx, size: PixelSize(width: rect.width, height: rows))
        }
        guard let plane = strip?.planes[0] else { return }
        let x = viewport.x + rect.x * times
        let (left, right) = (max(0, x), min(canvas.size.width, x + rect.width * times))
        guard left < right else { return }
        for top in stride(from: rect.y, to: rect.maxY, by: rows) {
            let part = PixelRect(x: rect.x, y: top, width: rect.width, height: min(rows, rect.maxY - top))
            convert(picture.buffer, picture.colour, part, into: plane.base, stride: plane.stride)
            for row in 0..<part.height {
                let source = (plane.base + row * plane.stride).assumingMemoryBound(to: UInt32.self)
                let y = viewport.y + (top + row) * times
                let (upper, lower) = (max(0, y), min(canvas.size.height, y + times))
                guard upper < lower else { continue }
                let first = canvas.address(left, upper)
                var target = first.assumingMemoryBound(to: UInt32.self)
                var place = left
                while place < right {
                    let column = (place - x) / times
                    let count = min(right, x + (column + 1) * times) - place
                    target.update(repeating: source[column], count: count)
                    target += count
                    place += count
                }
                for copy in upper + 1..<max(upper + 1, lower) {
                    canvas.address(left, copy).copyMemory(from: first, byteCount: (right - left) * 4)
                }
            }
        }
    }
}

extension [Layer] {
    /// The rectangles of the layers that are in only one of two stacks. What is in both keeps its place in the order.
    fileprivate func difference(from other: [Layer]) -> [PixelRect] {
        let gone = filter { layer in !other.contains { $0.isSame(as: layer) } }
        let new = other.filter { layer in !contains { $0.isSame(as: layer) } }
        return (gone + new).map(\.shownRect)
    }
}

extension PixelCanvas {
    func fill(_ rects: [PixelRect], _ colour: (red: UInt8, green: UInt8, blue: UInt8)) {
        for rect in rects { fill(rect, colour) }
    }
}
