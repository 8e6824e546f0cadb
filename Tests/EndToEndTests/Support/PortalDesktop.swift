import Foundation

/// A Wayland desktop with the real portal and PipeWire, without a visible screen (`Scripts/lib/wayland-desktop`). It ends with
/// its owner.
final class PortalDesktop: Sendable {
    enum Kind: String, Sendable {
        /// With wlroots' portal, which shares its only monitor without a dialog.
        case sway
        /// mutter, with GNOME's portal.
        case gnome
        /// KWin, with KDE's portal.
        case kde

        /// What is missing to bring it up; nil: nothing.
        var obstacle: String? {
            guard let check = try? ChildProcess(PortalDesktop.script, ["check", rawValue]),
                let ending = try? check.waitForEnd()
            else { return "\(PortalDesktop.script) doesn't run" }
            return ending == .exited(0) ? nil : "\(rawValue) with its portal can't run here (\(check.outputText))"
        }
    }

    private static let scripts = (#filePath as NSString).deletingLastPathComponent + "/../../../Scripts/lib"
    private static let script = scripts + "/wayland-desktop"
    private static let windowScript = scripts + "/wayland-window"

    /// Of a program in its session.
    let environment: [String: String?]
    private let kind: Kind
    private let directory: ScratchDirectory
    private let process: ChildProcess

    init(_ kind: Kind, size: String) throws {
        self.kind = kind
        directory = try ScratchDirectory()
        process = try ChildProcess(Self.script, [kind.rawValue, directory.file("desktop"), size], input: .pipe)
        let lines = process.state.wait(timeout: 60) { state -> [String]? in
            state.output.contains("ready") ? state.output : state.ending == nil ? nil : []
        }
        guard let lines, !lines.isEmpty else {
            throw HarnessError("\(kind.rawValue) doesn't start: \(process.errorText)")
        }
        var environment: [String: String?] = [:]
        for line in lines {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
        }
        self.environment = environment
    }

    deinit {
        // At the end of its input it ends all parts.
        process.hangUp()
        _ = try? process.waitForEnd()
        process.end()
    }

    /// Runs a command of the script's, and waits until it has run.
    func perform(_ command: String) throws {
        func answers(_ state: ChildProcess.State) -> [String] {
            state.output.filter { $0 == "done" || $0 == "failed" }
        }
        let before = answers(process.state.current).count
        process.type(command)
        let answer = process.state.wait(timeout: 60) { answers($0).dropFirst(before).first }
        guard answer == "done" else { throw HarnessError("“\(command)”: \(answer ?? "no answer")") }
    }

    /// sway: fills the monitor. KDE: fills the window that `openWindow` has opened.
    func paint(_ colour: String) throws {
        if kind == .kde {
            try colour.write(toFile: directory.file("colour"), atomically: true, encoding: .utf8)
        } else {
            try perform("run swaymsg output HEADLESS-1 bg '#\(colour)' solid_color")
        }
    }

    /// KDE: opens a window of one colour, as large as the screen or of the given size, as in `640x360`.
    func openWindow(_ colour: String, size: String = "full") throws {
        try paint(colour)
        try perform("open \(Self.windowScript) \(size) \(directory.file("colour"))")
    }
}

extension XServer {
    /// Whether the middle of the screen, of 1280 × 720 pixels, has this colour, as in `PortalDesktop.paint`.
    func shows(_ colour: String, timeout: Double = 20) throws -> Bool {
        let wanted = Int(colour, radix: 16) ?? 0
        return try eventually(timeout: timeout) {
            let pixel = try Screenshot.take(of: display, x: 640, y: 360, width: 1, height: 1).pixel(0, 0)
            return (0..<3).allSatisfy { abs(Int(pixel[$0]) - wanted >> (8 * $0) & 0xff) < 16 }
        }
    }
}
