import BeamMedia
import CSDL2

/// Opens a window suited to the chosen renderer, and creates the renderer.
@MainActor enum RendererSelection {
    static func open(
        _ choice: RendererChoice, video: SDLVideo, title: String, size: PixelSize, sync: VerticalSync
    ) throws(DisplayError) -> (WindowHandle, any Renderer) {
        switch choice {
        case .software:
            return try software(video: video, title: title, size: size)
        case .opengl:
            return try openGL(video: video, title: title, size: size, sync: sync, mayBeEmulated: true)
        case .automatic:
            let display = SDLVideo.environment("DISPLAY")
            if GraphicsHardware.isLikely(driver: video.driver, display: display),
                let opened = try? openGL(video: video, title: title, size: size, sync: sync, mayBeEmulated: false)
            {
                return opened
            }
            do {
                return try software(video: video, title: title, size: size)
            } catch {
                // OpenGL may work on a display whose pixel format SDL can't draw to (30 bits).
                if let opened = try? openGL(video: video, title: title, size: size, sync: sync, mayBeEmulated: true) {
                    return opened
                }
                throw error
            }
        }
    }

    private static func software(
        video: SDLVideo, title: String, size: PixelSize
    ) throws(DisplayError) -> (WindowHandle, any Renderer) {
        let window = try WindowHandle(video: video, title: title, size: size)
        return (window, try SoftwareRenderer(window))
    }

    private static func openGL(
        video: SDLVideo, title: String, size: PixelSize, sync: VerticalSync, mayBeEmulated: Bool
    ) throws(DisplayError) -> (WindowHandle, any Renderer) {
        GLContext.setAttributes()
        let window: WindowHandle
        do {
            window = try WindowHandle(video: video, title: title, size: size, flags: SDL_WINDOW_OPENGL)
        } catch {
            throw .noOpenGL(reason: SDLVideo.error)
        }
        let context = try GLContext(window, sync)
        guard mayBeEmulated || !GraphicsHardware.isEmulated(context.rendererName) else {
            throw .noOpenGL(reason: "\(context.rendererName) is an emulation")
        }
        return (window, try OpenGLRenderer(context))
    }
}
