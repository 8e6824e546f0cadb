import CXCB

/// Whether a window can be seen, apart from other windows that cover it.
///
/// Window managers hide a window in three ways: they unmap it, they unmap the frame around it, or, to keep its pixels
/// for a thumbnail, they leave it mapped below everything else and only mark it (EWMH, `_NET_WM_STATE_HIDDEN`).
final class WindowVisibility {
    private let connection: XConnection
    private let window: xcb_window_t
    private let state: xcb_atom_t
    private let hiddenState: xcb_atom_t
    /// The windows around this one, without the root: a frame, and what that lies in.
    private var ancestors: Set<xcb_window_t> = []
    private(set) var isVisible = true

    /// The caller has selected the window's structure and property events. Fails with BadWindow if it has gone.
    init(_ connection: XConnection, _ window: xcb_window_t) throws(XFailure) {
        self.connection = connection
        self.window = window
        state = try connection.atom("_NET_WM_STATE")
        hiddenState = try connection.atom("_NET_WM_STATE_HIDDEN")
        try findAncestors()
        try read()
    }

    /// Whether the window lies inside `other`.
    func isInside(_ other: xcb_window_t) -> Bool { ancestors.contains(other) }

    /// To be called for each event from the server. Fails with BadWindow if the window has gone.
    func update(after event: XEvent) throws(XFailure) {
        switch event {
        case .shown(let other), .hidden(let other):
            if other == window || ancestors.contains(other) { try read() }
        case .reparented(let other):
            guard other == window || ancestors.contains(other) else { return }
            try findAncestors()
            try read()
        case .propertyChanged(window, state):
            try read()
        default: break
        }
    }

    private func read() throws(XFailure) {
        let attributes = try connection.attributes(of: window)
        let isViewable = UInt32(attributes.map_state) == XCB_MAP_STATE_VIEWABLE.rawValue
        let states = try connection.atoms(state, of: window)
        isVisible = isViewable && !states.contains(hiddenState)
    }

    private func findAncestors() throws(XFailure) {
        ancestors = []
        var current = window
        while let parent = try parent(of: current), ancestors.insert(parent).inserted {
            // Before its state is read, so that no change is missed. A frame may go at any time: an error is ignored.
            xcb_change_window_attributes(
                connection.raw, parent, XCB_CW_EVENT_MASK.rawValue, [XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue])
            current = parent
        }
    }

    /// Nil: the root, or a frame that has gone since, after which the window has another parent and is reported so.
    private func parent(of other: xcb_window_t) throws(XFailure) -> xcb_window_t? {
        do throws(XFailure) {
            let tree = try connection.reply(
                xcb_query_tree(connection.raw, other).sequence, as: xcb_query_tree_reply_t.self)
            let parent = tree.body.parent
            return parent == 0 || parent == connection.root ? nil : parent
        } catch {
            guard case .refused = error, other != window else { throw error }
            return nil
        }
    }
}

extension XConnection {
    fileprivate func atom(_ name: String) throws(XFailure) -> xcb_atom_t {
        let cookie = xcb_intern_atom(raw, 0, UInt16(name.utf8.count), name)
        return try reply(cookie.sequence, as: xcb_intern_atom_reply_t.self).body.atom
    }

    /// The atoms in a property of `window`; none if it isn't set.
    fileprivate func atoms(_ property: xcb_atom_t, of window: xcb_window_t) throws(XFailure) -> [xcb_atom_t] {
        let reply = try reply(
            xcb_get_property(raw, 0, window, property, XCB_ATOM_ATOM.rawValue, 0, 64).sequence,
            as: xcb_get_property_reply_t.self)
        guard reply.body.format == 32, let value = xcb_get_property_value(reply.pointer) else { return [] }
        let count = Int(xcb_get_property_value_length(reply.pointer)) / MemoryLayout<xcb_atom_t>.size
        let atoms = UnsafeBufferPointer(start: value.assumingMemoryBound(to: xcb_atom_t.self), count: count)
        return Array(atoms)
    }
}
