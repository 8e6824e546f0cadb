import Glibc

/// A host that was seen over Bluetooth. Only a hint where to connect: anybody nearby can advertise anything, and only
/// TLS proves the key.
public struct BluetoothHost: Sendable, Hashable {
    /// A numeric IPv4 address of the host; neither loopback nor multicast.
    public var address: String
    /// The TCP port of the host's control connection; never 0.
    public var port: UInt16
    /// The first 4 bytes of the host's device key.
    public var keyPrefix: [UInt8]

    public init(address: String, port: UInt16, keyPrefix: [UInt8]) {
        self.address = address
        self.port = port
        self.keyPrefix = keyPrefix
    }
}

/// What is advertised as service data of `serviceUUID`: address (4 bytes), port (2 bytes, big-endian), and the
/// beginning of the device key (4 bytes).
///
/// A legacy advertisement holds 31 bytes (Bluetooth Core 5.4, Vol 6, Part B, 2.3.1.1). Flags take 3 of them, and
/// service data of a 128-bit UUID 2 for length and type, 16 for the UUID, and these 10.
struct BluetoothPayload: Equatable {
    static let serviceUUID = "3deebda5-2024-4f0c-a922-17b73e161e69"
    static let byteCount = 10
    static let keyPrefixBytes = 4

    let bytes: [UInt8]

    /// With the first usable IPv4 address; link-local ones (169.254/16) only if there is no other. Nil without one,
    /// without a port, and with a key of less than 4 bytes.
    init?(addresses: [String], port: UInt16, key: [UInt8]) {
        let usable = addresses.compactMap(Self.bytes).filter(Self.isUsable)
        let address = usable.first { !($0[0] == 169 && $0[1] == 254) } ?? usable.first
        guard let address, port > 0, key.count >= Self.keyPrefixBytes else { return nil }
        bytes = address + [UInt8(port >> 8), UInt8(port & 0xFF)] + key.prefix(Self.keyPrefixBytes)
    }

    /// The host that another machine advertises; nil if it doesn't have this form.
    static func host(_ bytes: [UInt8]) -> BluetoothHost? {
        guard bytes.count == byteCount, isUsable(bytes) else { return nil }
        let port = UInt16(bytes[4]) << 8 | UInt16(bytes[5])
        guard port > 0 else { return nil }
        return BluetoothHost(
            address: bytes[..<4].map { String($0) }.joined(separator: "."), port: port, keyPrefix: Array(bytes[6...]))
    }

    /// Not "this network" (0/8), loopback (127/8), multicast, reserved or broadcast (224/3): RFC 6890.
    private static func isUsable(_ address: [UInt8]) -> Bool {
        address[0] != 0 && address[0] != 127 && address[0] < 224
    }

    private static func bytes(_ numeric: String) -> [UInt8]? {
        var address = in_addr()
        guard inet_pton(AF_INET, numeric, &address) == 1 else { return nil }
        return withUnsafeBytes(of: &address) { Array($0) }
    }
}
