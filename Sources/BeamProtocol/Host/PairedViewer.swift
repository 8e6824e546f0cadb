import BeamMedia

/// A viewer that was let in, numbered in the order of their coming.
struct ViewerID: Hashable, Sendable {
    var value: UInt64
}

/// A viewer that was let in: it outlives its control connection as long as it says hello on the media plane.
struct PairedViewer: Sendable {
    /// Who it is, by the version that it speaks.
    enum Peer: Sendable {
        /// Known by its address and the code that it showed.
        case version1(PairingCode)
        /// Known by its key.
        case version2(SecurePeer)
    }

    let id: ViewerID
    /// What both sides call the session.
    let session: SessionID
    /// Where its control connection comes from.
    var address: IPAddress
    var peer: Peer
    var control: ConnectionID?
    /// The last line, message or hello.
    var lastSign: MediaTime
    var stream = ViewerStream()
    /// Version 2: whether it is where its hellos come from.
    var proof = AddressProof()
    /// Which of the host's streams it gets.
    var lane = Lane.full
    /// Version 2: how the stream gets to it.
    var delivery: ViewerDelivery?

    /// When it has left, unless it gives a sign of life before.
    var silenceDeadline: MediaTime { lastSign + HostLimits.viewerSilence }

    var isSecure: Bool { secure != nil }

    var secure: SecurePeer? {
        if case .version2(let peer) = peer { peer } else { nil }
    }
}

/// A version 2 viewer: its key, and what opens its datagrams.
struct SecurePeer: Sendable {
    let device: DeviceKey
    /// Tells its runs apart.
    let instance: UInt64
    var name: String
    var opener: DatagramOpener
    /// The media key that it has said it holds.
    var mediaKey: UInt16
}

/// A session's name: a version 4 UUID (RFC 9562, 5.4).
struct SessionID: Hashable, Sendable {
    let bytes: [UInt8]

    init(random: inout some RandomNumberGenerator) {
        let high = random.next() & ~0xF000 | 0x4000
        let low = random.next() & ~(0b11 << 62) | 0b10 << 62
        bytes = [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
    }

    /// From 16 bytes.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count == 16)
        self.bytes = bytes
    }
}

extension SessionID: CustomStringConvertible {
    /// Upper case, in groups of 8, 4, 4, 4 and 12 digits.
    var description: String {
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
        var rest = digits[...]
        return [8, 4, 4, 4, 12].map { count in
            defer { rest = rest.dropFirst(count) }
            return String(rest.prefix(count))
        }.joined(separator: "-")
    }
}
