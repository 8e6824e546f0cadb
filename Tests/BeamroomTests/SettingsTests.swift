import ArgumentParser
import BeamSettings
import Foundation
import Testing

@testable import beamroom

/// How a file of settings and the command line are joined.
struct SettingsTests {
    /// A file with this text, and what it says.
    private func book(_ text: String, mode: mode_t = 0o600) throws -> SettingsBook {
        let path = FileManager.default.temporaryDirectory.appending(path: "beamroom-settings-\(UUID()).toml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        try #require(chmod(path, mode) == 0)
        return try SettingsBook(#require(try SettingsFile(path: path)), home: "/home/ada")
    }

    private func joined(_ text: String, _ arguments: String...) throws -> SettingsJoining {
        try SettingsJoining(book(text), #require(GivenArguments(arguments)))
    }

    /// What is said about a file, or about it and a command line, and the status. The file's path is left out.
    private func refusal(_ text: String, _ arguments: [String], mode: mode_t = 0o600) -> (words: String, status: Int32)
    {
        do {
            try SettingsJoining(book(text, mode: mode), #require(GivenArguments(arguments))).parse()
            return ("it was accepted", 0)
        } catch let error as SettingsError {
            return (error.description.replacing(/\/\S*\.toml/, with: "FILE"), error.status)
        } catch {
            return (Beamroom.message(for: error), Beamroom.exitCode(for: error).rawValue)
        }
    }

    @Test func theParserDescribesAllOptions() throws {
        for (name, some) in [
            ("share", ["max-fps", "web-gateway", "on-join", "profile"]), ("watch", ["host", "fullscreen", "auto"]),
            ("room", ["room", "name", "share", "no-watch"]), ("relay", ["host", "viewer-code-file"]),
        ] {
            let options = try #require(SettingsCommand.named(name)).options
            let names = options.map(\.name)
            #expect(Set(some).isSubset(of: names) && Set(names).count == names.count, "\(names)")
        }
        let share = try #require(SettingsCommand.named("share")).options
        #expect(share.first { $0.name == "web-gateway" }?.isList == true)
        #expect(share.first { $0.name == "max-size" }?.shortNames == ["m"])
        #expect(share.first { $0.name == "no-cursor" }?.kind == .flag)
        #expect(share.filter { $0.name == "list-audio" || $0.name == "unset" }.allSatisfy { !$0.isSetting })
    }

    private static let file = """
        [share]
        source = "pattern"
        max-fps = 30
        notes = false
        no-cursor = false
        web = true
        web-port = 5000
        web-gateway = ["wss://one", "wss://two"]
        transcript = "~/talk.txt"
        code-file = "/code"
        [share.talk]
        max-fps = 60
        web-gateway = "wss://three"
        code = "012345"
        [share.private]
        web = false
        web-gateway = []
        [watch]
        auto = "desk"
        [watch.upstairs]
        host = ["192.0.2.7", "--odd"]
        """

    @Test func theMoreSpecificPlaceWins() throws {
        #expect(
            try joined(Self.file, "share").arguments == [
                "share", "--source=pattern", "--max-fps=30", "--notes=off", "--web", "--web-port=5000",
                "--web-gateway=wss://one", "--web-gateway=wss://two", "--transcript=/home/ada/talk.txt",
                "--code-file=/code",
            ])
        // A list is replaced, and so is what doesn't go together with it.
        #expect(
            try joined(Self.file, "share", "--profile", "talk", "--web-port=1").arguments == [
                "share", "--max-fps=60", "--web-gateway=wss://three", "--code=012345", "--source=pattern",
                "--notes=off", "--web", "--transcript=/home/ada/talk.txt", "--profile", "talk", "--web-port=1",
            ])
        // What details a flag goes with it.
        #expect(
            try joined(Self.file, "share", "--profile=private", "-m", "640").arguments == [
                "share", "--source=pattern", "--max-fps=30", "--notes=off", "--transcript=/home/ada/talk.txt",
                "--code-file=/code", "--profile=private", "-m", "640",
            ])
        #expect(
            try joined(Self.file, "share", "--unset", "web", "--unset=code-file", "--max-fps", "10").arguments == [
                "share", "--source=pattern", "--notes=off", "--transcript=/home/ada/talk.txt", "--unset", "web",
                "--unset=code-file", "--max-fps", "10",
            ])
        #expect(
            try joined(Self.file, "watch", "--profile", "upstairs").arguments == [
                "watch", "--profile", "upstairs", "--", "192.0.2.7", "--odd",
            ])
        // The command line's host takes the place of the file's, and of --auto.
        for host in [["sofa"], ["--", "sofa"], ["--name", "x", "sofa"]] {
            let arguments = ["watch", "--profile", "upstairs"] + host
            let given = try #require(GivenArguments(arguments))
            #expect(try SettingsJoining(book(Self.file), given).arguments == arguments)
        }
    }

    @Test func theFileIsLeftAloneWhereItHasNoSay() {
        for arguments in [
            ["share", "--no-config"], ["watch", "--help"], ["room", "-h"], ["relay", "--version"], ["hosts"], [],
            ["--help"], ["help", "share"], ["config"], ["share", "--generate-completion-script"],
        ] {
            #expect(GivenArguments(arguments) == nil, "\(arguments)")
        }
        #expect(GivenArguments(["watch", "--", "--help"]) != nil)
    }

    @Test(arguments: [
        ("[share]\nmax-fsp = 1", "FILE, line 2: there is no setting “max-fsp” for [share]. Did you mean max-fps?"),
        (
            "[share.talk]\nmax_fps = 1",
            "FILE, line 2: there is no setting “max_fps” for [share.talk]. Did you mean max-fps?"
        ),
        ("[shrae]", "FILE, line 1: there is no command “shrae” that has settings. Did you mean share?"),
        (
            "max-fps = 1",
            "FILE, line 1: there is no command “max-fps” that has settings. Its tables are share, watch, room, relay."
        ),
        ("share = 1", "FILE, line 1: share is a table: write [share], and its settings below."),
        ("[share]\nweb = 1", "FILE, line 2: web takes true or false."),
        ("[share]\nname = true", "FILE, line 2: name takes a text or a number, and not true or false."),
        ("[share]\nname = ''", "FILE, line 2: name takes 1 to 200 bytes of visible characters."),
        ("[share]\nweb-gateway = [[]]", "FILE, line 2: web-gateway takes a list without lists in it."),
        ("[share]\naccept = []", "FILE, line 2: accept takes one value, and no list."),
        ("[share]\nname = 2026-11-27", "FILE, line 2: name takes a text or a number, in quotes."),
        (
            "[share.name]",
            "FILE, line 1: “name” is an option of share, so a profile needs another name, and the option a value."
        ),
        ("[share]\nlist-audio = true", "FILE, line 2: list-audio is for the command line, and can't stand in a file."),
        ("[share]\n\nmax-fps = 'x'", "FILE, line 3: max-fps doesn't take “x”. It takes a number from 1 to 240."),
        ("[share]\nmax-fps = 1000", "FILE, line 2: max-fps takes a number from 1 to 240."),
        (
            "[share]\naccept = 'some'",
            "FILE, line 2: accept doesn't take “some”. Please provide one of 'ask', 'all' or 'none'."
        ),
        (
            "[share]\ncode = '1'",
            "FILE, line 2: code doesn't take a value. It takes six digits, as in 482913 or \"482 913\"."
        ),
        (
            "[share]\nweb-port = 1\n",
            "FILE, line 2: Options that begin with --web- are for --web: add that, or leave them out."
        ),
        (
            "[watch]\nhost = 'fe80::1'",
            "FILE, line 2: host doesn't take “fe80::1”. fe80::1 is valid on one network only."
        ),
    ])
    func aWrongFileIsNamedWithLineAndKey(_ text: String, _ words: String) {
        let command = text.hasPrefix("[watch") ? "watch" : "share"
        let (said, status) = refusal(text, [command])
        #expect(said.hasPrefix(words) && status == 1, "\(said)")
    }

    /// Where the command line is involved, it says what to leave out.
    @Test func whatTheFileAndTheCommandLineDisagreeAbout() {
        let (said, status) = refusal("[watch]\nfullscreen = true", ["watch", "--no-window"])
        #expect(said.hasSuffix("FILE sets fullscreen (line 2): leave that out with --unset fullscreen."), "\(said)")
        #expect(status == 64)
        // The command line alone.
        let (words, _) = refusal("[watch]\nfullscreen = true", ["watch", "--fulscreen"])
        #expect(words.contains("Unknown option '--fulscreen'") && !words.contains("FILE"), "\(words)")
        let (missing, code) = refusal("[watch.upstairs]", ["watch", "--profile", "upstair"])
        #expect(
            missing == "FILE has no profile “upstair” for watch. Did you mean upstairs?" && code == 64, "\(missing)")
        #expect { try GivenArguments(["share", "--unset", "--wbe"])?.checkUnset() } throws: {
            "\($0)".hasSuffix("Did you mean web?") && ($0 as? SettingsError)?.status == 64
        }
    }

    @Test func aCodeInAFileThatOthersReadIsRefused() {
        let text = "[watch]\nhost = 'desk'\n[share]\ncode = '012345'"
        #expect(refusal(text, ["share"]).status == 0)
        for mode: mode_t in [0o640, 0o604] {
            let (said, status) = refusal(text, ["watch"], mode: mode)
            #expect(
                said.hasPrefix("FILE, line 4: other users can read this file, and the code in it. Run `chmod 600 FILE`")
            )
            #expect(status == 1 && !said.contains("012345"), "\(said)")
        }
    }

    /// All that can be set is in the example, and can be set as it stands there.
    @Test func theExampleHasEverySetting() throws {
        let commands = SettingsCommand.names.compactMap { SettingsCommand.named($0) }
        let example = ExampleSettings.text(of: commands)
        #expect(try book(example).chapters.values.allSatisfy { $0.settings.isEmpty })
        let lines = example.split(separator: "\n").map { $0.replacing(/^#(?=\S)/, with: "") }
        let all = try book(lines.joined(separator: "\n"))
        for command in commands {
            let set = all.chapters[command.name]?.settings.map(\.name)
            #expect(set == command.options.filter(\.isSetting).map(\.name), "\(command.name)")
        }
        #expect(example.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }

    @Test func whatIsInForceIsListedWithItsPlace() throws {
        let command = try #require(SettingsCommand.named("share"))
        let inForce = try SettingsInForce(book(Self.file), command, profile: "talk")
        func line(_ name: String) throws -> String {
            let option = try #require(command.options.first { $0.name == name })
            let line = SettingsLine(option, inForce.settings.first { $0.option == option })
            return line.text.split(separator: /\s\s+/).joined(separator: "|")
        }
        #expect(try line("max-fps") == "max-fps|60|line 12, profile talk")
        #expect(try line("source") == "source|pattern|line 2")
        #expect(try line("code") == "code|(hidden)|line 14, profile talk")
        #expect(try line("port") == "port|52345|built in")
        #expect(try line("once") == "once|false|built in")
        #expect(try line("bind") == "bind|all|built in")
        #expect(try line("record") == "record|–|built in")
    }
}
