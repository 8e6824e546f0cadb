/// What the command line of one of `SettingsCommand.names` says, as far as the file of settings is concerned. It is the
/// parser that judges it.
struct GivenArguments {
    let command: SettingsCommand
    /// All after the command's name.
    let rest: [String]
    /// Of the options and of the argument without a name that are given.
    private(set) var names: Set<String> = []
    private(set) var profile: String?
    private(set) var unset: [String] = []
    private(set) var source: String?
    private(set) var hasTerminator = false

    /// Nil: the file has no say in it: another command, or help.
    init?(_ arguments: [String]) {
        guard let command = SettingsCommand.named(arguments.first) else { return nil }
        self.command = command
        rest = Array(arguments.dropFirst())
        // What writes about the command must work with a file that doesn't.
        guard !rest.prefix(while: { $0 != "--" }).contains(where: Self.isAboutTheCommand) else { return nil }
        var iterator = rest.makeIterator()
        while let argument = iterator.next() {
            if hasTerminator || !argument.hasPrefix("-") || argument == "-" {
                if let positional = command.options.first(where: { $0.kind == .positional }) {
                    names.insert(positional.name)
                }
            } else if argument == "--" {
                hasTerminator = true
            } else if argument.hasPrefix("--") {
                readLong(argument.dropFirst(2), next: &iterator)
            } else {
                readShort(argument.dropFirst(), next: &iterator)
            }
        }
        if names.contains("no-config") { return nil }
    }

    /// The lists that are asked for instead of sharing.
    var lists: Set<String> { names.intersection(DeclaredOption.lists) }

    /// A name that isn't an option's would be without effect.
    func checkUnset() throws(SettingsError) {
        let names = command.options.filter(\.isSetting).map(\.name)
        guard let wrong = unset.first(where: { !names.contains($0) }) else { return }
        let shown = SettingsBook.Place.shown(wrong)
        guard !command.options.contains(where: { $0.name == wrong }) else {
            throw SettingsError(
                "--unset is for what the file of settings can hold: “\(shown)” stands only on the command line, so leave "
                    + "it out there.", status: 64)
        }
        let name = wrong.drop { $0 == "-" }.prefix { $0 != "=" }
        throw SettingsError(
            "--unset takes the name of an option of `beamroom \(command.name)`, without dashes, and not “\(shown)”. "
                + Nearest.suggestion(
                    String(name), in: names, else: "`beamroom config \(command.name)` lists all."),
            status: 64)
    }

    private static func isAboutTheCommand(_ argument: String) -> Bool {
        ["-h", "--help", "--version"].contains(argument) || argument.hasPrefix("--help-")
            || argument.hasPrefix("--experimental-") || argument.hasPrefix("--generate-")
    }

    private mutating func readLong(_ text: Substring, next: inout IndexingIterator<[String]>) {
        let name = text.prefix { $0 != "=" }
        guard let option = command.options.first(where: { $0.name == name && $0.kind != .positional }) else { return }
        names.insert(option.name)
        guard option.kind == .option else { return }
        if option.isValueOptional, name.count == text.count {
            var following = next
            if let value = following.next(), option.values.contains(value) { next = following }
            return
        }
        let value = name.count < text.count ? String(text.dropFirst(name.count + 1)) : Self.value(&next)
        switch option.name {
        case "profile": profile = value
        case "source": source = value
        case "unset": unset += value.map { [$0] } ?? []
        default: break
        }
    }

    /// The word that follows, unless it is an option or `--`: as the parser sees it, the value is missing then. Negative
    /// numbers are joined to their option before (`NegativeValues`).
    private static func value(_ next: inout IndexingIterator<[String]>) -> String? {
        var ahead = next
        guard let word = ahead.next(), word == "-" || !word.hasPrefix("-") else { return nil }
        next = ahead
        return word
    }

    /// `-f`, `-m 1280`, or several flags in one.
    private mutating func readShort(_ text: Substring, next: inout IndexingIterator<[String]>) {
        for (index, letter) in text.enumerated() {
            guard let option = command.options.first(where: { $0.shortNames.contains(String(letter)) }) else { return }
            names.insert(option.name)
            if option.kind == .option {
                if index == text.count - 1 { _ = Self.value(&next) }
                return
            }
        }
    }
}
