import BeamMedia

/// What is told of refused connections: the first few each by itself, the rest as a sum once in a while. So whoever is refused
/// a thousand times a second can't have a thousand events made.
struct RefusalLog: Sendable {
    private static let interval = Duration.seconds(10)
    /// Told by themselves in an interval that follows a quiet one: in all, and of one address.
    private static let mostReported = 16
    private static let mostReportedPerAddress = 4
    /// Addresses that are told apart.
    private static let mostAddresses = 256

    /// Of each address; nil while refusals go on that are only counted.
    private var reported: [IPAddress: Int]? = [:]
    private var count = 0
    private var addresses: Set<IPAddress> = []
    /// When to call `take`; nil while there is nothing to sum up.
    private(set) var deadline: MediaTime?

    /// A connection from there was refused. True if that is to be told by itself.
    mutating func record(_ address: IPAddress, now: MediaTime) -> Bool {
        deadline = deadline ?? now + Self.interval
        if let reported, reported.values.reduce(0, +) < Self.mostReported,
            reported[address, default: 0] < Self.mostReportedPerAddress
        {
            self.reported?[address, default: 0] += 1
            return true
        }
        count += 1
        if addresses.count < Self.mostAddresses { addresses.insert(address) }
        return false
    }

    /// What wasn't told by itself in the interval that has ended: how many, and from how many addresses. Nil if there is none.
    mutating func take(now: MediaTime) -> (count: Int, addresses: Int)? {
        let sum = (count, addresses.count)
        // While it goes on, nothing is reported by itself.
        deadline = count > 0 ? now + Self.interval : nil
        reported = count > 0 ? nil : [:]
        count = 0
        addresses.removeAll(keepingCapacity: true)
        return sum.0 > 0 ? sum : nil
    }
}
