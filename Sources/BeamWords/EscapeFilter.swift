/// Takes escape sequences and other control functions out of what a program writes for a terminal (ECMA-48, 5th edition,
/// clauses 5.3 to 5.6), whole: a colour leaves no `[31m` behind.
///
/// A sequence may be split anywhere between two calls. None goes on over a line feed, so that one without an end costs no
/// more than its line. Nothing is stored, however long it is.
struct EscapeFilter {
    enum Action: Equatable {
        /// Nothing to be shown.
        case nothing
        /// One byte of a text.
        case byte(UInt8)
        /// Two bytes of a text.
        case bytes(UInt8, UInt8)
        /// The cursor returns to the line's beginning.
        case home
        /// The line is erased, or from the cursor to its end.
        case erase
        case eraseToEnd
        /// The character before the cursor is taken back.
        case back
    }

    private enum State {
        case text
        /// 0xC2, which begins the control characters above U+007F.
        case upper
        case escape
        /// A control sequence, and its first parameter.
        case sequence(parameter: UInt8)
        /// A string of a device or of the system (a window's title, a link), and whether an escape came in it.
        case string(isEnding: Bool)
    }

    private var state = State.text

    mutating func take(_ byte: UInt8) -> Action {
        switch (byte, state) {
        case (UInt8(ascii: "\n"), .upper):
            state = .text
            return .bytes(0xC2, byte)
        // A line's end, and “cancel” and “substitute”, end any sequence.
        case (UInt8(ascii: "\n"), _):
            state = .text
            return .byte(byte)
        case (0x18, _), (0x1A, _):
            state = .text
            return .nothing
        case (0x1B, .string):
            state = .string(isEnding: true)
            return .nothing
        case (0x1B, _):
            state = .escape
            return .nothing
        case (_, .text): return text(byte)
        case (0x80...0x9F, .upper): return upperControl(byte)
        case (_, .upper):
            state = .text
            return .bytes(0xC2, byte)
        case (_, .escape): return escaped(byte)
        case (_, .sequence(let parameter)): return sequence(byte, parameter)
        case (_, .string(let isEnding)):
            // BEL, or the string terminator.
            if byte == 0x07 || isEnding && byte == UInt8(ascii: "\\") {
                state = .text
            } else if byte == 0xC2 {
                state = .string(isEnding: true)
            } else if isEnding, byte == 0x9C {
                state = .text
            } else {
                state = .string(isEnding: false)
            }
            return .nothing
        }
    }

    private mutating func text(_ byte: UInt8) -> Action {
        switch byte {
        case 0xC2:
            state = .upper
            return .nothing
        case UInt8(ascii: "\r"): return .home
        case 0x08: return .back
        default: return .byte(byte)
        }
    }

    /// U+0080 to U+009F, of which some begin the same as an escape and a letter.
    private mutating func upperControl(_ byte: UInt8) -> Action {
        state = .text
        switch byte {
        case 0x9B: state = .sequence(parameter: 0)
        case 0x90, 0x98, 0x9D, 0x9E, 0x9F: state = .string(isEnding: false)
        // U+0085 is a line's end for some.
        case 0x85: return .byte(UInt8(ascii: " "))
        default: break
        }
        return .nothing
    }

    private mutating func escaped(_ byte: UInt8) -> Action {
        switch byte {
        case UInt8(ascii: "["): state = .sequence(parameter: 0)
        case UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "]"), UInt8(ascii: "^"), UInt8(ascii: "_"):
            state = .string(isEnding: false)
        // Intermediate bytes, before the last one.
        case 0x20...0x2F: break
        default:
            state = .text
            // A letter above ASCII can't be the end of a sequence.
            if byte >= 0x80 { return text(byte) }
        }
        return .nothing
    }

    private mutating func sequence(_ byte: UInt8, _ parameter: UInt8) -> Action {
        switch byte {
        case 0x30...0x39:
            let (tens, isTooMuch) = parameter.multipliedReportingOverflow(by: 10)
            state = .sequence(parameter: isTooMuch ? .max : tens &+ (byte - 0x30))
            return .nothing
        case 0x20...0x3F: return .nothing
        // Control characters within a sequence say nothing here.
        case ..<0x20: return .nothing
        default: state = .text
        }
        switch (byte, parameter) {
        // Erase in line, and in the page.
        case (UInt8(ascii: "K"), 0), (UInt8(ascii: "J"), 0): return .eraseToEnd
        case (UInt8(ascii: "K"), 1), (UInt8(ascii: "K"), 2), (UInt8(ascii: "J"), 1...3): return .erase
        // The cursor goes to the first column.
        case (UInt8(ascii: "G"), 0...1), (UInt8(ascii: "H"), 0...1), (UInt8(ascii: "E"), _), (UInt8(ascii: "F"), _):
            return .home
        default: return .nothing
        }
    }

    /// A text without such sequences, in which line ends stay.
    static func plain(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x1B || $0 == 0xC2 || $0 == 0x08 }) else { return text }
        var filter = EscapeFilter()
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch filter.take(byte) {
            case .byte(let byte): bytes.append(byte)
            case .bytes(let first, let second): bytes += [first, second]
            case .home: bytes.append(UInt8(ascii: "\r"))
            case .nothing, .erase, .eraseToEnd, .back: break
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
