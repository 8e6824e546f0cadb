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
        try SettingsJoining(book(text), #require(GivenArguments(arguments)), isInWaylandSession: false)
    }

    /// What is said about a file, or about it and a command line, and the status. The file's path is left out.
    private func refusal(_ text: String, _ arguments: [String], mode: mode_t = 0o600) -> (words: String, status: Int32)
    {
        do {
            try SettingsJoining(
                book(text, mode: mode), #require(GivenArguments(arguments)), isInWaylandSession: false
            ).parse()
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

    /// What has to do with an option that isn't in force isn't, either.
    @Test(arguments: [
        // A profile leaves out what the command's table has.
        ("[share]\naccept = 'ask'\n[share.p]\nunset = ['accept']\ntrusted-only = true", ["--trusted-only"]),
        ("[share]\nweb = true\nweb-port = 1\n[share.p]\nunset = 'web'\nonce = true", ["--once"]),
        // Details of a flag in the same table, and those of a list without an element.
        ("[share]\nweb-port = 1\nweb = false\nonce = true", ["--once"]),
        ("[share]\nweb-gateway = ['wss://a']\nweb-gateway-token-file = '/a'\n[share.p]\nweb-gateway = []", []),
        ("[share]\nweb-gateway = []\nweb-gateway-token-file = '/a'", []),
    ])
    func detailsGoWithWhatTheyDetail(_ text: String, _ arguments: [String]) throws {
        let profile = text.contains("[share.p]") ? ["--profile=p"] : []
        let given = try #require(GivenArguments(["share"] + profile))
        #expect(try SettingsJoining(book(text), given).arguments == ["share"] + arguments + profile)
    }

    @Test func whatAProfileLeavesOutIsListed() throws {
        let text = "[share]\naccept = 'all'\n[share.p]\nunset = [\n'accept', 'port']"
        let command = try #require(SettingsCommand.named("share"))
        let inForce = try SettingsInForce(book(text), command, profile: "p")
        #expect(inForce.settings.isEmpty && inForce.unset.map(\.name) == ["accept", "port"])
        let port = try #require(command.options.first { $0.name == "port" })
        let line = SettingsLine(port, nil, unset: inForce.unset.last)
        #expect(line.text.hasSuffix("built in (unset: line 5, profile p)") && line.text.contains("52345"))
        #expect(
            try joined(text, "share", "--unset", "web-gateway").arguments == [
                "share", "--accept=all", "--unset", "web-gateway",
            ])
    }

    /// Lists are made whatever the file says: of it they use only which display.
    @Test(arguments: [
        ("source = 'pattern'\nsize = '64x64'\ncontent = 'still'\nmax-fps = 1000", ["--list-monitors"], []),
        ("choose = 'window'\nask-again = true\nselect = true", ["--list-windows"], []),
        (
            "source = 'wlr'\ndisplay = 'wayland-1'\nmonitor = 'HDMI-1'", ["--list-monitors"],
            ["--source=wlr", "--display=wayland-1"]
        ),
        ("source = 'wlr'\ndisplay = 'wayland-1'", ["--list-windows"], []),
        ("source = 'wlr'\ndisplay = 'wayland-1'", ["--list-monitors", "--source", "x11"], []),
        ("source = 'x11'\ndisplay = ':7'", ["--list-monitors", "--list-windows"], ["--display=:7"]),
        ("source = 'x11'\ndisplay = ':7'", ["--source=wlr", "--list-monitors"], []),
        ("trusted-only = true\naccept = 'all'\ndisplay = ':7'", ["--list-audio"], []),
    ])
    func listsAreMadeWhateverTheFileSays(_ text: String, _ list: [String], _ used: [String]) throws {
        let given = try #require(GivenArguments(["share"] + list))
        for isInWaylandSession in [false, true] {
            let joining = try SettingsJoining(book("[share]\n" + text), given, isInWaylandSession: isInWaylandSession)
            #expect(joining.arguments == ["share"] + used + list)
            if !used.isEmpty, !isInWaylandSession { #expect(throws: Never.self) { try joining.parse() } }
        }
    }

    /// What is about a Wayland desktop's dialog counts only where that is asked, but must be right everywhere.
    @Test func theDialogIsOfWaylandSessions() throws {
        let text = "[share]\nchoose = 'window'\nask-again = true"
        func arguments(_ isInWaylandSession: Bool, _ rest: String...) throws -> [String] {
            let given = try #require(GivenArguments(["share"] + rest))
            return Array(
                try SettingsJoining(book(text), given, isInWaylandSession: isInWaylandSession).arguments.dropFirst())
        }
        #expect(try arguments(true) == ["--choose=window", "--ask-again"])
        #expect(try arguments(true, "--display", ":7") == ["--display", ":7"])
        #expect(try arguments(false) == [])
        #expect(try arguments(false, "--source=portal").starts(with: ["--choose=window", "--ask-again"]))
        #expect(refusal(text, ["share"]).status == 0)
        #expect(
            refusal("[share]\nchoose = 'all'", ["share"]).words.hasPrefix("FILE, line 2: choose doesn't take “all”."))
        // The command line expects an effect.
        let (words, status) = refusal(text, ["share", "--source", "pattern"])
        #expect(status == 64 && words.hasSuffix("leave that out with --unset choose --unset ask-again."), "\(words)")
    }

    @Test func theFileIsLeftAloneWhereItHasNoSay() {
        for arguments in [
            ["share", "--no-config"], ["watch", "--help"], ["room", "-h"], ["relay", "--version"], ["hosts"], [],
            ["--help"], ["help", "share"], ["config"], ["share", "--generate-completion-script"],
        ] {
            #expect(GivenArguments(arguments) == nil, "\(arguments)")
        }
        #expect(GivenArguments(["watch", "--", "--help"]) != nil)
        // A value that is missing isn't the next option: that one counts, and the parser says what is missing.
        #expect(GivenArguments(["share", "--name", "--no-config"]) == nil)
        let given = GivenArguments(["share", "--profile", "--web", "-m", "--once", "--unset", "--"])
        #expect(given?.profile == nil && given?.unset == [] && given?.hasTerminator == true)
        #expect(given?.names == ["profile", "web", "max-size", "once", "unset"])
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
            "FILE, line 2: Options that begin with web- are for web: add `web = true`, or leave them out."
        ),
        (
            "[share]\nweb = true\nweb-gateway-token-file = '/a'",
            "FILE, line 3: web-gateway-token-file and web-gateway-certificate are for web-gateway: add web-gateway, or"
        ),
        (
            "[share]\ntrusted-only = true\nonce = true",
            "FILE, lines 2, 3: trusted-only lets in nobody new: leave accept, code, code-file, code-once, once and "
        ),
        (
            "[share]\nmax-viewers = 'many'",
            "FILE, line 2: max-viewers doesn't take “many”. It takes a number from 1 to 10000."
        ),
        (
            "[share]\nunset = ['web']",
            "FILE, line 2: unset is for profiles: what [share] isn't to set is left out of it."
        ),
        (
            "[share.p]\nunset = ['web', 'wbe']",
            "FILE, line 2: unset names “wbe”, and there is no such setting for [share]. Did you mean web?"
        ),
        ("[share.p]\nunset = true", "FILE, line 2: unset takes names of settings, as in [\"accept\", \"web\"]."),
        (
            "[share.\(String(repeating: "a", count: 81))]",
            "FILE, line 1: a profile's name has 1 to 80 visible characters, and doesn't begin with a dash."
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
        for (name, end) in [
            ("--wbe", "and not “--wbe”. Did you mean web?"), ("web=1", "and not “web=1”. Did you mean web?"),
            ("profile", "“profile” stands only on the command line, so leave it out there."),
        ] {
            #expect { try GivenArguments(["share", "--unset=\(name)"])?.checkUnset() } throws: {
                "\($0)".hasSuffix(end) && ($0 as? SettingsError)?.status == 64
            }
        }
        // The file is right by itself, though all options that are named are its own.
        let (size, wrong) = refusal(
            "[share]\nsource = 'pattern'\nsize = '640x360'", ["share", "--unset", "source"])
        #expect(size.hasSuffix("FILE sets size (line 3): leave that out with --unset size.") && wrong == 64, "\(size)")
        // It isn't, and the command line has nothing to do with it.
        let (file, fault) = refusal("[share.p]\nweb-port = 1", ["share", "--profile", "p", "--once"])
        #expect(file.hasPrefix("FILE, line 2: Options that begin with web-") && fault == 1, "\(file)")
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
