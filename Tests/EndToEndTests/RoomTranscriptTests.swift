import BeamMedia
import Foundation
import Testing

/// Transcripts and subtitles, read by programs that aren't ours.
extension EndToEnd {
    @Suite(.needsProgram, .needsFFmpeg) struct RoomTranscriptTests {
        let ports: Ports
        let scratch: ScratchDirectory
        let desk: Machine

        init() throws {
            ports = try Ports()
            scratch = try ScratchDirectory()
            desk = try Machine()
        }

        private func share(_ pipe: CaptionPipe, _ arguments: [String] = []) throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--name", "Desk", "--captions", pipe.path] + arguments, ports: ports, machine: desk)
            try host.waitFor("ready")
            return host
        }

        private func watch(_ arguments: [String], input: ChildProcess.Input = .none) throws -> ProgramProcess {
            let viewer = try Program.watch([ports.target] + arguments, input: input)
            try viewer.waitFor("room")
            return viewer
        }

        private func text(_ file: String) throws -> String {
            String(decoding: try Data(contentsOf: URL(fileURLWithPath: file)), as: UTF8.self)
        }

        /// The cues of a file's subtitles as ffmpeg reads them: their begin in seconds, and their texts.
        private func cues(_ file: String) throws -> [(start: Double, text: String)] {
            let srt = try Tool.run(
                "ffmpeg", ["-v", "error", "-nostdin", "-i", file, "-map", "0:s:0", "-f", "srt", "-"])
            return srt.components(separatedBy: "\n\n").compactMap { block in
                let lines = block.split(separator: "\n")
                guard lines.count >= 3, let time = lines[1].split(separator: " ").first else { return nil }
                let parts = time.replacing(",", with: ".").split(separator: ":").compactMap { Double($0) }
                guard parts.count == 3 else { return nil }
                // The font of a track of 3GPP Timed Text.
                let text = lines.dropFirst(2).joined(separator: "\n").replacing(/<\/?font[^>]*>/, with: "")
                return (parts[0] * 3600 + parts[1] * 60 + parts[2], text)
            }
        }

        private func codec(_ file: String) throws -> String {
            try Tool.run(
                "ffprobe",
                ["-v", "error", "-select_streams", "s:0", "-show_entries", "stream=codec_name", "-of", "csv=p=0", file])
        }

