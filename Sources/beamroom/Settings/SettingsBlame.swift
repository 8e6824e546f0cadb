import ArgumentParser

/// Which settings of the file an error of the parser or of an option's check is about, and the sentence that says so.
struct SettingsBlame {
    /// Nil: the file has nothing to do with it.
    let error: SettingsError?

    /// - Parameters:
    ///   - message: the parser's, without the usage.
    ///   - isOfFile: whether it is said about the file without the command line, too.
    init(_ message: String, _ inForce: SettingsInForce, _ given: GivenArguments, isOfFile: () -> Bool) {
        let settings = (inForce.settings + inForce.idle).filter { !$0.isTurnedOff }
        // It may name an option of the file, for example as the one that was probably meant.
        let alone = Self.refusal([inForce.command.name] + given.rest)
        guard alone != message else {
            error = nil
            return
        }
        error =
            Self.value(message, settings, inForce.path)
            ?? Self.combination(message, settings, inForce, isAccepted: alone == nil, isOfFile: isOfFile())
    }

    /// The parser doesn't take a value: “The value 'x' is invalid for '--max-fps <fps>': It takes a number.”
    private static func value(_ message: String, _ settings: [Setting], _ path: String) -> SettingsError? {
        let refusal = /^The value '(?<value>.*?)' is invalid for '(?:--|<)(?<name>[^ >]*)[^']*'(?:: |\. )?(?<why>.*)$/
            .dotMatchesNewlines()
        guard let match = try? refusal.wholeMatch(in: message) else { return nil }
        let blamed = settings.first { setting in
            let name = setting.option.kind == .positional ? setting.option.valueName : setting.name
            return name == match.name && setting.values.contains(String(match.value))
        }
        guard let blamed else { return nil }
        let value = blamed.option.isSecret ? "a value" : "“\(SettingsBook.Place.shown(String(match.value)))”"
        return SettingsError(
            "\(path), line \(blamed.line): \(blamed.name) doesn't take \(value). "
                + (match.why.isEmpty ? "`beamroom config --example` says what it takes." : String(match.why)))
    }

    /// Options don't go together, or a check has its own sentence.
    private static func combination(
        _ message: String, _ settings: [Setting], _ inForce: SettingsInForce, isAccepted: Bool, isOfFile: Bool
    ) -> SettingsError? {
        // `--web-` names all of this kind.
        let named = Set(message.matches(of: /--([a-z][a-z0-9-]*)/).map { String($0.1) })
        func isNamed(_ name: String) -> Bool {
            named.contains { $0 == name || $0.hasSuffix("-") && name.hasPrefix($0) }
        }
        var blamed = settings.filter { isNamed($0.name) }
        // Not all messages name options. What the command line alone may say is refused because of the file.
        if blamed.isEmpty, isAccepted { blamed = settings }
        guard !blamed.isEmpty else { return nil }
        if isOfFile {
            return SettingsError("\(inForce.path), \(lines(blamed)): \(written(message, inForce.command))")
        }
        let set = blamed.map { "\($0.name) (line \($0.line))" }.joined(separator: ", ")
        let away = blamed.map { "--unset \($0.name)" }.joined(separator: " ")
        return SettingsError("\(message) \(inForce.path) sets \(set): leave that out with \(away).", status: 64)
    }

    /// As the file has it: names without dashes, and a flag that is missing with its value.
    private static func written(_ message: String, _ command: SettingsCommand) -> String {
        let settings = command.options.filter(\.isSetting)
        let whole = message.replacing(/for --(?<name>[a-z][a-z0-9-]*)(?<rest>[^:]*): add that/) { match in
            let isFlag = settings.contains { $0.name == match.name && $0.kind == .flag }
            return "for --\(match.name)\(match.rest): add " + (isFlag ? "`\(match.name) = true`" : "--\(match.name)")
        }
        // `--web-` names all of this kind.
        return whole.replacing(/--([a-z][a-z0-9-]*)/) { match in
            let isSetting = settings.contains {
                $0.name == match.1 || match.1.hasSuffix("-") && $0.name.hasPrefix(match.1)
            }
            return String(isSetting ? match.1 : match.0)
        }
    }

    private static func lines(_ settings: [Setting]) -> String {
        let lines = Set(settings.map(\.line)).sorted()
        return (lines.count == 1 ? "line " : "lines ") + lines.map(String.init).joined(separator: ", ")
    }

    /// What the parser says about these arguments; nil: it takes them.
    static func refusal(_ arguments: [String]) -> String? {
        do {
            _ = try Beamroom.parseAsRoot(arguments)
            return nil
        } catch {
            return Beamroom.message(for: error)
        }
    }
}
