import BeamMedia
import CXCB
import Foundation
import Testing

/// `beamroom watch A B C …`: several hosts in one window.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct WallTests {
        @Test(.needsXdotool) func threeHostsAreInOneWindow() throws {
            let wall = try Wall(["Red", "Green", "Blue"])
            defer { wall.end() }
            let viewer = try wall.watch()
            defer { viewer.end() }
            for host in wall.hosts { try viewer.waitFor("first-frame") { $0.string("host") == host.ports.target } }
            #expect(try wall.shows([.red, .green, .blue]), "all three are shown")

            // One dies: its tile says so, and the others go on.
            wall.hosts[1].kill()
            let died = viewer.lineCount
            #expect(try eventually(timeout: 30) { try wall.isDimmed(1) }, "the tile of the lost host isn't dark")
            #expect(try wall.shows([.red, nil, .blue]))
            try wall.hosts[0].paint(.yellow)
            #expect(try wall.shows([.yellow, nil, .blue]), "the first host's picture stands still")
            try viewer.waitFor("retry", from: died) { $0.string("host") == wall.hosts[1].ports.target }
            // It comes back.
            try wall.hosts[1].start()
            #expect(try wall.shows([.yellow, .green, .blue]), "the picture doesn't come back")

            // Keys and clicks show one alone, or all.
            let window = try wall.waitForWindow()
            try Tool.run(
                "xdotool", ["mousemove", "\(window.x + 3)", "\(window.y + 3)", "key", "2"], on: wall.viewer.display)
            #expect(try wall.showsAlone(.green))
            try Tool.run("xdotool", ["key", "g"], on: wall.viewer.display)
            #expect(try wall.shows([.yellow, .green, .blue]))
            let third = wall.middle(2, of: window)
            try Tool.run(
                "xdotool", ["mousemove", "\(third.x)", "\(third.y)", "click", "1"], on: wall.viewer.display)
            #expect(try wall.showsAlone(.blue))
            try Tool.run("xdotool", ["key", "Escape"], on: wall.viewer.display)
            #expect(try wall.shows([.yellow, .green, .blue]))
            try Tool.run("xdotool", ["key", "q"], on: wall.viewer.display)
            #expect(try viewer.waitForEnd() == .exited(0))
            let hosts = Set(viewer.events("summary").compactMap { $0.string("host") })
            #expect(hosts == Set(wall.hosts.map(\.ports.target)))
        }

        /// A host sends a tile no more than it shows, and all of the picture when it is shown alone.
        @Test(.needsXdotool) func aTileGetsASmallPicture() throws {
            let wall = try Wall(["Red", "Green"], size: (1280, 720))
            defer { wall.end() }
            let viewer = try wall.watch(["--fullscreen"])
            defer { viewer.end() }
            for host in wall.hosts {
                let first = try viewer.waitFor("first-frame") { $0.string("host") == host.ports.target }
                report("the first picture of a host of 1280x720 in a tile", "\(first.number("width") ?? 0) wide")
                try viewer.waitFor("stats") {
                    $0.string("host") == host.ports.target && ($0.number("width") ?? .infinity) <= 800
                }
                try host.program?.waitFor("layer") { $0.string("why") == "size" && $0.fields["reduced"] == .bool(true) }
            }
            let window = try wall.waitForWindow()
            try Tool.run(
                "xdotool", ["mousemove", "\(window.x + 3)", "\(window.y + 3)", "key", "1"], on: wall.viewer.display)
            try viewer.waitFor("stats", from: viewer.lineCount) {
                $0.string("host") == wall.hosts[0].ports.target && $0.number("width") == 1280
            }
            // The screens are still: the smaller picture is made of the last one.
            try Tool.run("xdotool", ["key", "g"], on: wall.viewer.display)
            try viewer.waitFor("stats", from: viewer.lineCount) {
                $0.string("host") == wall.hosts[0].ports.target && ($0.number("width") ?? .infinity) <= 800
            }
        }

        @Test func withoutAWindowEachHostHasItsEvents() throws {
            let wall = try Wall(["Red", "Green"])
            defer { wall.end() }
            let viewer = try Program.watch(wall.targets + ["--no-bluetooth", "--time-limit", "4"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(0))
            #expect(viewer.unreadableLines.isEmpty)
            for target in wall.targets {
                for name in ["paired", "first-frame", "stats", "summary"] {
                    #expect(viewer.events(name).contains { $0.string("host") == target }, "\(name) of \(target)")
                }
            }
        }

        @Test func aHostThatIsNotThereDecidesTheExitStatusOnly() throws {
            let wall = try Wall(["Red"])
            defer { wall.end() }
            let nowhere = "127.0.0.1:\(try FreePort.stream())"
            let viewer = try Program.watch([nowhere] + wall.targets + ["--no-bluetooth", "--time-limit", "4"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame") { $0.string("host") == wall.targets[0] }
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.errorText.contains("“\(nowhere)”: No picture has come in 4 s."), "\(viewer.errorText)")
            expectPlainWords(viewer.errorText)
        }

        @Test func programsSayWhichHostANoteIsFor() throws {
            let wall = try Wall(["Red", "Green"])
            defer { wall.end() }
            let viewer = try Program.watch(wall.targets + ["--no-bluetooth"], input: .pipe)
            defer { viewer.end() }
            for target in wall.targets { try viewer.waitFor("room") { $0.string("host") == target } }
            viewer.write("{\"note\":\"to nobody\"}")
            try viewer.waitFor("error") { $0.string("reason")?.contains("several are watched") == true }
            viewer.write("{\"note\":\"to green\",\"host\":\"\(wall.targets[1])\"}")
            let note = try viewer.waitFor("note")
            #expect(note.string("host") == wall.targets[1] && note.string("text") == "to green")
            try wall.hosts[1].program?.waitFor("note") { $0.string("text") == "to green" }
            #expect(wall.hosts[0].program?.events("note").isEmpty == true)
            viewer.write("{\"quality\":{\"bitRate\":500000},\"host\":\"\(wall.targets[1])\"}")
            let quality = try viewer.waitFor("quality")
            #expect(quality.string("host") == wall.targets[1] && quality.fields["taken"] == .bool(true))
        }
    }
}