        @Test func everyFormatHasTheHistoryAndIsReadByOthers() throws {
            let pipe = try CaptionPipe()
            let kinds = ["txt", "srt", "vtt", "jsonl"]
            let host = try share(pipe, ["--transcript", scratch.file("host.srt")])
            defer { host.end() }
            try pipe.write("before anybody <b>came</b> & sat\n{\"final\":\"مرحبا 你好\",\"speaker\":\"Ann\"}\n")
            try host.waitForCaptions(2)
            let viewers = try kinds.map {
                try watch(["--transcript", scratch.file("viewer.\($0)")], input: .pipe)
            }
            defer { for viewer in viewers { viewer.end() } }
            for viewer in viewers { try viewer.waitForCaptions(2) }
            try pipe.write("{\"partial\":\"not kept\"}\n{\"final\":\"two\\nlines\"}\n")
            for viewer in viewers { try viewer.waitForCaptions(3) }
            viewers[0].write(#"{"note":"a note --> \u001b[2J\u202e"}"#)
            for viewer in viewers { try viewer.waitFor("note") }
            try host.waitFor("note")
            // The host's program is asked to end last, so that its end is in the transcripts.
            host.interrupt()
            for viewer in viewers { try viewer.waitFor("alert") { $0.string("what") == "leaving" } }
            for viewer in viewers {
                viewer.interrupt()
                #expect(try viewer.waitForEnd() == .exited(0))
            }
            #expect(try host.waitForEnd() == .exited(0))
            for (program, file) in zip([host] + viewers, ["host.srt"] + kinds.map { "viewer.\($0)" }) {
                try program.waitForWords("Wrote 5 entries of the transcript into \(scratch.file(file))")
            }

            let files = kinds.map { scratch.file("viewer.\($0)") } + [scratch.file("host.srt")]
            for file in files {
                let text = try text(file)
                for words in ["came", "مرحبا 你好", "two", "lines", "a note"] {
                    #expect(text.contains(words), "\(file): \(text)")
                }
                #expect(text.contains("Ann") && !text.contains("not kept"), "\(file): \(text)")
                #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" }, "\(file)")
                #expect(text.hasSuffix("\n"))
                let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
            for (file, codec) in [
                (scratch.file("viewer.srt"), "subrip"), (scratch.file("viewer.vtt"), "webvtt"),
                (scratch.file("host.srt"), "subrip"),
            ] {
                #expect(try self.codec(file) == codec)
                let cues = try cues(file)
                #expect(cues.count == 5, "\(cues)")
                #expect(cues.map(\.start) == cues.map(\.start).sorted())
                #expect(cues.dropLast().last?.text.contains("a note") == true, "\(cues)")
                #expect(cues.last?.text == "“Desk” has ended its share.", "\(cues)")
            }
            let objects = try text(scratch.file("viewer.jsonl")).split(separator: "\n").compactMap {
                JSONValue(String($0))
            }
            #expect(objects.map { $0["kind"]?.string } == ["caption", "caption", "caption", "note", "alert"])
            #expect(objects.map { $0["author"]?.string }.prefix(3) == ["Desk", "Desk", "Desk"])
            #expect(objects[1]["speaker"]?.string == "Ann" && objects[2]["text"]?.string == "two\nlines")
            // The times are the host's: what was said before is earlier than the viewer's start.
            let times = objects.compactMap { $0["t"]?.number }
            // A viewer's estimate of the host's clock is off by some milliseconds.
            #expect(times.count == 5 && zip(times, times.dropFirst()).allSatisfy { $0 < $1 + 0.2 }, "\(times)")
            let joined = try #require(viewers.last?.events("share").first?.number("age"))
            #expect(times[0] < joined, "\(times)")
        }

        @Test(arguments: ["share", "watch"]) func aFileThatIsThereIsLeftAlone(command: String) throws {
            let file = scratch.file("mine.txt")
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            let arguments =
                command == "share"
                ? ["share", "--no-discovery", "--port", "0"] + .pattern : ["watch", ports.target, "--no-window"]
            for (name, words) in [
                (file, "exists"), (scratch.file("mine.doc"), ".jsonl"), (scratch.file("no/no.txt"), "no"),
            ] {
                let (ending, _, said) = try Program.run(arguments + ["--transcript", name, "--time-limit", "5"])
                #expect(ending == .exited(1) || ending == .exited(64))
                #expect(said.contains(words), "\(said)")
                expectPlainWords(said)
            }
            #expect(try text(file) == "mine")
        }

        @Test func aKilledProgramLeavesWholeLines() throws {
            let pipe = try CaptionPipe()
            let kinds = ["txt", "srt", "vtt", "jsonl"]
            let host = try share(pipe, ["--transcript", scratch.file("host.jsonl")])
            defer { host.end() }
            let viewers = try kinds.map { try watch(["--transcript", scratch.file("killed.\($0)")]) }
            defer { for viewer in viewers { viewer.end() } }
            let stop = Monitor(false)
            Thread.detachNewThread {
                var number = 0
                while !stop.current {
                    number += 1
                    try? pipe.write("caption \(number) \(String(repeating: "x", count: 300)) end\n")
                    pause(seconds: 0.01)
                }
            }
            defer { stop.set(true) }
            for viewer in viewers { try viewer.waitForCaptions(100) }
            for program in viewers + [host] { program.kill() }
            stop.set(true)
            for kind in kinds {
                let file = scratch.file("killed.\(kind)")
                let text = try text(file)
                #expect(text.hasSuffix(" end\n" + (kind == "srt" || kind == "vtt" ? "\n" : "")) || kind == "jsonl")
                switch kind {
                case "jsonl": expectWholeObjects(text)
                case "txt":
                    #expect(text.split(separator: "\n").allSatisfy { $0.hasSuffix(" end") && $0.hasPrefix("[") })
                default:
                    let cues = try cues(file)
                    #expect(cues.count >= 50 && cues.allSatisfy { $0.text.hasSuffix(" end") }, "\(kind): \(cues.count)")
                }
            }
            expectWholeObjects(try text(scratch.file("host.jsonl")))
        }

        private func expectWholeObjects(_ text: String) {
            let lines = text.split(separator: "\n")
            #expect(text.hasSuffix("}\n") && lines.count >= 90, "\(lines.count)")
            #expect(lines.allSatisfy { JSONValue(String($0))?["text"]?.string?.hasSuffix(" end") == true })
        }

        @Test func whatWasWrittenIsSaidAtTheEnd() throws {
            let host = try share(try CaptionPipe())
            defer { host.end() }
            let (transcript, recording) = (scratch.file("empty.txt"), scratch.file("viewer.mkv"))
            let viewer = try watch(["--transcript", transcript, "--record", recording])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            try viewer.waitForWords("Nothing was said or written, so there is no transcript \(transcript).")
            #expect(!FileManager.default.fileExists(atPath: transcript))
            #expect(
                viewer.errorText.contains(/Recorded [0-9]+ s in .*viewer\.mkv: [0-9]+ pictures?,/),
                "\(viewer.errorText)")
        }

        @Test func aHostThatIsStartedAgainContinuesTheTranscript() throws {
            let files = ["srt", "jsonl"].map { scratch.file("both.\($0)") }
            let first = try CaptionPipe()
            var host = try share(first)
            defer { host.end() }
            let viewers = try files.map { try watch(["--transcript", $0]) }
            defer { for viewer in viewers { viewer.end() } }
            try first.write("in the first life\n")
            for viewer in viewers { try viewer.waitForCaptions(1) }
            host.kill()
            _ = try host.waitForEnd()
            let second = try CaptionPipe()
            host = try share(second)
            try second.write("in the second life\n")
            for viewer in viewers {
                try viewer.waitForCaptions(2)
                viewer.interrupt()
                #expect(try viewer.waitForEnd() == .exited(0))
            }
            let cues = try cues(files[0])
            #expect(cues.map(\.text).map { $0.contains("first life") } == [true, false], "\(cues)")
            #expect(cues.count == 2 && cues[0].start < cues[1].start)
            #expect(try text(files[1]).split(separator: "\n").count == 2)
        }

        /// In MP4 a caption ends when the next one begins.
        @Test(arguments: ["mkv", "mp4"]) func captionsThatComeFasterThanTheyAreReadAreInStep(_ ending: String) throws {
            let pipe = try CaptionPipe()
            let files = [scratch.file("host.\(ending)"), scratch.file("viewer.\(ending)")]
            let host = try share(pipe, ["--record", files[0]])
            defer { host.end() }
            let viewer = try watch(["--record", files[1]])
            defer { viewer.end() }
            try viewer.waitFor("recording")
            for number in 1...20 {
                try pipe.write("caption \(number)\n")
                pause(seconds: 0.25)
            }
            try viewer.waitForCaptions(20)
            pause(seconds: 1)
            for program in [viewer, host] {
                program.interrupt()
                #expect(try program.waitForEnd() == .exited(0))
            }
            for (file, program) in zip(files, [host, viewer]) {
                let cues = try cues(file)
                // Those that a busy machine delivers within 0.1 s are one cue in MP4.
                let texts = cues.flatMap { $0.text.split(separator: "\n").map(String.init) }
                #expect(texts == (1...20).map { "caption \($0)" }, "\(file): \(texts)")
                let events = program.roomEvents("caption")
                try #require(events.count == 20)
                let begun = try #require(program.events("recording").first).time
                for cue in cues {
                    let first = cue.text.split(separator: "\n").first.map(String.init)
                    let event = try #require(events.first { $0.text == first })
                    #expect(abs(cue.start - (event.time - begun)) < 1, "\(file): \(cue), \(event.time - begun)")
                }
            }
        }

        @Test func recordingsHaveTheSubtitlesInStep() throws {
            let pipe = try CaptionPipe()
            let files = [scratch.file("host.mkv"), scratch.file("viewer.mkv")]
            let host = try share(pipe, ["--record", files[0]])
            defer { host.end() }
            try pipe.write("long before the viewer\n")
            pause(seconds: 6)
            let viewer = try watch(["--record", files[1]])
            defer { viewer.end() }
            try viewer.waitFor("recording")
            pause(seconds: 1)
            for number in 1...3 {
                try pipe.write("caption \(number)\n")
                try viewer.waitForCaptions(number + 1)
                pause(seconds: 1.5)
            }
            for program in [viewer, host] {
                program.interrupt()
                #expect(try program.waitForEnd() == .exited(0))
            }
            for (file, program) in zip(files, [host, viewer]) {
                let video = try Tool.probe(file)
                #expect(video.complaints == "" && video.pictureTypes.count > 60)
                let cues = try cues(file).filter { $0.text.contains("caption ") }
                try #require(cues.count == 3, "\(file): \(cues)")
                // By the program's own clock, from its first recorded frame.
                let begun = try #require(program.events("recording").first).time
                for (cue, event) in zip(cues, program.roomEvents("caption").dropFirst()) {
                    report(
                        "subtitle's begin, later than its caption's event",
                        "\((cue.start - (event.time - begun)).short) s")
                    #expect(abs(cue.start - (event.time - begun)) < 1)
                }
                #expect(abs((cues[2].start - cues[0].start) - (cues[1].start - cues[0].start) * 2) < 1)
                #expect(try self.cues(file).contains { $0.text.contains("long before") } == (file == files[0]))
            }
        }
    }
}
