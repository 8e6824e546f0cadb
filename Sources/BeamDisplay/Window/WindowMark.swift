import CSDL2

/// Marks one of the program's windows on an X server, so that a share of its screen leaves it out.
///
/// The window carries `_BEAMROOM_WINDOW`, and the root window lists it in `_BEAMROOM_WINDOWS`; BeamCapture has the same
/// names. A courtesy between the programs of one person: any program that may connect to the display can read the window all the
/// same.
@MainActor final class WindowMark {
    private let display: OpaquePointer
    private let window: Window
    private let root: Window
    private let list: Atom

    /// Nil if `window` isn't on an X server. To be made before the window is shown, so that no picture shows it.
    init?(_ window: OpaquePointer) {
        var info = SDL_SysWMinfo()
        SDL_GetVersion(&info.version)
        guard SDL_GetWindowWMInfo(window, &info) == SDL_TRUE, info.subsystem == SDL_SYSWM_X11,
            let display = info.info.x11.display
        else { return nil }
        self.display = display
        self.window = info.info.x11.window
        root = XDefaultRootWindow(display)
        list = XInternAtom(display, "_BEAMROOM_WINDOWS", 0)
        // Xlib takes 32 bits as a `long`.
        let mark = XInternAtom(display, "_BEAMROOM_WINDOW", 0)
        change(mark, of: self.window, type: Atom(XA_CARDINAL), to: [1], PropModeReplace)
        change(list, of: root, type: Atom(XA_WINDOW), to: [UInt(self.window)], PropModeAppend)
    }

    /// Takes the window out of the list, with those of programs that were killed.
    isolated deinit {
        // No other program changes the list between the reading and the writing.
        XGrabServer(display)
        let mark = XInternAtom(display, "_BEAMROOM_WINDOW", 0)
        let own = UInt(window)
        let others = read(list, of: root).filter { $0 != own && !read(mark, of: Window($0)).isEmpty }
        if others.isEmpty {
            XDeleteProperty(display, root, list)
        } else {
            change(list, of: root, type: Atom(XA_WINDOW), to: others, PropModeReplace)
        }
        XUngrabServer(display)
        XFlush(display)
    }

    private func change(_ property: Atom, of window: Window, type: Atom, to values: [UInt], _ mode: Int32) {
        values.withUnsafeBytes { bytes in
            _ = XChangeProperty(
                display, window, property, type, 32, mode, bytes.bindMemory(to: UInt8.self).baseAddress,
                Int32(values.count))
        }
    }

    private func read(_ property: Atom, of window: Window) -> [UInt] {
        var (type, format, count, rest) = (Atom(0), Int32(0), UInt(0), UInt(0))
        var value: UnsafeMutablePointer<UInt8>?
        let result = XGetWindowProperty(
            display, window, property, 0, 4096, 0, Atom(AnyPropertyType), &type, &format, &count, &rest, &value)
        defer { if let value { XFree(value) } }
        guard result == Success, format == 32, let value else { return [] }
        return value.withMemoryRebound(to: UInt.self, capacity: Int(count)) {
            Array(UnsafeBufferPointer(start: $0, count: Int(count)))
        }
    }
}
