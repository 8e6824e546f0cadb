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
        #expect(refusal(open).contains("Every user can write to \(open)"))
        #expect(refusal(open).contains("chmod go-w \(open)"))
        #expect(refusal(malformed).hasPrefix("\(malformed), line 2: this can't be read as TOML."))
    }

    /// Nobody else may have written what can name commands.
    @Test func aFileOfOthersIsRefused() throws {
        let folder = try Folder()
        let file = try folder.file("file", "", mode: 0o664)
        // Files of root are taken.
        if getuid() == 0 { try #require(chown(file, 1, 1) == 0) }
        var status = stat()
        try #require(stat(file, &status) == 0)
        #expect(throws: SettingsFileError.foreign(file, owner: status.st_uid)) {
            try SettingsFile(path: file, user: status.st_uid + 1) { _, _ in true }
        }
        #expect(throws: SettingsFileError.writable(file, by: "Its group")) {
            try SettingsFile(path: file, user: status.st_uid) { group, owner in
                #expect(group == status.st_gid && owner == status.st_uid)
                return false
            }
        }
        #expect(try SettingsFile(path: file, user: status.st_uid) { _, _ in true }?.isOwn == true)
    }

    @Test func aGroupOfOneIsPrivate() {
        let accounts = [
            PrivateGroup.Account(user: 1000, name: "ada", group: 1000),
            PrivateGroup.Account(user: 1001, name: "bob", group: 1001),
            PrivateGroup.Account(user: 1002, name: "eve", group: 1001),
        ]
        func isPrivate(_ group: gid_t, _ members: [String] = [], of owner: uid_t = 1000) -> Bool {
            PrivateGroup.isPrivate(group, of: owner, members: members, accounts: accounts)
        }
        #expect(isPrivate(1000) && isPrivate(1000, ["ada"]) && isPrivate(50, ["ada"]))
        // Others are listed, known or not; the group is another's, two users', or nobody's.
        #expect(!isPrivate(1000, ["ada", "bob"]) && !isPrivate(1000, ["guest"]))
        #expect(!isPrivate(1001) && !isPrivate(1001, of: 1001) && !isPrivate(50) && !isPrivate(1000, of: 1001))
        // No group has this number, as far as any system goes.
        #expect(!PrivateGroup.isPrivate(.max - 7, of: getuid()))
    }
}
