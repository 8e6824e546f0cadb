/// A device's identity: the SHA-256 (FIPS 180-4) of its identity key's SubjectPublicKeyInfo (RFC 5280, 4.1.2.7) in DER.
public struct DeviceKey: Hashable, Sendable {
    /// In bytes.
    public static let length = 32

    public let bytes: [UInt8]

    /// Nil unless there are exactly 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// From 64 hexadecimal digits; nil for anything else.
    public init?(hex: String) {
        let digits = Array(hex.utf8)
        guard digits.count == 2 * Self.length else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    /// At once, instead of byte by byte.
    public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// 64 hexadecimal digits.
    public var hex: String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (place, byte) in bytes.enumerated() {
                text[2 * place] = Self.digits[Int(byte >> 4)]
                text[2 * place + 1] = Self.digits[Int(byte & 15)]
            }
            return bytes.count * 2
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}

extension DeviceKey: CustomStringConvertible {
    /// The first 16 digits in groups of four, for people to tell devices apart. Never decide trust by it.
    public var description: String {
        let digits = Array(hex.prefix(16))
        return stride(from: 0, to: 16, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: " ")
    }
}
