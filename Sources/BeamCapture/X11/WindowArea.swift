import BeamMedia
import CXCB

/// One window with its descendants and its popups.
///
/// With the Composite extension the window has its own pixmap, even where other windows cover it; the pixmap is
/// replaced when the window's size changes. Without it, the window's rectangle of the screen is captured.
final class WindowArea: CaptureArea {
    private let connection: XConnection
    let window: xcb_window_t
    private let layout: PixelLayout
    /// The window has pixels of its own: others over it aren't in the picture.
    let isRedirected: Bool
    private var pixels: NamedPixmap?
    private var arePixelsOutdated = true
    private let watch: WindowVisibility
    /// Nil without redirection: the screen shows them then.
    private let popups: WindowPopups?
    /// Nil with redirection: other windows don't cover this one then.
    let ownWindows: OwnWindows?

    var visibility: SourceVisibility { watch.isVisible ? .visible : .windowHidden }
    let warnings: [String]
    var description: String { "window 0x" + String(window, radix: 16) }
    var damageWindow: xcb_window_t { isRedirected ? window : connection.root }

    init(_ connection: XConnection, _ window: xcb_window_t) throws(CaptureError) {
        self.connection = connection
        self.window = window
        let attributes: xcb_get_window_attributes_reply_t
        do throws(XFailure) {
            // Select events before reading the state, so that no change is missed.
            let mask =
                XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_VISIBILITY_CHANGE.rawValue
                | XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue
            try connection.check(
                xcb_change_window_attributes_checked(connection.raw, window, XCB_CW_EVENT_MASK.rawValue, [mask]))
            attributes = try connection.attributes(of: window)
            watch = try WindowVisibility(connection, window)
        } catch {
            if case .refused = error { throw .noSuchWindow(window) }
            throw connection.captureError(error)
        }
        guard UInt32(attributes._class) != XCB_WINDOW_CLASS_INPUT_ONLY.rawValue else {
            throw .unusableWindow(window, reason: "it is an input-only window and shows nothing")
        }
        isRedirected = try connection.orEnd { () throws(XFailure) in try connection.redirect(window) }
        let isApart = isRedirected
        popups = try connection.orEnd { () throws(XFailure) in isApart ? try WindowPopups(connection, window) : nil }
        ownWindows = try connection.orEnd { () throws(XFailure) in isApart ? nil : try OwnWindows(connection) }
        layout = try PixelLayout(connection, visual: isRedirected ? attributes.visual : connection.screen.root_visual)
        var warnings: [String] = []
        if !isRedirected {
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
        do throws(XFailure) {
            try watch.update(after: event)
        } catch {
            throw failure(error)
        }
        let isOverlaid = popups?.isMoved(by: event) == true || ownWindows?.isMoved(by: event) == true
        switch event {
        case .destroyed(window):
            throw .ended(.windowClosed(window))
        case .shown(let shown) where shown == window || watch.isInside(shown):
            arePixelsOutdated = true
            return true
        case .configured(window):
            return true
        case .hidden(window):
            // A redirected window keeps its last pixels when it is hidden. On the screen, its place then shows other
            // windows.
            return !isRedirected
        default:
            return isOverlaid
        }
    }

    /// What a failed request means: one for a window that has gone ends the capture.
    private func failure(_ error: XFailure) -> AreaFailure {
        guard case .refused(let code) = error, Int32(code) == XCB_WINDOW || Int32(code) == XCB_DRAWABLE else {
            return .x(error)
        }
        return .ended(.windowClosed(window))
    }

    func resolve() throws(AreaFailure) -> CaptureTarget {
        do throws(XFailure) {
            let attributes = try connection.attributes(of: window)
            let isViewable = UInt32(attributes.map_state) == XCB_MAP_STATE_VIEWABLE.rawValue
            return isRedirected ? try redirectedTarget(isViewable) : try screenTarget(isViewable)
        } catch {
            throw failure(error)
        }
    }

    private func redirectedTarget(_ isViewable: Bool) throws(XFailure) -> CaptureTarget {
        let geometry = try connection.geometry(of: window)
        let border = Int(geometry.border_width)
        let outer = PixelSize(width: Int(geometry.width) + 2 * border, height: Int(geometry.height) + 2 * border)
        // Moving the window doesn't change its pixmap.
        if isViewable, arePixelsOutdated || pixels?.size != outer {
            pixels = try NamedPixmap(connection, window: window)
            arePixelsOutdated = false
        }
        guard let pixels else {
            // The window was never shown, so deliver black pictures of its size.
            return target(
                drawable: window, origin: (0, 0),
                size: PixelSize(width: Int(geometry.width), height: Int(geometry.height)),
                readable: PixelRect(x: 0, y: 0, width: 0, height: 0), damageOrigin: (0, 0))
        }
        // The pixmap includes the border. Use the pixmap's size, because the window may have been resized since.
        let size = PixelSize(
            width: max(1, pixels.size.width - 2 * border), height: max(1, pixels.size.height - 2 * border))
        var target = target(
            drawable: pixels.id, origin: (border, border), size: size, readable: PixelRect(size), damageOrigin: (0, 0))
        if isViewable { target.layers = try popups?.layers(in: size) ?? [] }
        return target
    }

    private func screenTarget(_ isViewable: Bool) throws(XFailure) -> CaptureTarget {
        let covers = try ownWindows?.covers() ?? []
        let geometry = try connection.geometry(of: window)
        let place = try connection.reply(
            xcb_translate_coordinates(connection.raw, window, connection.root, 0, 0).sequence,
            as: xcb_translate_coordinates_reply_t.self
        ).body
        let screen = try connection.screenSize()
        let origin = (x: Int(place.dst_x), y: Int(place.dst_y))
        let onPicture = PixelRect(x: -origin.x, y: -origin.y, width: screen.width, height: screen.height)
        let size = PixelSize(width: Int(geometry.width), height: Int(geometry.height))
        var target = target(
            drawable: connection.root, origin: origin, size: size,
            readable: isViewable ? onPicture.intersection(PixelRect(size)) : PixelRect(x: 0, y: 0, width: 0, height: 0),
            damageOrigin: origin)
        target.covers = covers.map { $0.moved(by: -origin.x, -origin.y) }
        return target
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

/// The pixmap that currently backs a redirected window. It stays valid as long as this object.
final class NamedPixmap {
    let id: xcb_pixmap_t
    /// Including the border.
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
    /// Redirects the window to its own pixmap. False if the server has no Composite extension.
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

    func attributes(of window: xcb_window_t) throws(XFailure) -> xcb_get_window_attributes_reply_t {
        try reply(
            xcb_get_window_attributes(raw, window).sequence, as: xcb_get_window_attributes_reply_t.self
        ).body
    }
}
