import BeamSettings

/// What a file sets for an option.
struct Setting: Equatable {
    var option: DeclaredOption
    /// For a flag one: `true` or `false`.
    var values: [String]
    /// Counted from 1.
    var line: Int
    /// Nil: for the command, without a profile.
    var profile: String?

    var name: String { option.name }
    /// A flag that is false, or a list without an element.
    var isTurnedOff: Bool { option.kind == .flag && values == ["false"] || values.isEmpty }
}

/// What a profile leaves out of its command's table.
struct Unset: Equatable {
    var name: String
    /// Counted from 1.
    var line: Int
    var profile: String
}

/// Settings can't be used, or the options that are about them.
struct SettingsError: Error, CustomStringConvertible {
    let description: String
    /// 1: the file is wrong; 64: the command line is.
    let status: Int32

    init(_ description: String, status: Int32 = 1) {
        self.description = description
        self.status = status
    }
}

/// A file of settings whose tables, keys and types are those of the commands. Values are the options' to judge.
struct SettingsBook {
    struct Chapter {
        var settings: [Setting] = []
        var profiles: [(name: String, layer: Layer)] = []
    }

    /// A command's own settings, or those of a profile.
    struct Layer {
        var settings: [Setting] = []
        var unset: [Unset] = []

        /// Of an option that has one value; nil: it isn't set.
        func value(of name: String) -> String? { settings.first { $0.name == name }?.values.first }
    }

    let path: String
    private(set) var chapters: [String: Chapter] = [:]

    init(_ file: SettingsFile, home: String?) throws(SettingsError) {
        path = file.path
        for entry in file.entries {
            let place = Place(file: file, home: home, table: entry.name)
            guard let command = SettingsCommand.named(entry.name) else {
                let names = SettingsCommand.names
                throw place.error(
                    entry.value.line,
                    "there is no command “\(Place.shown(entry.name))” that has settings. "
                        + Nearest.suggestion(
                            entry.name, in: names, else: "Its tables are \(names.joined(separator: ", "))."))
            }
            guard case .table(let entries) = entry.value.kind else {
                throw place.error(
                    entry.value.line, "\(entry.name) is a table: write [\(entry.name)], and its settings below.")
            }
            chapters[entry.name] = try Self.chapter(entries, command.options, place)
        }
    }

    private static func chapter(
        _ entries: [SettingsEntry], _ options: [DeclaredOption], _ place: Place
    ) throws(SettingsError) -> Chapter {
        var chapter = Chapter()
        for entry in entries {
            guard case .table(let inner) = entry.value.kind else {
                chapter.settings.append(try place.setting(entry, options))
                continue
            }
            if options.contains(where: { $0.name == entry.name }) {
                throw place.error(
                    entry.value.line,
                    "“\(entry.name)” is an option of \(place.table), so a profile needs another name, and the option a value."
                )
            }
            guard !entry.name.isEmpty, !entry.name.hasPrefix("-"), Place.shown(entry.name) == entry.name else {
                throw place.error(
                    entry.value.line,
                    "a profile's name has 1 to \(Place.longestName) visible characters, and doesn't begin with a dash."
                )
            }
            chapter.profiles.append((entry.name, try layer(inner, options, place, profile: entry.name)))
        }
        return chapter
    }

    private static func layer(
        _ entries: [SettingsEntry], _ options: [DeclaredOption], _ place: Place, profile: String
    ) throws(SettingsError) -> Layer {
        var (place, layer) = (place, Layer())
        place.profile = profile
        for entry in entries {
            if entry.name == "unset" {
                layer.unset = try place.unset(entry, options, profile)
            } else {
                layer.settings.append(try place.setting(entry, options))
            }
        }
        return layer
    }

    /// What a profile says.
    func profile(_ name: String, of command: String) throws(SettingsError) -> Layer {
        let profiles = chapters[command]?.profiles ?? []
        if let found = profiles.first(where: { $0.name == name }) { return found.layer }
        let names = profiles.map(\.name)
        let shown = Place.shown(name)
        let all =
            names.isEmpty
            ? "It has none for \(command): a table [\(command).NAME] is one."
            : "It has \(names.joined(separator: ", "))."
        throw SettingsError(
            "\(path) has no profile “\(shown)” for \(command). " + Nearest.suggestion(name, in: names, else: all),
            status: 64)
    }
}
