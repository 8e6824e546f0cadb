import BeamMedia

/// What a viewer seals to be sent the stream: its clock, u64 in µs. Bytes after that are for later versions.
struct SealedHello: Hashable, Sendable {
    static let length = 8

    /// The viewer's monotonic clock when it said hello.
    var time: MediaTime

    init(time: MediaTime) { self.time = time }

    /// Nil if there are too few bytes, or the clock is none.
    init?(_ plaintext: UnsafeRawBufferPointer) {
        guard plaintext.count >= Self.length else { return nil }
        let microseconds = UInt64(bigEndian: plaintext.loadUnaligned(as: UInt64.self))
        guard let time = MediaTime(microseconds: microseconds) else { return nil }
        self.time = time
    }

    var plaintext: [UInt8] { withUnsafeBytes(of: time.microseconds.bigEndian) { Array($0) } }
}
