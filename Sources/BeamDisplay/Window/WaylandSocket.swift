import CBeamWayland
import CLateLibraries
import Glibc

/// The socket of a Wayland compositor, where libwayland looks for it.
@MainActor enum WaylandSocket {
    /// The environment names it, as in a Wayland session.
    static var isNamed: Bool {
        SDLVideo.environment("WAYLAND_SOCKET") != nil || SDLVideo.environment("WAYLAND_DISPLAY") != nil
    }

    /// Whether somebody listens there: a compositor that has crashed leaves its socket behind.
    static var answers: Bool {
        // A connection that is open already.
        if SDLVideo.environment("WAYLAND_SOCKET") != nil { return true }
        return path.map(accepts) ?? false
    }

    /// How long a compositor may take to say what it can.
    private static let patience: CInt = 1000

    /// Whether the compositor says of each window who draws its title bar: itself or the program.
    static var saysWhoDrawsTitleBars: Bool {
        // A connection that is open already serves one client only.
        guard SDLVideo.environment("WAYLAND_SOCKET") == nil, beam_load_libwayland() == nil else { return false }
        var error: CInt = 0
        guard let connection = beam_wayland_open(nil, &error) else { return false }
        defer { beam_wayland_close(connection) }
        return beam_wayland_settle(connection, patience) == 0 && beam_wayland_has_decorations(connection)
    }

    private static var path: String? {
        let name = SDLVideo.environment("WAYLAND_DISPLAY") ?? "wayland-0"
        return name.hasPrefix("/") ? name : SDLVideo.environment("XDG_RUNTIME_DIR").map { "\($0)/\(name)" }
    }

    private static func accepts(_ path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // Without waiting: a compositor that hangs isn't usable either.
        let descriptor = socket(
            AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
