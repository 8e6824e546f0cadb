import BeamMedia

/// Evicting and blocking viewers.
extension Lobby {
    static let blockedText = "This viewer was sent away. It is kept out until the host is started again"

    /// Why a device is refused even if it is paired or has a valid code; nil if it isn't.
    mutating func blockReason(of device: DeviceKey, now: MediaTime) -> (SecureMessage.Refusal, reason: String)? {
        if blocked.devices.contains(device) { return (.forgotten, Self.blockedText) }
        if let end = blocked.evicted[device] {
            if end > now { return (.busy, "This viewer was sent away a moment ago, because it exceeded a limit") }
            blocked.evicted[device] = nil
        }
        // The list of paired devices can't be read, and the unreadable change may have removed this device. So it isn't
        // trusted and has to wait (`busy` makes a viewer try again). A device that is watching stays: it was paired
        // when the list was last readable, and a damaged file is no reason to end every session.
        let isWatching = members.contains { $0.peer.device == device }
        if book.isUncertain(device), !isWatching {
            return (.busy, "This host can't read its list of paired viewers at the moment")
        }
        return nil
    }

    /// The person at the host blocks this device until the host ends.
    mutating func block(_ device: DeviceKey, now: MediaTime) {
        blocked.devices.insert(device)
        book.remove(device)
        evict(device, message: Self.blockedText, reason: "it was sent away", now: now)
    }

    /// The same for version 1 viewers, which have no key: blocks their address.
    mutating func block(_ address: IPAddress, now: MediaTime) {
        blocked.addresses.insert(address)
        for viewer in members where !viewer.peer.isSecure && viewer.address == address {
            left(viewer.id, reason: "it was sent away", now: now)
        }
        for (id, connection) in connections where connection.address == address {
            guard case .version1 = connection.dialog else { continue }
            refuseViewer(id, .declined, reason: Self.blockedText, now: now)
        }
    }

    /// Evicts a viewer that has exceeded a limit no honest viewer reaches. It may come back after
    /// `HostLimits.evictionDuration`.
    mutating func evict(_ id: ViewerID, reason: String, now: MediaTime) {
        guard let index = index(of: id) else { return }
        if let device = members[index].peer.device { keepOut(device, now: now) }
        if let control = members[index].control, members[index].peer.isSecure {
            send(.refused(.other, "This viewer was sent away: \(reason)"), to: control)
        }
        left(id, reason: "it was sent away: \(reason)", now: now)
    }

    /// Refuses the device for a while.
    mutating func keepOut(_ device: DeviceKey, now: MediaTime) {
        if blocked.evicted.count >= HostLimits.rememberedEvictions,
            let first = blocked.evicted.min(by: { $0.value < $1.value })
        {
            blocked.evicted[first.key] = nil
        }
        blocked.evicted[device] = now + HostLimits.evictionDuration
    }

    /// Closes all sessions and connections of a device. Removing a viewer rotates the media key.
    mutating func evict(_ device: DeviceKey, message: String, reason: String, now: MediaTime) {
        for viewer in members where viewer.peer.device == device {
            if let control = viewer.control { send(.refused(.forgotten, message), to: control) }
            left(viewer.id, reason: reason, now: now)
        }
        // Connections that haven't joined yet.
        for (id, connection) in connections {
            guard case .version2(let dialog) = connection.dialog, dialog.device == device else { continue }
            refuseViewer(id, .forgotten, reason: message, now: now)
        }
    }

    /// The admitted viewers, in the order of admission.
    var guests: [Guest] {
        members.map { viewer in
            Guest(
                identity: viewer.peer.device.map { .device($0) } ?? .address(viewer.address),
                name: viewer.peer.name)
        }
    }
}

/// An admitted viewer.
public struct Guest: Sendable, Hashable {
    public enum Identity: Sendable, Hashable {
        case device(DeviceKey)
        /// A version 1 viewer, which has no key.
        case address(IPAddress)
    }

    public var identity: Identity
    /// The name that the device gives itself, not yet cleaned by `PeerText`; nil for version 1.
    public var name: String?

    public init(identity: Identity, name: String?) {
        self.identity = identity
        self.name = name
    }
}

/// Peers that are refused. `devices` and `addresses` were blocked by the person, until the host ends.
struct BlockedPeers: Sendable {
    var devices: Set<DeviceKey> = []
    var addresses: Set<IPAddress> = []
    /// Devices that exceeded a limit, and until when they are refused.
    var evicted: [DeviceKey: MediaTime] = [:]
    /// Devices that were removed from the list of paired devices. They may be paired again.
    var forgotten: Set<DeviceKey> = []
}
