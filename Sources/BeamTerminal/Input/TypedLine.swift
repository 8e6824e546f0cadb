import BeamWire

/// The line that is being typed on a terminal whose own line editing is off (`TerminalMode`).
struct TypedLine {
    enum Change: Equatable {
        case none
        case edited
        /// Enter was pressed; this was typed before.
        case finished(String)
        /// Ctrl-D on an empty line: nothing more is typed.
        case ended
    }

    private enum Escape { case none, begun, sequence }

    /// In bytes of UTF-8: a note's length. What is typed beyond that is ignored.
    private static let longest = LogLimits.note

    private var bytes: [UInt8] = []
    /// Arrow and function keys send a sequence that begins with ESC (ECMA-48, 5.4).
    private var escape = Escape.none

    /// ESC was the last key: the Escape key, unless the rest of a sequence follows.
    var isEscapeBegun: Bool { escape == .begun }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The next byte belongs to the key of an escape sequence.
    var isInEscape: Bool { escape != .none }

    mutating func take(_ byte: UInt8) -> Change {
        switch (escape, byte) {
        case (.begun, UInt8(ascii: "[")), (.begun, UInt8(ascii: "O")):
            escape = .sequence
            return .none
        case (.begun, _):
            escape = .none
            return .none
        case (.sequence, 0x40...0x7E):
            escape = .none
            return .none
        case (.sequence, 0x20...0x3F):
            return .none
        case (.none, _), (.sequence, _):
            escape = .none
        }
        switch byte {
        case 0x1B:
            escape = .begun
            return .none
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
            defer { bytes.removeAll() }
            return .finished(text)
        // Backspace, under either of its codes: removes a character with all its bytes.
        case 0x08, 0x7F:
            guard !bytes.isEmpty else { return .none }
            while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
            return .edited
        case 0x04:
            return bytes.isEmpty ? .ended : .none
        // Ctrl-U: removes all.
        case 0x15:
            guard !bytes.isEmpty else { return .none }
            bytes.removeAll()
            return .edited
        case 0x00..<0x20:
            return .none
        default:
            guard bytes.count < Self.longest else { return .none }
            bytes.append(byte)
            return .edited
        }
    }
}
