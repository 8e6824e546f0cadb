import BeamLog
import BeamMedia
import BeamWire

/// Evicting and blocking viewers.
extension Door {
    static let blockedText = "This viewer was sent away. It is kept out until the host is started again"

    /// Why a device is refused even if it is paired or has a valid code; nil if it isn't.
    mutating func blockReason(of device: DeviceKey, now: MediaTime) -> (SecureMessage.Refusal, reason: String)? {
        if blocked.devices.contains(device) { return (.sentAway, Self.blockedText) }
        if let eviction = blocked.evicted[device] {
            if eviction.end > now { return (.busy, eviction.reason) }
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

    /// A device that was forgotten here can be paired anew, if there is a code or a person. Otherwise it was sent away.
    var forgottenRefusal: (SecureMessage.Refusal, reason: String) {
        let canBePaired = takesNewViewers && (code.current != nil || asks)
        return canBePaired
            ? (.forgotten, "This viewer was forgotten here")
            : (.sentAway, "This viewer was sent away, and nobody is asked to let it in again")
    }

    /// The person at the host blocks this device until the host ends.
    mutating func block(_ device: DeviceKey, now: MediaTime) {
        blocked.devices.insert(device)
        book.remove(device)
        evict(device, .sentAway, message: Self.blockedText, reason: "it was sent away", now: now)
    }

    /// The person at the host sends this viewer away for now: it may come again after `HostLimits.evictionDuration`.
    mutating func sendAway(_ viewer: Guest.Identity, now: MediaTime) {
        switch viewer {
        case .device(let device):
            keepOut(device, reason: "This viewer was sent away a moment ago", now: now)
            evict(
                device, .sentAway, message: "This viewer was sent away for now. It may watch again in a minute",
                reason: "it was sent away for now", now: now)
        case .address(let address):
            for viewer in members where viewer.peer.isVersion1 && viewer.address == address {
                left(viewer.id, reason: "it was sent away for now", now: now)
            }
        case .browser(let session): sendAwayBrowser(session, forGood: false, now: now)
        }
    }

    /// The same for version 1 viewers, which have no key: blocks their address.
    mutating func block(_ address: IPAddress, now: MediaTime) {
        blocked.addresses.insert(address)
        for viewer in members where viewer.peer.isVersion1 && viewer.address == address {
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
        if let device = members[index].peer.device {
            keepOut(device, reason: Self.exceededText, now: now)
        }
        let told = "This viewer was sent away: \(reason)"
        switch (members[index].peer, members[index].control) {
        case (.version2, let control?): send(.refused(.other, told), to: control)
        case (.browser, let control?): outputs.append(.browser(control, .refused(.violation, reason: told)))
        default: break
        }
        left(id, reason: "it was sent away: \(reason)", now: now)
    }

    static let exceededText = "This viewer was sent away a moment ago, because it exceeded a limit"

    /// Refuses the device for a while, with this reason.
    mutating func keepOut(_ device: DeviceKey, reason: String, now: MediaTime) {
        if blocked.evicted.count >= HostLimits.rememberedEvictions,
            let first = blocked.evicted.min(by: { $0.value.end < $1.value.end })
        {
            blocked.evicted[first.key] = nil
        }
        blocked.evicted[device] = BlockedPeers.Eviction(end: now + HostLimits.evictionDuration, reason: reason)
    }

    /// Closes all sessions and connections of a device. Removing a viewer rotates the media key.
    mutating func evict(
        _ device: DeviceKey, _ refusal: SecureMessage.Refusal, message: String, reason: String,
        now: MediaTime
    ) {
        for viewer in members where viewer.peer.device == device {
            if let control = viewer.control { send(.refused(refusal, message), to: control) }
            left(viewer.id, reason: reason, now: now)
        }
        // Connections that haven't joined yet.
        for (id, connection) in connections {
            guard case .version2(let dialog) = connection.dialog, dialog.device == device else { continue }
            refuseViewer(id, refusal, reason: message, now: now)
        }
    }

    /// The admitted viewers, in the order of admission.
    var guests: [Guest] {
        members.map { viewer in
            let identity: Guest.Identity =
                switch viewer.peer {
                case .version1: .address(viewer.address)
                case .version2(let device, _, _): .device(device)
                case .browser: .browser(session: viewer.session.description)
                }
            return Guest(identity: identity, name: viewer.peer.name)
        }
    }
}

/// Peers that are refused. `devices`, `addresses` and `browsers` were blocked by the person, until the host ends.
struct BlockedPeers: Sendable {
    var devices: Set<DeviceKey> = []
    var addresses: Set<IPAddress> = []
    /// Browsers of these addresses.
    var browsers: Set<IPAddress> = []
    /// Until when browsers of these addresses are refused, because one of them was sent away for now.
    var browsersForNow: [IPAddress: MediaTime] = [:]
    struct Eviction: Sendable {
        var end: MediaTime
        /// What the device is told.
        var reason: String
    }

    /// Devices that exceeded a limit, or were sent away for now.
    var evicted: [DeviceKey: Eviction] = [:]
    /// Devices that were removed from the list of paired devices. They may be paired again.
    var forgotten: Set<DeviceKey> = []
}
