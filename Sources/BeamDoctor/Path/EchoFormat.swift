import BeamMedia

/// Echoes of ICMP (RFC 792; for IPv6 RFC 4443, 4), and how their replies are recognised.
///
/// Anybody may send replies: each has to carry the random cookie, which only the machine that was asked has seen (and who
/// is on the way), and the length of its request.
struct EchoFormat {
    static let headerSize = 8
    static let cookieSize = 16
    /// In bytes of ICMP, its header included.
    static let leastLength = headerSize + cookieSize
    private static let v4HeaderSize = 20

    var isV6: Bool
    /// What the system puts in its place on sockets for echoes (icmp(7)) is set with those.
    var identifier: UInt16
    var cookie: [UInt8]

    init(isV6: Bool, identifier: UInt16 = .random(in: 0...UInt16.max)) {
        self.isV6 = isV6
        self.identifier = identifier
        cookie = (0..<Self.cookieSize).map { _ in .random(in: 0...UInt8.max) }
    }

    /// Bytes of IP's header before an echo.
    var ipHeaderSize: Int { isV6 ? 40 : 20 }

    /// - Parameter length: in bytes of ICMP, at least `leastLength`.
    func request(_ sequence: UInt16, length: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(length, Self.leastLength))
        bytes[0] = isV6 ? 128 : 8
        bytes.withUnsafeMutableBytes { bytes in
            var writer = BigEndianWriter(UnsafeMutableRawBufferPointer(rebasing: bytes[4...]))
            writer.write(identifier)
            writer.write(sequence)
        }
        bytes.replaceSubrange(Self.headerSize..<Self.leastLength, with: cookie)
        // The kernel does so for IPv6, whose checksum has the addresses in it.
        if !isV6 { (bytes[2], bytes[3]) = Self.checksum(bytes) }
        return bytes
    }

    struct Reply: Equatable {
        var sequence: UInt16
        /// In bytes of ICMP.
        var length: Int
    }

    /// Nil: it isn't a reply to one of these requests.
    ///
    /// - Parameter hasHeader: the bytes begin with IPv4's header, as on raw sockets.
    func reply(_ bytes: ArraySlice<UInt8>, hasHeader: Bool) -> Reply? {
        var bytes = bytes
        if hasHeader {
            guard let first = bytes.first, first >> 4 == 4 else { return nil }
            let size = Int(first & 0xF) * 4
            guard size >= Self.v4HeaderSize, bytes.count >= size, bytes[bytes.startIndex + 9] == 1 else { return nil }
            bytes = bytes.dropFirst(size)
        }
        guard bytes.count >= Self.leastLength else { return nil }
        let start = bytes.startIndex
        func half(_ offset: Int) -> UInt16 { UInt16(bytes[start + offset]) << 8 | UInt16(bytes[start + offset + 1]) }
        guard bytes[start] == (isV6 ? 129 : 0), bytes[start + 1] == 0, half(4) == identifier,
            bytes[(start + Self.headerSize)..<(start + Self.leastLength)].elementsEqual(cookie)
        else { return nil }
        return Reply(sequence: half(6), length: bytes.count)
    }

    /// The Internet checksum (RFC 1071) of bytes whose checksum is 0.
    static func checksum(_ bytes: [UInt8]) -> (UInt8, UInt8) {
        var sum: UInt32 = 0
        for index in stride(from: 0, to: bytes.count, by: 2) {
            sum += UInt32(bytes[index]) << 8 | UInt32(index + 1 < bytes.count ? bytes[index + 1] : 0)
        }
        while sum >> 16 != 0 { sum = sum & 0xFFFF + sum >> 16 }
        let inverted = ~UInt16(truncatingIfNeeded: sum)
        return (UInt8(inverted >> 8), UInt8(inverted & 0xFF))
    }
}
