import BeamClock
import BeamMedia
import Foundation
import Testing

@testable import BeamWords

/// Transcripts in real files, on full disks, and of processes that are killed.
struct TranscriptFileTests {
    private let scratch: Scratch
    private let failures = Failures()

    init() throws { scratch = try Scratch() }

    private func file(_ name: String) throws -> TranscriptFile {
        try TranscriptFile(path: scratch.file(name)) { [failures] in failures.take($0) }
    }

    @Test(arguments: TranscriptFormat.allCases)
    func aTranscriptIsWrittenWithItsHistory(_ format: TranscriptFormat) throws {
        let name = "talk.\(format.rawValue)"
        let transcript = try file(name)
        transcript.append((0..<2000).map { caption("line \($0)", at: Double($0)) })
        transcript.append([caption("the last", at: 3000, speaker: "Anna")])
        transcript.close()
        let text = try scratch.text(name)
        for number in 0..<2000 where number % 97 == 0 { #expect(text.contains("line \(number)")) }
        #expect(text.contains("the last") && text.contains("Anna") && failures.errors.isEmpty)
        let mode = try FileManager.default.attributesOfItem(atPath: scratch.file(name))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        if format == .srt || format == .vtt, Tool.isThere {
            let cues = try Tool.cues(scratch.file(name))
            #expect(cues.count == 2001 && cues[1999].start == 1999 && cues[1999].duration == 1.5)
        }
        // Closed, it takes nothing.
        transcript.append([caption("more", at: 4000)])
        transcript.close()
        #expect(try scratch.text(name) == text)
    }

    @Test(arguments: TranscriptFormat.allCases)
    func entriesAreWrittenWhileTheFileIsOpen(_ format: TranscriptFormat) async throws {
        let name = "live.\(format.rawValue)"
        let transcript = try file(name)
        transcript.append([caption("one", at: 1)])
        // A cue is written when it is over, after 1.5 s.
        try await eventually { try scratch.text(name).contains("one") }
        transcript.append([caption("two", at: 100), caption("three", at: 101)])
        try await eventually { try scratch.text(name).contains("two") }
        transcript.close()
        #expect(try scratch.text(name).contains("three"))
    }

    /// What others write doesn't fill the disk. The file ends with a whole entry, and the person is told.
    @Test func aTranscriptHasAGreatestLength() throws {
        let path = scratch.file("endless.txt")
        let transcript = try TranscriptFile(path: path, longest: 1 << 20) { [failures] in failures.take($0) }
        let text = String(repeating: "x", count: 60_000)
        for number in 0..<40 { transcript.append([caption("\(number) \(text)", at: Double(number))]) }
        transcript.close()
        let written = try scratch.text("endless.txt")
        #expect((900_000...1 << 20).contains(written.utf8.count))
        #expect(written.hasSuffix("x\n"))
        #expect(failures.errors == [.cannotWriteFile(path: path, reason: "it has 1 MiB, which is the most")])
    }

    @Test func aHundredThousandLinesAtOnceReturnAtOnce() throws {
        let lines = (0..<100_000).map { caption("this is what was said at \($0)", at: Double($0) / 10) }
        let transcript = try file("long.txt")
        let before = MediaTime.now
        transcript.append(lines)
        #expect(MediaTime.now - before < .seconds(2))
        transcript.close()
        #expect(try scratch.text("long.txt").utf8.filter { $0 == UInt8(ascii: "\n") }.count == 100_000)
        #expect(failures.errors.isEmpty)
    }

    @Test func filesAreNeverOverwritten() throws {
        try Data("precious".utf8).write(to: URL(fileURLWithPath: scratch.file("a.txt")))
        #expect(throws: WordsError.fileExists(path: scratch.file("a.txt"))) { try file("a.txt") }
        #expect(symlink("elsewhere.txt", scratch.file("link.txt")) == 0)
        #expect(throws: WordsError.fileExists(path: scratch.file("link.txt"))) { try file("link.txt") }
        #expect(try scratch.text("a.txt") == "precious")
        #expect(!FileManager.default.fileExists(atPath: scratch.file("elsewhere.txt")))
        #expect(
            throws: WordsError.cannotCreateFile(
                path: "/nonexistent/a.vtt", reason: "no such file or directory")
        ) { try TranscriptFile(path: "/nonexistent/a.vtt") { _ in } }
        #expect(throws: WordsError.unknownFileEnding(path: scratch.file("a.doc"))) { try file("a.doc") }
        #expect(!FileManager.default.fileExists(atPath: scratch.file("a.doc")))
    }

