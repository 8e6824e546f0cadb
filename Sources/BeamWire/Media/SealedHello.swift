import BeamMedia

/// A viewer's hello, by which it asks for the stream: its clock, u64 in µs, then, if the host has challenged it, the
/// challenge's token, u64. Bytes after that are for later versions.
package struct SealedHello: Hashable, Sendable {
    package static let length = 8

    /// The viewer's monotonic clock when the hello was made.
    package var time: MediaTime
    /// Proves that the viewer receives at the address that the hello comes from.
    package var token: UInt64?

    package init(time: MediaTime, token: UInt64? = nil) {
        self.time = time
        self.token = token
    }

    /// Nil if bytes are missing, or the clock is out of range.
    package init?(_ plaintext: UnsafeRawBufferPointer) {
        var reader = BigEndianReader(plaintext)
        guard let microseconds: UInt64 = reader.integer(), let time = MediaTime(microseconds: microseconds) else {
            return nil
        }
        self.time = time
        token = reader.integer()
    }

    package var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: time.microseconds)
        if let token { bytes.append(bigEndian: token) }
        return bytes
    }
}
