/// Reads big-endian integers and bytes from the front of a buffer. All network data is read with it.
///
/// Safe on any input: fields may be unaligned, and a field that doesn't fit returns nil and consumes nothing. Nothing
/// is copied or allocated.
public struct BigEndianReader {
    @usableFromInline let all: UnsafeRawBufferPointer
    /// Bytes consumed; never beyond the end.
    @usableFromInline var offset = 0

    @inlinable public init(_ bytes: UnsafeRawBufferPointer) { all = bytes }

    /// The bytes not consumed yet; valid as long as the buffer.
    @inlinable public var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: all[offset...]) }

    /// The next integer; nil if there are too few bytes for it.
    @inlinable @inline(__always) public mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>(
        _: Value.Type = Value.self
    ) -> Value? {
        guard all.count - offset >= MemoryLayout<Value>.size else { return nil }
        defer { offset += MemoryLayout<Value>.size }
        return Value(bigEndian: all.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// The next `count` bytes; nil if there are fewer, or `count` is negative.
    @inlinable public mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count >= 0, count <= all.count - offset else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: all[offset..<offset + count])
    }

    /// The bytes after a length field of type `Length`, which counts them; nil, and nothing is consumed, if they are
    /// incomplete.
    @inlinable public mutating func counted<Length: FixedWidthInteger & BitwiseCopyable>(
        by _: Length.Type
    ) -> UnsafeRawBufferPointer? {
        var reader = self
        guard let count: Length = reader.integer(), let count = Int(exactly: count), let field = reader.bytes(count)
        else { return nil }
        self = reader
        return field
    }
}

/// Writes big-endian integers into memory that the caller has made large enough. Writing beyond its end traps.
public struct BigEndianWriter {
    @usableFromInline let memory: UnsafeMutableRawBufferPointer
    /// Bytes written.
    @usableFromInline var offset = 0

    @inlinable public init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

    @inlinable @inline(__always) public mutating func write<Value: FixedWidthInteger & BitwiseCopyable>(
        _ value: Value
    ) {
        precondition(memory.count - offset >= MemoryLayout<Value>.size)
        memory.storeBytes(of: value.bigEndian, toByteOffset: offset, as: Value.self)
        offset += MemoryLayout<Value>.size
    }
}

extension [UInt8] {
    /// Appends `value` in network byte order.
    @inlinable public mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
