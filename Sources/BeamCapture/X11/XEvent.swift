import CXCB
import Glibc

/// The X server's events that matter to capturing.
enum XEvent: Equatable {
    /// Something was drawn.
    case damaged
    case pointerMoved
    /// The pointer has a new image.
    case pointerChanged
    /// A window (or the root) was moved or resized.
    case configured(xcb_window_t)
    /// A window was shown or hidden.
    case shown(xcb_window_t)
    case hidden(xcb_window_t)
    case destroyed(xcb_window_t)
    /// A window has another parent, such as a window manager's frame.
    case reparented(xcb_window_t)
    case propertyChanged(xcb_window_t, xcb_atom_t)
    /// XRandR: sizes or monitors changed.
    case screenChanged
    case other
}

extension XConnection {
    /// As `nextEvent`, straight from libxcb.
    func polledEvent(isRead: Bool) -> XEvent? {
        guard let event = isRead ? xcb_poll_for_queued_event(raw) : xcb_poll_for_event(raw) else { return nil }
        defer { free(event) }
        return decode(event)
    }

    private func decode(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> XEvent {
        // The top bit marks events sent by another client, such as a window manager's ConfigureNotify.
        let type = event.pointee.response_type & 0x7f
        func window<Body>(_ body: Body.Type, _ field: (Body) -> xcb_window_t) -> xcb_window_t {
            event.withMemoryRebound(to: body, capacity: 1) { field($0.pointee) }
        }
        switch Int32(type) {
        case XCB_CONFIGURE_NOTIFY: return .configured(window(xcb_configure_notify_event_t.self) { $0.window })
        case XCB_MAP_NOTIFY: return .shown(window(xcb_map_notify_event_t.self) { $0.window })
        case XCB_VISIBILITY_NOTIFY: return .shown(window(xcb_visibility_notify_event_t.self) { $0.window })
        case XCB_UNMAP_NOTIFY: return .hidden(window(xcb_unmap_notify_event_t.self) { $0.window })
        case XCB_DESTROY_NOTIFY: return .destroyed(window(xcb_destroy_notify_event_t.self) { $0.window })
        case XCB_REPARENT_NOTIFY: return .reparented(window(xcb_reparent_notify_event_t.self) { $0.window })
        case XCB_PROPERTY_NOTIFY:
            return event.withMemoryRebound(to: xcb_property_notify_event_t.self, capacity: 1) {
                .propertyChanged($0.pointee.window, $0.pointee.atom)
            }
        case XCB_GE_GENERIC:
            let opcode = event.withMemoryRebound(to: xcb_ge_generic_event_t.self, capacity: 1) { $0.pointee.extension }
            return opcode == extensions.input?.majorOpcode ? .pointerMoved : .other
        default: break
        }
        if let damage = extensions.damage, type == damage.firstEvent + UInt8(XCB_DAMAGE_NOTIFY) { return .damaged }
        if let xfixes = extensions.xfixes, type == xfixes.firstEvent + UInt8(XCB_XFIXES_CURSOR_NOTIFY) {
            return .pointerChanged
        }
        if let randr = extensions.randr,
            type == randr.firstEvent + UInt8(XCB_RANDR_SCREEN_CHANGE_NOTIFY)
                || type == randr.firstEvent + UInt8(XCB_RANDR_NOTIFY)
        {
            return .screenChanged
        }
        return .other
    }
}
