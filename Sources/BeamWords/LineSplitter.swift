/// Splits bytes into lines that end in LF or CR LF, of bounded length, as a terminal would show them at their end.
///
/// A recogniser that redraws its line while somebody speaks (a carriage return, or `ESC [2K`, and the text anew) writes one
/// line: what was erased or overwritten isn't in it. Escape sequences vanish.
struct LineSplitter {
    /// In bytes, without the line's end.
    static let longest = 64 << 10

    enum Line: Equatable {
        case text(number: Int, [UInt8])
        /// Skipped, because it was longer than `longest`.
        case tooLong(number: Int)
    }

    private var bytes: [UInt8] = []
    private var isSkipping = false
    /// A carriage return came: the next character begins the line anew, unless it is the line's end.
    private var isReturned = false
    /// The line was begun anew.
    private var isRedrawn = false
    private var filter = EscapeFilter()
    /// Of the line that comes next, from 1.
    private var number = 1

    /// A line has begun that isn't complete.
    var hasBegun: Bool { !bytes.isEmpty }

    /// The present state of a line that is being redrawn; nil if it isn't, or has nothing in it.
    var draft: [UInt8]? {
        guard isRedrawn, !isSkipping, !bytes.isEmpty else { return nil }
        // A character whose bytes haven't all come is left out.
        let start: Int = bytes.suffix(4).lastIndex(where: { $0 & 0xC0 != 0x80 }) ?? bytes.startIndex
        let length = (~bytes[start]).leadingZeroBitCount
        return length > 1 && bytes.count - start < length ? Array(bytes[..<start]) : bytes
    }

    /// The lines that `input` completes. A line that is too long is reported when it is known to be.
    mutating func append(_ input: ArraySlice<UInt8>) -> [Line] {
        var lines: [Line] = []
        for byte in input {
            switch filter.take(byte) {
            case .nothing: break
            case .byte(UInt8(ascii: "\n")): if let line = finish() { lines.append(line) }
            case .bytes(let first, UInt8(ascii: "\n")):
                add(first, to: &lines)
                if let line = finish() { lines.append(line) }
            case .byte(let byte): add(byte, to: &lines)
            case .bytes(let first, let second):
                add(first, to: &lines)
                add(second, to: &lines)
            case .home: isReturned = !bytes.isEmpty
            case .erase: beginAnew()
            case .eraseToEnd: if isReturned { beginAnew() }
            case .back:
                // The whole character.
                while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
            }
        }
        return lines
    }

    /// The last line, if it has begun: nothing follows.
    mutating func end() -> Line? { bytes.isEmpty && !isSkipping ? nil : finish() }

    private mutating func beginAnew() {
        bytes.removeAll(keepingCapacity: true)
        isReturned = false
        isRedrawn = true
    }

    private mutating func add(_ byte: UInt8, to lines: inout [Line]) {
        guard !isSkipping else { return }
        if isReturned { beginAnew() }
        guard bytes.count == Self.longest else { return bytes.append(byte) }
        isSkipping = true
        bytes = []
        lines.append(.tooLong(number: number))
    }

    private mutating func finish() -> Line? {
        defer {
            number += 1
            (isSkipping, isReturned, isRedrawn) = (false, false, false)
            bytes = []
        }
        return isSkipping ? nil : .text(number: number, bytes)
    }
}
