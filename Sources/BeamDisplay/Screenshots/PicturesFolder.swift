import Glibc

/// Where a person's pictures belong.
enum PicturesFolder {
    /// `XDG_PICTURES_DIR` of the file that xdg-user-dirs keeps, else `~/Pictures`, else the home folder: the first that
    /// exists. Nil: there is no home folder.
    static func find(environment: [String: String] = Self.environment) -> String? {
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        let given = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let text = read((given ?? home + "/.config") + "/user-dirs.dirs")
        let named = text.flatMap { Self.named("XDG_PICTURES_DIR", in: $0, home: home) }
        return [named, home + "/Pictures", home].compactMap(\.self).first(where: isFolder)
    }

    private static var environment: [String: String] {
        let names = ["HOME", "XDG_CONFIG_HOME"]
        return names.reduce(into: [:]) { values, name in
            if let value = getenv(name) { values[name] = String(cString: value) }
        }
    }

    /// The file is one of shell assignments, each `XDG_NAME_DIR="$HOME/folder"` or `XDG_NAME_DIR="/folder"`; nothing else
    /// is allowed there (user-dirs.dirs(5)). The last one counts, as in a shell.
    static func named(_ name: String, in text: String, home: String) -> String? {
        var found: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " || $0 == "\t" }
            guard line.hasPrefix(name + "=\"") else { continue }
            found = path(line.dropFirst(name.count + 2), home: home)
        }
        return found
    }

    /// The text up to the closing quotation mark, where a backslash stands before what a shell would interpret.
    private static func path(_ text: Substring, home: String) -> String? {
        var path = ""
        var isEscaped = false
        for letter in text {
            if isEscaped {
                path.append(letter)
                isEscaped = false
            } else if letter == "\\" {
                isEscaped = true
            } else if letter == "\"" {
                let whole = path.hasPrefix("$HOME") ? home + path.dropFirst("$HOME".count) : path
                return whole.hasPrefix("/") ? whole : nil
            } else {
                path.append(letter)
            }
        }
        return nil
    }

    /// At most 64 KiB.
    private static func read(_ path: String) -> String? {
        // Not a pipe that nobody writes.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = Glibc.read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
