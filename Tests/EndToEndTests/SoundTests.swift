import BeamMedia
import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    static var needsSoundServer: Self {
        .enabled(if: SoundServer.isAvailable, "PulseAudio isn't installed (packages pulseaudio, pulseaudio-utils)")
    }
}

/// What a host plays is heard at its viewers, through sound servers of their own.
extension EndToEnd {
    @Suite(.needsProgram, .needsSoundServer, .needsFFmpeg, .needsXServer) struct SoundTests {
        /// A host that shares an empty screen and what its sound server plays.
        private struct Desk {
            let screen: XServer
            let sound: SoundServer
            let ports: Ports
            let host: ProgramProcess

            init(sound: SoundServer? = nil, _ arguments: [String] = []) throws {
                screen = try XServer(width: 320, height: 180)
                self.sound = try sound ?? SoundServer()
                ports = try Ports()
                host = try Program.share(
                    ["--display", screen.display] + arguments, ports: ports, environment: self.sound.environment)
                try host.waitFor("ready")
            }

            func end() { host.end() }

            /// A viewer without a window, which plays to a sound server of its own.
            func watch(_ room: SoundServer, _ arguments: [String] = []) throws -> ProgramProcess {
                try Program.watch(
                    [ports.target, "--audio-output", "default"] + arguments, environment: room.environment)
            }
        }

        @Test func whatTheHostPlaysIsHeardWithoutAGap() throws {
            let (desk, room) = (try Desk(), try SoundServer())
            defer { desk.end() }
            let capturing = try desk.host.waitFor("sound") { $0.string("state") == "capturing" }
            #expect(capturing.string("device") == "Sink-a")
            let viewer = try desk.watch(room)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let player = try desk.sound.play(440)
            defer { player.end() }
            try room.waitForTone(440)
            let original = try desk.sound.listen(1)
            let heard = try room.listen(3)
            let levels = heard.levels(of: 440)
            let level = original.levels(of: 440).max() ?? 0
            report(
                "a tone at the viewer",
                "\(levels.min()?.short ?? "-") to \(levels.max()?.short ?? "-") of \(level.short)")
            // On a busy machine the devices themselves leave gaps now and then.
            let right = levels.count { abs($0 - level) < level / 10 }
            #expect(right * 10 >= levels.count * 8, "\(levels)")
            let stats = try #require(viewer.events("stats").last?.object("sound"))
            for name in ["latencyMs", "bufferMs", "concealed", "driftPpm", "played", "packets", "volume"] {
                #expect(stats[name]?.number != nil, "\(name) is missing")
            }
            let summary = try finish(viewer)
            report(
                "sound's latency and concealed share",
                "\(summary["latencyMs"] ?? .null), \(summary["concealed"] ?? .null)")
            #expect((summary["concealed"]?.number ?? 1) < 0.05)
        }

        private func finish(_ viewer: ProgramProcess) throws -> [String: JSONValue] {
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            return try #require(viewer.events("summary").last?.object("sound"))
        }

        @Test func silenceSendsNothing() throws {
            let (desk, room) = (try Desk(), try SoundServer())
            defer { desk.end() }
            let viewer = try desk.watch(room)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("stats") { ($0.number("t") ?? 0) > 4 }
            #expect(viewer.events("stats").last?.object("sound")?["packets"] == .number(0))
            let player = try desk.sound.play(440)
            try room.waitForTone(440)
            player.end()
            // The tone's end, and a fifth of a second of silence.
            try viewer.waitFor("stats", from: viewer.lineCount + 1)
            let packets = try #require(viewer.events("stats").last?.object("sound")?["packets"]?.number)
            try viewer.waitFor("stats", from: viewer.lineCount + 2)
            #expect(viewer.events("stats").last?.object("sound")?["packets"]?.number == packets)
        }

        @Test func theDefaultSinkIsFollowed() throws {
            let (desk, room) = (try Desk(), try SoundServer())
            defer { desk.end() }
            let viewer = try desk.watch(room)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let players = [try desk.sound.play(440, sink: "a"), try desk.sound.play(1500, sink: "b")]
            defer { for player in players { player.end() } }
            try room.waitForTone(440)
            try desk.sound.control("set-default-sink", "b")
            // PulseAudio moves what played to the default. The first tone stays where it was.
            try desk.sound.control("move-sink-input", "0", "a")
            try room.waitForTone(1500)
            let old = try room.listen(1).levels(of: 440).sorted()
            #expect(old[old.count / 2] < 0.01, "\(old)")
            try desk.host.waitFor("sound") { $0.string("device") == "Sink-b" }
        }

