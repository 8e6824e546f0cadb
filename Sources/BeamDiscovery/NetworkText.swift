/// Cleans text from and for the network.
enum NetworkText {
    /// In bytes: a DNS label, which an instance name is (RFC 6763, 4.1.1).
    static let maxNameBytes = 63
    /// In bytes: one string of a TXT record (RFC 6763, 6.1).
    static let maxEntryBytes = 255
    /// Limits the parsing of a TXT record; BeamRoom's own have fewer pairs.
    static let maxEntries = 32

    /// Replaces control characters, line breaks and bidirectional formatting, so that the text is safe to print in a
    /// terminal. Cuts it to `bytes` of UTF-8, between characters.
    static func printable(_ text: String, bytes: Int) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(isPrintable(scalar) ? scalar : "\u{FFFD}") }
        return truncated(String(scalars), bytes: bytes)
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return false
        // The joiners (ZWNJ, ZWJ) are part of emoji and some scripts. Other format characters can reorder or hide text.
        case .format: return scalar == "\u{200C}" || scalar == "\u{200D}"
        default: return true
        }
    }

    /// The longest prefix of `text` that takes at most `bytes` of UTF-8, cut between characters.
    static func truncated(_ text: String, bytes: Int) -> String {
        guard text.utf8.count > bytes else { return text }
        var kept = 0
        var end = text.startIndex
        while end < text.endIndex {
            let next = text.index(after: end)
            kept += text[end..<next].utf8.count
            if kept > bytes { break }
            end = next
        }
        return String(text[..<end])
    }

    /// The name as an instance name: one line of 1…63 bytes; nil if nothing usable is left.
    static func instanceName(_ name: String) -> String? {
        let words = name.unicodeScalars.split { !isPrintable($0) || $0.properties.isWhitespace }
        let line = words.map { String(String.UnicodeScalarView($0)) }.joined(separator: " ")
        let fitting = truncated(line, bytes: maxNameBytes)
        let name = fitting.last == " " ? String(fitting.dropLast()) : fitting
        return name.isEmpty ? nil : name
    }

    /// The strings of a TXT record. Values are cut so that a string has at most 255 bytes. Pairs with an invalid key
    /// are dropped (RFC 6763, 6.4: printable ASCII without "=").
    static func entries(_ pairs: [(key: String, value: String)]) -> [String] {
        pairs.compactMap { key, value in
            guard isKey(key.utf8), key.utf8.count < maxEntryBytes else { return nil }
            return "\(key)=" + truncated(value.filter { $0 != "\0" }, bytes: maxEntryBytes - key.utf8.count - 1)
        }
    }

    /// The pairs of a received TXT record. If a key occurs more than once, the first counts (RFC 6763, 6.4).
    static func pairs(_ entries: [[UInt8]]) -> [String: String] {
        var pairs: [String: String] = [:]
        var seen: Set<String> = []
        for entry in entries.prefix(maxEntries) {
            let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first, isKey(first) else { continue }
            let key = String(decoding: first, as: UTF8.self)
            guard seen.insert(key.lowercased()).inserted else { continue }
            let value = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
            pairs[key] = printable(value, bytes: maxEntryBytes)
        }
        return pairs
    }

    private static func isKey(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
    }
}
