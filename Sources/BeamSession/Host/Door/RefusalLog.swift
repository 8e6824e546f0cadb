import BeamMedia
import BeamWire

/// Limits the reports of refused connections: the first few are reported one by one, the rest as a sum every 10 s. A
/// peer that is refused a thousand times a second causes no more events than that.
struct RefusalLog: Sendable {
    private static let interval = Duration.seconds(10)
    /// Reported one by one in each interval that follows a quiet one: in all, and for one address.
    private static let mostReported = 16
    private static let mostReportedPerAddress = 4
    /// The most addresses that the sum counts.
    private static let mostAddresses = 256

    /// Reported one by one in this interval, for each address; nil while refusals go on and are only counted.
    private var reported: [IPAddress: Int]? = [:]
    private var count = 0
    private var addresses: Set<IPAddress> = []
    /// When to call `take`; nil while nothing was refused.
    private(set) var deadline: MediaTime?

    /// A connection from `address` was refused. True if it is reported by itself.
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

    /// The refusals of the interval that has ended that weren't reported one by one, and from how many addresses they
    /// came; nil if there were none.
    mutating func take(now: MediaTime) -> (count: Int, addresses: Int)? {
        let sum = (count, addresses.count)
        // While refusals go on, none is reported by itself.
        deadline = count > 0 ? now + Self.interval : nil
        reported = count > 0 ? nil : [:]
        count = 0
        addresses.removeAll(keepingCapacity: true)
        return sum.0 > 0 ? sum : nil
    }
}
