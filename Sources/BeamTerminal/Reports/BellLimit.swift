import BeamMedia
import BeamWire

/// When the terminal's bell rings for somebody who asks to be let in. Anybody on the network can ask as often as they
/// like, so an address rings a few times, and again only after it was quiet for long.
///
/// The time is passed in.
struct BellLimit {
    static let period = Duration.seconds(600)
    /// In a period, for one address and for all together.
    static let mostPerAddress = 3
    static let most = 20
    /// If several ask at once, the first one rings.
    static let leastInterval = Duration.seconds(1)
    /// More addresses than this in a period don't ring.
    private static let mostAddresses = 256

    private struct Asker {
        var rings = 0
        var last: MediaTime
    }

    private var askers: [IPAddress: Asker] = [:]
    private var rings: [MediaTime] = []

    /// Whether the bell rings for a request from this address; counts it.
    mutating func allows(_ address: IPAddress, now: MediaTime) -> Bool {
        askers = askers.filter { now - $0.value.last < Self.period }
        rings.removeAll { now - $0 >= Self.period }
        guard askers[address] != nil || askers.count < Self.mostAddresses else { return false }
        var asker = askers[address] ?? Asker(last: now)
        asker.last = now
        defer { askers[address] = asker }
        let isQuiet = rings.last.map { now - $0 >= Self.leastInterval } ?? true
        guard isQuiet, rings.count < Self.most, asker.rings < Self.mostPerAddress else { return false }
        asker.rings += 1
        rings.append(now)
        return true
    }
}
