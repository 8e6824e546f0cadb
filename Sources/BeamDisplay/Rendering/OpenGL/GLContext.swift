import CSDL2

/// Owns an OpenGL context: 3.3 core, or else OpenGL ES 3.0. It is current on the main thread.
@MainActor final class GLContext {
    let window: WindowHandle
    let gl: GLFunctions
    /// GL_RENDERER: the GPU's name.
    let rendererName: String
    let isES: Bool
    /// GL_MAX_TEXTURE_SIZE, in pixels.
    let maxTextureSize: Int
    /// Whether a swap waits for the vertical blank.
    private var waitsForVerticalBlank = false
    private let raw: SDL_GLContext

    /// Sets the attributes of an OpenGL window. Must be called before the window is opened.
    static func setAttributes() {
        SDL_GL_SetAttribute(SDL_GL_RED_SIZE, 8)
        SDL_GL_SetAttribute(SDL_GL_GREEN_SIZE, 8)
        SDL_GL_SetAttribute(SDL_GL_BLUE_SIZE, 8)
        SDL_GL_SetAttribute(SDL_GL_DEPTH_SIZE, 0)
        SDL_GL_SetAttribute(SDL_GL_DOUBLEBUFFER, 1)
        request(major: 3, minor: 3, profile: SDL_GL_CONTEXT_PROFILE_CORE)
    }

    init(_ window: WindowHandle, _ sync: VerticalSync) throws(DisplayError) {
        self.window = window
        if let context = SDL_GL_CreateContext(window.raw) {
            raw = context
            isES = false
        } else {
            let reason = SDLVideo.error
            Self.request(major: 3, minor: 0, profile: SDL_GL_CONTEXT_PROFILE_ES)
            guard let context = SDL_GL_CreateContext(window.raw) else {
                throw .noOpenGL(reason: "neither version 3.3 nor ES 3.0 is there (\(reason))")
            }
            raw = context
            isES = true
        }
        do {
            gl = try GLFunctions()
        } catch {
            SDL_GL_DeleteContext(raw)
            throw error
        }
        rendererName = gl.getString(GLenum(GL_RENDERER)).map { String(cString: $0) } ?? "unknown"
        var largest: GLint = 0
        gl.getIntegerv(GLenum(GL_MAX_TEXTURE_SIZE), &largest)
        maxTextureSize = Int(largest)
        waitsForVerticalBlank = chooseSwapInterval(sync)
    }

    isolated deinit { SDL_GL_DeleteContext(raw) }

    /// Presents what was drawn.
    func swap() {
        SDL_GL_SwapWindow(window.raw)
        // Drivers queue two or three swaps, each of which adds a refresh interval of delay. Waiting here keeps the
        // newest picture in its slot instead, where a newer one can replace it.
        if waitsForVerticalBlank { gl.finish() }
    }

    /// Sets the swap interval. Returns whether swaps wait for the vertical blank.
    private func chooseSwapInterval(_ sync: VerticalSync) -> Bool {
        let waits =
            switch sync {
            case .on: true
            case .off: false
            case .automatic: !isComposited && !GraphicsHardware.isEmulated(rendererName)
            }
        if waits {
            // Adaptive: a late picture doesn't wait.
            if sync == .automatic, SDL_GL_SetSwapInterval(-1) == 0 { return true }
            if SDL_GL_SetSwapInterval(1) == 0 { return true }
        }
        SDL_GL_SetSwapInterval(0)
        return false
    }

    /// A compositor (Wayland always has one) presents whole pictures, so that waiting for the vertical blank isn't
    /// needed against tearing.
    private var isComposited: Bool { X11Connection(window)?.hasCompositor ?? (window.video.driver == "wayland") }

    private static func request(major: Int32, minor: Int32, profile: SDL_GLprofile) {
        SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, major)
        SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, minor)
        SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, Int32(profile.rawValue))
    }
}
