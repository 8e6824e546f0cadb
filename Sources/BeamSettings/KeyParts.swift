/// How many parts the dotted keys of a text have, such as three in `share.talk.web`.
///
/// toml++ makes a table of each part and destroys them by recursion, so a key with thousands of parts would end the
/// program. It bounds values that are nested, but no keys.
struct KeyParts {
    /// A setting of a profile has three.
    static let most = 16

    private let text: [UInt8]
    private var place = 0
    private var line = 1
    /// Of what may be a key.
    private var dots = 0

    private init(_ text: [UInt8]) { self.text = text }

    /// The first line with a key of more than `most` parts, counted from 1; nil: there is none. Of a text that isn't TOML
    /// it is right up to the first fault, which is as far as toml++ reads.
    static func lineOfTooMany(_ text: [UInt8]) -> Int? {
        var parts = KeyParts(text)
        return parts.search()
    }

    private mutating func search() -> Int? {
        while place < text.count {
            let byte = text[place]
            switch byte {
            case UInt8(ascii: "#"): skip { $0 == UInt8(ascii: "\n") }
            case UInt8(ascii: "\""), UInt8(ascii: "'"): skipString(byte)
            case UInt8(ascii: "."):
                dots += 1
                guard dots < Self.most else { return line }
                place += 1
            case UInt8(ascii: "\n"):
                line += 1
                fallthrough
            // A key has no line end and none of these outside of quotes.
            case UInt8(ascii: "="), UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"),
                UInt8(ascii: "}"):
                dots = 0
                place += 1
            default: place += 1
            }
        }
        return nil
    }

    private mutating func skip(until isEnd: (UInt8) -> Bool) {
        while place < text.count, !isEnd(text[place]) { place += 1 }
    }

    /// A text in quotes, or a part of a key in them.
    private mutating func skipString(_ quote: UInt8) {
        if isTriple(quote) {
            place += 3
            skipLongString(quote)
        } else {
            place += 1
            skipShortString(quote)
        }
    }

    private mutating func skipShortString(_ quote: UInt8) {
        while place < text.count, text[place] != UInt8(ascii: "\n") {
            if text[place] == quote {
                place += 1
                return
            }
            place += isEscape(quote) ? 2 : 1
        }
    }

    private mutating func skipLongString(_ quote: UInt8) {
        while place < text.count {
            if isTriple(quote) {
                place += 3
                // One or two quotes more are the text's last ones.
                for _ in 0..<2 where place < text.count && text[place] == quote { place += 1 }
                return
            }
            if text[place] == UInt8(ascii: "\n") { line += 1 }
            // The line end after a backslash counts as one, too.
            place += isEscape(quote) && place + 1 < text.count && text[place + 1] != UInt8(ascii: "\n") ? 2 : 1
        }
    }

    private func isTriple(_ quote: UInt8) -> Bool {
        place + 2 < text.count && text[place..<place + 3].allSatisfy { $0 == quote }
    }

    /// In single quotes a backslash is one.
    private func isEscape(_ quote: UInt8) -> Bool { quote == UInt8(ascii: "\"") && text[place] == UInt8(ascii: "\\") }
}