/// The short form of `Scripts/bench wall`. Nothing is judged by time.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct WallBenchTests {
        private static let script = (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/bench"

        @Test(.enabled(if: LossyNetwork.obstacle == nil, "\(LossyNetwork.obstacle ?? "")"))
        func theBenchmarkMeasuresEachTile() throws {
            let scratch = try ScratchDirectory()
            defer { withExtendedLifetime(scratch) {} }
            let file = scratch.file("results.json")
            let bench = try ChildProcess(
                Self.script, ["wall", "--check", "--rows", "eight", "desktops", "--no-setup", "--json", file],
                environment: ["BEAMROOM": Program.path])
            defer { bench.end() }
            let ending = try bench.waitForEnd(timeout: 120)
            try #require(ending == .exited(0), "\(bench.outputText)\n\(bench.errorText)")
            let rows = JSONValue(try String(contentsOfFile: file, encoding: .utf8))?["rows"]
            let eight = try #require(rows?["eight"]?.object)
            #expect(eight["hosts"]?.number == 3)
            #expect(eight["shown_least"]?.number ?? 0 > 0 && eight["viewer"]?.number ?? 0 > 0)
            let desktops = try #require(rows?["desktops"]?.object)
            #expect(desktops["hosts"]?.number == 4 && desktops["patches"]?.number ?? 0 > 0)
            // How soon they are is the benchmark's to say; a tile with a wrong pixel is no matter of time.
            #expect(desktops["wrong"]?.number == 0)
        }
    }
}

/// A colour that a host's screen shows.
private enum Paint: UInt32 {
    case red = 0xc0_20_20
    case green = 0x20_a0_30
    case blue = 0x20_40_c0
    case yellow = 0xd0_c0_20

    /// Whether blue, green and red of a pixel are about this.
    func isLike(_ pixel: [UInt8]) -> Bool {
        let wanted = [rawValue & 0xff, rawValue >> 8 & 0xff, rawValue >> 16]
        return zip(pixel, wanted).allSatisfy { abs(Int($0) - Int($1)) < 24 }
    }
}

/// A host that shares an X screen of one colour.
private final class ColourHost {
    let ports: Ports
    private let name: String
    private let screen: XServer
    private let connection: XConnection
    private let machine = Result { try Machine() }
    private(set) var program: ProgramProcess?

