import CSDL2

/// The OpenGL functions in use, loaded from the current context.
struct GLFunctions {
    let activeTexture: @convention(c) (GLenum) -> Void
    let attachShader: @convention(c) (GLuint, GLuint) -> Void
    let bindFramebuffer: @convention(c) (GLenum, GLuint) -> Void
    let bindTexture: @convention(c) (GLenum, GLuint) -> Void
    let bindVertexArray: @convention(c) (GLuint) -> Void
    let blendFunc: @convention(c) (GLenum, GLenum) -> Void
    let clear: @convention(c) (GLbitfield) -> Void
    let clearColor: @convention(c) (GLfloat, GLfloat, GLfloat, GLfloat) -> Void
    let compileShader: @convention(c) (GLuint) -> Void
    let createProgram: @convention(c) () -> GLuint
    let createShader: @convention(c) (GLenum) -> GLuint
    let deleteFramebuffers: @convention(c) (GLsizei, UnsafePointer<GLuint>) -> Void
    let deleteProgram: @convention(c) (GLuint) -> Void
    let deleteShader: @convention(c) (GLuint) -> Void
    let deleteTextures: @convention(c) (GLsizei, UnsafePointer<GLuint>) -> Void
    let disable: @convention(c) (GLenum) -> Void
    let drawArrays: @convention(c) (GLenum, GLint, GLsizei) -> Void
    let enable: @convention(c) (GLenum) -> Void
    let finish: @convention(c) () -> Void
    let framebufferTexture2D: @convention(c) (GLenum, GLenum, GLenum, GLuint, GLint) -> Void
    let genFramebuffers: @convention(c) (GLsizei, UnsafeMutablePointer<GLuint>) -> Void
    let genTextures: @convention(c) (GLsizei, UnsafeMutablePointer<GLuint>) -> Void
    let genVertexArrays: @convention(c) (GLsizei, UnsafeMutablePointer<GLuint>) -> Void
    let getIntegerv: @convention(c) (GLenum, UnsafeMutablePointer<GLint>) -> Void
    let getProgramInfoLog:
        @convention(c) (GLuint, GLsizei, UnsafeMutablePointer<GLsizei>?, UnsafeMutableRawPointer) -> Void
    let getProgramiv: @convention(c) (GLuint, GLenum, UnsafeMutablePointer<GLint>) -> Void
    let getShaderInfoLog:
        @convention(c) (GLuint, GLsizei, UnsafeMutablePointer<GLsizei>?, UnsafeMutableRawPointer) -> Void
    let getShaderiv: @convention(c) (GLuint, GLenum, UnsafeMutablePointer<GLint>) -> Void
    let getString: @convention(c) (GLenum) -> UnsafePointer<UInt8>?
    let getUniformLocation: @convention(c) (GLuint, UnsafePointer<CChar>) -> GLint
    let linkProgram: @convention(c) (GLuint) -> Void
    let pixelStorei: @convention(c) (GLenum, GLint) -> Void
    let readPixels: @convention(c) (GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, UnsafeMutableRawPointer) -> Void
    let shaderSource:
        @convention(c) (GLuint, GLsizei, UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<GLint>?) -> Void
    let texImage2D:
        @convention(c) (
            GLenum, GLint, GLint, GLsizei, GLsizei, GLint, GLenum, GLenum, UnsafeRawPointer?
        ) -> Void
    let texParameteri: @convention(c) (GLenum, GLenum, GLint) -> Void
    let texSubImage2D:
        @convention(c) (
            GLenum, GLint, GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, UnsafeRawPointer?
        ) -> Void
    let uniform1f: @convention(c) (GLint, GLfloat) -> Void
    let uniform1i: @convention(c) (GLint, GLint) -> Void
    let uniform2f: @convention(c) (GLint, GLfloat, GLfloat) -> Void
    let uniform2i: @convention(c) (GLint, GLint, GLint) -> Void
    let uniform3f: @convention(c) (GLint, GLfloat, GLfloat, GLfloat) -> Void
    let uniformMatrix3fv: @convention(c) (GLint, GLsizei, GLboolean, UnsafePointer<GLfloat>) -> Void
    let useProgram: @convention(c) (GLuint) -> Void
    let viewport: @convention(c) (GLint, GLint, GLsizei, GLsizei) -> Void

    /// Loads all functions; a context must be current.
    init() throws(DisplayError) {
        activeTexture = try Self.load("glActiveTexture")
        attachShader = try Self.load("glAttachShader")
        bindFramebuffer = try Self.load("glBindFramebuffer")
        bindTexture = try Self.load("glBindTexture")
        bindVertexArray = try Self.load("glBindVertexArray")
        blendFunc = try Self.load("glBlendFunc")
        clear = try Self.load("glClear")
        clearColor = try Self.load("glClearColor")
        compileShader = try Self.load("glCompileShader")
        createProgram = try Self.load("glCreateProgram")
        createShader = try Self.load("glCreateShader")
        deleteFramebuffers = try Self.load("glDeleteFramebuffers")
        deleteProgram = try Self.load("glDeleteProgram")
        deleteShader = try Self.load("glDeleteShader")
        deleteTextures = try Self.load("glDeleteTextures")
        disable = try Self.load("glDisable")
        drawArrays = try Self.load("glDrawArrays")
        enable = try Self.load("glEnable")
        finish = try Self.load("glFinish")
        framebufferTexture2D = try Self.load("glFramebufferTexture2D")
        genFramebuffers = try Self.load("glGenFramebuffers")
        genTextures = try Self.load("glGenTextures")
        genVertexArrays = try Self.load("glGenVertexArrays")
        getIntegerv = try Self.load("glGetIntegerv")
        getProgramInfoLog = try Self.load("glGetProgramInfoLog")
        getProgramiv = try Self.load("glGetProgramiv")
        getShaderInfoLog = try Self.load("glGetShaderInfoLog")
        getShaderiv = try Self.load("glGetShaderiv")
        getString = try Self.load("glGetString")
        getUniformLocation = try Self.load("glGetUniformLocation")
        linkProgram = try Self.load("glLinkProgram")
        pixelStorei = try Self.load("glPixelStorei")
        readPixels = try Self.load("glReadPixels")
        shaderSource = try Self.load("glShaderSource")
        texImage2D = try Self.load("glTexImage2D")
        texParameteri = try Self.load("glTexParameteri")
        texSubImage2D = try Self.load("glTexSubImage2D")
        uniform1f = try Self.load("glUniform1f")
        uniform1i = try Self.load("glUniform1i")
        uniform2f = try Self.load("glUniform2f")
        uniform2i = try Self.load("glUniform2i")
        uniform3f = try Self.load("glUniform3f")
        uniformMatrix3fv = try Self.load("glUniformMatrix3fv")
        useProgram = try Self.load("glUseProgram")
        viewport = try Self.load("glViewport")
    }

    /// - Parameter Function: the C function's type from the OpenGL registry.
    private static func load<Function>(_ name: String) throws(DisplayError) -> Function {
        guard let address = SDL_GL_GetProcAddress(name) else {
            throw .noOpenGL(reason: "its library has no \(name)")
        }
        return unsafeBitCast(address, to: Function.self)
    }
}
