import Foundation
import Testing

/// `watch -b`, `-m` and `--max-fps`: what one viewer wishes at most.
extension EndToEnd {
    @Suite(.needsProgram) struct QualityTests {
        /// Each full second of `stats` with pictures.
        private func seconds(_ viewer: ProgramProcess, until end: Double) -> [(
            fps: Double, kbps: Double, width: Double
        )] {
            viewer.events("stats").filter { $0.time < end }.dropFirst().map {
                ($0.number("fps") ?? 0, $0.number("kbps") ?? 0, $0.number("width") ?? 0)
            }
        }

        @Test func oneViewerGetsLessAndTheOtherAll() throws {
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "1280x720", "--content", "video", "--max-fps", "30"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let free = try Program.watch([ports.target])
            defer { free.end() }
            try free.waitFor("first-frame")
            let bound = try Program.watch([ports.target, "-b", "1M", "-m", "700", "--max-fps", "10"], input: .pipe)
            defer { bound.end() }
            let first = try bound.waitFor("first-frame")
            #expect(first.number("width") == 640 && first.number("height") == 360)
            let told = try bound.waitFor("quality")
            #expect(told.fields["taken"] == .bool(true) && told.number("maxSize") == 700)
            #expect(told.number("bitRate") == 1_000_000 && told.number("maxFps") == 10)
            try bound.waitFor("stats") { $0.time > first.time + 5 }

            bound.process.type(#"{"quality":{"maxSize":"small"}}"#)
            let refused = try bound.waitFor("error")
            #expect(refused.string("reason")?.contains("`maxSize` takes a number from 16 to 8192") == true)
            bound.process.type(#"{"quality":{}}"#)
            let lifted = try bound.waitFor("quality") { $0.fields["maxSize"] == nil }
            try bound.waitFor("stats") { $0.number("width") == 1280 && $0.time > lifted.time }

            let got = seconds(bound, until: lifted.time)
            report(
                "a viewer with -b 1M -m 700 --max-fps 10",
                "\(got.map { "\($0.fps.short) fps, \(Int($0.kbps)) kbit/s" })")
            #expect(got.count >= 4 && got.allSatisfy { $0.width == 640 })
            // A second of `stats` is as long as the machine lets it be.
            #expect(got.map(\.fps).reduce(0, +) / Double(got.count) < 11)
            #expect(got.map(\.kbps).reduce(0, +) / Double(got.count) < 1050)
            #expect(seconds(free, until: .infinity).allSatisfy { $0.width == 1280 })
            #expect(host.events("layer").allSatisfy { $0.string("why") == "wish" } && host.events("layer").count == 2)
            #expect(!host.errorText.contains("carries less"))
            for process in [host, free, bound] { expectPlainWords(process.errorText) }
        }

        @Test(arguments: [
            (["-b", "100k"], "128k to 1000M bits a second"), (["-m", "1"], "a number of pixels from 16 to 8192"),
            (["--max-fps", "nan"], "a number from 1 to 240"), (["--max-fps", "-3"], "a number from 1 to 240"),
        ])
        func whatCannotBeWishedIsRefused(arguments: [String], words: String) throws {
            let result = try Program.run(["watch", "192.0.2.1"] + arguments)
            #expect(result.ending == .exited(64))
            #expect(result.words.contains(words), "\(result.words)")
        }
    }

    @Suite(.needsProgram, .needsFFmpeg) struct PlainQualityTests {
        @Test func aHostOfVersion1CannotSendLess() throws {
            let scratch = try ScratchDirectory()
            let host = try IOSHost(try RecordedStream(width: 320, height: 180, seconds: 1, in: scratch))
            defer { host.stop() }
            let viewer = try Program.watch(["--allow-unencrypted", "127.0.0.1:\(host.controlPort)", "-b", "1M"])
            defer { viewer.end() }
            try viewer.waitForWords("This host can't send less to one viewer")
            #expect(try viewer.waitFor("quality").fields["taken"] == .bool(false))
            try viewer.waitFor("first-frame")
            expectPlainWords(viewer.errorText)
        }
    }
}
