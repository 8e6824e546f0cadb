/// What one machine can have addresses of by itself: an IPv4 address, or an IPv6 network of 64 bits. Limits count these, so that
/// whoever takes another address of the same network gains nothing.
struct AddressPrefix: Hashable, Sendable {
    private let high: UInt64
    /// The interface of a link-local network; `v4` for IPv4.
    private let scope: UInt64

    private static let v4 = UInt64.max

    init(_ address: IPAddress) {
        switch address {
        case .v4(let bits): (high, scope) = (UInt64(bits), Self.v4)
        case .v6(let high, _, let scope): (self.high, self.scope) = (high, UInt64(scope))
        }
    }
}
