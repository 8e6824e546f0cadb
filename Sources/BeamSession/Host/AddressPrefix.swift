import BeamWire

/// The addresses that one machine can take by itself: one IPv4 address, or an IPv6 /64. Limits count prefixes, so that
/// taking another address of the same /64 gains nothing.
struct AddressPrefix: Hashable, Sendable {
    private let high: UInt64
    /// The interface's index of a link-local network, else 0; the constant `v4` for IPv4.
    private let scope: UInt64

    private static let v4 = UInt64.max

    init(_ address: IPAddress) {
        switch address {
        case .v4(let bits): (high, scope) = (UInt64(bits), Self.v4)
        case .v6(let high, _, let scope): (self.high, self.scope) = (high, UInt64(scope))
        }
    }
}
