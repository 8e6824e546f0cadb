import Foundation

/// Tells whether drawing is done by a graphics processor.
enum GraphicsHardware {
    /// False if there certainly is none. Looks for the kernel's device nodes, which takes microseconds; creating an
    /// OpenGL context to find out takes tens to hundreds of milliseconds.
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
        // A render node means a GPU that can draw. A card without one (a server's console, a virtual machine's
        // framebuffer) only displays. NVIDIA's own driver and WSL name their nodes differently.
        return devices("/dev/dri").contains { $0.hasPrefix("renderD") }
            || devices("/dev").contains { $0 == "nvidia0" || $0 == "dxg" }
    }

    /// Whether `renderer` (GL_RENDERER) names a software implementation.
    static func isEmulated(_ renderer: String) -> Bool {
        let name = renderer.lowercased()
        return ["llvmpipe", "softpipe", "swrast", "software rasterizer", "swiftshader", "basic render"]
            .contains { name.contains($0) }
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}
