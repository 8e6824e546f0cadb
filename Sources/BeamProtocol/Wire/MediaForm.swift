/// The two forms in which a frame's parts go over the wire.
enum MediaForm: Hashable, Sendable, CaseIterable {
    /// In the clear.
    case version1
    /// Sealed.
    case version2

    /// Of the header that describes the part, in bytes. In version 2 it is part of what is sealed.
    var headerLength: Int {
        switch self {
        case .version1: 20
        case .version2: 28
        }
    }

    /// Bytes that sealing puts before that header, and after the content.
    var prefixLength: Int { self == .version2 ? SealedHeader.length : 0 }
    var suffixLength: Int { self == .version2 ? SealedHeader.tagLength : 0 }

    /// What a datagram holds besides its content, in bytes.
    var overhead: Int { prefixLength + headerLength + suffixLength }

    /// Content of a full datagram of our own making, in bytes: 1180 or 1144.
    var payloadLength: Int { MediaLimits.datagramLength - overhead }

    /// Parts of the largest frame that is cut into full datagrams.
    var partLimit: Int { (MediaLimits.frameLength + payloadLength - 1) / payloadLength }
}
