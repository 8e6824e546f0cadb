import BeamIdentity
import BeamProtocol
import BeamTrust
import Foundation

/// The hosts that this machine was paired with.
struct HostKeeper: Sendable {
    private let store: TrustStore
    private let hosts: [RememberedDevice]

    init(_ store: TrustStore) throws {
        self.store = store
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
    func watch(_ onChange: @escaping @Sendable ([DeviceKey: String]) -> Void) throws -> TrustWatch {
        try store.watchChanges { [store] in
            guard let devices = try? store.devices() else { return }
            let hosts = devices.filter { $0.roles.contains(.host) }
            onChange(Dictionary(hosts.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 }))
        }
    }

    /// Keeps a host. Answers what went wrong, if anything did: the session goes on.
    func remember(_ host: DeviceKey, name: String) -> String? {
        do {
            try store.remember(RememberedDevice(name: name, key: host, roles: [.host], pairedAt: Date()))
            return nil
        } catch {
            return "“\(name)” can't be remembered, and will ask for its code again. \(error)"
        }
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
