import BeamMedia

/// What one viewer gets of exact patches. A pure value.
struct PatchDelivery: Sendable {
    /// For how long after it has asked a viewer gets repairs. It asks again for what it lacks then.
    private static let repairTime = Duration.milliseconds(500)
    /// Requests that come sooner after one another are ignored.
    private static let leastInterval = Duration.milliseconds(50)

    /// The viewer takes patches, and this host makes them.
    var isTaken = false
    private var askedAt: MediaTime?

    /// The viewer has asked for tiles. False: too often.
    mutating func asked(now: MediaTime) -> Bool {
        if let askedAt, now - askedAt < Self.leastInterval { return false }
        askedAt = now
        return true
    }

    func wantsRepair(now: MediaTime) -> Bool { askedAt.map { now - $0 < Self.repairTime } ?? false }
}
