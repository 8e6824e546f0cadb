import BeamMedia

/// The content of small sealed datagrams: items one after the other, each u8 kind, u8 length, then so many bytes, integers in
/// network order.
///
/// A kind that isn't known belongs to a later version, and is skipped, as are bytes behind an item's known fields; an item that
/// is cut short ends the reading.
enum SealedItems {
    /// Of an item's value, in bytes.
    static let longest = 255

    /// Calls `body` for each whole item of a known kind.
    static func read<Kind: RawRepresentable<UInt8>>(
        _ bytes: UnsafeRawBufferPointer, _ body: (_ kind: Kind, _ fields: inout BigEndianReader) -> Void
    ) {
        var reader = BigEndianReader(bytes)
        while let number: UInt8 = reader.integer(), let value = reader.counted(by: UInt8.self) {
            guard let kind = Kind(rawValue: number) else { continue }
            var fields = BigEndianReader(value)
            body(kind, &fields)
        }
    }

    /// Appends an item whose value `write` appends: `longest` bytes at most.
    static func append(
        _ kind: some RawRepresentable<UInt8>, to bytes: inout [UInt8], _ write: (inout [UInt8]) -> Void
    ) {
        let start = bytes.count
        bytes += [kind.rawValue, 0]
        write(&bytes)
        bytes[start + 1] = UInt8(bytes.count - start - 2)
    }
}
