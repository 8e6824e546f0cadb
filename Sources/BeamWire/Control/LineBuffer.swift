/// Splits a stream of bytes into lines.
///
/// It holds at most one unfinished line of at most `limit` bytes, and looks at each byte once.
package struct LineBuffer: Sendable {
    /// The longest line, without its `\n`, in bytes.
    package static let limit = 4096

    /// A line was longer than `limit`. The stream can't be read any further.
    package struct LineTooLong: Error, Hashable, CustomStringConvertible {
        package var description: String { "a line of more than \(LineBuffer.limit) bytes" }
    }

    private var unfinished: [UInt8] = []

    package init() {}

    /// Calls `body` with each line that `bytes` completes, without its `\n` or `\r\n`.
    package mutating func append(_ bytes: [UInt8], forEachLine body: (ArraySlice<UInt8>) -> Void) throws(LineTooLong) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0A) {
            let head = rest[..<end]
            rest = rest[(end + 1)...]
            guard unfinished.count + head.count <= Self.limit else { throw LineTooLong() }
            if unfinished.isEmpty {
                body(Self.trimmed(head))
            } else {
                unfinished.append(contentsOf: head)
                body(Self.trimmed(unfinished[...]))
                unfinished.removeAll(keepingCapacity: true)
            }
        }
        guard unfinished.count + rest.count <= Self.limit else { throw LineTooLong() }
        unfinished.append(contentsOf: rest)
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.last == 0x0D ? line.dropLast() : line
    }
}
