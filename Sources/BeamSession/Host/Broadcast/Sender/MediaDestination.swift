import BeamMedia
import BeamWire

/// The address that one viewer's stream goes to, and which hellos may change it.
struct MediaDestination: Sendable {
    struct Target: Hashable, Sendable {
        var address: NetworkAddress
        var lastHello: MediaTime
    }

    private struct Port: Sendable {
        var number: UInt16
        var at: MediaTime
    }

    /// Version 1: how well a hello from the viewer's address fits this viewer; the best last. Several viewers may share
    /// an address.
    enum Claim: Hashable, Sendable, Comparable {
        case none
        /// The stream goes to another port of that address, and no hello has come from there for this long.
        case silent(Duration)
        /// The viewer has no stream yet.
        case idle
        /// The viewer has announced this port.
        case announced
        /// The stream goes to this address already.
        case bound
    }

    enum Action: Hashable, Sendable {
        case none
        /// The stream goes to this address from the next keyframe on; `isMove`: it went to another one before.
        case start(isMove: Bool)
    }

    private(set) var target: Target?
    private var announced: Port?
    /// The last hello from the viewer's address that fitted no viewer.
    private var stray: Port?

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

    /// Takes a hello that fits this viewer best.
    mutating func hello(from address: NetworkAddress, now: MediaTime) -> Action {
        if target?.address == address {
            target?.lastHello = now
            return .none
        }
        let isMove = target != nil
        target = Target(address: address, lastHello: now)
        return .start(isMove: isMove)
    }

    /// Takes a hello from `port` of the viewer's address that fitted no viewer.
    mutating func strayHello(from port: UInt16, now: MediaTime) { stray = Port(number: port, at: now) }

    /// The viewer has announced its media socket's port. True if a hello has come from that port just before.
    mutating func announce(_ port: UInt16, now: MediaTime) -> Bool {
        announced = Port(number: port, at: now)
        guard let stray, stray.number == port else { return false }
        return now - stray.at < HostLimits.moveTimeout
    }

    /// Swaps the targets of two viewers on one machine that were confused.
    mutating func exchangeTarget(with other: inout MediaDestination) { swap(&target, &other.target) }

    /// Stops the stream until the next hello. False if there was none.
    mutating func stop() -> Bool {
        defer { target = nil }
        return target != nil
    }
}
