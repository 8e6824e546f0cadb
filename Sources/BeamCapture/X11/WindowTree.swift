import BeamMedia
import CXCB
import Glibc

/// A visible child of the root window.
struct TopLevel {
    let window: xcb_window_t
    /// On the screen, with its border.
    let frame: PixelRect
    let border: Int
    let depth: UInt8
    let visual: xcb_visualid_t
    /// Set by menus, tooltips and the like: no window manager places it.
    let isOverrideRedirect: Bool
}

/// The atoms that tell which window belongs to which.
struct WindowAtoms {
    let state: xcb_atom_t
    let clientLeader: xcb_atom_t
    let processID: xcb_atom_t
    let type: xcb_atom_t
    let typeDialog: xcb_atom_t
    let opacity: xcb_atom_t
    let opaqueRegion: xcb_atom_t
    let compositor: xcb_atom_t

    init(_ connection: XConnection) throws(XFailure) {
        let atoms = try connection.atoms([
            "WM_STATE", "WM_CLIENT_LEADER", "_NET_WM_PID", "_NET_WM_WINDOW_TYPE", "_NET_WM_WINDOW_TYPE_DIALOG",
            "_NET_WM_WINDOW_OPACITY", "_NET_WM_OPAQUE_REGION", "_NET_WM_CM_S\(connection.screenNumber)",
        ])
        state = atoms[0]
        clientLeader = atoms[1]
        processID = atoms[2]
        type = atoms[3]
        typeDialog = atoms[4]
        opacity = atoms[5]
        opaqueRegion = atoms[6]
        compositor = atoms[7]
    }
}

/// Windows and their properties. Other programs' windows may go at any time: what was asked of one that has gone is
/// empty.
extension XConnection {
    func atoms(_ names: [String]) throws(XFailure) -> [xcb_atom_t] {
        let questions = names.map { xcb_intern_atom(raw, 0, UInt16($0.utf8.count), $0).sequence }
        var atoms: [xcb_atom_t] = []
        for question in questions {
            atoms.append(try reply(question, as: xcb_intern_atom_reply_t.self).body.atom)
        }
        return atoms
    }

    /// Nil if the request was refused.
    func replyIfGranted<Body>(_ sequence: UInt32, as type: Body.Type) throws(XFailure) -> XReply<Body>? {
        do throws(XFailure) {
            return try reply(sequence, as: type)
        } catch {
            guard case .refused = error else { throw error }
            return nil
        }
    }

    func children(of window: xcb_window_t) throws(XFailure) -> [xcb_window_t] {
        guard
            let tree = try replyIfGranted(xcb_query_tree(raw, window).sequence, as: xcb_query_tree_reply_t.self)
        else { return [] }
        return Array(
            UnsafeBufferPointer(
                start: xcb_query_tree_children(tree.pointer), count: Int(xcb_query_tree_children_length(tree.pointer))))
    }

    /// Those that are visible and have pixels, from the lowest to the topmost.
    func visibleChildren(of window: xcb_window_t) throws(XFailure) -> [TopLevel] {
        let questions = try children(of: window).map {
            ($0, xcb_get_window_attributes(raw, $0).sequence, xcb_get_geometry(raw, $0).sequence)
        }
        var found: [TopLevel] = []
        for (window, attributes, geometry) in questions {
            let attributes = try replyIfGranted(attributes, as: xcb_get_window_attributes_reply_t.self)
            let geometry = try replyIfGranted(geometry, as: xcb_get_geometry_reply_t.self)
            guard let attributes = attributes?.body, let geometry = geometry?.body,
                UInt32(attributes.map_state) == XCB_MAP_STATE_VIEWABLE.rawValue,
                UInt32(attributes._class) != XCB_WINDOW_CLASS_INPUT_ONLY.rawValue
            else { continue }
            let border = Int(geometry.border_width)
            found.append(
                TopLevel(
                    window: window,
                    frame: PixelRect(
                        x: Int(geometry.x), y: Int(geometry.y), width: Int(geometry.width) + 2 * border,
                        height: Int(geometry.height) + 2 * border),
                    border: border, depth: geometry.depth, visual: attributes.visual,
                    isOverrideRedirect: attributes.override_redirect != 0))
        }
        return found
    }

    func topLevels() throws(XFailure) -> [TopLevel] { try visibleChildren(of: root) }

