import BeamMedia
import CXCB

/// One window, with all inside it.
///
/// With Composite the window has pixels of its own, whatever covers it; they get another name with each change of its size.
/// Without, it is what the screen shows at its place.
final class WindowArea: CaptureArea {
    private let connection: XConnection
    private let window: xcb_window_t
    private let layout: PixelLayout
    private let isRedirected: Bool
    private var pixels: NamedPixmap?
    private var arePixelsOutdated = true

    let warnings: [String]
    var description: String { "window 0x" + String(window, radix: 16) }
    var damageWindow: xcb_window_t { isRedirected ? window : connection.root }

    init(_ connection: XConnection, _ window: xcb_window_t) throws(CaptureError) {
        self.connection = connection
        self.window = window
        let attributes: xcb_get_window_attributes_reply_t
        do throws(XFailure) {
            // Asked for before anything is read, so that no change goes unnoticed.
            let mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_VISIBILITY_CHANGE.rawValue
            try connection.check(
                xcb_change_window_attributes_checked(connection.raw, window, XCB_CW_EVENT_MASK.rawValue, [mask]))
            attributes = try connection.attributes(of: window)
        } catch {
            if case .refused = error { throw .noSuchWindow(window) }
            throw connection.captureError(error)
        }
        guard UInt32(attributes._class) != XCB_WINDOW_CLASS_INPUT_ONLY.rawValue else {
            throw .unusableWindow(window, reason: "it is one that shows nothing, for input only")
        }
        isRedirected = try connection.orEnd { () throws(XFailure) in try connection.redirect(window) }
        layout = try PixelLayout(connection, visual: isRedirected ? attributes.visual : connection.screen.root_visual)
        var warnings: [String] = []
        if !isRedirected, window != connection.root {
            warnings.append(
                "The window is captured as the screen shows it, with whatever covers it: "
                    + "the X server can't keep its pixels apart (no Composite extension).")
        }
        if UInt32(attributes.map_state) != XCB_MAP_STATE_VIEWABLE.rawValue {
            warnings.append("The window is hidden at the moment: its picture comes when it is shown.")
        }
        self.warnings = warnings
    }

    func isMoved(by event: XEvent) throws(AreaFailure) -> Bool {
        switch event {
        case .destroyed(window):
            throw .ended(.windowClosed(window))
        case .shown(window):
            arePixelsOutdated = true
            return true
        case .configured(window):
            return true
        case .hidden(window):
            // Hidden, it keeps its last pixels; on the screen others stand in its place.
            return !isRedirected
        default:
            return false
        }
    }

    func resolve() throws(AreaFailure) -> CaptureTarget {
        do throws(XFailure) {
            let attributes = try connection.attributes(of: window)
            let isViewable = UInt32(attributes.map_state) == XCB_MAP_STATE_VIEWABLE.rawValue
            return isRedirected ? try redirectedTarget(isViewable) : try screenTarget(isViewable)
        } catch {
            if case .refused(let code) = error, Int32(code) == XCB_WINDOW || Int32(code) == XCB_DRAWABLE {
                throw .ended(.windowClosed(window))
            }
            throw .x(error)
        }
    }

    private func redirectedTarget(_ isViewable: Bool) throws(XFailure) -> CaptureTarget {
        let geometry = try connection.geometry(of: window)
        let border = Int(geometry.border_width)
        let outer = PixelSize(width: Int(geometry.width) + 2 * border, height: Int(geometry.height) + 2 * border)
        // One that was only moved keeps its pixels.
        if isViewable, arePixelsOutdated || pixels?.size != outer {
            pixels = try NamedPixmap(connection, window: window)
            arePixelsOutdated = false
        }
        guard let pixels else {
            // Never shown so far: black, at the size that it will have.
            return target(
                drawable: window, origin: (0, 0),
                size: PixelSize(width: Int(geometry.width), height: Int(geometry.height)),
                readable: PixelRect(x: 0, y: 0, width: 0, height: 0), damageOrigin: (0, 0))
        }
        // The window's border is in its pixmap. The pixmap's own size counts: the window may have gone on to another.
        let size = PixelSize(
            width: max(1, pixels.size.width - 2 * border), height: max(1, pixels.size.height - 2 * border))
        return target(
            drawable: pixels.id, origin: (border, border), size: size, readable: PixelRect(size), damageOrigin: (0, 0))
    }

    private func screenTarget(_ isViewable: Bool) throws(XFailure) -> CaptureTarget {
        let geometry = try connection.geometry(of: window)
        let place = try connection.reply(
            xcb_translate_coordinates(connection.raw, window, connection.root, 0, 0).sequence,
            as: xcb_translate_coordinates_reply_t.self
        ).body
        let screen = try connection.screenSize()
        let origin = (x: Int(place.dst_x), y: Int(place.dst_y))
        let onPicture = PixelRect(x: -origin.x, y: -origin.y, width: screen.width, height: screen.height)
        let size = PixelSize(width: Int(geometry.width), height: Int(geometry.height))
        return target(
            drawable: connection.root, origin: origin, size: size,
            readable: isViewable ? onPicture.intersection(PixelRect(size)) : PixelRect(x: 0, y: 0, width: 0, height: 0),
            damageOrigin: origin)
    }

    private func target(
        drawable: xcb_drawable_t, origin: (x: Int, y: Int), size: PixelSize, readable: PixelRect,
        damageOrigin: (x: Int, y: Int)
    ) -> CaptureTarget {
        CaptureTarget(
            drawable: drawable, origin: origin, size: size, readable: readable, damageOrigin: damageOrigin,
            pointerWindow: window, pointerOrigin: (0, 0), layout: layout)
    }
}

/// A name for the pixels that a redirected window has at the moment; they stay as long as the name.
private final class NamedPixmap {
    let id: xcb_pixmap_t
    /// Borders included.
    let size: PixelSize
    private let connection: XConnection

    init(_ connection: XConnection, window: xcb_window_t) throws(XFailure) {
        let id = connection.makeID()
        try connection.check(xcb_composite_name_window_pixmap_checked(connection.raw, window, id))
        self.id = id
        self.connection = connection
        do throws(XFailure) {
            let geometry = try connection.geometry(of: id)
            size = PixelSize(width: Int(geometry.width), height: Int(geometry.height))
        } catch {
            xcb_free_pixmap(connection.raw, id)
            throw error
        }
    }

    deinit { xcb_free_pixmap(connection.raw, id) }
}

extension XConnection {
    /// Has the server keep the window's pixels apart from the screen's. False where it can't: it has no Composite, or this
    /// is the root window.
    fileprivate func redirect(_ window: xcb_window_t) throws(XFailure) -> Bool {
        guard extensions.composite != nil else { return false }
        do throws(XFailure) {
            try check(
                xcb_composite_redirect_window_checked(raw, window, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue)))
            return true
        } catch {
            guard case .refused = error else { throw error }
            return false
        }
    }

    fileprivate func attributes(of window: xcb_window_t) throws(XFailure) -> xcb_get_window_attributes_reply_t {
        try reply(
            xcb_get_window_attributes(raw, window).sequence, as: xcb_get_window_attributes_reply_t.self
        ).body
    }
}
