import BeamMedia
import BeamPixels
import CSDL2
import Shaders

/// Draws with OpenGL shaders.
///
/// A picture's planes are uploaded to persistent textures, changed parts only. If picture pixels map to whole window
/// pixels, one pass converts to RGB; for 4:2:0, a pass before it computes the slopes for luma-guided chroma
/// (`PixelConversion`). Otherwise two passes scale. Of a grid's pictures, those that haven't changed need the last pass
/// only.
@MainActor final class OpenGLRenderer: Renderer {
    let name: String
    private let context: GLContext
    private var gl: GLFunctions { context.gl }

    private let exact: GLProgram
    private let guide: GLProgram
    private let across: GLProgram
    private let down: GLProgram
    private let layering: GLProgram

    /// For each source in the last scene.
    private var textures: [Int: PictureTextures] = [:]
    private let framebuffer: GLuint
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

    func draw(_ scene: Scene, change: SceneChange) -> Bool {
        for shown in scene.pictures { upload(shown, change) }
        if textures.count > scene.pictures.count {
            textures = textures.filter { source, _ in scene.pictures.contains { $0.source == source } }
        }
        paint(scene)
        context.swap()
        return true
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

    private func upload(_ shown: ScenePicture, _ change: SceneChange) {
        let own = textures[shown.source] ?? PictureTextures(context)
        textures[shown.source] = own
        if case .pictures(let changes) = change {
            own.upload(shown.picture.buffer, changes.damage(of: shown.source))
        } else {
            own.upload(shown.picture.buffer, DamageRegion(PixelRect(shown.picture.size)))
        }
    }

    private func paint(_ scene: Scene) {
        // Before anything is drawn into the window.
        for shown in scene.pictures { prepare(shown) }
        gl.viewport(0, 0, GLsizei(scene.canvas.width), GLsizei(scene.canvas.height))
        let (red, green, blue) = scene.background.colour
        gl.clearColor(GLfloat(red) / 255, GLfloat(green) / 255, GLfloat(blue) / 255, 1)
        gl.clear(GLbitfield(GL_COLOR_BUFFER_BIT))
        for shown in scene.pictures { paint(shown, scene) }
        paintLayers(scene)
    }

    /// Does the first of two passes if it is needed and outdated: computes the slopes of the uploaded picture, or scales
    /// it across.
    private func prepare(_ shown: ScenePicture) {
        let (picture, viewport) = (shown.picture, shown.viewport)
        guard let own = textures[shown.source], !viewport.isEmpty else { return }
        if case .exact = shown.fit {
            guard picture.format == .i420, own.first != .slopes else { return }
            own.first = .slopes
            drawing(into: own.slopes, picture.buffer.planeSize(1))
            guide.use()
            setSource(of: guide, picture, own)
            cover()
        } else {
            guard own.first != .scaled(width: viewport.width) else { return }
            own.first = .scaled(width: viewport.width)
            drawing(into: own.scaled, PixelSize(width: viewport.width, height: picture.size.height))
            across.use()
            across.set("ratio", Double(picture.size.width) / Double(viewport.width))
            across.set("count", picture.size.width)
            setSource(of: across, picture, own)
            cover()
        }
        gl.bindFramebuffer(GLenum(GL_FRAMEBUFFER), 0)
    }

    private func paint(_ shown: ScenePicture, _ scene: Scene) {
        let (picture, viewport) = (shown.picture, shown.viewport)
        guard let own = textures[shown.source], !viewport.isEmpty else { return }
        if case .exact(let times) = shown.fit {
            use(exact, at: viewport, of: scene)
            exact.set("magnification", times)
            setSource(of: exact, picture, own)
            own.slopes.bind(unit: 3)
            exact.set("slopes", 3)
            setColour(of: exact, shown)
        } else {
            use(down, at: viewport, of: scene)
            down.set("ratio", Double(picture.size.height) / Double(viewport.height))
            down.set("count", picture.size.height)
            own.scaled.bind(unit: 0)
            down.set("scaled", 0)
            setColour(of: down, shown)
        }
        cover()
    }

    /// Directs drawing to `texture`, resized to `size`.
    private func drawing(into texture: GLTexture, _ size: PixelSize) {
        texture.resize(size)
        gl.bindFramebuffer(GLenum(GL_FRAMEBUFFER), framebuffer)
        gl.framebufferTexture2D(
            GLenum(GL_FRAMEBUFFER), GLenum(GL_COLOR_ATTACHMENT0), GLenum(GL_TEXTURE_2D), texture.raw, 0)
        gl.viewport(0, 0, GLsizei(size.width), GLsizei(size.height))
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
            use(layering, at: layer.rect, of: scene, within: layer.clip)
            layering.set("bitmap", 0)
            cover()
        }
        gl.disable(GLenum(GL_BLEND))
        layers = kept
    }

    /// Sets up `program` to draw into `rect` of the window. OpenGL counts rows from the bottom.
    private func use(_ program: GLProgram, at rect: PixelRect, of scene: Scene, within clip: PixelRect? = nil) {
        let bottom = scene.canvas.height - rect.maxY
        // Of a zoomed picture only what is in the window: OpenGL's own viewports aren't as large.
        let visible = rect.intersection(clip ?? rect).intersection(PixelRect(scene.canvas))
        gl.viewport(
            GLint(visible.x), GLint(scene.canvas.height - visible.maxY), GLsizei(visible.width),
            GLsizei(visible.height))
        program.use()
        program.set("viewport", rect.x, bottom)
        program.set("viewportHeight", rect.height)
    }

    private func setSource(of program: GLProgram, _ picture: Picture, _ own: PictureTextures) {
        for (index, texture) in own.planes.enumerated() {
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

    private func setColour(of program: GLProgram, _ shown: ScenePicture) {
        program.set("isRGB", shown.picture.format == .bgrx)
        program.set("brightness", 1 - shown.dimming)
        program.set("saturation", shown.isGrey ? 0.0 : 1)
        program.set(ColourMatrix(shown.picture.colour))
    }

    private func cover() { gl.drawArrays(GLenum(GL_TRIANGLES), 0, 3) }
}