    @Test(arguments: ["a.txt", "a.vtt"]) func aFileWithoutALineIsRemoved(_ name: String) throws {
        try file(name).close()
        #expect(!FileManager.default.fileExists(atPath: scratch.file(name)))
        // Not somebody else's file that has its name by now.
        let transcript = try file(name)
        unlink(scratch.file(name))
        try Data("precious".utf8).write(to: URL(fileURLWithPath: scratch.file(name)))
        transcript.close()
        #expect(try scratch.text(name) == "precious" && failures.errors.isEmpty)
    }

    /// Whole entries only, in the words of each format.
    private static func isWhole(_ text: String, _ format: TranscriptFormat) -> Bool {
        if text.isEmpty { return true }
        let (separator, end) =
            switch format {
            case .txt: ("\n", " end.")
            case .jsonl: ("\n", " end.\"}")
            case .srt, .vtt: ("\n\n", " end.")
            }
        let entries = text.components(separatedBy: separator)
        return entries.last == "" && entries.dropLast().allSatisfy { $0.hasSuffix(end) || $0 == "WEBVTT" }
    }

    private static func lines(_ count: Int) -> [TranscriptLine] {
        (0..<count).map {
            caption("line \($0) " + String(repeating: "é", count: $0 % 150) + " end.", at: Double($0) / 3)
        }
    }

    /// A file that may not be larger stands in for a full disk: the last write is short, the next one fails.
    @Test(arguments: TranscriptFormat.allCases, [1, 4096, 20_001])
    func aFullDiskLeavesWholeEntries(_ format: TranscriptFormat, _ limit: Int) async throws {
        let name = "full.\(format.rawValue)"
        await #expect(processExitsWith: .success) {
            [path = scratch.file(name) as String, limit = limit as Int] in
            signal(SIGXFSZ, SIG_IGN)
            var bound = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &bound) == 0)
            let failures = Failures()
            let transcript = try TranscriptFile(path: path) { failures.take($0) }
            transcript.append(Self.lines(1000))
            try await eventually { !failures.errors.isEmpty }
            #expect(failures.errors == [.cannotWriteFile(path: path, reason: "file too large")])
            // Reported once, and nothing is taken any more.
            transcript.append(Self.lines(1000))
            transcript.close()
            #expect(failures.errors.count == 1)
        }
        let text = try scratch.text(name)
        #expect(Self.isWhole(text, format) && text.utf8.count <= limit, "\(text.suffix(300))")
        #expect(limit < 4096 || text.utf8.count > limit - 1000)
    }

    @Test(.enabled(if: TinyDisk.isPossible, "no file system can be mounted here"))
    func aRealFullDiskLeavesWholeEntries() throws {
        let disk = try #require(TinyDisk(scratch.file("disk")))
        let path = disk.path + "/a.srt"
        let transcript = try TranscriptFile(path: path) { [failures] in failures.take($0) }
        transcript.append(Self.lines(1000))
        transcript.close()
        #expect(failures.errors == [.cannotWriteFile(path: path, reason: "no space left on device")])
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(Self.isWhole(text, .srt) && text.utf8.count > 12_000)
    }

    @Test(arguments: TranscriptFormat.allCases, 0..<3)
    func aKilledProcessLeavesWholeEntries(_ format: TranscriptFormat, _ round: Int) async throws {
        let name = "killed-\(round).\(format.rawValue)"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = scratch.file(name) as String] in
            let transcript = try TranscriptFile(path: path) { _ in }
            let lines = Self.lines(100_000)
            for start in stride(from: 0, to: lines.count, by: 10) {
                transcript.append(Array(lines[start..<start + 10]))
                var status = stat()
                if stat(path, &status) == 0, status.st_size > 50_000 { break }
                usleep(200)
            }
            kill(getpid(), SIGKILL)
        }
        let bytes = try #require(FileManager.default.contents(atPath: scratch.file(name)))
        var text = String(decoding: bytes, as: UTF8.self)
        // The system may stop a killed process's write at the end of a page: then the last entry isn't whole.
        let isCut = !Self.isWhole(text, format) && bytes.count % 4096 == 0
        if isCut {
            let separator = format == .srt || format == .vtt ? "\n\n" : "\n"
            text = text.range(of: separator, options: .backwards).map { String(text[..<$0.upperBound]) } ?? ""
        }
        #expect(Self.isWhole(text, format) && text.utf8.count > 45_000, "\(text.suffix(300))")
        if !isCut, format == .srt || format == .vtt, Tool.isThere {
            #expect(try Tool.cues(scratch.file(name)).count == text.matches(of: /-->/).count)
        }
    }
}
