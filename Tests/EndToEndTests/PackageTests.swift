import Foundation
import Testing

/// What reads the package's files.
private enum PackageTools {
    static let missing = [
        "man", "zsh", "fish", "desktop-file-validate", "appstreamcli", "xmllint", "rsvg-convert",
        "dpkg-shlibdeps", "dpkg-parsechangelog", "python3",
    ].filter { !Tool.exists($0) }
}

/// The files of the Debian package, as Scripts/package lays them out. `Scripts/package --check` installs them.
extension EndToEnd {
    @Suite(
        .needsProgram,
        .enabled(
            if: PackageTools.missing.isEmpty,
            "Not installed: \(PackageTools.missing.joined(separator: ", ")) (Scripts/setup --test)"))
    struct PackageTests {
        private static let root = (#filePath as NSString).deletingLastPathComponent + "/../.."
        /// The tests of this suite share one.
        private static let tree = Result { try laidOut() }

        private static func laidOut() throws -> ScratchDirectory {
            let tree = try ScratchDirectory()
            // Nothing frees what a static property holds.
            atexit {
                guard case .success(let tree) = PackageTests.tree else { return }
                try? FileManager.default.removeItem(atPath: tree.path)
            }
            try script(
                "package-tree",
                [Program.path, "1.2.3", "Somebody <s@example.org>", root + "/.build/checkouts", tree.path])
            return tree
        }

        /// Runs one of Scripts/lib to its end. Answers its output.
        @discardableResult
        private static func script(_ name: String, _ arguments: [String]) throws -> String {
            try Tool.run(
                "env", ["SOURCE_DATE_EPOCH=1800000000", root + "/Scripts/lib/" + name] + arguments, timeout: 300)
        }

        private func file(_ name: String) throws -> String { try Self.tree.get().file(name) }

        private func text(_ name: String) throws -> String {
            try String(contentsOfFile: Self.root + "/" + name, encoding: .utf8)
        }

        /// A command as the program describes it to other programs.
        private struct Command: Decodable {
            struct Argument: Decodable {
                struct Name: Decodable { var name: String }
                var names: [Name]?
                var abstract: String?
            }
            var commandName: String
            var subcommands: [Command]?
            var arguments: [Argument]?

            var pages: [String] {
                [commandName]
                    + (subcommands ?? []).filter { $0.commandName != "help" }
                    .flatMap { $0.pages.map { "\(commandName)-\($0)" } }
            }
        }

        private struct Dump: Decodable { var command: Command }

        private func commands() throws -> Command {
            let dump = try Tool.run(Program.path, ["--experimental-dump-help"])
            return try JSONDecoder().decode(Dump.self, from: Data(dump.utf8)).command
        }

        @Test func everyCommandHasAManualPage() throws {
            let pages = try FileManager.default.contentsOfDirectory(atPath: file("usr/share/man/man1"))
            #expect(Set(pages) == Set(try commands().pages.map { $0 + ".1.gz" }))
            for page in pages {
                let process = try ChildProcess(
                    "man", ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file("usr/share/man/man1/" + page)],
                    environment: ["LC_ALL": "C.UTF-8", "MANWIDTH": "80"])
                defer { process.end() }
                #expect(try process.waitForEnd(timeout: 60) == .exited(0))
                #expect(process.errorText == "", "\(page)")
            }
        }

        @Test(arguments: [
            ("bash", "usr/share/bash-completion/completions/beamroom"),
            ("zsh", "usr/share/zsh/vendor-completions/_beamroom"),
            ("fish", "usr/share/fish/vendor_completions.d/beamroom.fish"),
        ])
        func shellsReadTheCompletions(shell: String, path: String) throws {
            try Tool.run(shell, ["-n", file(path)])
            let completions = try String(contentsOfFile: file(path), encoding: .utf8)
            for command in try commands().subcommands ?? [] {
                #expect(completions.contains(command.commandName), "\(command.commandName)")
            }
        }

