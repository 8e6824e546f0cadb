import BeamMedia

/// The stream to one paired viewer: where it goes, and whose hellos may move it.
struct ViewerStream: Sendable {
    struct Destination: Hashable, Sendable {
        var address: NetworkAddress
        var lastHello: MediaTime
        /// It has been given a keyframe, so that what follows makes sense to it.
        var isStreaming: Bool
    }

    private struct Port: Sendable {
        var number: UInt16
        var at: MediaTime
    }

    /// How good a stream's claim to a hello from its viewer's address is, the best last.
    enum Claim: Hashable, Sendable, Comparable {
        case none
        /// The stream goes elsewhere on the same machine, and nothing has come from there for so long.
        case silent(Duration)
        /// It goes nowhere yet.
        case idle
        /// Its viewer has named this port.
        case announced
        /// It goes there already.
        case bound
    }

    enum Action: Hashable, Sendable {
        case none
        /// The stream goes there from the next keyframe on; not to `replaced` any more.
        case start(NetworkAddress, replaced: NetworkAddress?)
    }

    private(set) var destination: Destination?
    private var announced: Port?
    /// The last hello from the viewer's address that was nobody's.
    private var stray: Port?

    var isWatching: Bool { destination != nil }

    func claim(_ address: NetworkAddress, now: MediaTime) -> Claim {
        if destination?.address == address { return .bound }
        if announced?.number == address.port { return .announced }
        guard let destination else {
            let isAwaited = announced.map { now - $0.at < HostLimits.announcementTime } ?? false
            return isAwaited ? .none : .idle
        }
        let silence = now - destination.lastHello
        return silence > HostLimits.moveSilence ? .silent(silence) : .none
    }

    /// A hello from there, to which this stream has the best claim.
    mutating func hello(from address: NetworkAddress, now: MediaTime) -> Action {
        if destination?.address == address {
            destination?.lastHello = now
            return .none
        }
        let replaced = destination?.address
        destination = Destination(address: address, lastHello: now, isStreaming: false)
        return .start(address, replaced: replaced)
    }

    /// A hello from `port` of the viewer's address was nobody's, as yet.
    mutating func strayHello(from port: UInt16, now: MediaTime) { stray = Port(number: port, at: now) }

    /// The viewer has named its media socket's port. True if a hello from there has come just before.
    mutating func announce(_ port: UInt16, now: MediaTime) -> Bool {
        announced = Port(number: port, at: now)
        guard let stray, stray.number == port else { return false }
        return now - stray.at < HostLimits.moveSilence
    }

    /// The destinations of two viewers on one machine were mistaken for each other.
    mutating func exchangeDestination(with other: inout ViewerStream) { swap(&destination, &other.destination) }

    /// A keyframe is on its way to it.
    mutating func keyframeSent() { destination?.isStreaming = true }

    /// It needs a keyframe to go on.
    mutating func interrupt() { destination?.isStreaming = false }

    /// The stream goes nowhere until the next hello. Answers where it went.
    mutating func stop() -> NetworkAddress? {
        defer { destination = nil }
        return destination?.address
    }
}
