/// The lengths that a frame is cut to for a viewer, by what its path carries (`PathMTU`). The longest is usual.
///
/// Three are enough: a frame is cut and sealed once for each length in use, whatever the number of viewers.
package enum DatagramSize: Int, CaseIterable, Comparable, Hashable, Sendable {
    /// For paths that carry IPv4 packets of 576 bytes, the least that every IPv4 host takes (RFC 1122, 3.3.2).
    case small = 548
    /// For paths that carry packets of 1000 bytes.
    case medium = 952
    /// For paths that carry packets of 1280 bytes, as IPv6 does.
    case full = 1200

    /// The length in bytes of every datagram of a frame but the last, headers and tag included.
    package var length: Int { rawValue }

    package static func < (one: DatagramSize, other: DatagramSize) -> Bool { one.rawValue < other.rawValue }
}