        @Test func desktopsReadTheEntries() throws {
            let folder = try file("usr/share/applications")
            let entries = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(entries.count == 2)
            for entry in entries {
                #expect(try Tool.run("desktop-file-validate", [folder + "/" + entry]) == "")
                for line in try String(contentsOfFile: folder + "/" + entry, encoding: .utf8).split(separator: "\n") {
                    // What is run is a command that there is.
                    guard let command = line.firstMatch(of: /^Exec=.*beamroom ([a-z]+)/)?.1 else { continue }
                    #expect(try Program.run([String(command), "--help"]).ending == .exited(0))
                }
            }
            // Strict: information counts, too.
            try Tool.run(
                "appstreamcli",
                ["validate", "--no-net", "--strict", file("usr/share/metainfo/org.beamroom.BeamRoom.metainfo.xml")])
        }

        /// They are neither written in plain characters nor broken into lines, as words for people are.
        @Test(arguments: ["--experimental-dump-help", "--generate-completion-script fish"])
        func whatProgramsReadIsTheSameInEachLocaleAndOnATerminal(_ option: String) throws {
            func output(_ locale: String, _ shell: [String], before: String = "") throws -> String {
                let line = "\(before)'\(Program.path)' \(option)"
                return try Tool.run("env", ["LC_ALL=\(locale)"] + shell + [line, "/dev/null"])
            }
            let expected = try output("C.UTF-8", ["sh", "-c"])
            #expect(!expected.utf8.allSatisfy { $0 < 0x80 }, "there is nothing that could be changed")
            #expect(try output("C", ["sh", "-c"]) == expected)
            #expect(try output("C.UTF-8", ["script", "-qec"], before: "stty cols 40 -onlcr; ") == expected)
        }

