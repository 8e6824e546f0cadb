import Foundation

/// A Wayland desktop without a visible screen (sway), with its XWayland. It ends with its owner.
final class WaylandDesktop: Sendable {
    static let isAvailable = Tool.exists("sway") && Tool.exists("Xwayland") && (getuid() != 0 || Tool.exists("unshare"))

    /// Before the command of a compositor: it refuses to run as root.
    static let withoutRoot = getuid() == 0 ? ["unshare", "--map-user=1000", "--map-group=1000"] : []

    /// Of its XWayland, as DISPLAY has it.
    let display: String
    /// XDG_RUNTIME_DIR.
    let runtime: String
    /// Of a program in its session.
    let environment: [String: String?]
    private let process: ChildProcess
    private let scratch: ScratchDirectory

    init() throws {
        let scratch = try ScratchDirectory()
        runtime = scratch.file("run")
        let home = scratch.file("home")
        for folder in [runtime, home] {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        let file = scratch.file("display")
        let configuration = scratch.file("sway.conf")
        try Data(
            """
            output HEADLESS-1 resolution 1280x720 position 0,0
            xwayland enable
            exec sh -c 'echo $DISPLAY >\(file).new && mv \(file).new \(file)'

            """.utf8
        ).write(to: URL(fileURLWithPath: configuration))
        let command = Self.withoutRoot + ["sway", "-c", configuration]
        process = try ChildProcess(
            command[0], Array(command.dropFirst()),
            environment: [
                "WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1",
                "XDG_RUNTIME_DIR": runtime, "HOME": home, "DISPLAY": nil, "WAYLAND_DISPLAY": nil,
            ])
        self.scratch = scratch
        var name: String?
        guard
            eventually(
                timeout: 30,
                {
                    name = try? String(contentsOfFile: file, encoding: .utf8)
                        .trimmingCharacters(in: .whitespacesAndNewlines)
                    return name != nil
                }), let name, !name.isEmpty
        else {
            process.end()
            throw HarnessError("sway doesn't start: \(process.errorText)")
        }
        display = name
        environment = ["DISPLAY": name, "WAYLAND_DISPLAY": "wayland-1", "XDG_SESSION_TYPE": "wayland"]
    }

    /// A command of sway(5).
    func command(_ words: String) throws { _ = try message([words]) }

    /// What sway knows of the window of the program `id`; nil if there is none.
    func window(of id: String) throws -> [String: Any]? {
        func find(_ node: [String: Any]) -> [String: Any]? {
            if node["app_id"] as? String == id { return node }
            let children = ["nodes", "floating_nodes"].flatMap { node[$0] as? [[String: Any]] ?? [] }
            return children.lazy.compactMap(find).first
        }
        let tree = try JSONSerialization.jsonObject(with: Data(message(["-t", "get_tree"]).utf8))
        return (tree as? [String: Any]).flatMap(find)
    }

    private func message(_ arguments: [String]) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: runtime)
        guard let socket = names.first(where: { $0.hasPrefix("sway-ipc.") }) else {
            throw HarnessError("sway has no socket for commands")
        }
        return try Tool.run("swaymsg", ["-s", "\(runtime)/\(socket)"] + arguments)
    }

    /// A picture of the output in its own pixels, by grim.
    func screenshot() throws -> Screenshot {
        let path = scratch.file("screenshot.ppm")
        try Tool.run(
            "env", ["XDG_RUNTIME_DIR=\(runtime)", "WAYLAND_DISPLAY=wayland-1", "grim", "-t", "ppm", path])
        return try Screenshot(ppm: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Ends it while its programs still run.
    func end() { process.end() }

    deinit { process.end() }
}
