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
            case "Foundation":
                // For NSCondition and Thread, and for what the system's scheduler is told.
                let files = ["LatestSlot.swift", "BoundedQueue.swift", "StageThread.swift", "ThreadPriority.swift"]
                #expect(files.contains(found.file), "\(found.file) imports Foundation")
            default: Issue.record("\(found.file) imports \(found.module)")
            }
        }
    }

    /// No clock either, by whatever name.
    @Test(arguments: ["BeamProtocol", "BeamMedia"])
    func nothingReadsAClock(_ target: String) throws {
        let folder = Self.sources.appending(path: target)
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for clock in [
                "Date()", "Date.now", "ContinuousClock", "SuspendingClock", "DispatchTime", "clock_gettime",
                "ProcessInfo", "systemUptime",
            ] { #expect(!text.contains(clock), "\(file.lastPathComponent) reads \(clock)") }
        }
    }
}

extension Substring {
    /// `@testable`, `public`: what may stand before `import`.
    fileprivate var isAttribute: Bool { hasPrefix("@") || ["public", "internal", "package", "private"].contains(self) }
}
