/// Inputs that once failed, and some that broke other implementations.
enum FailCases {
    static let lines: [[UInt8]] = [
        // UTF-16 without a byte order mark: JSON decoders guess the encoding.
        [0x7B, 0x00, 0x7D, 0x00], [0x00, 0x7B, 0x00, 0x7D],
        [0xEF, 0xBB, 0xBF] + Array("{\"on\":true}".utf8),
        Array("{\"udpPort\":1e5}".utf8), Array("{\"udpPort\":5e1}".utf8), Array("{\"udpPort\":-0}".utf8),
        Array("{\"hb\":1e400}".utf8), Array("{\"hb\":9223372036854775808}".utf8),
        Array("{\"app\":\"\\ud800\"}".utf8), Array("{\"app\":\"\\u0000\\u2028\"}".utf8),
        Array("{\"on\":true,\"on\":false}".utf8), Array("{\"ok\":true,\"message\":\"\\\"\\\\\\n\"}".utf8),
        // Foundation's decoder trapped on the second of these.
        Array(repeating: 0x5B, count: 512), Array(repeating: 0x5B, count: 513), Array(repeating: 0x5B, count: 4096),
    ]

    static let datagrams: [[UInt8]] = [
        // Truncated headers of each length.
        Array("BMRV".utf8), Array("BMRV".utf8) + [UInt8](repeating: 0, count: 15),
        // The largest possible count of parts.
        Array("BMRV".utf8) + [0, 0, 0, 0, 0xFF, 0xFE, 0xFF, 0xFF, 0, 0, 1, 0, 1, 0, 0, 0, 9],
        // A block of parameter sets that is longer than its datagram.
        Array("BMRV".utf8) + [0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 1, 0, 1, 0, 0xFF, 0xFF, 1, 1],
    ]
}
