import Foundation

/// Whether a graphics processor draws for us.
enum GraphicsHardware {
    /// False when there surely is none: looks for the kernel's device nodes, which costs microseconds, where making an
    /// OpenGL context to see costs tens to hundreds of milliseconds.
    ///
    /// - Parameters:
    ///   - driver: SDL's name of the video driver.
    ///   - display: the X display's name. Another machine's means drawing over the network.
    static func isLikely(
        driver: String, display: String?, devices: (String) -> [String] = names(in:)
    ) -> Bool {
        if ["dummy", "offscreen", "evdev"].contains(driver) { return false }
        if driver == "x11", let host = display?.split(separator: ":", omittingEmptySubsequences: false).first {
            guard host.isEmpty || host == "unix" || host.hasPrefix("/") else { return false }
        }
        // A render node is a processor that draws. A card without one (a server's console, a virtual machine's plain
        // framebuffer) only shows. NVIDIA's own driver and the Windows subsystem have nodes of other names.
        return devices("/dev/dri").contains { $0.hasPrefix("renderD") }
            || devices("/dev").contains { $0 == "nvidia0" || $0 == "dxg" }
    }

    /// Whether `renderer` (GL_RENDERER) names an emulation on the processor.
    static func isEmulated(_ renderer: String) -> Bool {
        let name = renderer.lowercased()
        return ["llvmpipe", "softpipe", "swrast", "software rasterizer", "swiftshader", "basic render"]
            .contains { name.contains($0) }
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}
