/// Which packets of sound a relay passes on to those that get no numbers: what comes late would be heard in the wrong place.
public struct RelayedSoundOrder: Sendable {
    /// What is earlier by more than this many packets isn't late: another run of the host counts anew.
    private static let mostLate: Int32 = 64

    private var last: UInt32?

    public init() {}

    /// Whether the packet of that number, which wraps around, is in order.
    ///
    /// - Parameter begins: nothing came before it.
    public mutating func takes(_ number: UInt32, begins: Bool) -> Bool {
        if let last, !begins {
            let step = Int32(bitPattern: number &- last)
            guard step > 0 || step < -Self.mostLate else { return false }
        }
        last = number
        return true
    }
}
