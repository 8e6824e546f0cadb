import Foundation
import Testing

/// A Wayland desktop in a room, and in a recording with sound beside it.
extension EndToEnd {
    @Suite(
        .needsProgram, .needsXServer,
        .enabled(if: PortalDesktop.Kind.sway.obstacle == nil, Comment(rawValue: PortalDesktop.Kind.sway.obstacle ?? ""))
    )
    struct PortalRoomTests {
        private func member(_ name: String, _ arguments: [String], in environment: [String: String?]) throws
            -> (program: ProgramProcess, target: String)
        {
            let port = try FreePort.stream()
            let program = try ProgramProcess(
                [
                    "room", "--json", "--no-discovery", "--bind", "127.0.0.1", "--port", "\(port)", "--media-port", "0",
                    "--name", name, "--time-limit", "60",
                ] + arguments, environment: environment, input: .terminal)
            try program.waitFor("ready")
            return (program, "127.0.0.1:\(port)")
        }

        /// This portal sends a session nothing before something changes.
        private func change(_ desktop: PortalDesktop, to colour: String, until isSeen: () -> Bool) throws {
            try #require(
                try eventually(timeout: 30) {
                    for shade in ["102030", colour] { try desktop.paint(shade) }
                    return isSeen()
                })
        }

        @Test func aMemberSharesItsDesktopPausesAndSharesItAgain() throws {
            let desktop = try PortalDesktop(.sway, size: "1280x720")
            try desktop.paint("a03010")
            let (anna, target) = try member(
                "Anna", ["study", "--accept", "all", "--no-window", "--share"], in: desktop.environment)
            defer { anna.end() }
            try anna.waitFor("own-share") { $0.string("source") == "a monitor of the desktop" }
            let screen = try XServer(width: 1280, height: 720)
            let (ben, _) = try member(
                "Ben", ["--at", target, "--window-display", screen.display, "--fullscreen"], in: [:])
            defer { ben.end() }
            try change(desktop, to: "a03010") { !ben.events("first-frame").isEmpty }
            #expect(ben.events("first-frame").first?.string("host") == "Anna")
            #expect(try screen.shows("a03010"))

            anna.process.press("p")
            try ben.waitFor("share-paused") { $0.fields["on"] == .bool(true) }
            try desktop.paint("204060")
            pause(seconds: 0.5)
            #expect(try !screen.shows("204060", timeout: 0))
            anna.process.press("p")
            #expect(try screen.shows("204060"))

            // Without a dialog that anybody would have to answer here.
            anna.process.press("s")
            try ben.waitFor("share-ended")
            #expect(try anna.waitFor("own-share") { $0.fields["on"] == .bool(false) }.string("reason") == nil)
            let count = ben.events("first-frame").count
            anna.process.press("s")
            try anna.waitFor("own-share", from: anna.lineCount - 1) { $0.fields["on"] == .bool(true) }
            try change(desktop, to: "a03010") { ben.events("first-frame").count > count }
            #expect(try screen.shows("a03010"))
            expectPlainWords(anna.errorText)
        }

        @Test(.needsSoundServer, .needsFFmpeg) func aDesktopIsRecordedWithItsSound() throws {
            let desktop = try PortalDesktop(.sway, size: "640x360")
            let (sound, scratch) = (try SoundServer(), try ScratchDirectory())
            let file = scratch.file("desktop.mkv")
            // The desktop's runtime directory, and the sound server by its address.
            let environment = sound.environment.merging(desktop.environment) { $1 }
            let host = try Program.share(
                ["--record", file], ports: try Ports(), environment: environment, input: .pipe)
            defer { host.end() }
            try host.waitFor("ready")
            try host.waitFor("sound") { $0.string("state") == "capturing" }
            let player = try sound.play(440)
            defer { player.end() }
            func paintSome() throws -> Double {
                let before = host.lineCount
                for colour in ["204060", "a03010", "10a030"] { try desktop.paint(colour) }
                return try host.waitFor("stats", from: before + 1).number("captured") ?? -1
            }
            try change(desktop, to: "10a030") { !host.events("recording").isEmpty }
            for colour in ["a03010", "204060"] { try desktop.paint(colour) }
            host.write(#"{"pause":true}"#)
            try host.waitFor("paused") { $0.fields["on"] == .bool(true) }
            let held = try paintSome()
            #expect(try paintSome() == held)
            host.write(#"{"pause":false}"#)
            #expect(try eventually(timeout: 20) { try paintSome() > held })
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            let video = try Tool.probe(file)
            #expect(video.complaints == "" && video.width == 640 && video.height == 360)
            #expect(video.pictureTypes.count > 3)
            #expect(try Heard(ofFile: file).levels(of: 440).count { $0 > 0.05 } > 10)
        }
    }
}
