import Foundation
import Testing

@testable import BeamSettings

/// What a file of settings may be.
struct SettingsFileTests {
    /// A folder of the test's.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "beamroom-settings-\(UUID())").path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String, _ text: String, mode: mode_t = 0o644) throws -> String {
            let file = "\(path)/\(name)"
            try text.write(toFile: file, atomically: false, encoding: .utf8)
            try #require(chmod(file, mode) == 0)
            return file
        }
    }

    @Test func thePathFollowsXDG() {
        func path(_ environment: [String: String]) -> String? { SettingsFile.usualPath(environment: environment) }
        #expect(path(["HOME": "/home/ada"]) == "/home/ada/.config/beamroom/config.toml")
        #expect(path(["HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada"]) == "/etc/ada/beamroom/config.toml")
        for relative in ["", "etc"] {
            #expect(
                path(["HOME": "/home/ada", "XDG_CONFIG_HOME": relative]) == "/home/ada/.config/beamroom/config.toml")
        }
    }

    @Test func aFileIsReadAlsoThroughALink() throws {
        let folder = try Folder()
        let file = try folder.file("real", "[share]\nweb = true\n", mode: 0o600)
        try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/link", withDestinationPath: file)
        let read = try #require(try SettingsFile(path: "\(folder.path)/link"))
        #expect(read.entries.map(\.name) == ["share"] && !read.isOpenToOthers)
        #expect(try SettingsFile(path: folder.file("open", ""))?.isOpenToOthers == true)
        #expect(try SettingsFile(path: "\(folder.path)/none") == nil)
        #expect(try SettingsFile(path: "\(file)/none") == nil)
    }

    @Test func nothingElseIs() throws {
        let folder = try Folder()
        let pipe = "\(folder.path)/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let large = try folder.file("large", "# " + String(repeating: "x", count: SettingsFile.maxBytes))
        let open = try folder.file("open", "", mode: 0o666)
        let malformed = try folder.file("malformed", "a = 1\nb\n")
        func refusal(_ path: String) -> String {
            do throws(SettingsFileError) {
                _ = try SettingsFile(path: path)
                return "it was read"
            } catch {
                return error.description
            }
        }
        #expect(refusal(folder.path).contains("is a folder"))
        #expect(refusal(pipe).contains("is a device or a pipe"))
        #expect(refusal("/dev/zero").contains("is a device or a pipe"))
        #expect(refusal(large).contains("larger than 1 MiB"))
        #expect(refusal(open).contains("chmod o-w \(open)"))
        #expect(refusal(malformed).hasPrefix("\(malformed), line 2: this can't be read as TOML."))
    }
}

extension SettingsFile: Equatable {
    public static func == (one: SettingsFile, other: SettingsFile) -> Bool {
        one.path == other.path && one.entries == other.entries
    }
}
