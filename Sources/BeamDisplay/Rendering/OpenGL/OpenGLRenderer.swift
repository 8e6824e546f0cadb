import BeamMedia
import BeamPixels
import CSDL2
import Shaders

/// Draws with OpenGL shaders.
///
/// A picture's planes are uploaded to persistent textures, changed parts only. If picture pixels map to whole window
/// pixels, one pass converts to RGB; for 4:2:0, a pass before it computes the slopes for luma-guided chroma
/// (`PixelConversion`). Otherwise two passes scale.
@MainActor final class OpenGLRenderer: Renderer {
    let name: String
    private let context: GLContext
    private var gl: GLFunctions { context.gl }

    private let exact: GLProgram
    private let guide: GLProgram
    private let across: GLProgram
    private let down: GLProgram
    private let layering: GLProgram

    private var planes: [GLTexture] = []
    private var planesFormat: PixelFormat?
    private var planesSize = PixelSize(width: 0, height: 0)
    /// The intermediate result of scaling: as wide as the viewport, as high as the picture.
    private let scaled: GLTexture
    private let framebuffer: GLuint
    /// As large as a chroma plane. Valid for the uploaded planes if `hasSlopes`.
    private let slopes: GLTexture
    private var hasSlopes = false
    private var layers: [ObjectIdentifier: (texture: GLTexture, bitmap: Bitmap)] = [:]

    init(_ context: GLContext) throws(DisplayError) {
        guard context.maxTextureSize >= 8192 else {
            throw .noOpenGL(reason: "\(context.rendererName) can't hold pictures larger than \(context.maxTextureSize)")
        }
        self.context = context
        name = "OpenGL (\(context.rendererName))"
        exact = try GLProgram(context, fragment: Shaders.video, vertex: Shaders.cover)
        guide = try GLProgram(context, fragment: Shaders.slopes, vertex: Shaders.cover)
        across = try GLProgram(context, fragment: Shaders.scale, vertex: Shaders.cover, definitions: ["ACROSS"])
        down = try GLProgram(context, fragment: Shaders.scale, vertex: Shaders.cover)
        layering = try GLProgram(context, fragment: Shaders.layer, vertex: Shaders.cover)
        scaled = GLTexture(context, .rgba8)
        slopes = GLTexture(context, .rgba8)
        var name: GLuint = 0
        context.gl.genFramebuffers(1, &name)
        framebuffer = name
        // A core context needs a vertex array to draw, even without vertex data.
        var array: GLuint = 0
        context.gl.genVertexArrays(1, &array)
        context.gl.bindVertexArray(array)
        context.gl.blendFunc(GLenum(GL_ONE), GLenum(GL_ONE_MINUS_SRC_ALPHA))
    }

    isolated deinit {
        var name = framebuffer
        gl.deleteFramebuffers(1, &name)
    }

    func draw(_ scene: Scene, change: SceneChange) {
        if let picture = scene.picture?.picture { upload(picture, change) }
        paint(scene)
        context.swap()
    }

