import BeamIdentity
import BeamProtocol
import BeamTrust
import Foundation

/// The hosts that this machine was paired with, and their changes in the store.
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

    /// Ignores case, as discovery does.
    private func keys(of name: String) -> Set<DeviceKey> {
        Set(hosts.filter { DeviceNames.areSame($0.name, name) }.map(\.key))
    }

    /// The host that was watched at this address last.
    private func keys(at address: String) -> Set<DeviceKey> {
        Set(hosts.filter { $0.places.contains(address) }.map(\.key))
    }

    /// The session's trust settings. If the host was chosen by a known host's name, or by the address where a known
    /// host was last, it has to be that host.
    func trust(_ options: ViewerOptions.Trust, identity: LocalIdentity, choice: HostFinder.Choice) -> ViewerTrust {
        var required: Set<DeviceKey> = []
        var chosenAddress: String?
        if let name = choice.name { required = keys(of: name) }
        if required.isEmpty, !options.isNewHost, let address = choice.address {
            required = keys(at: address)
            chosenAddress = address
        }
        return ViewerTrust(
            own: identity.deviceKey, name: options.deviceName, instance: .random(in: 0...UInt64.max),
            known: Dictionary(hosts.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 }),
            required: required.isEmpty ? nil : required, chosenName: choice.isDiscovered ? choice.name : nil,
            chosenAddress: chosenAddress, pairs: options.pairs, remembersNewHosts: options.remembersNewHosts)
    }

    /// Remembers, on the keeper's thread, that a known host was watched at this address.
    func note(_ address: String, of host: DeviceKey, onWarning: @escaping @Sendable (String) -> Void) {
        guard keys(at: address) != [host] else { return }
        let isTaken = keeper.perform { store in
            do throws(TrustStoreError) {
                try store.note(address, of: host)
            } catch {
                onWarning("The host at \(address) can't be remembered. \(error)")
            }
        }
        if !isTaken { onWarning("The host at \(address) can't be remembered: the store is busy.") }
    }

    /// Whether the host at the address that the person gave spoke version 1 last.
    func isPlain(_ choice: HostFinder.Choice) -> Bool { choice.address.map { store.isPlainHost($0) } ?? false }

    /// Remembers, on the keeper's thread, whether the host at this address speaks version 1. If that fails, the next
    /// connection takes longer.
    func note(_ address: String, isPlain: Bool) {
        _ = keeper.perform { try? $0.notePlainHost(address, isPlain: isPlain) }
    }

    /// Calls `onChange` with the remembered hosts whenever any program changes them.
    ///
    /// While the store can't be read, known hosts stay known: a person is here to read the warning, and a forgotten
    /// host learns only that this machine connects.
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

    /// Remembers a host, on the keeper's thread. If that fails the session continues. `onDone` gets the result, and a
    /// warning if there is one.
    func remember(
        _ host: DeviceKey, name: String, onDone: @escaping @Sendable (_ isRemembered: Bool, _ warning: String?) -> Void
    ) {
        let device = RememberedDevice(name: name, key: host, roles: [.host], pairedAt: Date())
        keeper.remember(device) { result in
            switch result {
            case .success(.marked(let stored)):
                onDone(
                    true, "Another host called “\(name)” is known already. This one is remembered as “\(stored)”.")
            case .success: onDone(true, nil)
            case .failure(let error):
                onDone(false, "“\(name)” can't be remembered, and will ask for its code again. \(error)")
            }
        }
    }

    /// Waits a bounded time for pending changes. Returns what went wrong, if anything did.
    func finish() -> String? {
        keeper.finish() ? nil : "The store is held by another program: what was paired just now may not be remembered."
    }
}

/// `--auto` was given a host that isn't paired.
struct UnknownHost: Error, CustomStringConvertible {
    var name: String
    var description: String {
        "No host called “\(name)” was paired with this machine. Pair with it once: `beamroom watch \"\(name)\"`; "
            + "`beamroom devices` lists those that are."
    }
}