        @Test func soundComesBackWithTheServerAtEitherEnd() throws {
            let (desk, room) = (try Desk(), try SoundServer())
            defer { desk.end() }
            let viewer = try desk.watch(room)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            var player = try desk.sound.play(440)
            try room.waitForTone(440)

            desk.sound.kill()
            player.end()
            try desk.host.waitFor("sound") { ["lost", "no-server"].contains($0.string("state")) }
            let frames = try #require(viewer.events("stats").last?.number("frames"))
            try desk.sound.start()
            player = try desk.sound.play(440)
            defer { player.end() }
            try room.waitForTone(440)

            room.kill()
            try viewer.waitFor("sound") { ["lost", "no-output"].contains($0.string("state")) }
            try room.start()
            try room.waitForTone(440)
            // The picture has been there all the time.
            #expect(viewer.events("stall").isEmpty && viewer.events("stats").last?.number("frames") ?? 0 >= frames)
        }

        @Test func withoutASoundServerThePictureIsShared() throws {
            let (desk, room) = (try Desk(sound: SoundServer(isRunning: false)), try SoundServer(isRunning: false))
            defer { desk.end() }
            try desk.host.waitForWords("No sound is shared: no sound server answers")
            let viewer = try desk.watch(room)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            // A server that is started later is used.
            try desk.sound.start()
            let player = try desk.sound.play(440)
            defer { player.end() }
            try viewer.waitFor("stats") { ($0.object("sound")?["packets"]?.number ?? 0) > 20 }
            try viewer.waitForWords("No sound is played")
            try room.start()
            try room.waitForTone(440)
        }

