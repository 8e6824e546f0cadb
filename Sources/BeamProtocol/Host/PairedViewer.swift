import BeamMedia

/// A viewer that was let in, numbered in the order of their coming.
struct ViewerID: Hashable, Sendable {
    var value: UInt64
}

/// A viewer that was let in: it outlives its control connection as long as it says hello on the media plane.
struct PairedViewer: Sendable {
    let id: ViewerID
    /// What both sides call the session.
    let session: String
    let address: IPAddress
    let code: PairingCode
    var control: ConnectionID?
    /// The last line or hello.
    var lastSign: MediaTime
    var stream = ViewerStream()

    /// When it has left, unless it gives a sign of life before.
    var silenceDeadline: MediaTime { lastSign + HostLimits.viewerSilence }
}

/// A version 4 UUID (RFC 9562, 5.4), upper case.
func makeSessionID(_ random: inout some RandomNumberGenerator) -> String {
    let high = random.next() & ~0xF000 | 0x4000
    let low = random.next() & ~(0b11 << 62) | 0b10 << 62
    func hex(_ value: UInt64, _ digits: Int) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: digits - text.count) + text
    }
    return [
        hex(high >> 32, 8), hex(high >> 16 & 0xFFFF, 4), hex(high & 0xFFFF, 4), hex(low >> 48, 4),
        hex(low & 0xFFFF_FFFF_FFFF, 12),
    ].joined(separator: "-")
}
