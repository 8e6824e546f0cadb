/// The two formats of media datagrams.
package enum MediaForm: Hashable, Sendable, CaseIterable {
    /// Unencrypted.
    case version1
    /// Sealed.
    case version2

    /// The length of the media header in bytes. In version 2 it is encrypted.
    package var headerLength: Int {
        switch self {
        case .version1: 20
        case .version2: 28
        }
    }

    /// Bytes that sealing adds before the media header and after the content.
    var prefixLength: Int { self == .version2 ? SealedHeader.length : 0 }
    var suffixLength: Int { self == .version2 ? SealedHeader.tagLength : 0 }

    /// Bytes of a datagram besides its content.
    package var overhead: Int { prefixLength + headerLength + suffixLength }

    /// Content bytes of a full datagram of 1200: 1180 or 1144.
    package var payloadLength: Int { payloadLength(in: .full) }

    /// Content bytes of a datagram of that length.
    package func payloadLength(in size: DatagramSize) -> Int { size.length - overhead }

    /// Parts of the largest frame.
    var partLimit: Int { (MediaLimits.frameLength + payloadLength - 1) / payloadLength }

    /// The same in the shortest datagrams that a host cuts frames to.
    var longestPartCount: Int {
        guard self == .version2 else { return partLimit }
        let length = payloadLength(in: .small)
        return (MediaLimits.frameLength + length - 1) / length
    }
}
