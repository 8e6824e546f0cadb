import BeamMedia

/// Who is sent away, and kept out.
extension Lobby {
    static let blockedText = "This viewer was sent away here. It may come again when the host has been started anew"

    /// What keeps a device out, whatever else it brings; nil if nothing does.
    mutating func bar(to device: DeviceKey, now: MediaTime) -> (SecureMessage.Refusal, reason: String)? {
        if blocked.devices.contains(device) { return (.forgotten, Self.blockedText) }
        if let end = blocked.evicted[device] {
            if end > now { return (.busy, "This viewer was sent away a moment ago, for what it did") }
            blocked.evicted[device] = nil
        }
        // The list that knows it is out of date: the device may have been forgotten in the change that can't be read. Its
        // word can't be taken for that, so it waits (`busy` makes a viewer come again). Who watches already stays: it was
        // known when the list could last be read, and a damaged file alone is no reason to end everybody's session.
        let isWatching = members.contains { $0.peer.device == device }
        if book.isUncertain(device), !isWatching {
            return (.busy, "This host can't read its list of paired viewers at the moment")
        }
        return nil
    }

    /// Whoever runs the host wants this device gone until the host ends.
    mutating func block(_ device: DeviceKey, now: MediaTime) {
        blocked.devices.insert(device)
        book.remove(device)
        evict(device, told: Self.blockedText, reason: "it was sent away", now: now)
    }

    /// The same for version 1, whose viewers are known by nothing but their address.
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

    /// A viewer has exceeded what any honest one needs. It may come again after a minute.
    mutating func evict(_ id: ViewerID, reason: String, now: MediaTime) {
        guard let index = index(of: id) else { return }
        if let device = members[index].peer.device {
            if blocked.evicted.count >= HostLimits.rememberedEvictions,
                let first = blocked.evicted.min(by: { $0.value < $1.value })
            {
                blocked.evicted[first.key] = nil
            }
            blocked.evicted[device] = now + HostLimits.evictionDuration
        }
        if let control = members[index].control, members[index].peer.isSecure {
            send(.refused(.other, "This viewer was sent away: \(reason)"), to: control)
        }
        left(id, reason: "it was sent away: \(reason)", now: now)
    }

    /// Ends all that a device has here. Its leaving replaces the media key.
    mutating func evict(_ device: DeviceKey, told: String, reason: String, now: MediaTime) {
        for viewer in members where viewer.peer.device == device {
            if let control = viewer.control { send(.refused(.forgotten, told), to: control) }
            left(viewer.id, reason: reason, now: now)
        }
        // A connection that has not joined yet has no claim any more either.
        for (id, connection) in connections {
            guard case .version2(let dialog) = connection.dialog, dialog.device == device else { continue }
            refuseViewer(id, .forgotten, reason: told, now: now)
        }
    }

    /// Those who were let in, in the order of their coming.
    var guests: [Guest] {
        members.map { viewer in
            Guest(
                identity: viewer.peer.device.map { .device($0) } ?? .address(viewer.address),
                name: viewer.peer.name)
        }
    }
}

/// A viewer that was let in.
public struct Guest: Sendable, Hashable {
    public enum Identity: Sendable, Hashable {
        case device(DeviceKey)
        /// A version 1 viewer: it has no key.
        case address(IPAddress)
    }

    public var identity: Identity
    /// As it calls itself, uncleaned; nil for version 1.
    public var name: String?

    public init(identity: Identity, name: String?) {
        self.identity = identity
        self.name = name
    }
}

/// Who doesn't come in until the host ends. Each entry is an act of the person at the host.
struct BlockedPeers: Sendable {
    var devices: Set<DeviceKey> = []
    var addresses: Set<IPAddress> = []
    /// These have exceeded what any honest viewer needs, and may come again then.
    var evicted: [DeviceKey: MediaTime] = [:]
    /// These may be paired again.
    var forgotten: Set<DeviceKey> = []
}
