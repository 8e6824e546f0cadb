import BeamMedia

/// Where one viewer's stream goes, and whose hellos may move it.
struct MediaDestination: Sendable {
    struct Target: Hashable, Sendable {
        var address: NetworkAddress
        var lastHello: MediaTime
    }

    private struct Port: Sendable {
        var number: UInt16
        var at: MediaTime
    }

    /// How good a viewer's claim to a hello from its address is, the best last.
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
        /// The stream goes there from the next keyframe on, and no longer to where it went if it `isMove`.
        case start(isMove: Bool)
    }

    private(set) var target: Target?
    private var announced: Port?
    /// The last hello from the viewer's address that was nobody's.
    private var stray: Port?

    /// The stream goes somewhere.
    var isSet: Bool { target != nil }
    var address: NetworkAddress? { target?.address }

    func claim(_ address: NetworkAddress, now: MediaTime) -> Claim {
        if target?.address == address { return .bound }
        if announced?.number == address.port { return .announced }
        guard let target else {
            let isAwaited = announced.map { now - $0.at < HostLimits.announcementTimeout } ?? false
            return isAwaited ? .none : .idle
        }
        let silence = now - target.lastHello
        return silence > HostLimits.moveTimeout ? .silent(silence) : .none
    }

    /// A hello from there, to which this viewer has the best claim.
    mutating func hello(from address: NetworkAddress, now: MediaTime) -> Action {
        if target?.address == address {
            target?.lastHello = now
            return .none
        }
        let isMove = target != nil
        target = Target(address: address, lastHello: now)
        return .start(isMove: isMove)
    }

    /// A hello from `port` of the viewer's address was nobody's, as yet.
    mutating func strayHello(from port: UInt16, now: MediaTime) { stray = Port(number: port, at: now) }

    /// The viewer has named its media socket's port. True if a hello from there has come just before.
    mutating func announce(_ port: UInt16, now: MediaTime) -> Bool {
        announced = Port(number: port, at: now)
        guard let stray, stray.number == port else { return false }
        return now - stray.at < HostLimits.moveTimeout
    }

    /// The targets of two viewers on one machine were mistaken for each other.
    mutating func exchangeTarget(with other: inout MediaDestination) { swap(&target, &other.target) }

    /// The stream goes nowhere until the next hello. False if it went nowhere before.
    mutating func stop() -> Bool {
        defer { target = nil }
        return target != nil
    }
}