        @Test func firewallsOpenTheUsualPorts() throws {
            let all = try commands().subcommands ?? []
            func pair(_ option: String, of command: String = "share") throws -> String {
                let options = all.first { $0.commandName == command }?.arguments ?? []
                let found = try #require(options.first { $0.names?.contains { $0.name == option } == true })
                let help = try #require(found.abstract?.firstMatch(of: /[Tt]he (TCP|UDP) port .*default: (\d+)\)/))
                return "\(help.2)/\(help.1.lowercased())"
            }
            let viewers = try [pair("port"), pair("media-port")]
            let receivers = [try pair("port", of: "watch")]
            let browsers = try [pair("web-port"), pair("web-media-port")]

            let ufw = try String(contentsOfFile: file("etc/ufw/applications.d/beamroom"), encoding: .utf8)
            let profiles = ufw.matches(of: /\[(.+)\]\n(?:[^\[].*\n)*?ports=(.+)/).map { (String($0.1), $0.2) }
            #expect(profiles.map(\.0) == ["BeamRoom", "BeamRoom Web", "BeamRoom Receiver"])
            #expect(profiles.map { $0.1.split(separator: "|").map(String.init) } == [viewers, browsers, receivers])

            let services = [("beamroom", viewers), ("beamroom-web", browsers), ("beamroom-receiver", receivers)]
            for (service, expected) in services {
                // As a reader of XML understands it.
                let ports = try Tool.run(
                    "xmllint",
                    ["--xpath", "/service/port/@*", file("usr/lib/firewalld/services/\(service).xml")])
                let pairs = ports.matches(of: /protocol="(\w+)"\s+port="(\d+)"/).map { "\($0.2)/\($0.1)" }
                #expect(pairs == expected, "\(service)")
            }
        }

        @Test func everyLateLibraryIsADependency() throws {
            let lines = try Self.script("package-depends", ["--late", Program.path]).split(separator: "\n")
            // The script refuses a library that the table lacks. The page says what each is for.
            let page = try text("Sources/beamroom/beamroom.docc/Packaging.md")
            let table = try text("Packaging/late-libraries").split(separator: "\n").filter { !$0.hasPrefix("#") }
            for field in ["Depends", "Recommends"] {
                let packages = lines.first { $0.hasPrefix(field + ": ") }?.split(separator: ",") ?? []
                let rows = table.map { $0.split(separator: " ", omittingEmptySubsequences: true) }
                    .filter { $0[1] == field }
                #expect(packages.count == rows.count, "\(field): \(packages)")
                for row in rows { #expect(page.contains("| `\(row[0])` | \(field) |"), "\(row[0])") }
            }
        }

        /// The names in NOTICE's list of what is built in.
        private func builtIn() throws -> [String] {
            let list = try #require(
                text("NOTICE").firstMatch(of: /(?s)Built into the program\n-+\n(.*?)\n\n[A-Z]/)?.1)
            // Without what explains the name; a line with one column explains the line above.
            return list.matches(of: /(?m)^ *(?:contains )?(\S.*?)(?: \(.*?\))?  +\S/).map { String($0.1) }
        }

        @Test func theCopyrightHasAllThatIsBuiltIn() throws {
            let lines = try text("Packaging/copyright").split(separator: "\n")
                .map { $0.replacing("Files:", with: "").trimmingCharacters(in: .whitespaces) }
            for name in try builtIn() {
                #expect(lines.contains("\(name)/*") || lines.contains("Comment: \(name)"), "\(name)")
            }
        }

        @Test func theListOfPartsHasAllThatIsBuiltIn() throws {
            let scratch = try ScratchDirectory()
            try Data("a package".utf8).write(to: URL(filePath: scratch.file("beamroom.deb")))
            let libraries = "'linked libssl3' 'late libssl3' 'headers libspa-0.2-dev' 'headers libtomlplusplus-dev'"
            let list = try Tool.run(
                "sh",
                [
                    "-c", "printf '%s 3.0-1+b1 source\\n' \(libraries) | \"$0\" \"$@\"",
                    Self.root + "/Scripts/lib/sbom",
                    "1.2.3", "abc", "1800000000", scratch.file("beamroom.deb"), "6.3", "amd64",
                    Self.root + "/Package.resolved", Self.root + "/NOTICE",
                ])
            struct List: Decodable {
                struct Package: Decodable {
                    var SPDXID: String
                    var name: String
                    var licenseDeclared: String
                }
                var spdxVersion: String
                var packages: [Package]
            }
            let parts = try JSONDecoder().decode(List.self, from: Data(list.utf8))
            #expect(parts.spdxVersion == "SPDX-2.3")
            let names = parts.packages.map(\.name)
            let builtIn = try builtIn()
            #expect(builtIn.count > 10)
            for name in ["beamroom", "libssl3"] + builtIn { #expect(names.contains(name), "\(name)") }
            #expect(Set(parts.packages.map(\.SPDXID)).count == names.count)
            #expect(!names.contains("swift-benchmark"))
            let unknown = parts.packages.filter { $0.licenseDeclared == "NOASSERTION" }.map(\.name)
            #expect(unknown == ["libssl3"])
        }

        @Test func theChangelogIsDebians() throws {
            let unpacked = try Tool.run("gzip", ["-dc", file("usr/share/doc/beamroom/changelog.gz")])
            let scratch = try ScratchDirectory()
            try Data((unpacked + "\n").utf8).write(to: URL(filePath: scratch.file("changelog")))
            let entries = try Tool.run(
                "dpkg-parsechangelog", ["-l", scratch.file("changelog"), "--all", "--format", "rfc822"])
            let versions = entries.split(separator: "\n").filter { $0.hasPrefix("Version: ") }.map { $0.dropFirst(9) }
            let numbers = try text("CHANGELOG.md").matches(of: /(?m)^## \[(\d.*?)\]/).map { String($0.1) }
            #expect(versions.map(String.init) == ["1.2.3"] + numbers)
        }
    }
}
