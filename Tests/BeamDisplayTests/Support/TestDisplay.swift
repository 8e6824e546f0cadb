import BeamMedia
import CSDL2
import Foundation

/// A private X server without a visible screen (Xvfb). It ends with its last client, and `connection` is held until the
/// process ends.
@MainActor final class TestDisplay {
    nonisolated static let isAvailable = Tool.exists("Xvfb")

    /// The display that most tests share: 1280 × 720, 24 bits.
    static let shared = Result { try TestDisplay() }

    let name: String
    let size: (width: Int, height: Int)
    private let process = Process()
    private let connection: OpaquePointer
    private var isKilled = false

    /// - Parameter extensions: to disable.
    init(width: Int = 1280, height: Int = 720, depth: Int = 24, without extensions: [String] = []) throws {
        size = (width, height)
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [
                "Xvfb", "-displayfd", "1", "-screen", "0", "\(width)x\(height)x\(depth)", "-nolisten", "tcp",
                "-terminate",
            ] + extensions.flatMap { ["-extension", $0] }
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Xvfb writes the number of its display when it accepts connections.
        var line = Data()
        while !line.contains(10) {
            let part = output.fileHandleForReading.availableData
            if part.isEmpty { break }
            line += part
        }
        name = ":" + String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let connection = XOpenDisplay(name) else { throw TestFailure("Xvfb doesn't start") }
        self.connection = connection
    }

    isolated deinit {
        if !isKilled { XCloseDisplay(connection) }
    }

    /// Kills the server while clients are connected.
    func kill() {
        // Xlib ends the process when it finds a connection broken, so this one isn't used any more.
        isKilled = true
        Foundation.kill(process.processIdentifier, SIGKILL)
    }

    /// Runs `xdotool` with these arguments to press keys and move the mouse.
    func xdotool(_ arguments: String...) throws { try xdotool(arguments) }

    func xdotool(_ arguments: [String]) throws { try Tool.run("xdotool", arguments, display: name) }

    /// The positions and sizes of the root window's visible children.
    func windows() -> [(x: Int, y: Int, width: Int, height: Int)] {
        visibleWindows().map {
            (Int($0.attributes.x), Int($0.attributes.y), Int($0.attributes.width), Int($0.attributes.height))
        }
    }

    /// Asks the only window to close, as a window manager does when its close button is clicked.
    func askToClose() {
        guard let window = visibleWindows().first?.window else { return }
        var event = XEvent()
        event.xclient.type = ClientMessage
        event.xclient.window = window
        event.xclient.message_type = XInternAtom(connection, "WM_PROTOCOLS", 0)
        event.xclient.format = 32
        event.xclient.data.l.0 = Int(XInternAtom(connection, "WM_DELETE_WINDOW", 0))
        XSendEvent(connection, window, 0, 0, &event)
        XFlush(connection)
    }

    /// Opens a window without a frame over all others, by default as large as the screen.
    func cover(_ rect: PixelRect? = nil) -> Window {
        let rect = rect ?? PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        let window = XCreateSimpleWindow(
            connection, XDefaultRootWindow(connection), Int32(rect.x), Int32(rect.y), UInt32(rect.width),
            UInt32(rect.height), 0, 0, 0xff_ffff)
        XMapRaised(connection, window)
        XSync(connection, 0)
        return window
    }

    /// Gives a window the keyboard, as a window manager does.
    func focus(_ window: Window) {
        XSetInputFocus(connection, window, RevertToParent, 0)
        XSync(connection, 0)
    }

    func uncover(_ window: Window) {
        XDestroyWindow(connection, window)
        XSync(connection, 0)
    }

    /// Gives keys without a meaning these ones (X11/keysymdef.h), until the server ends.
    func addKeys(_ symbols: [KeySym]) {
        var (first, last) = (Int32(0), Int32(0))
        XDisplayKeycodes(connection, &first, &last)
        let free = (first...last).filter { code in
            var count: Int32 = 0
            guard let known = XGetKeyboardMapping(connection, KeyCode(code), 1, &count) else { return false }
            defer { XFree(known) }
            return (0..<Int(count)).allSatisfy { known[$0] == 0 }
        }
        for (code, symbol) in zip(free, symbols) {
            var symbol = symbol
            XChangeKeyboardMapping(connection, code, 1, &symbol, 1)
        }
        XSync(connection, 0)
    }

    /// Sets the server's resources, as `xrdb` does; nil: there are none.
    func setResources(_ text: String?) {
        let (root, property) = (XDefaultRootWindow(connection), Atom(XA_RESOURCE_MANAGER))
        if let text {
            XChangeProperty(
                connection, root, property, Atom(XA_STRING), 8, PropModeReplace, Array(text.utf8),
                Int32(text.utf8.count))
        } else {
            XDeleteProperty(connection, root, property)
        }
        XSync(connection, 0)
    }

