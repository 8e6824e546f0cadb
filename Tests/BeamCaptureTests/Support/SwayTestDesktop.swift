import Foundation

/// A private Wayland desktop without a visible screen (sway), with one output, HEADLESS-1, and an XWayland to paint through.
/// Ends with its owner.
final class SwayTestDesktop {
    static let isAvailable =
        ["sway", "swaymsg", "swaybg", "Xwayland"].allSatisfy(X11TestServer.hasProgram)
        && (getuid() != 0 || X11TestServer.hasProgram("unshare"))

    /// The path of its socket.
    let socket: String
    /// Of its XWayland, in DISPLAY's syntax.
    let display: String
    private let folder: URL
    private let process = Process()
    private let controlSocket: String

    /// - Parameter parent: in whose window the desktop is shown; its output is called WL-1 then.
    init(width: Int = 640, height: Int = 480, in parent: SwayTestDesktop? = nil) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "beam-sway-\(UUID().uuidString.prefix(8))")
        let runtime = folder.appending(path: "run")
        try FileManager.default.createDirectory(
            at: runtime, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let names = folder.appending(path: "names")
        let configuration = folder.appending(path: "sway.conf")
        try Data(
            """
            output * resolution \(width)x\(height) position 0,0 bg #204060 solid_color
            default_border none
            seat * hide_cursor 1
            xwayland force
            exec sh -c 'echo "$WAYLAND_DISPLAY $DISPLAY $SWAYSOCK" >\(names.path).new && mv \(names.path).new \(names.path)'

            """.utf8
        ).write(to: configuration)
        // It refuses to run as root.
        let drop = getuid() == 0 ? ["unshare", "--map-user=1000", "--map-group=1000"] : []
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = drop + ["sway", "-c", configuration.path]
        var environment = ProcessInfo.processInfo.environment
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "SWAYSOCK"] { environment[name] = nil }
        environment.merge([
            "WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1",
            "XDG_RUNTIME_DIR": runtime.path, "HOME": folder.path,
        ]) { $1 }
        if let parent { environment.merge(["WLR_BACKENDS": "wayland", "WAYLAND_DISPLAY": parent.socket]) { $1 } }
        process.environment = environment
        process.standardError = FileHandle.nullDevice
        try process.run()
        var words: [Substring] = []
        let deadline = Date(timeIntervalSinceNow: 20)
        while words.count < 3, Date() < deadline, process.isRunning {
            Thread.sleep(forTimeInterval: 0.02)
            words = ((try? String(contentsOf: names, encoding: .utf8)) ?? "").split(whereSeparator: \.isWhitespace)
        }
        guard words.count == 3 else {
            process.terminate()
            throw X11TestFailure("sway doesn't start")
        }
        socket = runtime.appending(path: String(words[0])).path
        display = String(words[1])
        controlSocket = String(words[2])
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    var pid: Int32 { process.processIdentifier }

    /// Kills the compositor while clients are connected.
    func kill() {
        guard process.isRunning else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// A command of sway(5).
    func command(_ words: String) throws {
        let tool = Process()
        tool.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        tool.arguments = ["swaymsg", "-s", controlSocket, words]
        tool.standardOutput = FileHandle.nullDevice
        try tool.run()
        tool.waitUntilExit()
        guard tool.terminationStatus == 0 else { throw X11TestFailure("swaymsg \(words) fails") }
    }
}
