import BeamIdentity
import BeamNetwork
import BeamSession
import BeamTrust
import BeamWire
import Foundation
import Synchronization

/// The hosts that this machine was paired with, or the receivers, and their changes in the store.
final class PairedHosts: Sendable {
    private let store: TrustStore
    private let keeper: TrustQueue
    /// Those at the start.
    private let hosts: [RememberedDevice]
    private let role: RememberedDevice.Role
    /// The same with those that were paired since, and without those that were forgotten.
    private let latest: Mutex<[RememberedDevice]>
    /// Hosts whose place was noted in this run: there is one place, which the person gave.
    private let notedPlaces = Mutex<Set<DeviceKey>>([])
    /// Hosts of which it was noted in this run that they are watched.
    private let notedTimes = Mutex<Set<DeviceKey>>([])
    /// The addresses that were noted in this run.
    private let noted = Mutex<[DeviceKey: Set<KnownAddress>]>([:])

    /// - Parameter role: `.host` or `.receiver`.
    init(_ store: TrustStore, _ role: RememberedDevice.Role = .host) throws {
        self.role = role
        self.store = store
        keeper = TrustQueue(store)
        let hosts = try store.devices().filter { $0.roles.contains(role) }
        self.hosts = hosts
        latest = Mutex(hosts)
    }

    func knows(_ name: String) -> Bool { !keys(of: name).isEmpty }

    /// Whether the key of a remembered host begins with these bytes.
    func knows(keyPrefix: [UInt8]) -> Bool {
        !keyPrefix.isEmpty && hosts.contains { $0.key.bytes.starts(with: keyPrefix) }
    }

    /// Ignores case, as discovery does.
    private func keys(of name: String) -> Set<DeviceKey> {
        let keys = Set(hosts.filter { DeviceNames.areSame($0.name, name) }.map(\.key))
        guard keys.isEmpty else { return keys }
        return latest.withLock { latest in Set(latest.filter { DeviceNames.areSame($0.name, name) }.map(\.key)) }
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
            known: Dictionary(hosts.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 })
                .merging(options.acquaintances) { host, _ in host },
            required: required.isEmpty ? nil : required, chosenName: choice.isDiscovered ? choice.name : nil,
            chosenAddress: chosenAddress, pairs: options.pairs, remembersNewHosts: options.remembersNewHosts)
    }

    /// The last known addresses of the hosts of this name, newest first.
    func addresses(of name: String) -> [Endpoint] {
        latest.withLock { $0 }.filter { DeviceNames.areSame($0.name, name) }.flatMap(\.addresses).map { Endpoint($0) }
    }

    /// The hosts that were watched or paired last, newest first, at most `most`.
    ///
    /// - Parameter isFound: whether a host of this name is there at present, so that it isn't among them.
    func recent(most: Int, besides isFound: (String) -> Bool) -> [HostChoice] {
        let choices = latest.withLock { $0 }.filter { !isFound($0.name) }.map { host in
            let last = host.seenAt ?? host.pairedAt
            return HostChoice(
                name: host.name, addresses: host.addresses.map(\.host), port: host.addresses.first?.port ?? 0,
                away: HostChoice.Absence(
                    since: Int(clamping: last.timeIntervalSince1970), wasWatched: host.seenAt != nil))
        }
        return Array(choices.sorted { ($1.away?.since ?? 0, $0.name) < ($0.away?.since ?? 0, $1.name) }.prefix(most))
    }

    /// Remembers, on the keeper's thread, where a known host was watched. The file isn't touched if it says so already,
    /// nor for an address that was noted in this run: a host that is reached now here, now there has both in the list.
    ///
    /// - Parameters:
    ///   - place: the address that the person gave; nil: the host was chosen by name.
    ///   - endpoint: where the host has proved its key.
    func note(
        _ place: String?, at endpoint: Endpoint, of host: DeviceKey, onWarning: @escaping @Sendable (String) -> Void
    ) {
        let address = KnownAddress(host: endpoint.host, port: endpoint.port)
        let isNewPlace = place.map { isNew($0, of: host) } ?? false
        let isNewAddress = address.map { isNew($0, of: host) } ?? false
        let isFirst = notedTimes.withLock { $0.insert(host).inserted }
        guard isNewPlace || isNewAddress || isFirst else { return }
        let isTaken = keeper.perform { store in
            do throws(TrustStoreError) {
                if isNewPlace || isNewAddress { try store.note(isNewPlace ? place : nil, at: address, of: host) }
                if isFirst { try store.noteSeen(host) }
            } catch {
                onWarning("The host at \(endpoint) can't be remembered. \(error)")
            }
        }
        if !isTaken { onWarning("The host at \(endpoint) can't be remembered: too many changes wait already.") }
    }

    private func isNew(_ place: String, of host: DeviceKey) -> Bool {
        notedPlaces.withLock { $0.insert(host).inserted } && keys(at: place) != [host]
    }

    private func isNew(_ address: KnownAddress, of host: DeviceKey) -> Bool {
        noted.withLock { noted in
            // A host that moves all the time costs memory only for the last few addresses.
            if let known = noted[host] {
                if known.count > 4 * RememberedDevice.maxAddresses { noted[host] = [] }
                return noted[host, default: []].insert(address).inserted
            }
            noted[host] = [address]
            return hosts.first { $0.key == host }?.addresses.first != address
        }
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
        besides acquaintances: [DeviceKey: String], _ onChange: @escaping @Sendable ([DeviceKey: String]) -> Void,
        onWarning: @escaping @Sendable (String) -> Void
    ) throws -> TrustWatch {
        try store.watchDevices { [weak self, role] result in
            switch result {
            case .success(let devices):
                let hosts = devices.filter { $0.roles.contains(role) }
                self?.latest.withLock { $0 = hosts }
                onChange(
                    Dictionary(hosts.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 })
                        .merging(acquaintances) { host, _ in host })
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
        let device = RememberedDevice(name: name, key: host, roles: [role], pairedAt: Date())
        keeper.remember(device) { result in
            switch result {
            case .success(.marked(let stored)):
                onDone(
                    true, "Another host called “\(name)” is known already. This one is remembered as “\(stored)”.")
            case .success: onDone(true, nil)
            case .failure(let error):
                onDone(false, "“\(name)” can't be remembered, so it will have to be paired again. \(error)")
            }
        }
    }

    /// Waits a bounded time for pending changes. Returns what went wrong, if anything did.
    func finish() -> String? {
        guard !keeper.finish() else { return nil }
        return "Another program keeps the list of paired devices locked, so a device that was paired just now may not "
            + "be remembered."
    }
}

/// `--auto` was given a host that isn't paired.
struct UnknownHost: Error, CustomStringConvertible {
    var name: String
    var description: String {
        "No host called “\(name)” was paired with this machine. Pair with it once: "
            + "`beamroom watch \(PeerText.shellWord(name))`. `beamroom devices` lists the paired ones."
    }
}
