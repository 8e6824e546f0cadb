import ArgumentParser
import BeamTerminal

/// The error for a command that doesn't exist, with the one that was probably meant.
enum CommandSuggestion {
    /// Nil if `arguments`, without the program's name, begin with a command that exists, or with an option.
    static func error(for arguments: [String]) -> String? {
        error(for: arguments[...], in: Beamroom.self, path: "beamroom")
    }

    private static func error(
        for arguments: ArraySlice<String>, in command: any ParsableCommand.Type, path: String
    ) -> String? {
        guard let word = arguments.first, !word.hasPrefix("-"), !command.configuration.subcommands.isEmpty else {
            return nil
        }
        let subcommands = command.configuration.subcommands
        if let known = subcommands.first(where: { $0._commandName == word }) {
            return error(for: arguments.dropFirst(), in: known, path: "\(path) \(word)")
        }
        guard word != "help" else { return nil }
        let names = subcommands.map { $0._commandName }
        let missing = "There is no command `\(path) \(Console.printable(word))`."
        let close = names.map { (name: $0, distance: distance(word.lowercased(), $0)) }.min {
            $0.distance < $1.distance
        }
        guard let close, close.distance <= max(1, close.name.count / 3) else {
            return missing + " The commands are: \(names.joined(separator: ", "))."
        }
        return missing + " Did you mean `\(path) \(close.name)`?"
    }

    /// Letters to insert, remove, replace or swap with a neighbour to get from one word to the other (the restricted
    /// Damerau–Levenshtein distance).
    static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.prefix(40)), Array(other.prefix(40)))
        var rows = [Array(0...other.count)]
        for i in 0..<one.count {
            var row = [i + 1]
            for j in 0..<other.count {
                var best = min(rows[i][j] + (one[i] == other[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[one.count][other.count]
    }
}
