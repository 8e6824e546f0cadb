import BeamMedia

/// What a frame says of the screen, as a NAL unit in front of its slices: supplemental enhancement information that decoders
/// skip (ISO/IEC 14496-10, clauses 7.3.2.3 and D.1.7: user_data_unregistered).
///
/// Behind the UUID: u8 version 1, u64 capture time in µs, u16 number of changes, and for each u16 x, y, width and height in
/// pixels and u64 time in µs; big-endian.
extension FrameChanges {
    /// Made for this purpose (RFC 9562, version 4).
    private static let uuid: [UInt8] = [
        0x5c, 0x0e, 0x8f, 0x21, 0x6b, 0x0a, 0x4d, 0x6e, 0x9a, 0x3b, 0xd1, 0x47, 0x72, 0xe9, 0x05, 0xc8,
    ]
    private static let version: UInt8 = 1
    private static let unitType: UInt8 = 6
    private static let payloadType: UInt8 = 5
    private static let changeLength = 16
    /// The longest unit of this kind, with an emulation prevention byte for every two.
    private static let longestUnit = (uuid.count + 11 + most * changeLength + 16) * 3 / 2
    /// Units before the first slice that are looked at.
    private static let mostUnits = 8

    /// Reads what a frame says; nil: it says nothing, or nothing valid.
    package init?(_ unit: AccessUnit) {
        let found = unit.bytes.withUnsafeBytes { bytes -> FrameChanges? in
            var reader = BigEndianReader(UnsafeRawBufferPointer(rebasing: bytes[unit.range]))
            for _ in 0..<Self.mostUnits {
                guard let nal = reader.counted(by: UInt32.self), let head = nal.first else { return nil }
                // Slices come last.
                if (1...5).contains(head & 0x1f) { return nil }
                if head & 0x1f == Self.unitType, let own = Self.read(nal, size: unit.size) { return own }
            }
            return nil
        }
        guard let found else { return nil }
        self = found
    }

    private static func read(_ nal: UnsafeRawBufferPointer, size: PixelSize) -> FrameChanges? {
        guard nal.count <= longestUnit else { return nil }
        let payload = unescaped(nal.dropFirst())
        return payload.withUnsafeBytes { bytes in
            var reader = BigEndianReader(bytes)
            guard reader.integer() == payloadType else { return nil }
            var length = 0
            while true {
                guard let byte: UInt8 = reader.integer() else { return nil }
                length += Int(byte)
                if byte < 255 { break }
            }
            guard let own = reader.bytes(length), own.starts(with: uuid) else { return nil }
            return FrameChanges(UnsafeRawBufferPointer(rebasing: own[uuid.count...]), size: size)
        }
    }

    private init?(_ bytes: UnsafeRawBufferPointer, size: PixelSize) {
        var reader = BigEndianReader(bytes)
        guard reader.integer() == Self.version, let captured: UInt64 = reader.integer(),
            MediaTime(microseconds: captured) != nil, let count: UInt16 = reader.integer(), Int(count) <= Self.most
        else { return nil }
        self.init(captureTime: captured, changes: [])
        for _ in 0..<count {
            guard let x: UInt16 = reader.integer(), let y: UInt16 = reader.integer(),
                let width: UInt16 = reader.integer(), let height: UInt16 = reader.integer(),
                let time: UInt64 = reader.integer(), time <= captured
            else { return nil }
            let rect = PixelRect(x: Int(x), y: Int(y), width: Int(width), height: Int(height))
            guard ExactTiles.contains(rect, in: size) else { return nil }
            changes.append(Change(rect: rect, time: time))
        }
    }

    /// The frame's unit with what it says of the screen in front.
    package func inserted(into unit: AccessUnit) -> AccessUnit {
        var content = Self.uuid
        content.reserveCapacity(content.count + 11 + changes.count * Self.changeLength)
        content.append(Self.version)
        content.append(bigEndian: captureTime)
        let named = changes.prefix(Self.most)
        content.append(bigEndian: UInt16(clamping: named.count))
        for change in named {
            for value in [change.rect.x, change.rect.y, change.rect.width, change.rect.height] {
                content.append(bigEndian: UInt16(clamping: value))
            }
            content.append(bigEndian: change.time)
        }
        var message = [Self.payloadType]
        message.append(contentsOf: repeatElement(255, count: content.count / 255))
        message.append(UInt8(content.count % 255))
        message += content
        // The end of the unit: a bit that is one, and zeros.
        message.append(0x80)
        let nal = [Self.unitType] + Self.escaped(message)
        var own = unit
        own.bytes = []
        own.bytes.reserveCapacity(4 + nal.count + unit.range.count)
        own.bytes.append(bigEndian: UInt32(nal.count))
        own.bytes += nal
        own.bytes += unit.avcc
        own.range = 0..<own.bytes.count
        return own
    }

    /// With emulation prevention bytes (clause 7.4.1).
    private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        var escaped: [UInt8] = []
        escaped.reserveCapacity(bytes.count * 3 / 2)
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte <= 3 {
                escaped.append(3)
                zeros = 0
            }
            escaped.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return escaped
    }

    private static func unescaped(_ bytes: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            plain.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return plain
    }
}
