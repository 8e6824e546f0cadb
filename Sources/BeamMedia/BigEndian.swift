/// Takes big-endian integers and bytes off the front of a buffer: the program's one reader of network order.
///
/// Safe on any bytes from the network: fields may lie at any alignment, and a field that doesn't fit is nil and takes nothing.
/// Nothing is copied or allocated.
public struct BigEndianReader {
    @usableFromInline let all: UnsafeRawBufferPointer
    /// Of what has been taken; never beyond the end.
    @usableFromInline var offset = 0

    @inlinable public init(_ bytes: UnsafeRawBufferPointer) { all = bytes }

    /// What has not been taken yet; valid as long as the buffer is.
    @inlinable public var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: all[offset...]) }

    /// The next integer; nil if there are too few bytes for it.
    @inlinable @inline(__always) public mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>(
        _: Value.Type = Value.self
    ) -> Value? {
        guard all.count - offset >= MemoryLayout<Value>.size else { return nil }
        defer { offset += MemoryLayout<Value>.size }
        return Value(bigEndian: all.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// The next `count` bytes; nil if there are fewer, or if `count` is negative.
    @inlinable public mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count >= 0, count <= all.count - offset else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: all[offset..<offset + count])
    }

    /// The bytes behind a length of the type `Length`, which counts them; nil, and nothing is taken, if they aren't all there.
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

/// Writes big-endian integers and bytes into memory that its caller has made large enough: the counterpart of
/// `BigEndianReader`. To write beyond that memory is the caller's mistake, and ends the program.
public struct BigEndianWriter {
    @usableFromInline let memory: UnsafeMutableRawBufferPointer
    /// Of what has been written.
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
    /// Appends `value` in network order.
    @inlinable public mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
