import CXCB
import Foundation
import Testing

/// Displays that are missing, refuse, change their size, or go away, at either end.
extension EndToEnd {
    @Suite(.needsProgram) struct DisplayTests {
        /// What libraries say on their own, which is nothing for a person.
        private static let rawLines = [
            "XDG_RUNTIME_DIR", "libEGL", "MESA", "Authorization required", "No protocol specified", "dbus", "avahi_",
            "xcb", "Xlib", "X Error", "SDL",
        ]

        private func expectOneSentence(
            _ words: String, _ part: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let lines = words.split(separator: "\n")
            #expect(lines.count == 1, "\(words)", sourceLocation: sourceLocation)
            #expect(lines.last?.hasPrefix("beamroom: ") == true, "\(words)", sourceLocation: sourceLocation)
            #expect(words.contains(part), "\(words)", sourceLocation: sourceLocation)
            for raw in Self.rawLines { #expect(!words.contains(raw), "\(words)", sourceLocation: sourceLocation) }
            expectPlainWords(words)
        }

        @Test(
            arguments: [
                ([:], "There is no display to open a window on"),
                (["DISPLAY": ":4077"], "The display :4077 can't be opened"),
                (["WAYLAND_DISPLAY": "wayland-77"], "The display wayland-77 can't be opened"),
                (["DISPLAY": "nonsense"], "The display nonsense can't be opened"),
            ] as [([String: String], String)])
        func watchingWithoutADisplayFailsWithASentence(variables: [String: String], part: String) throws {
            // A port where nobody listens: the display is missing whatever the host does.
            let target = "127.0.0.1:\(try FreePort.stream())"
            for renderer in ["automatic", "opengl"] {
                let environment = variables.mapValues { Optional($0) }.merging(["XDG_RUNTIME_DIR": nil]) { $1 }
                let (ending, _, words) = try Program.run(
                    ["watch", target, "--renderer", renderer, "--time-limit", "10"], environment: environment)
                #expect(ending == .exited(1))
                expectOneSentence(words, part)
            }
        }

        @Test func sharingWithoutADisplayFailsWithASentence() throws {
            for (variables, part) in [
                ([:], "There is no display to share"), (["DISPLAY": ":4077"], "The display :4077 can't be opened"),
            ] as [([String: String?], String)] {
                let (ending, _, words) = try Program.run(
                    ["share", "--no-discovery", "--time-limit", "10"], environment: variables)
                #expect(ending == .exited(1))
                expectOneSentence(words, part)
            }
        }

        @Test(.needsXServer) func aDisplayThatRefusesFailsWithASentence() throws {
            let scratch = try ScratchDirectory()
            // The server lets in only programs that know this key, and the program's own file is empty.
            let key = scratch.file("key")
            try Data(Self.authority()).write(to: URL(fileURLWithPath: key))
            let server = try XServer(width: 640, height: 480, ["-auth", key])
            let environment = ["DISPLAY": server.display, "XAUTHORITY": scratch.file("none")]
            for arguments in [["watch", "127.0.0.1:\(try FreePort.stream())"], ["share", "--no-discovery"]] {
                let (ending, _, words) = try Program.run(
                    arguments + ["--time-limit", "10"], environment: environment.mapValues { Optional($0) })
                #expect(ending == .exited(1))
                expectOneSentence(words, "The display \(server.display) can't be opened")
            }
        }

        /// A file with a cookie for every display (Xau: a family, then an address, a number, a name and data, each
        /// after its length in two bytes).
        private static func authority() -> [UInt8] {
            func counted(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes }
            let cookie = (0..<16).map { _ in UInt8.random(in: 0...255) }
            return [255, 255] + counted([]) + counted([]) + counted(Array("MIT-MAGIC-COOKIE-1".utf8)) + counted(cookie)
        }

        @Test(.needsXServer, arguments: ["software", "opengl"])
        func aViewerWhoseXServerDiesSaysSo(renderer: String) throws {
            let ports = try Ports()
            let scratch = try ScratchDirectory()
            let host = try Program.share(
                ["--source", "pattern", "--size", "640x360", "--max-fps", "30"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            for number in 0..<3 {
                let server = try XServer(width: 1280, height: 720)
                let manager = try WindowManager.isAvailable ? WindowManager(on: server, in: scratch) : nil
                let recording = scratch.file("\(number).mkv")
                let viewer = try Program.watch(
                    [ports.target, "--renderer", renderer, "--record", recording], display: server.display)
                defer { viewer.end() }
                try viewer.waitFor("first-frame")
                pause(seconds: 0.2 * Double(number))
                // Both at once: the window manager's end causes events that are handled with requests to a dead server.
                manager?.kill()
                server.kill()
                #expect(try viewer.waitForEnd() == .exited(1), "\(viewer.errorText)")
                #expect(viewer.errorText.contains("The display has gone"))
                #expect(viewer.events("summary").count == 1)
                for raw in Self.rawLines { #expect(!viewer.errorText.contains(raw), "\(viewer.errorText)") }
                expectPlainWords(viewer.errorText)
                // What had arrived is on the disk.
                if RecordedStream.isAvailable { #expect(try Tool.probe(recording).complaints == "") }
            }
            #expect(host.isRunning)
        }

        @Test(.needsXServer, .enabled(if: WindowManager.isAvailable, "openbox isn't installed"))
        func theWindowStaysOnTopIfThatIsWanted() throws {
            let scratch = try ScratchDirectory()
            let server = try XServer(width: 1280, height: 720)
            let ports = try Ports()
            let arguments = [ports.target, "--always-on-top"]
            // Where nobody can do it, the option says so.
            let alone = try Program.watch(arguments, display: server.display)
            try alone.waitForWords("--always-on-top has no effect here")
            alone.end()
            let manager = try WindowManager(on: server, in: scratch)
            defer { manager.kill() }
            let viewer = try Program.watch(arguments, display: server.display)
            defer { viewer.end() }
            let connection = try XConnection(server.display)
            #expect(eventually(timeout: 30) { connection.hasWindowOnTop })
            #expect(!viewer.errorText.contains("no effect"), "\(viewer.errorText)")
        }

        @Test(.needsXServer) func aHostWhoseXServerDiesSaysSoAtBothEnds() throws {
            let ports = try Ports()
            let server = try XServer(width: 640, height: 480)
            let painter = try Painter(server.display, framesPerSecond: 20)
            defer { painter.freeze() }
            let host = try Program.share(["--display", server.display], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            server.kill()
            #expect(try host.waitForEnd() == .exited(1), "\(host.errorText)")
            #expect(host.errorText.contains("The display \(server.display) has gone"))
            #expect(host.events("summary").count == 1)
            expectPlainWords(host.errorText)
            #expect(
                eventually(timeout: 30) {
                    !viewer.events("broadcast").isEmpty || !viewer.events("reconnect").isEmpty
                }, "the viewer isn't told")
            #expect(viewer.isRunning)
        }

        @Test(.needsXServer) func aScreenResizedFiftyTimesIsShownRight() throws {
            let ports = try Ports()
            let host = try XServer(width: 800, height: 600)
            let screen = try XServer(width: 1280, height: 960)
            let program = try Program.share(["--display", host.display, "--no-cursor"], ports: ports)
            defer { program.end() }
            try program.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--time-limit", "300"], display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let connection = try XConnection(host.display)
            let sizes = [(640, 480), (799, 333), (320, 600), (800, 600), (512, 512)]
            var memory: [[Int]] = []
            for number in 0..<50 {
                let (width, height) = sizes[number % sizes.count]
                #expect(connection.setScreenSize(width: width, height: height))
                connection.paintQuarters(width: width, height: height, seed: number)
                // Some one after the other at once, some seen by the person.
                guard number % 10 >= 8 else { continue }
                #expect(
                    try eventually(timeout: 30) {
                        guard let window = try XConnection(screen.display).visibleWindows().last else { return false }
                        let shown = try Screenshot.take(
                            of: screen.display, x: window.x, y: window.y, width: window.width, height: window.height)
                        return connection.quarters(seed: number).enumerated().allSatisfy { place, colour in
                            let x = window.width * (place % 2 == 0 ? 1 : 3) / 4
                            let y = window.height * (place < 2 ? 1 : 3) / 4
                            return zip(shown.pixel(x, y), colour).allSatisfy { abs(Int($0) - Int($1)) < 24 }
                        }
                    }, "after change \(number) to \(width)x\(height)")
                memory.append([program.pid, viewer.pid].map { residentMemory($0) })
            }
            report("memory of host and viewer while the screen changed 50 times, KiB", "\(memory)")
            for place in 0..<2 {
                let first = try #require(memory.dropFirst(2).first?[place])
                let last = try #require(memory.last?[place])
                #expect(last - first < 24 << 10, "the memory grows")
            }
            #expect(program.isRunning && viewer.isRunning)
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            program.interrupt()
            #expect(try program.waitForEnd() == .exited(0))
        }
    }
}

/// A window manager on an X server.
private final class WindowManager {
    static let isAvailable = Tool.exists("openbox")

    private let process: ChildProcess

    init(on server: XServer, in scratch: ScratchDirectory) throws {
        process = try ChildProcess(
            "openbox", [],
            environment: ["DISPLAY": server.display, "HOME": scratch.path, "XDG_CACHE_HOME": scratch.path])
        let connection = try XConnection(server.display)
        guard eventually(timeout: 30, { connection.hasWindowManager }) else {
            throw HarnessError("openbox doesn't start")
        }
    }

    func kill() { process.end() }
}

extension XConnection {
    /// Whether a window manager has announced itself (EWMH).
    fileprivate var hasWindowManager: Bool {
        let cookie = xcb_get_property(raw, 0, screen.root, intern("_NET_SUPPORTING_WM_CHECK"), 33, 0, 1)
        guard let reply = xcb_get_property_reply(raw, cookie, nil) else { return false }
        defer { free(reply) }
        return xcb_get_property_value_length(reply) > 0
    }

    /// Whether one of the window manager's windows is kept above others (EWMH).
    fileprivate var hasWindowOnTop: Bool {
        atoms(of: screen.root, "_NET_CLIENT_LIST").contains { window in
            atoms(of: window, "_NET_WM_STATE").contains(intern("_NET_WM_STATE_ABOVE"))
        }
    }

    /// The numbers in a property: atoms, or windows.
    private func atoms(of window: xcb_window_t, _ property: String) -> [UInt32] {
        let cookie = xcb_get_property(raw, 0, window, intern(property), 0, 0, 64)
        guard let reply = xcb_get_property_reply(raw, cookie, nil) else { return [] }
        defer { free(reply) }
        guard reply.pointee.format == 32, let value = xcb_get_property_value(reply) else { return [] }
        let count = Int(xcb_get_property_value_length(reply)) / 4
        return Array(UnsafeBufferPointer(start: value.assumingMemoryBound(to: UInt32.self), count: count))
    }

    /// Four colours, blue first, that differ with each seed.
    fileprivate func quarters(seed: Int) -> [[UInt8]] {
        (0..<4).map { place in
            let turn = (seed + place) % 4
            return [[200, 40, 40], [40, 200, 40], [40, 40, 200], [180, 180, 180]][turn]
        }
    }

    /// Fills the screen's four quarters.
    fileprivate func paintQuarters(width: Int, height: Int, seed: Int) {
        let context = xcb_generate_id(raw)
        xcb_create_gc(raw, context, screen.root, 0, nil)
        for (place, colour) in quarters(seed: seed).enumerated() {
            let pixel = UInt32(colour[0]) | UInt32(colour[1]) << 8 | UInt32(colour[2]) << 16
            xcb_change_gc(raw, context, XCB_GC_FOREGROUND.rawValue, [pixel])
            let rectangle = xcb_rectangle_t(
                x: Int16(place % 2 == 0 ? 0 : width / 2), y: Int16(place < 2 ? 0 : height / 2),
                width: UInt16(width - width / 2), height: UInt16(height - height / 2))
            xcb_poly_fill_rectangle(raw, screen.root, context, 1, [rectangle])
        }
        xcb_free_gc(raw, context)
        synchronise()
    }

    /// Gives the screen another size, as `xrandr` does. False if the server refuses.
    fileprivate func setScreenSize(width: Int, height: Int) -> Bool {
        free(xcb_randr_query_version_reply(raw, xcb_randr_query_version(raw, 1, 5), nil))
        guard
            let resources = xcb_randr_get_screen_resources_reply(
                raw, xcb_randr_get_screen_resources(raw, screen.root), nil),
            let output = xcb_randr_get_screen_resources_outputs(resources),
            let controller = xcb_randr_get_screen_resources_crtcs(resources)
        else { return false }
        defer { free(resources) }
        let name = "\(width)x\(height)"
        let known = UnsafeBufferPointer(
            start: xcb_randr_get_screen_resources_modes(resources),
            count: Int(xcb_randr_get_screen_resources_modes_length(resources)))
        var mode = known.first { Int($0.width) == width && Int($0.height) == height }?.id
        if mode == nil {
            var info = xcb_randr_mode_info_t()
            info.width = UInt16(width)
            info.height = UInt16(height)
            info.name_len = UInt16(name.utf8.count)
            let cookie = xcb_randr_create_mode(raw, screen.root, info, UInt32(name.utf8.count), name)
            guard let created = xcb_randr_create_mode_reply(raw, cookie, nil) else { return false }
            defer { free(created) }
            mode = created.pointee.mode
            xcb_randr_add_output_mode(raw, output.pointee, created.pointee.mode)
        }
        // The monitor is off meanwhile, so that it doesn't extend beyond the smaller screen.
        let upright = UInt16(XCB_RANDR_ROTATION_ROTATE_0.rawValue)
        let off = xcb_randr_set_crtc_config(raw, controller.pointee, 0, 0, 0, 0, 0, upright, 0, nil)
        free(xcb_randr_set_crtc_config_reply(raw, off, nil))
        let error = xcb_request_check(
            raw,
            xcb_randr_set_screen_size_checked(
                raw, screen.root, UInt16(width), UInt16(height), UInt32(width), UInt32(height)))
        free(error)
        let on = xcb_randr_set_crtc_config(raw, controller.pointee, 0, 0, 0, 0, mode ?? 0, upright, 1, output)
        free(xcb_randr_set_crtc_config_reply(raw, on, nil))
        synchronise()
        return error == nil
    }
}

/// In KiB; 0 if the process has gone.
private func residentMemory(_ pid: pid_t) -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}
