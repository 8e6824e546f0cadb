import Foundation
import Testing

@testable import BeamVersion
@testable import beamroom

struct VersionTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test func theProgramShowsVersionAndCommit() {
        #expect(Beamroom.configuration.version == BeamVersion.line)
        #expect(BeamVersion.line(commit: "abc1234") == "beamroom \(BeamVersion.number) (abc1234)")
        #expect(BeamVersion.line(commit: nil) == "beamroom \(BeamVersion.number)")
    }

    @Test func theNewestVersionOfTheChangelogIsThisOne() throws {
        let changelog = try String(contentsOf: Self.package.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let newest = try #require(changelog.firstMatch(of: /(?m)^## \[?(\d+\.\d+\.\d+)\]?/))
        #expect(newest.1 == BeamVersion.number)
    }

    @Test func aTarballKnowsTheCommitThatItWasMadeOf() {
        #expect(BeamVersion.commit(built: "abc1234", archived: "$Format:%h$") == "abc1234")
        #expect(BeamVersion.commit(built: "", archived: "def5678") == "def5678")
        #expect(BeamVersion.commit(built: "", archived: "$Format:%h$") == nil)
    }

    @Test func eachCommitIsWrittenAndNothingWithoutARepository() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-version-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try written(in: folder) == "")
        try run(["git", "init", "--quiet"], in: folder)
        #expect(try written(in: folder) == "", "a repository without a commit")
        for number in 1...2 {
            try run(
                [
                    "git", "-c", "user.name=Nobody", "-c", "user.email=nobody@example.com", "commit", "--quiet",
                    "--allow-empty", "--message", "\(number)",
                ], in: folder)
            let head = try run(["git", "rev-parse", "HEAD"], in: folder)
            let commit = try written(in: folder)
            #expect(commit.count >= 7 && head.hasPrefix(commit))
        }
    }

    /// The commit that the build's script writes for a package in `folder`.
    private func written(in folder: URL) throws -> Substring {
        let file = folder.appending(path: "BuiltCommit.swift")
        let script = Self.package.appending(path: "Scripts/lib/write-commit").path
        try run([script, folder.appending(path: ".git").path, file.path], in: folder)
        let text = try String(contentsOf: file, encoding: .utf8)
        return try #require(text.wholeMatch(of: /let builtCommit = "([0-9a-f]*)"\n/)).1
    }

    @discardableResult private func run(_ command: [String], in folder: URL) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = folder
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(command)")
        return String(decoding: data, as: UTF8.self)
    }
}
