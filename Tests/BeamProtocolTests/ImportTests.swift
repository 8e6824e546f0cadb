import Foundation
import Testing

/// The core touches no socket, no thread, no clock and no C library but for cryptography and erasure codes: its sources
/// import next to nothing.
struct ImportTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    private struct Import: Hashable {
        var file: String
        var module: String
    }

    private func imports(of target: String) throws -> [Import] {
        let folder = Self.sources.appending(path: target)
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        let swift = files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        #expect(swift.count > 5, "the sources of \(target) aren't at \(folder.path)")
        return try swift.flatMap { file in
            try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
                let words = line.split(whereSeparator: \.isWhitespace)
                guard let index = words.firstIndex(of: "import"), words[..<index].allSatisfy({ $0.isAttribute }),
                    index + 1 < words.count
                else { return nil }
                // `import struct Module.Name`
                let name = words[index + 1].first?.isUppercase == true ? words[index + 1] : words.last ?? ""
                return Import(file: file.lastPathComponent, module: String(name.prefix { $0 != "." }))
            }
        }
    }

    @Test func theProtocolImportsNoWorld() throws {
        for found in try imports(of: "BeamProtocol") {
            switch found.module {
            case "BeamMedia", "Synchronization", "Crypto", "CCrypto", "CSodium", "CISAL": break
            default: Issue.record("\(found.file) imports \(found.module)")
            }
        }
    }

    @Test func theMediaValuesImportNoWorld() throws {
        for found in try imports(of: "BeamMedia") {
            switch found.module {
            case "Synchronization": break
            case "Glibc":
                // For a lock whose waits end by the monotonic clock.
                #expect(found.file == "MonotonicCondition.swift", "\(found.file) imports Glibc")
            case "Foundation":
                // For Thread, and for what the system's scheduler is told.
                let files = ["StageThread.swift", "ThreadPriority.swift"]
                #expect(files.contains(found.file), "\(found.file) imports Foundation")
            default: Issue.record("\(found.file) imports \(found.module)")
            }
        }
    }

    /// A session is told the time, and hands that on: it makes none up.
    @Test func noSessionMakesUpATime() throws {
        for (file, text) in try texts(of: "BeamProtocol") {
            #expect(!text.contains("now: .zero") && !text.contains("now: MediaTime("), "\(file)")
        }
    }

    /// `Int(_: Double)` traps on what doesn't fit, and what a peer says gets into many a value: `Int(clamping:)` takes its place. A
    /// text doesn't tell types; what is known to be a `Double` is what looks like one, or is declared as one in these folders.
    @Test func noDoubleBecomesAnIntegerUnbounded() throws {
        let targets = ["BeamMedia", "BeamProtocol", "BeamHost", "BeamViewer", "BeamNetwork"]
        let sources = try targets.flatMap { try texts(of: $0) }
        let declaration = /(?:var|let|func) (\w+)(?:: Double|[^\n]*?-> Double|(?:: \w+)? = -?\d+(?:\.\d|e))/
        // Integers elsewhere: their names tell nothing.
        let ambiguous: Set<Substring> = [
            "rate", "bytes", "lost", "expected", "total", "sent", "count", "queue", "time", "max", "highest", "report",
        ]
        let doubles = Set(sources.flatMap { $0.text.matches(of: declaration).map(\.1) }).subtracting(ambiguous)
        #expect(doubles.contains("allowed") && doubles.contains("inSeconds") && doubles.count > 30)
        let conversion = /\bU?Int(?:8|16|32|64)?\(/
        for (file, text) in sources {
            for match in text.matches(of: conversion) {
                let argument = Self.argument(text[match.range.upperBound...])
                if argument.contains(/^(clamping|exactly|truncatingIfNeeded|bitPattern|bigEndian|littleEndian|ascii):/)
                {
                    continue
                }
                let looksLikeOne = argument.contains(/\bDouble\(|\.rounded\(|\d\.\d|\b\de\d/)
                let names = argument.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                #expect(
                    !looksLikeOne && doubles.isDisjoint(with: names), "\(file): \(match.output)\(argument)) may trap")
            }
        }
    }

    private func texts(of target: String) throws -> [(file: String, text: String)] {
        let folder = Self.sources.appending(path: target)
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.map {
            ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8))
        }
    }

    /// Up to the bracket that closes what was opened before.
    private static func argument(_ text: Substring) -> Substring {
        var depth = 1
        for index in text.indices {
            depth += text[index] == "(" ? 1 : text[index] == ")" ? -1 : 0
            if depth == 0 { return text[..<index] }
        }
        return text
    }

    /// The core reads no clock, by whatever name. `Date` is forbidden as a word: whoever names it means the wall clock, in whatever form.
    @Test(arguments: ["BeamProtocol", "BeamMedia"])
    func nothingReadsAClock(_ target: String) throws {
        let clock =
            /\b(?:Date|NSDate|ContinuousClock|SuspendingClock|DispatchTime|clock_gettime|ProcessInfo|systemUptime)\b/
        for (file, text) in try texts(of: target) { expectNone(of: clock, in: text, file) }
    }

    /// Setting the machine's date moves no wait of a stage: nothing there waits by the wall clock. The day on which a device was paired
    /// is a date, and the only one.
    @Test(arguments: [
        "BeamProtocol", "BeamMedia", "BeamClock", "BeamHost", "BeamViewer", "BeamCapture", "BeamCodec", "BeamDisplay",
        "BeamNetwork", "BeamDiscovery",
    ])
    func noStageWaitsByTheWallClock(_ target: String) throws {
        let wallClock =
            /\b(?:NSCondition|NSConditionLock|NSDate|DispatchWallTime|wallDeadline|CLOCK_REALTIME|gettimeofday|Date)\b/
        for (file, text) in try texts(of: target) {
            expectNone(of: wallClock, in: text.replacing(/pairedAt: Date\(\)/, with: ""), file)
        }
    }

    private func expectNone(of words: Regex<Substring>, in text: String, _ file: String) {
        // What a comment says waits for nobody.
        for line in text.split(separator: "\n") {
            let code = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
            if let word = code.firstMatch(of: words) { Issue.record("\(file) names \(word.output): \(code)") }
        }
    }
}

extension Substring {
    /// `@testable`, `public`: what may stand before `import`.
    fileprivate var isAttribute: Bool { hasPrefix("@") || ["public", "internal", "package", "private"].contains(self) }
}
