/// The content of small sealed datagrams: items one after the other, each u8 kind, u8 length, then so many bytes, integers in
/// network order.
///
/// A kind that isn't known belongs to a later version, and is skipped, as are bytes behind an item's known fields; an item that
/// is cut short ends the reading.
enum SealedItems {
    /// Of an item's value, in bytes.
    static let longest = 255

    /// Calls `body` for each whole item.
    static func read(_ bytes: UnsafeRawBufferPointer, _ body: (_ kind: UInt8, _ value: UnsafeRawBufferPointer) -> Void)
    {
        var rest = bytes
        while rest.count >= 2 {
            let end = 2 + Int(rest[1])
            guard rest.count >= end else { return }
            body(rest[0], UnsafeRawBufferPointer(rebasing: rest[2..<end]))
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        }
    }

    /// Appends an item whose value `write` appends: `longest` bytes at most.
    static func append(_ kind: UInt8, to bytes: inout [UInt8], _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        bytes += [kind, 0]
        write(&bytes)
        bytes[start + 1] = UInt8(bytes.count - start - 2)
    }
}

/// Takes an item's fields off the front.
struct ItemReader {
    private var rest: UnsafeRawBufferPointer

    init(_ value: UnsafeRawBufferPointer) { rest = value }

    /// Nil when there are too few bytes.
    mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>() -> Value? {
        let length = MemoryLayout<Value>.size
        guard rest.count >= length else { return nil }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[length...]) }
        return Value(bigEndian: rest.loadUnaligned(as: Value.self))
    }
}

extension [UInt8] {
    /// In network order.
    mutating func append(integer value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
