/// Splits a stream of bytes into lines.
struct LineSplitter {
    private var pending: [UInt8] = []

    /// The lines that these bytes complete, without their line feeds.
    mutating func append(_ bytes: some Sequence<UInt8>) -> [String] {
        pending += bytes
        var lines: [String] = []
        while let end = pending.firstIndex(of: 0x0a) {
            lines.append(String(decoding: pending[..<end], as: UTF8.self))
            pending.removeSubrange(...end)
        }
        return lines
    }

    /// The text after the last line feed.
    var rest: String? { pending.isEmpty ? nil : String(decoding: pending, as: UTF8.self) }
}
