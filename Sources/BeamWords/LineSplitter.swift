/// Splits bytes into lines that end in LF or CR LF, of bounded length.
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
    /// Of the line that comes next, from 1.
    private var number = 1

    /// A line has begun that isn't complete.
    var hasBegun: Bool { !bytes.isEmpty }

    /// The lines that `input` completes. A line that is too long is reported when it is known to be.
    mutating func append(_ input: ArraySlice<UInt8>) -> [Line] {
        var lines: [Line] = []
        var rest = input
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            add(rest[..<end], to: &lines)
            if let line = finish() { lines.append(line) }
            rest = rest[(end + 1)...]
        }
        add(rest, to: &lines)
        return lines
    }

    /// The last line, if it has begun: nothing follows.
    mutating func end() -> Line? { bytes.isEmpty && !isSkipping ? nil : finish() }

    private mutating func add(_ part: ArraySlice<UInt8>, to lines: inout [Line]) {
        guard !isSkipping else { return }
        // A carriage return may follow that belongs to the line's end.
        let isTooLong = bytes.count + part.count > Self.longest + 1
        guard isTooLong else {
            bytes += part
            return
        }
        isSkipping = true
        bytes = []
        lines.append(.tooLong(number: number))
    }

    private mutating func finish() -> Line? {
        defer {
            number += 1
            isSkipping = false
            bytes = []
        }
        guard !isSkipping else { return nil }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        return bytes.count > Self.longest ? .tooLong(number: number) : .text(number: number, bytes)
    }
}
