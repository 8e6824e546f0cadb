import CXCB
import Glibc

/// Tells whether a display is the X server of a Wayland desktop (XWayland, rootless). Its root window has no pixels: the
/// windows of X programs are given to the compositor one by one, and grabbing the screen yields black.
enum XWayland {
    /// The environment's say, which counts only if the server itself doesn't tell: an Xvfb that was started in a Wayland
    /// session has a screen.
    static func environmentNames(_ variable: (String) -> String?) -> Bool {
        if let display = variable("WAYLAND_DISPLAY"), !display.isEmpty { return true }
        return variable("XDG_SESSION_TYPE")?.lowercased() == "wayland"
    }

    /// Whether the screen of `connection` can't be grabbed for this reason.
    ///
    /// - Parameter isDefaultDisplay: the display is the environment's, so that its other variables are about it, too.
    static func hidesScreen(_ connection: XConnection, isDefaultDisplay: Bool) throws(XFailure) -> Bool {
        let outputs = try connection.outputNames()
        if try connection.hasExtension("XWAYLAND") || outputs.contains(where: { $0.hasPrefix("XWAYLAND") }) {
            return !isRootful(connection)
        }
        return outputs.isEmpty && isDefaultDisplay && connection.isLocal
            && environmentNames { getenv($0).map { String(cString: $0) } }
    }

    /// Whether the server is an Xwayland that a person has started as a desktop in a window: that one has a screen. A
    /// compositor's own is started with -rootless, or answers at a socket that belongs to the compositor.
    private static func isRootful(_ connection: XConnection) -> Bool {
        guard let process = connection.serverProcess else { return false }
        let arguments = commandLine(of: process)
        return arguments.first?.split(separator: "/").last == "Xwayland" && !arguments.contains("-rootless")
    }

    private static func commandLine(of process: pid_t) -> [String] {
        let file = open("/proc/\(process)/cmdline", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        guard count > 0 else { return [] }
        return bytes.prefix(count).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension XConnection {
    /// The process that listens at the display's socket; nil if it isn't known: another machine's, or another namespace's.
    fileprivate var serverProcess: pid_t? {
        guard isLocal else { return nil }
        let process = beam_peer_process(descriptor)
        return process > 0 ? process : nil
    }

    fileprivate func hasExtension(_ name: String) throws(XFailure) -> Bool {
        let cookie = xcb_query_extension(raw, UInt16(name.utf8.count), name)
        return try reply(cookie.sequence, as: xcb_query_extension_reply_t.self).body.present != 0
    }

    /// The names of the RandR outputs, connected or not; empty without RandR.
    fileprivate func outputNames() throws(XFailure) -> [String] {
        guard extensions.randr != nil else { return [] }
        let resources = try reply(
            xcb_randr_get_screen_resources_current(raw, root).sequence,
            as: xcb_randr_get_screen_resources_current_reply_t.self)
        let outputs = UnsafeBufferPointer(
            start: xcb_randr_get_screen_resources_current_outputs(resources.pointer),
            count: Int(xcb_randr_get_screen_resources_current_outputs_length(resources.pointer)))
        var names: [String] = []
        for output in outputs {
            let cookie = xcb_randr_get_output_info(raw, output, resources.body.config_timestamp)
            let info = try reply(cookie.sequence, as: xcb_randr_get_output_info_reply_t.self)
            let name = UnsafeRawBufferPointer(
                start: xcb_randr_get_output_info_name(info.pointer),
                count: Int(xcb_randr_get_output_info_name_length(info.pointer)))
            names.append(String(decoding: name, as: UTF8.self))
        }
        return names
    }
}