    func readBack(_ scene: Scene) -> PixelBuffer? {
        guard scene.canvas.area > 0 else { return nil }
        // The back buffer is undefined after a swap, so paint again.
        paint(scene)
        let buffer = PixelBuffer(format: .bgrx, size: scene.canvas)
        let row = scene.canvas.width * 4
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: row * scene.canvas.height, alignment: 16)
        defer { bytes.deallocate() }
        gl.pixelStorei(GLenum(GL_PACK_ALIGNMENT), 4)
        gl.readPixels(
            0, 0, GLsizei(scene.canvas.width), GLsizei(scene.canvas.height), GLenum(GL_RGBA),
            GLenum(GL_UNSIGNED_BYTE), bytes)
        let plane = buffer.planes[0]
        for y in 0..<scene.canvas.height {
            // OpenGL's first row is the bottom one.
            let source = (bytes + (scene.canvas.height - 1 - y) * row).assumingMemoryBound(to: UInt32.self)
            let target = (plane.base + y * plane.stride).assumingMemoryBound(to: UInt32.self)
            for x in 0..<scene.canvas.width {
                let rgba = source[x]
                target[x] = rgba & 0xff00_ff00 | (rgba & 0xff) << 16 | (rgba >> 16) & 0xff
            }
        }
        return buffer
    }

    private func upload(_ picture: Picture, _ change: SceneChange) {
        let buffer = picture.buffer
        var rects = [PixelRect(buffer.size)]
        if planesFormat != buffer.format || planesSize != buffer.size {
            if planesFormat != buffer.format {
                planes = buffer.planes.map { _ in GLTexture(context, buffer.format == .bgrx ? .bgra8 : .r8) }
            }
            planesFormat = buffer.format
            planesSize = buffer.size
            for (index, texture) in planes.enumerated() { texture.resize(buffer.planeSize(index)) }
        } else if case .picture(let damage) = change {
            rects = damage.clipped(to: PixelRect(buffer.size)).rects
        }
        if !rects.isEmpty { hasSlopes = false }
        for rect in rects {
            for (index, texture) in planes.enumerated() {
                let plane = buffer.planes[index]
                let part = index > 0 && buffer.format == .i420 ? rect.halved : rect
                texture.upload(plane.base, stride: plane.stride, rect: part)
            }
        }
    }

    private func paint(_ scene: Scene) {
        if let picture = scene.picture?.picture, case .exact = scene.fit { findSlopes(picture) }
        gl.viewport(0, 0, GLsizei(scene.canvas.width), GLsizei(scene.canvas.height))
        let (red, green, blue) = scene.background.colour
        gl.clearColor(GLfloat(red) / 255, GLfloat(green) / 255, GLfloat(blue) / 255, 1)
        gl.clear(GLbitfield(GL_COLOR_BUFFER_BIT))
        if let (picture, viewport) = scene.picture, let fit = scene.fit, !viewport.isEmpty {
            if case .exact(let times) = fit {
                use(exact, at: viewport, of: scene)
                exact.set("magnification", times)
                setSource(of: exact, picture)
                slopes.bind(unit: 3)
                exact.set("slopes", 3)
                setColour(of: exact, picture, scene)
                cover()
            } else {
                paintScaled(picture, viewport, scene)
            }
        }
        paintLayers(scene)
    }

    /// Computes the slopes of the uploaded picture if they are needed and outdated.
    private func findSlopes(_ picture: Picture) {
        guard picture.format == .i420, !hasSlopes else { return }
        hasSlopes = true
        drawing(into: slopes, picture.buffer.planeSize(1))
        guide.use()
        setSource(of: guide, picture)
        cover()
        gl.bindFramebuffer(GLenum(GL_FRAMEBUFFER), 0)
    }

    /// Directs drawing to `texture`, resized to `size`.
    private func drawing(into texture: GLTexture, _ size: PixelSize) {
        texture.resize(size)
        gl.bindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
        gl.framebufferTexture2D(
            GLenum(GL_FRAMEBUFFER), GLenum(GL_COLOR_ATTACHMENT0), GLenum(GL_TEXTURE_2D), texture.raw, 0)
        gl.viewport(0, 0, GLsizei(size.width), GLsizei(size.height))
    }

    private func paintScaled(_ picture: Picture, _ viewport: PixelRect, _ scene: Scene) {
        drawing(into: scaled, PixelSize(width: viewport.width, height: picture.size.height))
        across.use()
        across.set("ratio", Double(picture.size.width) / Double(viewport.width))
        across.set("count", picture.size.width)
        setSource(of: across, picture)
        cover()
        gl.bindFramebuffer(GLenum(GL_FRAMEBUFFER), 0)

        use(down, at: viewport, of: scene)
        down.set("ratio", Double(picture.size.height) / Double(viewport.height))
        down.set("count", picture.size.height)
        scaled.bind(unit: 0)
        down.set("scaled", 0)
        setColour(of: down, picture, scene)
        cover()
    }

    private func paintLayers(_ scene: Scene) {
        var kept: [ObjectIdentifier: (texture: GLTexture, bitmap: Bitmap)] = [:]
        gl.enable(GLenum(GL_BLEND))
        for layer in scene.layers {
            let key = ObjectIdentifier(layer.bitmap)
            let texture = layers[key]?.texture ?? GLTexture(context, .bgra8)
            if layers[key] == nil {
                texture.resize(layer.bitmap.size)
                texture.upload(
                    layer.bitmap.base, stride: layer.bitmap.stride, rect: PixelRect(layer.bitmap.size))
            }
            // Keeping the bitmap alive with its texture prevents another bitmap from reusing its identity.
            kept[key] = (texture, layer.bitmap)
            texture.bind(unit: 0)
            use(layering, at: layer.rect, of: scene)
            layering.set("bitmap", 0)
            cover()
        }
        gl.disable(GLenum(GL_BLEND))
        layers = kept
    }

    /// Sets up `program` to draw into `rect` of the window. OpenGL counts rows from the bottom.
    private func use(_ program: GLProgram, at rect: PixelRect, of scene: Scene) {
        let bottom = scene.canvas.height - rect.maxY
        gl.viewport(GLint(rect.x), GLint(bottom), GLsizei(rect.width), GLsizei(rect.height))
        program.use()
        program.set("viewport", rect.x, bottom)
        program.set("viewportHeight", rect.height)
    }

    private func setSource(of program: GLProgram, _ picture: Picture) {
        for (index, texture) in planes.enumerated() {
            texture.bind(unit: index)
            program.set("plane\(index)", index)
        }
        program.set("isRGB", picture.format == .bgrx)
        program.set("isHalved", picture.format == .i420)
        guard picture.format != .bgrx else { return }
        let chroma = picture.buffer.planeSize(1)
        let step = picture.format == .i420 ? 0.5 : 1
        program.set("chromaScale", step / Double(chroma.width), step / Double(chroma.height))
    }

    private func setColour(of program: GLProgram, _ picture: Picture, _ scene: Scene) {
        program.set("isRGB", picture.format == .bgrx)
        program.set("brightness", 1 - scene.dimming)
        program.set(ColourMatrix(picture.colour))
    }

    private func cover() { gl.drawArrays(GLenum(GL_TRIANGLES), 0, 3) }
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