    /// The program's own window in `window`, which may be a window manager's frame: `window` itself, or the first one
    /// inside that a window manager has marked (ICCCM, WM_STATE). Nil: there is none.
    func managedWindow(in window: xcb_window_t, _ atoms: WindowAtoms, depth: Int = 3) throws(XFailure) -> xcb_window_t?
    {
        if try !words(askProperty(atoms.state, of: window)).isEmpty { return window }
        guard depth > 0 else { return nil }
        for child in try children(of: window) {
            if let found = try managedWindow(in: child, atoms, depth: depth - 1) { return found }
        }
        return nil
    }

    /// Sends the question without waiting for the reply.
    func askProperty(_ property: xcb_atom_t, of window: xcb_window_t, longest words: UInt32 = 256) -> UInt32 {
        xcb_get_property(raw, 0, window, property, XCB_GET_PROPERTY_TYPE_ANY.rawValue, 0, words).sequence
    }

    /// A property's 32-bit values; none if it isn't set.
    func words(_ question: UInt32) throws(XFailure) -> [UInt32] {
        guard let reply = try replyIfGranted(question, as: xcb_get_property_reply_t.self), reply.body.format == 32,
            let value = xcb_get_property_value(reply.pointer)
        else { return [] }
        let count = Int(xcb_get_property_value_length(reply.pointer)) / 4
        return Array(UnsafeBufferPointer(start: value.assumingMemoryBound(to: UInt32.self), count: count))
    }

    /// A property's bytes; none if it isn't set.
    func bytes(_ question: UInt32) throws(XFailure) -> [UInt8] {
        guard let reply = try replyIfGranted(question, as: xcb_get_property_reply_t.self), reply.body.format == 8,
            let value = xcb_get_property_value(reply.pointer)
        else { return [] }
        let count = Int(xcb_get_property_value_length(reply.pointer))
        return Array(UnsafeBufferPointer(start: value.assumingMemoryBound(to: UInt8.self), count: count))
    }

    /// Whether a compositing manager draws the screen, so that transparent pixels of windows are seen through.
    func isComposited(_ atoms: WindowAtoms) throws(XFailure) -> Bool {
        try reply(xcb_get_selection_owner(raw, atoms.compositor).sequence, as: xcb_get_selection_owner_reply_t.self)
            .body.owner != 0
    }

    /// Where `window`'s origin, inside its border, lies in `other`; nil if one of them has gone.
    func place(of window: xcb_window_t, in other: xcb_window_t) throws(XFailure) -> (x: Int, y: Int)? {
        let question = xcb_translate_coordinates(raw, window, other, 0, 0).sequence
        guard let reply = try replyIfGranted(question, as: xcb_translate_coordinates_reply_t.self) else { return nil }
        return (Int(reply.body.dst_x), Int(reply.body.dst_y))
    }

    /// The window's shape with its border, in the coordinates inside its border; nil: not known.
    func shape(of window: xcb_window_t) throws(XFailure) -> [PixelRect]? {
        guard extensions.xfixes != nil else { return nil }
        let region = makeID()
        xcb_xfixes_create_region_from_window(raw, region, window, 0)
        let question = xcb_xfixes_fetch_region(raw, region).sequence
        xcb_xfixes_destroy_region(raw, region)
        guard let reply = try replyIfGranted(question, as: xcb_xfixes_fetch_region_reply_t.self) else { return nil }
        let rectangles = UnsafeBufferPointer(
            start: xcb_xfixes_fetch_region_rectangles(reply.pointer),
            count: Int(xcb_xfixes_fetch_region_rectangles_length(reply.pointer)))
        return rectangles.map {
            PixelRect(x: Int($0.x), y: Int($0.y), width: Int($0.width), height: Int($0.height))
        }
    }

    /// The windows around `window`, from the nearest to the child of the root; without the root.
    func ancestors(of window: xcb_window_t) throws(XFailure) -> [xcb_window_t] {
        var found: [xcb_window_t] = []
        var current = window
        while let tree = try replyIfGranted(xcb_query_tree(raw, current).sequence, as: xcb_query_tree_reply_t.self) {
            current = tree.body.parent
            guard current != 0, current != root, !found.contains(current) else { break }
            found.append(current)
        }
        return found
    }
}