    /// Sets the part of the screen without panels and docks, as window managers do; nil: nobody says.
    func setWorkArea(_ rect: PixelRect?) {
        let (root, property) = (XDefaultRootWindow(connection), XInternAtom(connection, "_NET_WORKAREA", 0))
        if let rect {
            // Xlib takes 32 bits as a `long`.
            let values = [rect.x, rect.y, rect.width, rect.height]
            values.withUnsafeBytes { bytes in
                _ = XChangeProperty(
                    connection, root, property, Atom(XA_CARDINAL), 32, PropModeReplace,
                    bytes.bindMemory(to: UInt8.self).baseAddress, 4)
            }
        } else {
            XDeleteProperty(connection, root, property)
        }
        XSync(connection, 0)
    }

    /// Announces a window manager that can do what `supports` names (EWMH), though nobody does it.
    func pretendWindowManager(supports names: [String]) {
        let root = XDefaultRootWindow(connection)
        func set(_ property: String, _ type: Atom, _ values: [UInt]) {
            // Xlib takes 32 bits as a `long`.
            values.withUnsafeBytes { bytes in
                _ = XChangeProperty(
                    connection, root, XInternAtom(connection, property, 0), type, 32, PropModeReplace,
                    bytes.bindMemory(to: UInt8.self).baseAddress, Int32(values.count))
            }
        }
        set("_NET_SUPPORTING_WM_CHECK", XA_WINDOW, [UInt(root)])
        set("_NET_SUPPORTED", XA_ATOM, names.map { UInt(XInternAtom(connection, $0, 0)) })
        XSync(connection, 0)
    }

    /// The lowest visible window.
    var firstWindow: Window? { visibleWindows().first?.window }

    /// Whether the lowest window asks for attention (ICCCM 4.1.2.4).
    var isUrgent: Bool {
        guard let window = firstWindow, let hints = XGetWMHints(connection, window) else {
            return false
        }
        defer { XFree(hints) }
        // XUrgencyHint, a macro that Swift doesn't see.
        return hints.pointee.flags & (1 << 8) != 0
    }

    private func visibleWindows() -> [(window: Window, attributes: XWindowAttributes)] {
        var (root, parent) = (Window(0), Window(0))
        var children: UnsafeMutablePointer<Window>?
        var count: UInt32 = 0
        XQueryTree(connection, XDefaultRootWindow(connection), &root, &parent, &children, &count)
        defer { if let children { XFree(children) } }
        return UnsafeBufferPointer(start: children, count: Int(count)).compactMap { window in
            var attributes = XWindowAttributes()
            XGetWindowAttributes(connection, window, &attributes)
            guard attributes.map_state == IsViewable else { return nil }
            return (window, attributes)
        }
    }

    /// Red, green and blue of a pixel on the X server's screen. 24-bit screens only.
    func screenPixel(x: Int, y: Int) -> [Int] {
        guard
            let image = XGetImage(
                connection, XDefaultRootWindow(connection), Int32(x), Int32(y), 1, 1, ~0, ZPixmap)
        else { return [] }
        let pixel = image.pointee.f.get_pixel(image, 0, 0)
        _ = image.pointee.f.destroy_image(image)
        return [16, 8, 0].map { Int(pixel >> $0) & 0xff }
    }
}

extension TestDisplay {
    /// The number of pixels that differ between `buffer`, shown by a window at `place`, and the X server's screen;
    /// checks every `step`th pixel in both directions.
    func differences(from buffer: PixelBuffer, at place: (x: Int, y: Int), step: Int) -> Int {
        let (width, height) = (buffer.size.width, buffer.size.height)
        guard
            let image = XGetImage(
                connection, XDefaultRootWindow(connection), Int32(place.x), Int32(place.y), UInt32(width),
                UInt32(height), ~0, ZPixmap)
        else { return .max }
        defer { _ = image.pointee.f.destroy_image(image) }
        var count = 0
        for y in stride(from: 0, to: height, by: step) {
            for x in stride(from: 0, to: width, by: step) {
                let pixel = image.pointee.f.get_pixel(image, Int32(x), Int32(y))
                if [16, 8, 0].map({ Int(pixel >> $0) & 0xff }) != buffer.rgb(x, y) { count += 1 }
            }
        }
        return count
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

enum Tool {
    static func exists(_ name: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    static func run(_ name: String, _ arguments: [String], display: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["DISPLAY": display]) { $1 }
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw TestFailure("\(name) \(arguments.joined(separator: " ")) ends with \(process.terminationStatus)")
        }
    }
}
