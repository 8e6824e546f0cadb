import Foundation
import Testing

/// What a person shares of a screen: lists, a window by its title, a click or a drag.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct ChoiceTests {
        let server: XServer
        let connection: XConnection
        let ports: Ports

        init() throws {
            server = try XServer(width: 640, height: 480)
            connection = try XConnection(server.display)
            ports = try Ports()
            _ = connection.show(
                "Mozilla Firefox", program: "firefox", x: 40, y: 30, width: 300, height: 200, colour: 0x40_60_80)
            _ = connection.show(
                "Fire drill.txt", program: "editor", x: 380, y: 260, width: 200, height: 160, colour: 0x80_60_40)
        }

        @Test(arguments: ["share", "room"]) func monitorsAndWindowsAreListed(command: String) throws {
            connection.setMonitor("LEFT", x: 0, y: 0, width: 320, height: 480)
            let (ending, output, words) = try Program.run([
                command, "--list-monitors", "--list-windows", "--display", server.display,
            ])
            #expect(ending == .exited(0) && words == "")
            let lines = output.split(separator: "\n").map(String.init)
            #expect(lines.contains { $0.contains("LEFT (320x480+0+0)") }, "\(output)")
            #expect(
                lines.contains { $0.hasPrefix("0x") && $0.hasSuffix("300x200  firefox  Mozilla Firefox") }, "\(output)")
            #expect(lines.contains { $0.hasSuffix("200x160  editor  Fire drill.txt") }, "\(output)")
            // The number is what --window takes.
            let number = try #require(lines.first { $0.contains("firefox") }?.split(separator: " ").first)
            let host = try Program.share(["--display", server.display, "--window", String(number)], ports: ports)
            defer { host.end() }
            #expect(try host.waitFor("ready").number("width") == 300)

            let none = try Program.run([command, "--list-windows", "--display", ":4242"])
            #expect(none.ending == .exited(1) && none.words.contains(":4242"), "\(none.words)")
        }

        @Test func aWindowIsNamedByAPartOfItsTitle() throws {
            let host = try Program.share(["--display", server.display, "--window", "DRILL"], ports: ports)
            defer { host.end() }
            #expect(try host.waitFor("ready").number("width") == 200)
            host.end()
            for (text, expected) in [
                ("fire", ["several windows", "Mozilla Firefox", "Fire drill.txt"]),
                ("chrome", ["No window's title", "Mozilla Firefox", "Fire drill.txt"]),
            ] {
                let refused = try Program.share(["--display", server.display, "--window", text], ports: ports)
                defer { refused.end() }
                #expect(try refused.waitForEnd() == .exited(1))
                for word in expected { #expect(refused.errorText.contains(word), "\(refused.errorText)") }
            }
        }

        // MARK: --select

        private func selecting() throws -> ProgramProcess {
            try point("mousemove", "620", "460")
            let host = try Program.share(["--display", server.display, "--select"], ports: ports)
            try host.waitForWords("Click on what to share")
            #expect(try eventually(timeout: 20) { try frame != nil }, "nothing is framed")
            return host
        }

        private func point(_ words: String...) throws { try Tool.run("xdotool", words, on: server.display) }

        /// The rectangle of the light blue frame on the screen.
        private var frame: [Int]? {
            get throws {
                let shot = try Screenshot.take(of: server.display)
                var (left, top, right, bottom) = (Int.max, Int.max, -1, -1)
                for y in 0..<shot.height {
                    for x in 0..<shot.width where shot.pixel(x, y) == [0xff, 0x9b, 0x3a] {
                        (left, right) = (min(left, x), max(right, x))
                        (top, bottom) = (min(top, y), max(bottom, y))
                    }
                }
                return right < 0 ? nil : [left, top, right - left + 1, bottom - top + 1]
            }
        }

        @Test(.needsXdotool) func aClickTakesTheFramedWindow() throws {
            let host = try selecting()
            defer { host.end() }
            #expect(try frame == [0, 0, 640, 480], "the desktop")
            try point("mousemove", "100", "100")
            #expect(try eventually(timeout: 20) { try frame == [40, 30, 300, 200] })
            try point("click", "1")
            let ready = try host.waitFor("ready")
            #expect(ready.number("width") == 300 && ready.number("height") == 200)
            #expect(try frame == nil, "the frame stays")
        }

        @Test(.needsXdotool) func aDragTakesARegion() throws {
            let host = try selecting()
            defer { host.end() }
            try point("mousemove", "200", "120", "mousedown", "1", "mousemove", "300", "200")
            try point("mousemove", "519", "319")
            #expect(try eventually(timeout: 20) { try frame == [200, 120, 320, 200] })
            try point("mouseup", "1")
            let ready = try host.waitFor("ready")
            #expect(ready.number("width") == 320 && ready.number("height") == 200)
        }

        @Test(.needsXdotool, arguments: ["Escape", "right", "Ctrl-C"]) func choosingCanBeCancelled(by way: String)
            throws
        {
            let host = try selecting()
            defer { host.end() }
            switch way {
            case "Escape": try point("key", "Escape")
            case "right": try point("click", "3")
            default: host.interrupt()
            }
            #expect(try host.waitForEnd() == .exited(way == "Ctrl-C" ? 0 : 1))
            #expect(host.errorText.contains("Nothing was selected") == (way != "Ctrl-C"), "\(host.errorText)")
            #expect(try frame == nil)
        }

        /// In a room the person chooses each time that sharing begins; leaving ends the choice.
        @Test(.needsXdotool) func aMemberOfARoomChoosesWhenSharingBegins() throws {
            try point("mousemove", "620", "460")
            let member = try ProgramProcess(
                [
                    "room", "study", "--json", "--no-discovery", "--bind", "127.0.0.1", "--port", "\(ports.control)",
                    "--media-port", "\(ports.media)", "--no-window", "--display", server.display, "--select", "--share",
                    "--time-limit", "60",
                ], input: .pipe)
            defer { member.end() }
            try member.waitForWords("Click on what to share")
            #expect(try eventually(timeout: 20) { try frame != nil })
            try point("key", "Escape")
            #expect(try member.waitFor("own-share").fields["on"] == .bool(false))
            try member.waitForWords("Nothing was selected")
            let lines = member.lineCount
            member.write(#"{"share":true}"#)
            #expect(try eventually(timeout: 20) { try frame != nil })
            try point("mousemove", "100", "100", "click", "1")
            #expect(
                try member.waitFor("own-share", from: lines) { $0.fields["on"] == .bool(true) }.number("width") == 300)
            member.write(#"{"share":false}"#)
            try member.waitFor("own-share", from: member.lineCount - 1) { $0.fields["on"] == .bool(false) }
            member.write(#"{"share":true}"#)
            #expect(try eventually(timeout: 20) { try frame != nil })
            member.interrupt()
            #expect(try member.waitForEnd() == .exited(0))
        }
    }
}
