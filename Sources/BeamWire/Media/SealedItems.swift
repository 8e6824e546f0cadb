import BeamMedia

/// The content of state and feedback datagrams: a sequence of items, each u8 kind, u8 length, then that many bytes,
/// integers in network order.
///
/// Unknown kinds are skipped, as are bytes behind an item's known fields, so that later versions can add both. An item
/// that is cut short ends the reading.
package enum SealedItems {
    /// The longest value of an item in bytes.
    static let longestValue = 255

    /// Calls `body` for each complete item of a known kind.
    package static func read<Kind: RawRepresentable<UInt8>>(
        _ bytes: UnsafeRawBufferPointer, _ body: (_ kind: Kind, _ fields: inout BigEndianReader) -> Void
    ) {
        var reader = BigEndianReader(bytes)
        while let number: UInt8 = reader.integer(), let value = reader.counted(by: UInt8.self) {
            guard let kind = Kind(rawValue: number) else { continue }
            var fields = BigEndianReader(value)
            body(kind, &fields)
        }
    }

    /// Pads to `length` bytes with items of kind 0, which no reader knows. (A single byte of padding is an item cut
    /// short.)
    package static func pad(_ bytes: inout [UInt8], to length: Int) {
        while bytes.count < length {
            let rest = length - bytes.count
            bytes.append(0)
            guard rest >= 2 else { return }
            let value = min(rest - 2, longestValue)
            bytes.append(UInt8(value))
            bytes.append(contentsOf: repeatElement(0, count: value))
        }
    }

    /// Appends an item. `write` appends its value, at most `longestValue` bytes.
    package static func append(
        _ kind: some RawRepresentable<UInt8>, to bytes: inout [UInt8], _ write: (inout [UInt8]) -> Void
    ) {
        let start = bytes.count
        bytes.append(kind.rawValue)
        bytes.append(0)
        write(&bytes)
        bytes[start + 1] = UInt8(bytes.count - start - 2)
    }
}
