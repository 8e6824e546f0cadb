import CSDL2

/// The owner of an OpenGL context: 3.3 core, or OpenGL ES 3.0 where that is what there is. Current on the main thread.
@MainActor final class GLContext {
    let window: WindowHandle
    let gl: GLFunctions
    /// GL_RENDERER: the graphics processor's name.
    let rendererName: String
    let isES: Bool
    /// The largest texture's side, in pixels.
    let largestTexture: Int
    /// Whether showing a picture takes until the screen's beat.
    private var waitsForBeat = false
    private let raw: SDL_GLContext

    /// What an OpenGL window is to have; to be called before the window is opened.
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
        largestTexture = Int(largest)
        waitsForBeat = chooseSwapInterval(sync)
    }

    isolated deinit {
        if !window.video.isLost { SDL_GL_DeleteContext(raw) }
    }

    /// Shows what was drawn.
    func swap() {
        SDL_GL_SwapWindow(window.raw)
        // Left to themselves, drivers let two or three pictures wait for their beat, each a beat older than the last. The
        // newest picture waits in the slot instead, where a newer one takes its place.
        if waitsForBeat { gl.finish() }
    }

    /// Answers whether pictures wait for the screen's beat from now on.
    private func chooseSwapInterval(_ sync: VerticalSync) -> Bool {
        let waits =
            switch sync {
            case .on: true
            case .off: false
            case .automatic: !isComposited && !GraphicsHardware.isEmulated(rendererName)
            }
        if waits {
            // Adaptive: not when a picture comes late.
            if sync == .automatic, SDL_GL_SetSwapInterval(-1) == 0 { return true }
            if SDL_GL_SetSwapInterval(1) == 0 { return true }
        }
        SDL_GL_SetSwapInterval(0)
        return false
    }

    /// A compositor (Wayland always has one) takes whole pictures, so there is no need to wait for the screen's beat at all.
    private var isComposited: Bool { X11Connection(window)?.hasCompositor ?? (window.video.driver == "wayland") }

    private static func request(major: Int32, minor: Int32, profile: SDL_GLprofile) {
        SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, major)
        SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, minor)
        SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, Int32(profile.rawValue))
    }
}
