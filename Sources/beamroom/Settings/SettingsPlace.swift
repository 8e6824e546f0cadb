import BeamMedia
import BeamSettings

extension SettingsBook {
    /// Where in the file settings stand, and what may stand there.
    struct Place {
        let file: SettingsFile
        let home: String?
        /// A command's name.
        let table: String
        var profile: String?

        /// In characters, of what is shown, and so of a profile's name.
        static let longestName = 80

        static func shown(_ text: String) -> String { ShownText.line(String(text.prefix(longestName))) }

        func error(_ line: Int, _ words: String) -> SettingsError {
            SettingsError("\(file.path), line \(line): \(words)")
        }

        func setting(_ entry: SettingsEntry, _ options: [DeclaredOption]) throws(SettingsError) -> Setting {
            let line = entry.value.line
            let name = profile.map { "\(table).\($0)" } ?? table
            guard let option = options.first(where: { $0.name == entry.name }) else {
                let names = options.filter(\.isSetting).map(\.name)
                let written = entry.name.hasPrefix("--") ? String(entry.name.dropFirst(2)) : entry.name
                throw error(
                    line,
                    "there is no setting “\(Self.shown(entry.name))” for [\(name)]. "
                        + Nearest.suggestion(
                            written, in: names, else: "`beamroom config \(table) --example` lists all."))
            }
            guard option.name != "unset" else {
                throw error(line, "unset is for profiles: what [\(table)] isn't to set is left out of it.")
            }
            guard option.isSetting else {
                throw error(line, "\(option.name) is for the command line, and can't stand in a file.")
            }
            guard !option.isSecret || !file.isOpenToOthers else {
                throw error(line, "other users can read this file, and the code in it. \(remedy)")
            }
            return Setting(option: option, values: try values(entry, option), line: line, profile: profile)
        }

        /// Of a code that others can read.
        private var remedy: String {
            file.isOwn
                ? "Run `chmod 600 \(file.path)`, and change the code."
                : "The file belongs to root: put another code into a file of your own (chmod 600), and name that one with "
                    + "code-file."
        }

        /// `unset = ["accept", "web"]` of a profile.
        func unset(
            _ entry: SettingsEntry, _ options: [DeclaredOption], _ profile: String
        ) throws(SettingsError) -> [Unset] {
            let names = options.filter(\.isSetting).map(\.name)
            var unset: [Unset] = []
            let elements = if case .list(let elements) = entry.value.kind { elements } else { [entry.value] }
            for element in elements {
                guard case .text(let name) = element.kind else {
                    throw error(element.line, "unset takes names of settings, as in [\"accept\", \"web\"].")
                }
                guard names.contains(name) else {
                    throw error(
                        element.line,
                        "unset names “\(Self.shown(name))”, and there is no such setting for [\(table)]. "
                            + Nearest.suggestion(
                                name, in: names, else: "`beamroom config \(table) --example` lists all."))
                }
                unset.append(Unset(name: name, line: element.line, profile: profile))
            }
            return unset
        }

        private func values(_ entry: SettingsEntry, _ option: DeclaredOption) throws(SettingsError) -> [String] {
            switch (entry.value.kind, option.kind) {
            case (.flag(let isOn), .flag): return ["\(isOn)"]
            case (_, .flag): throw error(entry.value.line, "\(option.name) takes true or false.")
            case (.list(let elements), _) where option.isList:
                var values: [String] = []
                for element in elements { values.append(try value(element, option)) }
                return values
            default: return [try value(entry.value, option)]
            }
        }

        /// As the option takes it.
        private func value(_ value: SettingsValue, _ option: DeclaredOption) throws(SettingsError) -> String {
            let text: String
            switch value.kind {
            case .text(let written): text = written
            case .number(let written): text = written
            case .flag(let isOn) where option.isSwitch: text = isOn ? "on" : "off"
            case .flag:
                throw error(value.line, "\(option.name) takes \(takes(option)), and not true or false.")
            case .list where option.isList: throw error(value.line, "\(option.name) takes a list without lists in it.")
            case .list: throw error(value.line, "\(option.name) takes one value, and no list.")
            case .table, .time:
                throw error(value.line, "\(option.name) takes \(takes(option)), in quotes.")
            }
            guard !text.utf8.contains(0) else { throw error(value.line, "\(option.name) takes no text with a zero.") }
            if option.isPath, text.hasPrefix("~/"), let home { return home + text.dropFirst() }
            return text
        }

        private func takes(_ option: DeclaredOption) -> String {
            option.values.isEmpty ? "a text or a number" : option.values.map { "\"\($0)\"" }.joined(separator: ", ")
        }
    }
}

/// The name that was probably meant.
enum Nearest {
    /// “Did you mean …?”, or `other` if none of `names` is near.
    static func suggestion(_ name: String, in names: [String], else other: String) -> String {
        let typed = name.lowercased().replacing("_", with: "-")
        let near = names.map { (name: $0, distance: CommandSuggestion.distance(typed, $0)) }
            .min { $0.distance < $1.distance }
        guard let near, near.distance <= max(1, near.name.count / 3) else { return other }
        return "Did you mean \(near.name)?"
    }
}
