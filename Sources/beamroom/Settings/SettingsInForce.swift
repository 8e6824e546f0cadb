/// Which settings of a file are in force for a command: the command line's options stand above a profile, a profile above
/// the command's own table.
struct SettingsInForce {
    let path: String
    let command: SettingsCommand
    /// One for each option at most. What the command line says isn't among them.
    let settings: [Setting]

    /// - Parameters:
    ///   - given: names of options of the command line, which take the place of the file's.
    ///   - unset: names of options that the file is to have no say in.
    init(
        _ book: SettingsBook, _ command: SettingsCommand, profile: String?, given: Set<String> = [],
        unset: [String] = []
    ) throws(SettingsError) {
        path = book.path
        self.command = command
        var layers = [book.chapters[command.name]?.settings ?? []]
        if let profile { layers.insert(try book.profile(profile, of: command.name), at: 0) }
        var taken = command.replaced(by: given).union(unset)
        var turnedOff = Set(unset)
        var settings: [Setting] = []
        for layer in layers {
            let found = layer.filter { setting in
                // What details a flag (--web-port) means nothing without it.
                let isDetail = turnedOff.contains { setting.name.hasPrefix($0 + "-") && Self.isFlag($0, command) }
                return !taken.contains(setting.name) && !isDetail
            }
            settings += found
            taken.formUnion(command.replaced(by: Set(found.map(\.name))))
            turnedOff.formUnion(found.filter(\.isTurnedOff).map(\.name))
        }
        self.settings = settings
    }

    private static func isFlag(_ name: String, _ command: SettingsCommand) -> Bool {
        command.options.contains { $0.name == name && $0.kind == .flag }
    }

    /// As the parser takes them: options first, and what has no name behind all the rest.
    func arguments(before rest: [String], hasTerminator: Bool) -> [String] {
        var options: [String] = []
        var unnamed: [String] = []
        for setting in settings {
            switch setting.option.kind {
            case .flag: options += setting.isTurnedOff ? [] : ["--\(setting.name)"]
            // The parser takes `--name=` for a value that is missing.
            case .option:
                options += setting.values.flatMap {
                    $0.isEmpty ? ["--\(setting.name)", ""] : ["--\(setting.name)=\($0)"]
                }
            case .positional: unnamed += setting.values
            }
        }
        return options + rest + (unnamed.isEmpty || hasTerminator ? [] : ["--"]) + unnamed
    }
}
