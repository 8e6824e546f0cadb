import BeamIdentity
import BeamProtocol
import BeamTrust
import Foundation

/// The hosts that this machine was paired with.
struct HostKeeper: Sendable {
    private let store: TrustStore
    private let keeper: TrustKeeper
    private let hosts: [RememberedDevice]

    init(_ store: TrustStore) throws {
        self.store = store
        keeper = TrustKeeper(store)
        hosts = try store.devices().filter { $0.roles.contains(.host) }
    }

    func knows(_ name: String) -> Bool { !keys(of: name).isEmpty }

    /// Without regard to case, as hosts are found.
    private func keys(of name: String) -> Set<DeviceKey> {
        Set(hosts.filter { $0.name.lowercased() == name.lowercased() }.map(\.key))
    }

    /// What the session has to know. A host that was chosen by a known one's name has to be that one.
    func trust(_ options: ViewerOptions.Trust, identity: LocalIdentity, hostName: String?) -> ViewerTrust {
        let required = hostName.map { keys(of: $0) } ?? []
        return ViewerTrust(
            own: identity.deviceKey, name: options.deviceName, instance: .random(in: 0...UInt64.max),
            known: Dictionary(hosts.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 }),
            required: required.isEmpty ? nil : required, pairs: options.pairs,
            remembersNewHosts: options.remembersNewHosts)
    }

    /// Tells what is remembered whenever that changes, by whatever program.
    ///
    /// While that can't be read, the hosts that were known stay known: the person who watches is here to read the
    /// warning, and a host that was forgotten learns nothing but that this machine calls.
    func watch(
        _ onChange: @escaping @Sendable ([DeviceKey: String]) -> Void, onWarning: @escaping @Sendable (String) -> Void
    ) throws -> TrustWatch {
        try store.watchDevices { result in
            switch result {
            case .success(let devices):
                let hosts = devices.filter { $0.roles.contains(.host) }
                onChange(Dictionary(hosts.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 }))
            case .failure(let error):
                onWarning("A host that was forgotten just now may still be watched. \(error)")
            }
        }
    }

    /// Keeps a host, on the keeper's thread. The session goes on if it can't be kept.
    func remember(_ host: DeviceKey, name: String, onWarning: @escaping @Sendable (String) -> Void) {
        let device = RememberedDevice(name: name, key: host, roles: [.host], pairedAt: Date())
        keeper.remember(device) { error in
            onWarning("“\(name)” can't be remembered, and will ask for its code again. \(error)")
        }
    }

    /// Waits a bounded time for what is to be kept. Answers what went wrong, if anything did.
    func finish() -> String? {
        keeper.finish() ? nil : "The store is held by another program: what was paired just now may not be remembered."
    }
}

/// `--auto` names a host that was never paired.
struct UnknownHost: Error, CustomStringConvertible {
    var name: String
    var description: String {
        "No host called “\(name)” was paired with this machine. Pair with it once: `beamroom watch \"\(name)\"`; "
            + "`beamroom devices` lists those that are."
    }
}
