import ArgumentParser
import BeamMedia
import BeamSettings
import BeamTerminal
import Foundation

/// `beamroom config`.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Lists the options that are in force for share, watch, room and relay, and where each is set.",
        discussion: """
            Settings are in `$XDG_CONFIG_HOME/beamroom/config.toml`, or else `~/.config/beamroom/config.toml`: each option by
            its long name without dashes, in the table of its command. A profile is a table below that, and stands above it:

            [share]
            max-fps = 30
            [watch.upstairs]
            host = "192.0.2.7"

            `beamroom watch --profile upstairs` uses it. The command line stands above both. The exit status is 1 if the file
            is wrong, else 0.
            """.inParagraphs)

    @Argument(help: ArgumentHelp("share, watch, room or relay. (default: all)", valueName: "command"))
    var command: Subject?
    @Option(help: ArgumentHelp("As this profile changes them.", valueName: "name"))
    var profile: String?
    @Flag(help: "List only what the file sets.")
    var changed = false
    @Flag(help: "Print a file with every option and what it does, all commented out, for a beginning.")
    var example = false
    @Flag(help: "Print the path of the file, whether there is one or not.")
    var path = false
    @Flag(help: "Write one JSON object a line on standard output.")
    var json = false

    /// A command that has settings.
    enum Subject: String, ExpressibleByArgument, CaseIterable {
        case share, watch, room, relay
    }

    func validate() throws {
        guard !example || !path, !(example || path) || profile == nil && !changed && !json else {
            throw ValidationError("Use --example and --path alone.")
        }
        guard !path || command == nil else {
            throw ValidationError("There is one file for all commands: use --path alone.")
        }
    }

    func run() throws {
        let commands = Subject.allCases.filter { command == nil || $0 == command }
            .compactMap { SettingsCommand.named($0.rawValue) }
        if example { return print(ExampleSettings.text(of: commands), terminator: "") }
        let context = CommandContext(json: json)
        defer { context.close() }
        let environment = ProcessInfo.processInfo.environment
        guard let file = SettingsFile.usualPath(environment: environment) else {
            return try context.conclude(
                .failed("There is no home directory, and so no file of settings. Set HOME or XDG_CONFIG_HOME."))
        }
        if path { return print(file) }
        let book = try SettingsBook.ofThisUser()
        try checkProfile(commands, book)
        // Values are judged of all profiles, and listed of one.
        if let book { try commands.forEach(book.check) }
        context.events.write(.list(.settingsFile(path: file, isThere: book != nil)))
        if book == nil {
            context.say("There is no \(file). `beamroom config --example` prints one to begin with.")
        } else if !json {
            Console.list(file)
        }
        try list(commands, book, context)
    }

    /// A profile that no command has is a mistake.
    private func checkProfile(_ commands: [SettingsCommand], _ book: SettingsBook?) throws {
        guard let profile, !commands.contains(where: { book?.has(profile, $0) == true }) else { return }
        // Its error has the names that there are.
        if let book, let command { _ = try book.profile(profile, of: command.rawValue) }
        let name = SettingsBook.Place.shown(profile)
        throw SettingsError(
            book.map { "\($0.path) has no profile “\(name)”." }
                ?? "There is no file of settings, and so no profile “\(name)”.", status: 64)
    }

    private func list(_ commands: [SettingsCommand], _ book: SettingsBook?, _ context: CommandContext) throws {
        for command in commands {
            let chosen = profile.flatMap { book?.has($0, command) == true ? $0 : nil }
            let inForce = try book.map { book throws(SettingsError) in
                try SettingsInForce(book, command, profile: chosen)
            }
            let lines = command.options.filter(\.isSetting).map { option in
                SettingsLine(
                    option, inForce?.settings.first { $0.option == option },
                    unset: inForce?.unset.first { $0.name == option.name })
            }.filter { !changed || $0.line != nil }
            for line in lines {
                context.events.write(.list(line.event(of: command.name)))
            }
            guard !json, !lines.isEmpty else { continue }
            Console.list("")
            Console.list("[\(command.name)\(chosen.map { ".\($0)" } ?? "")]")
            for line in lines { Console.list(line.text) }
            let others = (book?.chapters[command.name]?.profiles ?? []).map(\.name).filter { $0 != chosen }
            if !others.isEmpty { Console.list("  profiles: \(others.joined(separator: ", "))") }
        }
    }
}

extension SettingsBook {
    fileprivate func has(_ profile: String, _ command: SettingsCommand) -> Bool {
        chapters[command.name]?.profiles.contains { $0.name == profile } ?? false
    }

    /// Whether the command takes the values, alone and with each profile.
    fileprivate func check(_ command: SettingsCommand) throws {
        for profile in [nil] + (chapters[command.name]?.profiles ?? []).map({ $0.name as String? }) {
            var arguments = [command.name]
            if let profile { arguments.append("--profile=\(profile)") }
            guard let given = GivenArguments(arguments) else { continue }
            try SettingsJoining(self, given).check()
        }
    }
}

/// An option, and what is in force for it.
struct SettingsLine {
    let option: DeclaredOption
    /// Where the file sets it, or a profile leaves it out; nil: built in.
    let line: Int?
    private let setting: Setting?
    private let profile: String?

    init(_ option: DeclaredOption, _ setting: Setting?, unset: Unset? = nil) {
        self.option = option
        self.setting = setting
        line = setting?.line ?? unset?.line
        profile = setting?.profile ?? unset?.profile
    }

    /// Nil: nothing.
    private var values: [String]? {
        guard let setting else { return option.kind == .flag ? ["false"] : option.usual.map { [$0] } }
        return option.isSecret ? ["(hidden)"] : setting.values
    }

    private var origin: String {
        guard let line else { return "built in" }
        let place = "line \(line)" + (profile.map { ", profile \($0)" } ?? "")
        return setting == nil ? "built in (unset: \(place))" : place
    }

    /// `  max-fps                 30                    line 2`
    var text: String {
        let value = values.map { $0.map { ShownText.line($0) }.joined(separator: ", ") } ?? "–"
        return "  \(Self.padded(option.name, 25)) \(Self.padded(value, 24)) \(origin)"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    func event(of command: String) -> ProgramEvent.List {
        let value: JSONValue? = values.map { values in
            if option.kind == .flag { return .bool(values == ["true"]) }
            return option.isList && setting != nil ? .array(values.map { .string($0) }) : .string(values[0])
        }
        return .setting(
            command: command, name: option.name, value: value, from: setting == nil ? "built-in" : "file", line: line,
            profile: profile)
    }
}
