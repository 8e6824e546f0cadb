import BeamMedia
import BeamPixels
import CSDL2

/// A linked vertex and fragment shader, with its uniforms' locations.
@MainActor final class GLProgram {
    private let context: GLContext
    private let raw: GLuint
    private var locations: [String: GLint] = [:]

    /// - Parameter definitions: preprocessor macros for both shaders.
    init(_ context: GLContext, fragment: String, vertex: String, definitions: [String] = []) throws(DisplayError) {
        let gl = context.gl
        self.context = context
        let version =
            context.isES
            ? "#version 300 es\nprecision highp float;\nprecision highp int;\n" : "#version 330 core\n"
        let head = version + definitions.map { "#define \($0)\n" }.joined()
        raw = gl.createProgram()
        var shaders: [GLuint] = []
        defer { for shader in shaders { gl.deleteShader(shader) } }
        do throws(DisplayError) {
            for (kind, source) in [(GL_VERTEX_SHADER, vertex), (GL_FRAGMENT_SHADER, fragment)] {
                let shader = try Self.compile(GLenum(kind), head + source, gl)
                shaders.append(shader)
                gl.attachShader(raw, shader)
            }
            gl.linkProgram(raw)
            var isLinked: GLint = 0
            gl.getProgramiv(raw, GLenum(GL_LINK_STATUS), &isLinked)
            guard isLinked != 0 else {
                throw DisplayError.noOpenGL(
                    reason: "a shader doesn't link: " + Self.log { gl.getProgramInfoLog(raw, $0, $1, $2) })
            }
        } catch {
            gl.deleteProgram(raw)
            throw error
        }
    }

    isolated deinit { context.gl.deleteProgram(raw) }

    func use() { context.gl.useProgram(raw) }

    func set(_ name: String, _ value: Int) { context.gl.uniform1i(location(name), GLint(value)) }
    func set(_ name: String, _ value: Bool) { context.gl.uniform1i(location(name), value ? 1 : 0) }
    func set(_ name: String, _ value: Double) { context.gl.uniform1f(location(name), GLfloat(value)) }
    func set(_ name: String, _ x: Int, _ y: Int) { context.gl.uniform2i(location(name), GLint(x), GLint(y)) }
    func set(_ name: String, _ x: Double, _ y: Double) { context.gl.uniform2f(location(name), GLfloat(x), GLfloat(y)) }

    func set(_ matrix: ColourMatrix) {
        let offsets = matrix.offsets
        context.gl.uniformMatrix3fv(location("toRGB"), 1, 0, matrix.columnMajor.map { GLfloat($0) })
        context.gl.uniform3f(
            location("toRGBOffset"), GLfloat(offsets.red), GLfloat(offsets.green), GLfloat(offsets.blue))
    }

    private func location(_ name: String) -> GLint {
        if let known = locations[name] { return known }
        let location = context.gl.getUniformLocation(raw, name)
        locations[name] = location
        return location
    }

    private static func compile(_ kind: GLenum, _ source: String, _ gl: GLFunctions) throws(DisplayError) -> GLuint {
        let shader = gl.createShader(kind)
        source.withCString { text in
            var text: UnsafePointer<CChar>? = text
            gl.shaderSource(shader, 1, &text, nil)
        }
        gl.compileShader(shader)
        var isCompiled: GLint = 0
        gl.getShaderiv(shader, GLenum(GL_COMPILE_STATUS), &isCompiled)
        guard isCompiled != 0 else {
            let reason = log { gl.getShaderInfoLog(shader, $0, $1, $2) }
            gl.deleteShader(shader)
            throw .noOpenGL(reason: "a shader doesn't compile: " + reason)
        }
        return shader
    }

    private static func log(
        _ read: (GLsizei, UnsafeMutablePointer<GLsizei>?, UnsafeMutableRawPointer) -> Void
    ) -> String {
        var length: GLsizei = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 1024) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            read(GLsizei(buffer.count), &length, base)
            count = Int(length)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
