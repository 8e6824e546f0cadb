import BeamMedia

/// One kind of a viewer's requests. Those that come too soon after one another are ignored. A pure value.
struct RequestPace: Sendable {
    private static let leastInterval = Duration.milliseconds(50)

    /// The last request that wasn't ignored.
    private(set) var last: MediaTime?

    /// The viewer has asked. False: too soon.
    mutating func take(now: MediaTime) -> Bool {
        if let last, now - last < Self.leastInterval { return false }
        last = now
        return true
    }
}
