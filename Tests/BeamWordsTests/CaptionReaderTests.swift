import BeamClock
import BeamMedia
import BeamWords
import Foundation
import Testing

/// Captions out of real files, pipes and named pipes.
struct CaptionReaderTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    @Test func aPipesLinesComeAtOnceAndItsEndIsReported() async throws {
        let reading: Reading
        do {
            let pipe = try AnonymousPipe()
            reading = try Reading(pipe.path)
            try pipe.writer.write("first\r\n")
            try await eventually { reading.heard.finals == ["first"] }
            try pipe.writer.write("{\"partial\":\"sec\"}\n{bad\n\n{\"final\":\"second\",\"speaker\":\"Anna\"}\nsplit")
            try await eventually { reading.heard.finals.count == 2 }
            try pipe.writer.write(" in two\nwithout an end")
            try await eventually { reading.heard.finals.count == 3 }
        }
        try await eventually { reading.heard.events.last == .ended }
        let events = reading.heard.events
        #expect(reading.heard.finals == ["first", "second", "split in two", "without an end"])
        #expect(events.contains(.final("second", speaker: "Anna")) && reading.heard.partials == ["sec"])
        #expect(reading.heard.bad == [3])
        #expect(events.filter { $0 == .ended }.count == 1)
    }

    /// As `stream` of whisper.cpp writes: it redraws its line each half second, and ends it after some of these.
    @Test func aRecogniserThatRedrawsItsLineMakesOneCaption() async throws {
        let reading: Reading
        do {
            let pipe = try AnonymousPipe()
            reading = try Reading(pipe.path)
            try pipe.writer.write("[Start speaking]\n")
            func draw(_ text: String) throws {
                let blank = String(repeating: " ", count: 100)
                try pipe.writer.write("\u{1B}[2K\r\(blank)\u{1B}[2K\r")
                try pipe.writer.write(text)
            }
            for text in [" And so", " And so my fellow", " And so, my fellow Americans"] {
                try draw(text)
                let shown = text.trimmingCharacters(in: .whitespaces)
                try await eventually { reading.heard.partials.last == shown }
            }
            try pipe.writer.write("\n")
            try draw(" ask not")
            try await eventually { reading.heard.partials.last == "ask not" }
            // Nothing was said after all.
            try pipe.writer.write("\u{1B}[2K\r\n")
            try await eventually { reading.heard.partials.last == "" }
            try draw("\u{1B}[1;32m ask\u{1B}[0m not")
        }
        try await eventually { reading.heard.events.last == .ended }
        #expect(reading.heard.finals == ["[Start speaking]", "And so, my fellow Americans", "ask not"])
        #expect(reading.heard.bad == [])
        #expect(!reading.heard.partials.contains { $0.contains("[") || $0.contains("2K") })
    }

    @Test func aPipeThatStallsEndsNothingAndStopsAtOnce() async throws {
        let pipe = try AnonymousPipe()
        let heard = Heard()
        let reader = try CaptionReader(path: pipe.path)
        reader.start { heard.take($0) }
        try pipe.writer.write("begun, but not")
        try await Task.sleep(for: .milliseconds(100))
        let before = MediaTime.now
        reader.stop()
        #expect(MediaTime.now - before < .milliseconds(900), "the thread was left behind")
        #expect(heard.events.isEmpty)
        // It may be stopped again, and before it was started.
        reader.stop()
        try CaptionReader(path: pipe.path).stop()
    }

    @Test func aNamedPipeStaysOpenForItsNextWriter() async throws {
        let path = scratch.file("fifo")
        // As the program does: a reader that goes must not end the process.
        signal(SIGPIPE, SIG_IGN)
        #expect(mkfifo(path, 0o600) == 0)
        let reading = try Reading(path)
        for number in 0..<20 {
            // Without a line's end: the writer's end is one.
            try SystemHandle(open(path, O_WRONLY)).write("line \(number)\nlast of \(number)")
            if number % 2 == 0 { try await eventually { reading.heard.finals.last == "last of \(number)" } }
        }
        try await eventually { reading.heard.finals.count >= 30 && reading.heard.finals.last == "last of 19" }
        // Two writers in a row may come so fast that one's last line is continued by the next one.
        for number in 0..<20 { #expect(reading.heard.finals.joined(separator: "\n").contains("line \(number)")) }
        #expect(!reading.heard.events.contains(.ended))
    }

    @Test func aFileIsFollowedAsItGrows() async throws {
        try scratch.append("one\ntwo\nthr".utf8, to: "captions")
        let reading = try Reading(scratch.file("captions"))
        try await eventually { reading.heard.finals.starts(with: ["one", "two"]) }
        try scratch.append("ee\nfour\n".utf8, to: "captions")
        // In two pieces, if this test had to wait for the processor in between.
        try await eventually { reading.heard.finals.joined() == "onetwothreefour" }
        // A last line without an end is taken when the file rests.
        try scratch.append("five".utf8, to: "captions")
        try await eventually { reading.heard.finals.last == "five" }
        // Written anew, it is read from its beginning.
        #expect(truncate(scratch.file("captions"), 0) == 0)
        try await Task.sleep(for: .milliseconds(1200))
        try scratch.append("again\n".utf8, to: "captions")
        try await eventually { reading.heard.finals.last == "again" }
        #expect(!reading.heard.events.contains(.ended))
    }

    @Test func aFloodIsSlowedAndNothingIsLost() async throws {
        let pipe = try AnonymousPipe()
        let reading = try Reading(pipe.path)
        let before = MediaTime.now
        let count = 700
        let flood = StageThread("flood") {
            for number in 0..<count {
                // Longer than the pipe, together: the writer has to wait.
                let text = "\(number) " + String(repeating: "x", count: 200)
                try? pipe.writer.write("{\"partial\":\"\(number)\"}\n\(text)\n")
            }
        }
        try await eventually { reading.heard.finals.count == count }
        flood.join()
        let seconds = (MediaTime.now - before).inSeconds
        #expect(seconds > 2, "700 lines take 2.5 s after a burst of 200")
        #expect(reading.heard.finals.map { $0.split(separator: " ")[0] } == (0..<count).map { "\($0)" })
        #expect(Double(reading.heard.partials.count) <= 30 * seconds + 5)
    }

    @Test func garbageIsSurvived() async throws {
        var generator = SystemRandomNumberGenerator()
        var bytes = (0..<40_000).map { _ in UInt8.random(in: 0...255, using: &generator) }.filter { $0 != 0x0A }
        bytes += [0x0A] + [UInt8](repeating: 0x41, count: 10 << 20) + Array("\nstill here\n".utf8)
        let pipe = try AnonymousPipe()
        let reading = try Reading(pipe.path)
        let sent = bytes
        let flood = StageThread("garbage") { try? pipe.writer.write(sent) }
        try await eventually { reading.heard.finals.last == "still here" }
        flood.join()
        #expect(reading.heard.bad.last == 2)
        for text in reading.heard.finals { #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 }) }
    }

    @Test func whatCannotBeReadIsAnError() throws {
        #expect(throws: WordsError.cannotRead(path: scratch.file("none"), reason: "no such file or directory")) {
            try CaptionReader(path: scratch.file("none"))
        }
        #expect(throws: WordsError.cannotRead(path: scratch.path, reason: "it is a directory")) {
            try CaptionReader(path: scratch.path)
        }
    }

    @Test func standardInputIsRead() async throws {
        // In a process of its own, whose standard input is a file first, and then a pipe.
        await #expect(processExitsWith: .success) { [path = scratch.file("input") as String] in
            try Data("from a file\n".utf8).write(to: URL(fileURLWithPath: path))
            #expect(dup2(open(path, O_RDONLY), STDIN_FILENO) == STDIN_FILENO)
            let file = try Reading("-")
            try await eventually { file.heard.finals == ["from a file"] }
            file.reader.stop()
            var ends: [CInt] = [-1, -1]
            #expect(pipe(&ends) == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO)
            let piped = try Reading("-")
            try SystemHandle(ends[1]).write("from a pipe\n")
            try await eventually { piped.heard.events == [.final("from a pipe", speaker: nil), .ended] }
            // It is left open.
            piped.reader.stop()
            #expect(fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK == 0)
        }
    }
}
