import BeamMedia
import CSDL2

/// Owns a two-dimensional texture, whose memory is kept until its size changes.
@MainActor final class GLTexture {
    enum Format {
        /// One byte per texel, sampled as red.
        case r8
        /// Four bytes per texel, BGRA in memory; shaders sample RGBA.
        case bgra8
        /// Four bytes per texel, written and read by shaders only.
        case rgba8
    }

    private let context: GLContext
    let raw: GLuint
    let format: Format
    private(set) var size = PixelSize(width: 0, height: 0)

    init(_ context: GLContext, _ format: Format) {
        self.context = context
        self.format = format
        let gl = context.gl
        var name: GLuint = 0
        gl.genTextures(1, &name)
        raw = name
        bind()
        // Linear filtering is for chroma. Shaders that need exact texels use texelFetch.
        for (parameter, value) in [
            (GL_TEXTURE_MIN_FILTER, GL_LINEAR), (GL_TEXTURE_MAG_FILTER, GL_LINEAR),
            (GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE), (GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE),
        ] {
            gl.texParameteri(GLenum(GL_TEXTURE_2D), GLenum(parameter), value)
        }
        if format == .bgra8 {
            gl.texParameteri(GLenum(GL_TEXTURE_2D), GLenum(GL_TEXTURE_SWIZZLE_R), GL_BLUE)
            gl.texParameteri(GLenum(GL_TEXTURE_2D), GLenum(GL_TEXTURE_SWIZZLE_B), GL_RED)
        }
    }

    isolated deinit {
        var name = raw
        context.gl.deleteTextures(1, &name)
    }

    func bind() { context.gl.bindTexture(GLenum(GL_TEXTURE_2D), raw) }

    /// Binds it to texture unit `unit`.
    func bind(unit: Int) {
        context.gl.activeTexture(GLenum(GL_TEXTURE0) + GLenum(unit))
        bind()
    }

    /// Allocates memory for `size` with undefined content, unless it has that size already.
    func resize(_ size: PixelSize) {
        guard size != self.size else { return }
        self.size = size
        bind()
        let (inner, outer) = format == .r8 ? (GL_R8, GL_RED) : (GL_RGBA8, GL_RGBA)
        context.gl.texImage2D(
            GLenum(GL_TEXTURE_2D), 0, inner, GLsizei(size.width), GLsizei(size.height), 0, GLenum(outer),
            GLenum(GL_UNSIGNED_BYTE), nil)
    }

    /// Copies `rect` of the image at `base` to the same position in the texture.
    func upload(_ base: UnsafeRawPointer, stride: Int, rect: PixelRect) {
        let gl = context.gl
        let texel = format == .r8 ? 1 : 4
        bind()
        gl.pixelStorei(GLenum(GL_UNPACK_ALIGNMENT), 1)
        gl.pixelStorei(GLenum(GL_UNPACK_ROW_LENGTH), GLint(stride / texel))
        gl.texSubImage2D(
            GLenum(GL_TEXTURE_2D), 0, GLint(rect.x), GLint(rect.y), GLsizei(rect.width), GLsizei(rect.height),
            GLenum(format == .r8 ? GL_RED : GL_RGBA), GLenum(GL_UNSIGNED_BYTE),
            base + rect.y * stride + rect.x * texel)
    }
}
