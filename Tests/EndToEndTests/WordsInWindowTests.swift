import Foundation
import Testing

/// Captions, notes, the transcript and a paused host as a person sees them in the window.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer, .needsXdotool) struct WordsInWindowTests {
        /// A host of a still picture whose captions come from a pipe, and a screen for the window.
        private final class Scene {
            let ports: Ports
            let screen: XServer
            let host: ProgramProcess
            private let desk: XServer
            private let painter: Painter
            private let scratch: ScratchDirectory
            private let captions: FileHandle

            init(_ arguments: [String] = []) throws {
                ports = try Ports()
                scratch = try ScratchDirectory()
                screen = try XServer(width: 960, height: 540)
                desk = try XServer(width: 640, height: 360)
                painter = try Painter(desk.display, framesPerSecond: 0)
                let pipe = scratch.file("captions")
                guard mkfifo(pipe, 0o600) == 0 else { throw HarnessError.system("mkfifo") }
                host = try Program.share(
                    [
                        "--display", desk.display, "--no-cursor", "--name", "desk", "--captions", pipe,
                    ] + arguments, ports: ports, input: .pipe)
                try host.waitFor("ready")
                captions = try FileHandle(forWritingTo: URL(filePath: pipe))
            }

            /// If the host has gone, a test fails for want of the caption.
            func write(_ line: String) { try? captions.write(contentsOf: Data((line + "\n").utf8)) }

            /// Answers when the picture has come, and what may still be refined is.
            func watch(_ arguments: [String] = []) throws -> (viewer: ProgramProcess, window: ViewedWindow) {
                let viewer = try Program.watch([ports.target] + arguments, display: screen.display)
                try viewer.waitFor("first-frame")
                try viewer.waitFor("room")
                let window = try ViewedWindow(screen)
                // Until the line of hints has gone.
                pause(seconds: 6.5)
                return (viewer, window)
            }

            func end() { host.end() }
        }

        @Test func captionsAreShownForAWhileAndTheKeyCHidesThem() throws {
            let scene = try Scene()
            defer { scene.end() }
            let (viewer, window) = try scene.watch()
            defer { viewer.end() }
            let (before, middle) = (try window.bottom(), try window.part(from: 0.1, to: 0.5))
            scene.write(#"{"partial":"Good mor","speaker":"Anna"}"#)
            #expect(try window.waits { try window.bottom().differingPixels(before) > 1000 }, "no caption appears")
            // The same three lines, as one grows and is completed.
            scene.write(#"{"final":"Good morning, everybody. Today we read the first chapter.","speaker":"Anna"}"#)
            scene.write("A second line.")
            try viewer.waitFor("caption") { $0.string("text") == "A second line." }
            pause(seconds: 0.3)
            #expect(try window.part(from: 0.1, to: 0.5).differingPixels(middle) < 100, "captions cover the picture")
            try window.press("c")
            #expect(try window.waits { try window.bottom().differingPixels(before) < 100 }, "`c` doesn't hide them")
            try window.press("c")
            #expect(try window.waits { try window.bottom().differingPixels(before) > 1000 }, "`c` doesn't show them")
            #expect(try window.waits { try window.bottom().differingPixels(before) < 100 }, "captions stay")
        }

        @Test func aPartialCaptionThatIsNeverCompletedGoes() throws {
            let scene = try Scene()
            defer { scene.end() }
            let (viewer, window) = try scene.watch()
            defer { viewer.end() }
            let before = try window.bottom()
            scene.write(#"{"partial":"And then the recogniser has"}"#)
            #expect(try window.waits { try window.bottom().differingPixels(before) > 1000 })
            #expect(try window.waits { try window.bottom().differingPixels(before) < 100 }, "it stays")
        }

        @Test func captionsCanBeOffFromTheBeginning() throws {
            let scene = try Scene()
            defer { scene.end() }
            let (viewer, window) = try scene.watch(["--captions", "off"])
            defer { viewer.end() }
            let before = try window.bottom()
            scene.write("Nobody reads this.")
            try viewer.waitFor("caption")
            pause(seconds: 0.5)
            #expect(try window.bottom().differingPixels(before) < 100)
            try window.press("c")
            #expect(try window.waits { try window.bottom().differingPixels(before) > 1000 })
        }

        @Test func theTranscriptBeginsWithTheFirstLineForWhoComesLate() throws {
            let scene = try Scene()
            defer { scene.end() }
            for number in 1...200 { scene.write("Line number \(number) of this lesson.") }
            try scene.host.waitFor("caption") { $0.string("text")?.contains("number 200 ") == true }
            pause(seconds: 5)
            let (viewer, window) = try scene.watch()
            defer { viewer.end() }
            let first = try viewer.waitFor("caption")
            #expect(first.string("text") == "Line number 1 of this lesson.")
            let before = try window.part(from: 0, to: 1)
            try window.press("t")
            #expect(try window.waits { try window.part(from: 0, to: 1).differingPixels(before) > 5000 })
            // It opens at the beginning: Home changes nothing, End does.
            pause(seconds: 0.3)
            let opened = try window.part(from: 0, to: 1)
            try window.press("Home")
            pause(seconds: 0.3)
            #expect(try window.part(from: 0, to: 1).differingPixels(opened) < 100)
            try window.press("End")
            #expect(try window.waits { try window.part(from: 0, to: 1).differingPixels(opened) > 500 })
            // At the end, new lines appear by themselves.
            let ending = try window.part(from: 0, to: 0.6, left: 0.65)
            scene.write("One more.")
            #expect(try window.waits { try window.part(from: 0, to: 0.6, left: 0.65).differingPixels(ending) > 100 })
            try window.press("t")
            #expect(try window.waits { try window.top().differingPixels(before.upper(0.25)) < 100 })
        }

        @Test func aNoteFromTheWindowArrivesEverywhere() throws {
            let scene = try Scene()
            defer { scene.end() }
            let (viewer, window) = try scene.watch()
            defer { viewer.end() }
            let other = try Program.watch([scene.ports.target])
            defer { other.end() }
            try other.waitFor("room")
            let before = try window.bottom()
            try window.press("n")
            #expect(try window.waits { try window.bottom().differingPixels(before) > 1000 }, "no line opens")
            try window.type("shall we quit now")
            try window.press("Return")
            for process in [scene.host, other] {
                #expect(try process.waitFor("note").string("text") == "shall we quit now")
                try process.waitForWords("writes: shall we quit now")
            }
            #expect(try viewer.waitFor("note").fields["own"] == .bool(true))
            #expect(viewer.isRunning, "letters of a note aren't commands")
            #expect(!viewer.errorText.contains("writes:"), "who has written it need not be told")
        }

        @Test func aHostThatTakesNoNotesIsNotWrittenTo() throws {
            let scene = try Scene(["--notes", "off"])
            defer { scene.end() }
            let (viewer, window) = try scene.watch()
            defer { viewer.end() }
            let (top, bottom) = (try window.top(), try window.bottom())
            try window.press("n")
            #expect(try window.waits { try window.top().differingPixels(top) > 500 }, "nothing is said")
            #expect(try window.bottom().differingPixels(bottom) < 100, "a line opens")
            try window.type("f")
            #expect(scene.host.events("note").isEmpty)
        }

        @Test func aHostOfVersion1HasNoNotesAndSaysSo() throws {
            let scene = try Scene(["--allow-unencrypted"])
            defer { scene.end() }
            let relay = try TCPRelay(onlyVersion1To: Endpoint(scene.ports.control))
            defer { relay.end() }
            let viewer = try Program.watch(
                ["127.0.0.1:\(relay.port)", "--allow-unencrypted"], display: scene.screen.display, input: .pipe)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let window = try ViewedWindow(scene.screen)
            // Until the line of hints has gone.
            pause(seconds: 6.5)
            let (top, right) = (try window.top(), try window.part(from: 0, to: 0.5, left: 0.7))
            try window.press("n")
            #expect(try window.waits { try window.top().differingPixels(top) > 500 }, "nothing is said")
            try window.press("t")
            #expect(
                try window.waits { try window.part(from: 0, to: 0.5, left: 0.7).differingPixels(right) > 5000 },
                "no transcript opens")
            let line = viewer.lineCount
            viewer.process.type(#"{"note":"hello"}"#)
            let error = try viewer.waitFor("error", from: line)
            #expect(error.string("reason")?.contains("has no notes") == true)
            viewer.process.type(#"{"message":{"a":1},"id":"7"}"#)
            #expect(try viewer.waitFor("undelivered").string("id") == "7")
        }

        @Test func aPausedPictureIsGreyAndComesBack() throws {
            let scene = try Scene()
            defer { scene.end() }
            let (viewer, window) = try scene.watch()
            defer { viewer.end() }
            let before = try window.part(from: 0, to: 1)
            #expect(before.colourfulness > 5)
            scene.host.process.type(#"{"pause":true}"#)
            #expect(
                try window.waits { try window.part(from: 0, to: 1).colourfulness < before.colourfulness / 5 },
                "the picture keeps its colours")
            scene.host.process.type(#"{"pause":false}"#)
            #expect(try window.waits { try window.part(from: 0, to: 1).differingPixels(before) < 2000 })
        }
    }
}

extension Screenshot {
    /// The mean difference between the strongest and the weakest colour of a pixel, 0 to 255.
    fileprivate var colourfulness: Double {
        let sum = stride(from: 0, to: bytes.count, by: 4).reduce(0) { sum, start in
            let colours = bytes[start..<start + 3]
            return sum + Int(colours.max() ?? 0) - Int(colours.min() ?? 0)
        }
        return Double(sum) / Double(max(1, width * height))
    }

    /// The upper part, 0 to 1.
    fileprivate func upper(_ part: Double) -> Screenshot {
        let rows = Int(Double(height) * part)
        return Screenshot(width: width, height: rows, bytes: Array(bytes.prefix(rows * width * 4)))
    }
}
