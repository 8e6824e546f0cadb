import BeamMedia

/// Reads a room message's fields.
struct LogReader {
    private var bytes: BigEndianReader
    private let kind: UInt8

    init(_ bytes: UnsafeRawBufferPointer, kind: SecureMessage.Kind) {
        self.bytes = BigEndianReader(bytes)
        self.kind = kind.rawValue
    }

    var isAtEnd: Bool { bytes.rest.isEmpty }

    mutating func view(_ count: Int) throws(SecureMessageError) -> UnsafeRawBufferPointer {
        guard let field = bytes.bytes(count) else { throw .truncated(kind: kind) }
        return field
    }

    mutating func raw(_ count: Int) throws(SecureMessageError) -> [UInt8] { Array(try view(count)) }

    mutating func rest(_ limit: Int) throws(SecureMessageError) -> [UInt8] {
        guard bytes.rest.count <= limit else { throw .value(kind: kind, field: "length") }
        return try raw(bytes.rest.count)
    }

    mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>() throws(SecureMessageError) -> Value {
        guard let value: Value = bytes.integer() else { throw .truncated(kind: kind) }
        return value
    }

    /// Reads what reads itself; `field` names it.
    mutating func read<Value>(
        _ field: String, _ read: (inout BigEndianReader) -> Value?
    ) throws(SecureMessageError) -> Value {
        guard let value = read(&bytes) else { throw .value(kind: kind, field: field) }
        return value
    }

    mutating func device() throws(SecureMessageError) -> DeviceKey {
        guard let device = DeviceKey(try raw(DeviceKey.length)) else { throw .truncated(kind: kind) }
        return device
    }

    /// The number of each author's newest entry.
    mutating func numbers() throws(SecureMessageError) -> [LogAuthor: UInt32] {
        let count: UInt16 = try integer()
        guard count <= LogLimits.authors else { throw .value(kind: kind, field: "number of authors") }
        var numbers: [LogAuthor: UInt32] = [:]
        for _ in 0..<count {
            let author = LogAuthor(device: try device(), run: try integer())
            numbers[author] = try integer()
        }
        return numbers
    }
}

extension [UInt8] {
    /// Appends a u16 count, then for each author its device key, u64 run, u32 number.
    package mutating func append(_ numbers: [LogAuthor: UInt32]) {
        append(bigEndian: UInt16(clamping: numbers.count))
        for (author, number) in numbers {
            self += author.device.bytes
            append(bigEndian: author.run)
            append(bigEndian: number)
        }
    }
}
