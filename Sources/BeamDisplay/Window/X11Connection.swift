import CSDL2

/// X11 functions that SDL lacks.
@MainActor final class X11Connection {
    private let display: OpaquePointer
    private let window: Window
    private let root: Window
    private let windowState: Atom
    private var isCovered = false
    private var isIconic = false
    /// Readable when the server has sent something.
    let fileDescriptor: Int32

    /// Nil if `window` isn't on an X server.
    init?(_ window: WindowHandle) {
        var info = SDL_SysWMinfo()
        SDL_GetVersion(&info.version)
        guard SDL_GetWindowWMInfo(window.raw, &info) == SDL_TRUE, info.subsystem == SDL_SYSWM_X11,
            let display = info.info.x11.display
        else { return nil }
        self.display = display
        self.window = info.info.x11.window
        root = XDefaultRootWindow(display)
        windowState = XInternAtom(display, "WM_STATE", 0)
        fileDescriptor = XConnectionNumber(display)
    }

    /// Whether a compositing manager runs (EWMH, `_NET_WM_CM_Sn`).
    var hasCompositor: Bool {
        XGetSelectionOwner(display, XInternAtom(display, "_NET_WM_CM_S\(XDefaultScreen(display))", 0)) != 0
    }

    /// Whether a window manager with fullscreen support runs (EWMH, `_NET_SUPPORTING_WM_CHECK`).
    var hasWindowManager: Bool {
        let property = XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", 0)
        return read(property, of: root, type: Atom(XA_WINDOW), format: 32) { $0.count > 0 } ?? false
    }

    /// Whether a window manager runs that keeps windows above others (EWMH, `_NET_WM_STATE_ABOVE` among `_NET_SUPPORTED`).
    var keepsWindowsAbove: Bool {
        guard hasWindowManager else { return false }
        let above = XInternAtom(display, "_NET_WM_STATE_ABOVE", 0)
        return read(XInternAtom(display, "_NET_SUPPORTED", 0), of: root, type: Atom(XA_ATOM), format: 32) {
            $0.bindMemory(to: Int.self).contains { Atom(bitPattern: $0) == above }
        } ?? false
    }

    /// The resources that toolkits read, a line each (X(7), RESOURCES); nil: none.
    var resources: String? {
        read(Atom(XA_RESOURCE_MANAGER), of: root, type: Atom(XA_STRING), format: 8) {
            String(decoding: $0, as: UTF8.self)
        }
    }

    // MARK: - Events

    enum Change {
        case resources
        /// `isOutOfSight` may have changed.
        case visibility
        /// A key was pressed: whether it types a question mark, in whatever layout.
        case key(isQuestionMark: Bool)
    }

    /// Nobody can see any of the window: others cover it, or it is on another workspace.
    var isOutOfSight: Bool { isCovered || isIconic }

    /// Makes SDL pass on the server's events, including some that it doesn't need itself.
    func selectEvents() {
        for (window, mask) in [(window, VisibilityChangeMask), (root, PropertyChangeMask)] {
            var attributes = XWindowAttributes()
            guard XGetWindowAttributes(display, window, &attributes) != 0 else { continue }
            XSelectInput(display, window, attributes.your_event_mask | mask)
        }
        SDL_EventState(SDL_SYSWMEVENT.rawValue, SDL_ENABLE)
    }

    func handle(_ event: XEvent) -> Change? {
        switch event.type {
        case VisibilityNotify where event.xvisibility.window == window:
            isCovered = event.xvisibility.state == VisibilityFullyObscured
            return .visibility
        case Expose where event.xexpose.window == window:
            // Whatever was said before.
            isCovered = false
            isIconic = false
            return .visibility
        case PropertyNotify where event.xproperty.window == window && event.xproperty.atom == windowState:
            // Window managers set it for windows on other workspaces, too (ICCCM 4.1.3.1).
            isIconic =
                read(windowState, of: window, type: windowState, format: 32) { bytes in
                    bytes.count > 0 && bytes.load(as: Int.self) == IconicState
                } ?? false
            return .visibility
        case PropertyNotify where event.xproperty.window == root && event.xproperty.atom == Atom(XA_RESOURCE_MANAGER):
            return .resources
        case KeyPress:
            var key = event.xkey
            var symbol = KeySym(0)
            XLookupString(&key, nil, 0, &symbol, nil)
            return .key(isQuestionMark: symbol == KeySym(XK_question))
        default:
            return nil
        }
    }

    /// A property's value, at most 256 KiB; nil if it isn't set or of another kind. Xlib stores 32 bits as a `long`.
    private func read<Value>(
        _ property: Atom, of window: Window, type: Atom, format: Int32, _ body: (UnsafeRawBufferPointer) -> Value
    ) -> Value? {
        var (actualType, actualFormat, count, rest) = (Atom(0), Int32(0), UInt(0), UInt(0))
        var value: UnsafeMutablePointer<UInt8>?
        let result = XGetWindowProperty(
            display, window, property, 0, 1 << 16, 0, type, &actualType, &actualFormat, &count, &rest, &value)
        defer { if let value { XFree(value) } }
        guard result == Success, actualType == type, actualFormat == format, let value else { return nil }
        let size = format == 32 ? MemoryLayout<Int>.size : Int(format) / 8
        return body(UnsafeRawBufferPointer(start: value, count: Int(count) * size))
    }
}