        @Test func whoWantsNoSoundIsSentNone() throws {
            let desk = try Desk()
            defer { desk.end() }
            let player = try desk.sound.play(440)
            defer { player.end() }
            let viewer = try Program.watch([desk.ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("stats") { ($0.number("t") ?? 0) > 3 }
            #expect(viewer.events("stats").last?.object("sound") == nil)
            desk.host.interrupt()
            #expect(try desk.host.waitForEnd() == .exited(0))
            let summary = try #require(desk.host.events("summary").first)
            #expect(summary.number("soundPackets") == 0 && summary.number("soundSent") == 0)
        }

        /// Two viewers with windows: `m` in one of them concerns that one.
        @Test(.needsXdotool) func oneOfTwoViewersMutes() throws {
            let desk = try Desk()
            defer { desk.end() }
            let player = try desk.sound.play(440)
            defer { player.end() }
            let rooms = [try SoundServer(), try SoundServer()]
            let displays = [try XServer(width: 640, height: 360), try XServer(width: 640, height: 360)]
            let viewers = try zip(rooms, displays).map { room, display in
                try Program.watch(
                    [desk.ports.target, "--audio-output", "default"], display: display.display,
                    environment: room.environment)
            }
            defer { for viewer in viewers { viewer.end() } }
            for viewer in viewers { try viewer.waitFor("first-frame") }
            for room in rooms { try room.waitForTone(440) }
            func press(_ keys: String...) throws {
                try Tool.run("xdotool", ["mousemove", "60", "60", "key"] + keys, on: displays[1].display)
            }
            try press("m")
            try viewers[1].waitFor("stats") { $0.object("sound")?["muted"] == .bool(true) }
            #expect(try eventually(timeout: 20) { try rooms[1].listen(0.3).levels(of: 440).allSatisfy { $0 < 0.001 } })
            // Nothing is sent to viewers that hear nothing.
            let line = viewers[1].lineCount
            let packets = try viewers[1].waitFor("stats", from: line).object("sound")?["packets"]
            let later = try viewers[1].waitFor("stats", from: viewers[1].lineCount + 1).object("sound")?["packets"]
            #expect(packets == later)
            #expect(try rooms[0].listen(0.5).levels(of: 440).suffix(4).allSatisfy { $0 > 0.05 })
            try press("m")
            try rooms[1].waitForTone(440)
            let loud = try rooms[1].listen(0.5).levels(of: 440).max() ?? 0
            try press("minus", "minus", "minus", "minus", "minus", "minus", "minus", "minus", "minus", "minus")
            try viewers[1].waitFor("stats") { $0.object("sound")?["volume"] == .number(0.5) }
            let soft = try eventually(timeout: 20) {
                let level = try rooms[1].listen(0.3).levels(of: 440).max() ?? 1
                return level < loud / 3 && level > loud / 6
            }
            #expect(soft, "a quarter of the level is half as loud")
        }

        @Test(.needsXdotool) func ofSeveralHostsTheOneInFocusIsHeard() throws {
            let desks = [try Desk(), try Desk()]
            defer { for desk in desks { desk.end() } }
            let players = [try desks[0].sound.play(440), try desks[1].sound.play(1500)]
            defer { for player in players { player.end() } }
            let (room, display) = (try SoundServer(), try XServer(width: 640, height: 360))
            let viewer = try Program.watch(
                desks.map(\.ports.target) + ["--audio-output", "default"], display: display.display,
                environment: room.environment)
            defer { viewer.end() }
            try room.waitForTone(440)
            func level(_ hertz: Double) throws -> Double {
                let levels = try room.listen(0.5).levels(of: hertz).sorted()
                return levels[levels.count / 2]
            }
            #expect(try level(1500) < 0.01)
            try Tool.run("xdotool", ["mousemove", "60", "60", "key", "Tab"], on: display.display)
            try room.waitForTone(1500)
            #expect(try eventually(timeout: 20) { try level(440) < 0.01 })
            // The host that isn't heard sends no sound.
            try desks[0].host.waitFor("stats", from: desks[0].host.lineCount + 4)
            let sent = desks[0].host.events("stats").suffix(2).map { $0.number("soundSent") }
            #expect(sent[0] == sent[1])
        }

        @Test(arguments: ["mkv", "mp4"]) func aFilmIsInStepWhereItIsWatchedAndRecorded(kind: String) throws {
            let scratch = try ScratchDirectory()
            let film = try FlashFilm.make(seconds: 4, in: scratch)
            let ports = try Ports()
            let host = try Program.share(
                ["--source", film, "--record", scratch.file("host.\(kind)")], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let (recording, wave) = (scratch.file("viewer.\(kind)"), scratch.file("sound.wav"))
            let viewer = try Program.watch([ports.target, "--record", recording, "--sound", wave])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("stats") { ($0.number("t") ?? 0) > 7 }
            for program in [viewer, host] {
                program.interrupt()
                #expect(try program.waitForEnd() == .exited(0))
            }
            for file in [recording, scratch.file("host.\(kind)")] {
                let flashes = try FlashFilm.flashes(in: file)
                let beeps = try Heard(ofFile: file).onsets(above: 0.05)
                let skews = flashes.compactMap { flash in
                    beeps.min { abs($0 - flash) < abs($1 - flash) }.map { ($0 - flash) * 1000 }
                }.filter { abs($0) < 300 }
                report(
                    "beep after flash in \(file.hasSuffix("host.\(kind)") ? "the host's" : "the viewer's") \(kind)",
                    skews.map(\.short).joined(separator: ", ") + " ms")
                #expect(skews.count >= 4)
                // A machine that stops for a moment delays single flashes.
                let distances = skews.map(abs).sorted()
                #expect(distances[distances.count / 2] <= 20 && distances.allSatisfy { $0 <= 150 })
            }
            let beeps = try Heard(ofFile: wave).onsets(above: 0.05)
            #expect(beeps.count >= 4)
            #expect(zip(beeps, beeps.dropFirst()).allSatisfy { abs($1 - $0 - 1) < 0.02 })
        }

        @Test func devicesAreListedAndNamed() throws {
            let server = try SoundServer()
            let (ending, output, _) = try Program.run(["share", "--list-audio"], environment: server.environment)
            #expect(ending == .exited(0))
            #expect(output.contains("a\n") && output.contains("Sink-a, what it plays, the default"))
            #expect(output.contains("Sink-b, what it plays"))
            let desk = try Desk(sound: server, ["--audio", "Sink-b"])
            defer { desk.end() }
            try desk.host.waitFor("sound") { $0.string("device") == "Sink-b" && $0.string("state") == "capturing" }
            let (refused, _, words) = try Program.run(
                ["share", "--source", "pattern", "--audio", "nothing"], environment: server.environment)
            #expect(refused == .exited(1))
            #expect(
                words.contains("no sound device “nothing”") && words.contains("b (Sink-b, what it plays)"), "\(words)")
            // The microphone of a machine that has none isn't what its sink plays.
            let mute = try Desk(sound: server, ["--audio", "mic"])
            defer { mute.end() }
            try mute.host.waitFor("sound") { ["no-microphone", "no-device"].contains($0.string("state")) }
            let viewer = try Program.watch(
                [desk.ports.target, "--audio-output", "nowhere"], environment: server.environment)
            defer { viewer.end() }
            let player = try server.play(440, sink: "b")
            defer { player.end() }
            try viewer.waitForWords("There is no audio output nowhere")
            let gone = try SoundServer(isRunning: false)
            let failed = try Program.run(["share", "--list-audio"], environment: gone.environment)
            #expect(failed.ending == .exited(1) && failed.words.contains("No sound server"))
        }

        @Test(arguments: [
            ["share", "--audio-bit-rate", "8k"], ["share", "--audio", ""],
            ["watch", "--no-audio", "--audio-output", "a"],
            ["watch", "--av-sync", "maybe"],
        ])
        func wrongOptionsAreRefused(arguments: [String]) throws {
            #expect(try Program.run(arguments).ending == .exited(64))
        }

        /// Its own sound would be shared and played again, without end.
        @Test func aViewerOnTheHostsMachinePlaysNothing() throws {
            let desk = try Desk()
            defer { desk.end() }
            let display = try XServer(width: 640, height: 360)
            let viewer = try Program.watch(
                [desk.ports.target], display: display.display, environment: desk.sound.environment)
            defer { viewer.end() }
            try viewer.waitForWords("its sound isn't played again")
            let player = try desk.sound.play(440)
            defer { player.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("stats") { ($0.number("t") ?? 0) > 3 }
            #expect((viewer.events("stats").last?.object("sound")?["played"]?.number ?? 0) == 0)
        }
    }
}
