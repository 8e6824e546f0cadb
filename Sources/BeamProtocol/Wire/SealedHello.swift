import BeamMedia

/// What a viewer seals to be sent the stream: its clock, u64 in µs, then, if the host has challenged it, the challenge's token, u64.
/// Bytes after that are for later versions.
struct SealedHello: Hashable, Sendable {
    static let length = 8
    private static let tokenEnd = 16

    /// The viewer's monotonic clock when it said hello.
    var time: MediaTime
    /// Proves that the viewer gets what is sent to the address that the hello comes from.
    var token: UInt64?

    init(time: MediaTime, token: UInt64? = nil) {
        self.time = time
        self.token = token
    }

    /// Nil if there are too few bytes, or the clock is none.
    init?(_ plaintext: UnsafeRawBufferPointer) {
        var reader = BigEndianReader(plaintext)
        guard let microseconds: UInt64 = reader.integer(), let time = MediaTime(microseconds: microseconds) else {
            return nil
        }
        self.time = time
        token = reader.integer()
    }

    var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: time.microseconds)
        if let token { bytes.append(bigEndian: token) }
        return bytes
    }
}