    init(_ name: String, _ colour: Paint, size: (width: Int, height: Int)) throws {
        self.name = name
        ports = try Ports()
        screen = try XServer(width: size.width, height: size.height)
        connection = try XConnection(screen.display)
        try paint(colour)
        try start()
    }

    func start() throws {
        program = try Program.share(
            ["--display", screen.display, "--name", name, "--no-cursor", "--no-bluetooth"], ports: ports,
            machine: machine.get())
        try program?.waitFor("ready")
    }

    func kill() { program?.kill() }

    func paint(_ colour: Paint) throws {
        let root = connection.screen
        let window = xcb_generate_id(connection.raw)
        xcb_create_window(
            connection.raw, 0, window, root.root, 0, 0, root.width_in_pixels, root.height_in_pixels, 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), root.root_visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue, [colour.rawValue, 1])
        xcb_map_window(connection.raw, window)
        connection.synchronise()
    }

    func end() { program?.end() }
}

/// Hosts, and an X server for the viewer's window.
private final class Wall {
    let hosts: [ColourHost]
    let viewer: XServer

    init(_ names: [String], size: (width: Int, height: Int) = (640, 360)) throws {
        viewer = try XServer(width: 1280, height: 800)
        let colours: [Paint] = [.red, .green, .blue]
        hosts = try zip(names, colours).map { try ColourHost($0, $1, size: size) }
    }

    var targets: [String] { hosts.map(\.ports.target) }

    func watch(_ arguments: [String] = []) throws -> ProgramProcess {
        try Program.watch(targets + ["--no-bluetooth"] + arguments, display: viewer.display)
    }

    func waitForWindow() throws -> (id: xcb_window_t, x: Int, y: Int, width: Int, height: Int) {
        var window: (id: xcb_window_t, x: Int, y: Int, width: Int, height: Int)?
        _ = eventually(timeout: 30) {
            window = (try? XConnection(viewer.display))?.visibleWindows().last
            return window != nil
        }
        guard let window else { throw HarnessError("no window appears on \(viewer.display)") }
        return window
    }

    /// A tile's middle on the screen: two rows for three hosts, one for two.
    func middle(
        _ index: Int, of window: (id: xcb_window_t, x: Int, y: Int, width: Int, height: Int)
    ) -> (x: Int, y: Int) {
        let rows = hosts.count > 2 ? 2 : 1
        let column = index == 2 ? 0.5 : index == 0 ? 0.25 : 0.75
        let row = rows == 1 ? 0.5 : index == 2 ? 0.75 : 0.25
        return (
            window.x + Int(Double(window.width) * column), window.y + Int(Double(window.height) * row) - 10
        )
    }

    /// Whether the tiles show these colours before long; nil: not looked at.
    func shows(_ colours: [Paint?]) throws -> Bool {
        try eventually(timeout: 30) {
            let window = try waitForWindow()
            let screen = try Screenshot.take(of: viewer.display)
            return colours.enumerated().allSatisfy { index, colour in
                guard let colour else { return true }
                let point = middle(index, of: window)
                // Not in the very middle, where words may be.
                return colour.isLike(screen.pixel(point.x - 60, point.y - 60))
            }
        }
    }

    /// Whether one colour fills the window before long.
    func showsAlone(_ colour: Paint) throws -> Bool {
        try eventually(timeout: 30) {
            let window = try waitForWindow()
            let screen = try Screenshot.take(of: viewer.display)
            return [0.2, 0.5, 0.8].allSatisfy { part in
                let (x, y) = (Double(window.width) * part, Double(window.height) * 0.3)
                return colour.isLike(screen.pixel(window.x + Int(x), window.y + Int(y)))
            }
        }
    }

    /// Whether a tile's picture is darkened and grey.
    func isDimmed(_ index: Int) throws -> Bool {
        let point = middle(index, of: try waitForWindow())
        let pixel = try Screenshot.take(of: viewer.display).pixel(point.x - 60, point.y - 60)
        let (least, most) = (pixel.min() ?? 0, pixel.max() ?? 0)
        return most - least < 6 && most < 90
    }

    func end() { for host in hosts { host.end() } }
}
