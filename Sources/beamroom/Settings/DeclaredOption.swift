import ArgumentParser
import Foundation

/// An option as a command declares it, from the parser's own description of the command.
struct DeclaredOption: Equatable {
    enum Kind: String, Decodable {
        case flag
        case option
        case positional
    }

    var kind: Kind
    /// The long name without dashes; for an argument without a name the one that it has in the file.
    var name: String
    var shortNames: [String] = []
    /// What the help calls the value.
    var valueName: String
    /// Can be given several times.
    var isList: Bool
    /// A command can't do without it.
    var isRequired: Bool
    /// All values, if there are few.
    var values: [String] = []
    /// What is in force without the option, as it would be given; nil: nothing, or only words say it.
    var defaultText: String?
    var help: String

    /// What is in force without the option, in words.
    var usual: String? {
        defaultText ?? help.firstMatch(of: /\(default: ([^)]*)\)/).map { String($0.1) }
    }

    /// The option takes `on` and `off`, so in a file also true and false.
    var isSwitch: Bool { values.contains("on") && values.contains("off") }
    /// Printed nowhere.
    var isSecret: Bool { name == "code" }
    /// Can be given without a value, too.
    var isValueOptional: Bool { name == "at-login" }
    /// A path, in which a shell would have replaced `~/`.
    var isPath: Bool { valueName == "file" || name == "source" }

    /// What a file may not hold: it is done instead of sharing or watching, or says how the file is used.
    static let ofTheCommandLine = lists.union([
        "help", "version", "profile", "unset", "no-config", "forget", "at-login",
    ])
    /// They are made whatever the file says.
    static let lists: Set<String> = ["list-audio", "list-monitors", "list-windows"]

    /// Whether a file can set it.
    var isSetting: Bool { !Self.ofTheCommandLine.contains(name) }
}

/// A command whose options a file can set.
struct SettingsCommand: Sendable {
    let name: String
    /// As declared. Empty only if the parser describes its commands in another form than the tests know.
    let options: [DeclaredOption]
    /// What an option replaces at a less specific place: both can't be in force.
    private let rivals: [String: Set<String>]

    static let names = ["share", "watch", "room", "relay"]

    /// Nil: no file has settings for such a command.
    static func named(_ name: String?) -> SettingsCommand? {
        switch name {
        case "share": share
        case "watch": watch
        case "room": room
        case "relay": relay
        default: nil
        }
    }

    // Each is made when it is first needed: the parser takes its time to describe a command.
    private static let share = SettingsCommand(ShareCommand.self, rivals: codes + areas)
    private static let watch = SettingsCommand(WatchCommand.self, positional: "host", rivals: codes + hosts)
    private static let room = SettingsCommand(RoomCommand.self, positional: "room", rivals: codes + areas + rooms)
    private static let relay = SettingsCommand(RelayCommand.self, positional: "host", rivals: codes)

    private static let codes: [String: Set<String>] = ["code": ["code-file"], "code-file": ["code"]]
    private static let hosts: [String: Set<String>] = [
        "host": ["auto", "wait"], "auto": ["host", "wait"], "wait": ["host", "auto"],
    ]
    /// It is done instead of entering a room.
    private static let rooms: [String: Set<String>] = ["forget": ["room", "at", "share"]]
    /// A region can be one of a monitor.
    private static let areas: [String: Set<String>] = [
        "monitor": ["window", "select"], "region": ["window", "select"], "window": ["monitor", "region", "select"],
        "select": ["monitor", "region", "window"],
    ]

    /// What isn't used any more once these are set at a more specific place.
    func replaced(by names: Set<String>) -> Set<String> {
        names.reduce(into: names) { $0.formUnion(rivals[$1, default: []]) }
    }

    /// Whether it can be turned off, or be empty, and others that begin with its name detail it, as --web-port does --web.
    func hasDetails(_ name: String) -> Bool {
        options.contains { $0.name == name && ($0.kind == .flag || $0.isList) }
    }

    /// - Parameter positional: the key of the argument that has no name.
    private init(_ type: any ParsableCommand.Type, positional: String? = nil, rivals: [String: Set<String>]) {
        name = type._commandName
        self.rivals = rivals
        options = Self.options(of: type, positional)
    }

    private static func options(of type: any ParsableCommand.Type, _ positional: String?) -> [DeclaredOption] {
        struct Tool: Decodable {
            struct Command: Decodable { var arguments: [Argument]? }
            struct Name: Decodable {
                var kind: String
                var name: String
            }
            struct Argument: Decodable {
                var kind: DeclaredOption.Kind
                var names: [Name]?
                var valueName: String?
                var isRepeating: Bool
                var isOptional: Bool
                var allValues: [String]?
                var defaultValue: String?
                var abstract: String?
            }
            var command: Command
        }
        guard let tool = try? JSONDecoder().decode(Tool.self, from: Data(type._dumpHelp().utf8)) else { return [] }
        return (tool.command.arguments ?? []).compactMap { argument in
            let names = argument.names ?? []
            let long = names.first { $0.kind == "long" }?.name
            guard let name = argument.kind == .positional ? positional : long else { return nil }
            return DeclaredOption(
                kind: argument.kind, name: name, shortNames: names.filter { $0.kind == "short" }.map(\.name),
                valueName: argument.valueName ?? name, isList: argument.isRepeating, isRequired: !argument.isOptional,
                values: argument.allValues ?? [],
                defaultText: argument.defaultValue, help: argument.abstract ?? "")
        }
    }
}

private func + (one: [String: Set<String>], other: [String: Set<String>]) -> [String: Set<String>] {
    one.merging(other) { $0.union($1) }
}
