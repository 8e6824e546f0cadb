import Foundation
import Testing

/// The core uses no socket, no thread, no clock, and no C library but for cryptography and erasure codes. The tests
/// read its sources.
struct ImportTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    static let core = ["BeamSession", "BeamLog", "BeamWire", "BeamPlayout"]

    private struct Import: Hashable {
        var file: String
        var module: String
    }

    private func imports(of target: String) throws -> [Import] {
        let folder = Self.sources.appending(path: target)
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        let swift = files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        #expect(!swift.isEmpty, "the sources of \(target) aren't at \(folder.path)")
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

    /// The core, from the sessions down: what each module may import.
    @Test(arguments: [
        ("BeamSession", ["BeamLog", "BeamWire", "BeamMedia"]),
        ("BeamLog", ["BeamWire", "BeamMedia", "Crypto"]),
        ("BeamWire", ["BeamMedia", "Synchronization", "Crypto", "CCrypto", "CSodium", "CISAL"]),
        ("BeamPlayout", ["BeamMedia"]),
    ])
    func theCoreImportsNoSystemModules(_ module: String, _ allowed: [String]) throws {
        for found in try imports(of: module) where !allowed.contains(found.module) {
            Issue.record("\(module): \(found.file) imports \(found.module)")
        }
    }

    @Test func theMediaModuleImportsNoSystemModules() throws {
        for found in try imports(of: "BeamMedia") {
            switch found.module {
            case "Synchronization": break
            case "Glibc":
                // A condition variable that waits by the monotonic clock.
                #expect(found.file == "MonotonicCondition.swift", "\(found.file) imports Glibc")
            case "Foundation":
                // For Thread, and for scheduling priorities.
                let files = ["StageThread.swift", "ThreadPriority.swift"]
                #expect(files.contains(found.file), "\(found.file) imports Foundation")
            default: Issue.record("\(found.file) imports \(found.module)")
            }
        }
    }

    /// Files with words need neither the protocol nor the codec.
    @Test func theWordsImportNoOtherAdapter() throws {
        for found in try imports(of: "BeamWords") {
            switch found.module {
            case "BeamMedia", "BeamClock", "Synchronization", "Foundation", "Glibc": break
            default: Issue.record("\(found.file) imports \(found.module)")
            }
        }
    }

    /// A camera shows pictures, wherever they come from.
    @Test func theCameraImportsNoOtherAdapter() throws {
        for found in try imports(of: "BeamCamera") {
            switch found.module {
            case "BeamPixels", "BeamMedia", "BeamClock", "CBeamCamera", "CLateLibraries", "Synchronization", "Glibc":
                break
            default: Issue.record("\(found.file) imports \(found.module)")
            }
        }
    }

    /// A file of settings is read without knowing whose settings they are.
    @Test func theSettingsImportNothingOfTheProgram() throws {
        for found in try imports(of: "BeamSettings") where !["CBeamTOML", "Glibc"].contains(found.module) {
            Issue.record("\(found.file) imports \(found.module)")
        }
    }

    /// The adapter to the desktop needs no other adapter, nor the protocol.
    @Test func theDesktopImportsOnlyTheCoreAndDBus() throws {
        for found in try imports(of: "BeamDesktop") {
            switch found.module {
            case "BeamBus", "BeamMedia", "BeamClock", "CBeamShell", "CSystemd", "CLateLibraries", "Synchronization",
                "Glibc":
                break
            default: Issue.record("\(found.file) imports \(found.module)")
            }
        }
    }

    /// What both adapters to the network need is below both; neither knows the other.
    @Test func theAdaptersToTheNetworkDoNotKnowEachOther() throws {
        for (module, others) in [
            ("BeamWeb", ["BeamNetwork", "BeamTrust", "BeamCodec", "BeamMetrics"]),
            ("BeamNetwork", ["BeamWeb", "BeamMetrics"]),
            ("BeamMetrics", ["BeamNetwork", "BeamWeb", "BeamIdentity", "BeamTrust", "BeamCodec", "BeamLog"]),
            ("BeamSockets", ["BeamNetwork", "BeamWeb", "BeamMetrics", "BeamIdentity"]),
        ] {
            for found in try imports(of: module) where others.contains(found.module) {
                Issue.record("\(module): \(found.file) imports \(found.module)")
            }
        }
    }

    /// The house, from the commands down: what each module of a layer may import of the others. The adapters below import
    /// none of these.
    @Test func theLayersImportOnlyWhatIsBelow() throws {
        let layers = [
            "beamroom", "BeamDoctor", "BeamMeeting", "BeamRelay", "BeamTerminal", "BeamHost", "BeamViewer",
        ]
        let below: [String: Set<String>] = [
            "beamroom": ["BeamDoctor", "BeamMeeting", "BeamRelay", "BeamTerminal", "BeamHost", "BeamViewer"],
            "BeamDoctor": ["BeamViewer"],
            "BeamMeeting": ["BeamTerminal", "BeamHost", "BeamViewer"],
            "BeamRelay": ["BeamHost", "BeamViewer"],
            "BeamTerminal": ["BeamHost", "BeamViewer"],
        ]
        let adapters = [
            "BeamCamera", "BeamCapture", "BeamCodec", "BeamDisplay", "BeamDiscovery", "BeamNetwork", "BeamTrust",
            "BeamDesktop",
            "BeamWeb", "BeamMetrics", "BeamSockets", "BeamSound", "BeamWords", "BeamMeasure", "BeamSession", "BeamLog",
            "BeamWire",
            "BeamPlayout", "BeamMedia",
        ]
        for module in layers + adapters {
            for found in try imports(of: module) where layers.contains(found.module) {
                let isBelow = below[module, default: []].contains(found.module)
                #expect(isBelow, "\(module): \(found.file) imports \(found.module)")
            }
        }
    }

    /// The command line's options and their parser are the commands': nothing below knows them.
    @Test func onlyCommandsImportTheParserOfArguments() throws {
        for module in ["BeamMeeting", "BeamRelay", "BeamTerminal", "BeamHost", "BeamViewer"] {
            for found in try imports(of: module) {
                #expect(found.module != "ArgumentParser", "\(module): \(found.file)")
            }
        }
    }

    /// Nobody but a broadcast writes to its senders.
    @Test func onlyABroadcastTouchesItsSenders() throws {
        let found = try texts(of: "BeamSession").filter { $0.text.contains("senders.all") }.map(\.file)
        #expect(found.contains("Broadcast+Frames.swift"))
        #expect(found.allSatisfy { $0.hasPrefix("Broadcast") }, "\(found)")
    }

    /// A door knows nothing of media, and a broadcast nothing of pairing.
    @Test func doorAndBroadcastDoNotKnowEachOther() throws {
        for (file, text) in try texts(of: "BeamSession") where file.hasPrefix("Door") || file.hasPrefix("Broadcast") {
            let others =
                file.hasPrefix("Door") ? /\b(Broadcast|Senders?|HostStream)\b\(?/ : /\b(Door|Member|TrustBook)\b/
            let code = text.split(separator: "\n").filter { !$0.contains("//") }.joined(separator: "\n")
            #expect(!code.contains(others), "\(file)")
        }
    }

    /// A session gets the time as an argument, and never makes one up.
    @Test func sessionsPassOnTheTimeThatTheyGet() throws {
        for (file, text) in try Self.core.flatMap({ try texts(of: $0) }) {
            #expect(!text.contains("now: .zero") && !text.contains("now: MediaTime("), "\(file)")
        }
    }

    /// `Int(_: Double)` traps on values that don't fit, and peers influence many values: `Int(clamping:)` replaces it.
    /// The text has no types: a `Double` is recognised by its literal, or by a declaration in these folders.
    @Test func doublesAreConvertedToIntegersByClamping() throws {
        let targets = [
            "BeamMedia", "BeamHost", "BeamViewer", "BeamNetwork", "BeamSockets", "BeamWeb", "BeamMetrics", "BeamWords",
            "BeamDesktop", "BeamCamera",
        ]
        let sources = try (Self.core + targets).flatMap { try texts(of: $0) }
        let declaration = /(?:var|let|func) (\w+)(?:: Double|[^\n]*?-> Double|(?:: \w+)? = -?\d+(?:\.\d|e))/
        // These names are also integers elsewhere.
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

    /// The text up to the bracket that closes the one before `text`.
    private static func argument(_ text: Substring) -> Substring {
        var depth = 1
        for index in text.indices {
            depth += text[index] == "(" ? 1 : text[index] == ")" ? -1 : 0
            if depth == 0 { return text[..<index] }
        }
        return text
    }

    /// The core reads no clock. `Date` is forbidden as a word, because any use of it means the wall clock.
    @Test(arguments: core + ["BeamMedia"])
    func theCoreReadsNoClock(_ target: String) throws {
        let clock =
            /\b(?:Date|NSDate|ContinuousClock|SuspendingClock|DispatchTime|clock_gettime|ProcessInfo|systemUptime)\b/
        for (file, text) in try texts(of: target) { expectNone(of: clock, in: text, file) }
    }

    /// A change of the machine's date must not affect a stage's waits, so no stage waits by the wall clock. The only
    /// dates are the day on which a device was paired, that by which a room is announced, and until when a gateway takes a
    /// token.
    @Test(
        arguments: core + [
            "BeamMedia", "BeamClock", "BeamHost", "BeamViewer", "BeamCamera", "BeamCapture", "BeamCodec", "BeamDisplay",
            "BeamNetwork", "BeamSockets", "BeamWeb", "BeamDiscovery", "BeamWords", "BeamDesktop",
        ])
    func noStageWaitsByTheWallClock(_ target: String) throws {
        let wallClock =
            /\b(?:NSCondition|NSConditionLock|NSDate|DispatchWallTime|wallDeadline|CLOCK_REALTIME|gettimeofday|Date)\b/
        for (file, text) in try texts(of: target) {
            let days = /pairedAt: Date\(\)|MeshDay\(secondsSince1970: Date\(\)|Int\(Date\(\)\.timeIntervalSince1970\)/
            expectNone(of: wallClock, in: text.replacing(days, with: ""), file)
        }
    }

    private func expectNone(of words: Regex<Substring>, in text: String, _ file: String) {
        // Comments may name the words.
        for line in text.split(separator: "\n") {
            let code = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
            if let word = code.firstMatch(of: words) { Issue.record("\(file) names \(word.output): \(code)") }
        }
    }
}

extension Substring {
    /// Words that may come before `import`, such as `@testable` and `public`.
    fileprivate var isAttribute: Bool { hasPrefix("@") || ["public", "internal", "package", "private"].contains(self) }
}
