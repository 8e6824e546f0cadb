import BeamMedia
import CXCB
import Glibc

/// A window that a person could share.
public struct ScreenWindow: Sendable, Hashable, CustomStringConvertible {
    /// As xwininfo prints it.
    public var id: UInt32
    /// May be empty. Whoever made the window has chosen it; without characters that mustn't be shown.
    public var title: String
    /// The program's name for itself; empty if it has none.
    public var program: String
    public var size: PixelSize

    /// `0x1c00007  1280x720  Firefox  Mozilla Firefox`.
    public var description: String {
        let name = "0x" + String(id, radix: 16)
        return [name, "\(size)", program.isEmpty ? "?" : program, title.isEmpty ? "(no title)" : title]
            .joined(separator: "  ")
    }

    /// For a sentence: `0x1c00007 (“Mozilla Firefox”, Firefox)`.
    var quoted: String {
        "0x" + String(id, radix: 16) + " (“\(title)”" + (program.isEmpty ? "" : ", \(program)") + ")"
    }
}

extension [ScreenWindow] {
    private static let longestList = 12

    /// The window whose title contains `text`, in upper or lower case. If several do, the one whose title is `text`.
    func window(titled text: String) throws(CaptureError) -> ScreenWindow {
        let wanted = text.lowercased()
        let matches = filter { $0.title.lowercased().contains(wanted) }
        let exact = matches.filter { $0.title.lowercased() == wanted }
        if exact.count == 1 { return exact[0] }
        guard matches.count <= 1 else { throw .severalWindows(text, matches: matches.sentences) }
        guard let match = matches.first else { throw .noWindowTitled(text, available: sentences) }
        return match
    }

    /// For an error: as many as a person reads.
    var sentences: [String] {
        prefix(Self.longestList).map(\.quoted)
            + (count > Self.longestList ? ["and \(count - Self.longestList) more"] : [])
    }
}

extension X11Source {
    /// The windows of a display (nil: the environment's), the topmost first: those that its window manager lists, or
    /// without one those that it would. BeamRoom's own are left out.
    public static func windows(display: String? = nil) throws(CaptureError) -> [ScreenWindow] {
        try withoutBrokenPipeSignal { () throws(CaptureError) in
            let connection = try XConnection(display: display, control: makeControl())
            return try connection.orEnd { () throws(XFailure) in try connection.windows() }
        }
    }
}

extension XConnection {
    /// Bytes of a title, in units of 4.
    private static let longestTitle: UInt32 = 128

    func windows() throws(XFailure) -> [ScreenWindow] {
        let atoms = try atoms([
            "_NET_CLIENT_LIST_STACKING", "_NET_CLIENT_LIST", "_NET_WM_NAME", OwnWindows.markName, "_NET_WM_PID",
        ])
        var listed = try words(askProperty(atoms[0], of: root, longest: 4096))
        if listed.isEmpty { listed = try words(askProperty(atoms[1], of: root, longest: 4096)) }
        if listed.isEmpty {
            let known = try WindowAtoms(self)
            for topLevel in try topLevels() where !topLevel.isOverrideRedirect {
                listed.append(try managedWindow(in: topLevel.window, known) ?? topLevel.window)
            }
        }
        let questions = listed.reversed().map { window in
            (
                window, geometry: xcb_get_geometry(raw, window).sequence,
                name: askProperty(atoms[2], of: window, longest: Self.longestTitle),
                oldName: askProperty(XCB_ATOM_WM_NAME.rawValue, of: window, longest: Self.longestTitle),
                kind: askProperty(XCB_ATOM_WM_CLASS.rawValue, of: window, longest: Self.longestTitle),
                mark: askProperty(atoms[3], of: window), process: askProperty(atoms[4], of: window)
            )
        }
        var found: [ScreenWindow] = []
        for question in questions {
            let geometry = try replyIfGranted(question.geometry, as: xcb_get_geometry_reply_t.self)
            let name = try bytes(question.name)
            let oldName = try bytes(question.oldName)
            let kind = try bytes(question.kind)
            let mark = try words(question.mark)
            let process = try words(question.process)
            guard let geometry = geometry?.body, mark.isEmpty else { continue }
            // WM_NAME is ISO 8859-1, whose characters have the numbers of Unicode.
            let title =
                name.isEmpty
                ? String(String.UnicodeScalarView(oldName.map { Unicode.Scalar($0) }))
                : String(decoding: name, as: UTF8.self)
            // WM_CLASS has two strings, an instance's name and a class (ICCCM 4.1.2.5).
            let names = kind.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            found.append(
                ScreenWindow(
                    id: question.0, title: ShownText.line(title),
                    program: ShownText.line(names.last ?? process.first.flatMap(Self.processName) ?? ""),
                    size: PixelSize(width: Int(geometry.width), height: Int(geometry.height))))
        }
        return found
    }

    /// Of a process on this machine.
    private static func processName(_ number: UInt32) -> String? {
        let file = open("/proc/\(number)/comm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count).prefix { $0 != 10 }, as: UTF8.self) : nil
    }

    /// The window that a person has named: by number, or by a part of its title.
    func window(named text: String) throws(CaptureError) -> xcb_window_t {
        if let number = UInt32(text), number != 0 {
            let exists = try orEnd { () throws(XFailure) in
                try replyIfGranted(xcb_get_geometry(raw, number).sequence, as: xcb_get_geometry_reply_t.self) != nil
            }
            if exists { return number }
        }
        return try orEnd { () throws(XFailure) in try windows() }.window(titled: text).id
    }
}
