import BeamProtocol
import Foundation

/// Who watches the hosts that run now, so that anybody can be sent away, remembered or not. Beside the remembered devices
/// there are, for each running host:
///
/// - `guests-PID-START.json`, written by the host: the viewers that it has let in;
/// - `orders-PID-START.json`, written by `beamroom devices forget`: those that it is to send away.
///
/// What a host that was killed has left is removed by the next one, and by whoever lists the devices.
extension TrustStore {
    /// A running host and one of its viewers.
    public struct Watching: Hashable, Sendable {
        public var run: HostRun
        public var guest: Guest
    }

    /// A viewer that was forgotten, or sent away, or both.
    public struct Dismissal: Hashable, Sendable {
        /// As it was remembered or shown; cleaned.
        public var name: String
        public var identity: Guest.Identity
        public var wasRemembered: Bool
        /// It watches a host now, which sends it away.
        public var wasWatching: Bool
    }

    // MARK: At the host

    /// Writes down who watches `run`. Blocks for as long as the disk takes.
    public func publish(_ guests: [Guest], of run: HostRun) throws(TrustStoreError) {
        try PrivateDirectory.make(at: path).write(GuestsFile.encode(guests), to: run.guestsName, isLasting: false)
    }

    /// Removes what `run`, which ends, has written, and what hosts that were killed have left.
    public func withdraw(_ run: HostRun) {
        guard let directory = try? PrivateDirectory.existing(at: path) else { return }
        directory.remove(run.guestsName)
        directory.remove(run.ordersName)
        _ = runs(in: directory)
    }

    /// Calls `onOrders` with those that `run` is to send away, from a thread of its own, whenever there are others. What
    /// can't be read is told once, and tried again each second.
    public func watchOrders(
        for run: HostRun, _ onOrders: @escaping @Sendable (Result<[Guest.Identity], TrustStoreError>) -> Void
    ) throws(TrustStoreError) -> TrustWatch {
        try watch(run.ordersName, onOrders) { () throws(TrustStoreError) in try orders(for: run).map(\.identity) }
    }

    private func orders(for run: HostRun) throws(TrustStoreError) -> [Guest] {
        guard let directory = try PrivateDirectory.existing(at: path) else { return [] }
        return try guests(in: directory, file: run.ordersName)
    }

    // MARK: For the person

    /// The viewers of all hosts that run now for this user. A file that can't be read is left out.
    public func watching() throws(TrustStoreError) -> [Watching] {
        guard let directory = try PrivateDirectory.existing(at: path) else { return [] }
        return watching(in: directory)
    }

    /// Forgets a device, and has the hosts that it watches send it away; or, if it isn't remembered but watches now, has
    /// them keep it out until they end.
    ///
    /// - Parameter text: its whole name; or the beginning of its key, at least four hexadecimal digits, with or without
    ///   spaces; or the address of a version 1 viewer, which has no name and no key. Whoever chooses a device's name can
    ///   make it look like another's key: so a text that fits two devices is an error that lists them, but for a whole
    ///   key, which only ever means the key.
    public func forget(matching text: String) throws(TrustStoreError) -> Dismissal {
        let directory = try PrivateDirectory.make(at: path)
        return try directory.locked { () throws(TrustStoreError) in
            let watching = watching(in: directory)
            var devices = try devices(in: directory)
            if let address = IPAddress(text: text) {
                let identity = Guest.Identity.address(address)
                if let known = watching.first(where: { $0.guest.identity == identity }) {
                    // A device may call itself like an address.
                    do throws(TrustStoreError) {
                        let namesake = try Self.match(text, devices, watching)
                        throw .ambiguousAddress(DeviceName.cleaned(text), namesake)
                    } catch .unknownDevice {
                        // None does.
                    }
                    try order(known.guest, among: watching, in: directory)
                    return Dismissal(
                        name: known.guest.shownName, identity: identity, wasRemembered: false, wasWatching: true)
                }
            }
            let remembered = Set(devices.map(\.key))
            let match = try Self.match(text, devices, watching)
            let identity = Guest.Identity.device(match.key)
            let guest = watching.first { $0.guest.identity == identity }?.guest
            if remembered.contains(match.key) {
                // Whoever is forgotten may be paired again at once: the hosts see that it is gone from the list.
                devices.removeAll { $0.key == match.key }
                try directory.write(DevicesFile.encode(devices), to: Self.devicesName)
            } else if let guest {
                try order(guest, among: watching, in: directory)
            }
            return Dismissal(
                name: match.name, identity: identity, wasRemembered: remembered.contains(match.key),
                wasWatching: guest != nil)
        }
    }

    /// The one device that `text` means, among those that are remembered and those that watch now.
    static func match(
        _ text: String, _ devices: [RememberedDevice], _ watching: [Watching]
    ) throws(TrustStoreError) -> RememberedDevice {
        var candidates = devices
        for entry in watching {
            guard case .device(let key) = entry.guest.identity, !candidates.contains(where: { $0.key == key }) else {
                continue
            }
            candidates.append(
                RememberedDevice(name: entry.guest.shownName, key: key, roles: [.viewer], pairedAt: Date()))
        }
        let matches = DeviceQuery(text).matches(in: candidates)
        guard let match = matches.first else { throw .unknownDevice(DeviceName.cleaned(text)) }
        guard matches.count == 1 else { throw .ambiguousDevice(DeviceName.cleaned(text), matches: matches) }
        return match
    }

    /// Under the lock: tells every host that has this guest to send it away.
    private func order(
        _ guest: Guest, among watching: [Watching], in directory: borrowing PrivateDirectory
    ) throws(TrustStoreError) {
        for run in Set(watching.filter { $0.guest.identity == guest.identity }.map(\.run)) {
            var orders = try guests(in: directory, file: run.ordersName)
            guard !orders.contains(where: { $0.identity == guest.identity }) else { continue }
            guard orders.count < GuestsFile.mostGuests else { throw .tooManyDevices(most: GuestsFile.mostGuests) }
            orders.append(guest)
            try directory.write(GuestsFile.encode(orders), to: run.ordersName, isLasting: false)
        }
    }

    // MARK: Files

    private func watching(in directory: borrowing PrivateDirectory) -> [Watching] {
        var found: [Watching] = []
        for run in runs(in: directory) {
            let guests = (try? guests(in: directory, file: run.guestsName)) ?? []
            found += guests.map { Watching(run: run, guest: $0) }
        }
        return found
    }

    /// The hosts that run and have written something. What is left of others is removed.
    private func runs(in directory: borrowing PrivateDirectory) -> [HostRun] {
        var running: Set<HostRun> = []
        for name in directory.names() {
            guard let run = HostRun(fileName: name) else { continue }
            if run.isRunning { running.insert(run) } else { directory.remove(name) }
        }
        return running.sorted { ($0.pid, $0.start) < ($1.pid, $1.start) }
    }

    private func guests(
        in directory: borrowing PrivateDirectory, file name: String
    ) throws(TrustStoreError) -> [Guest] {
        switch try directory.read(name, atMost: GuestsFile.longest) {
        case .none: return []
        case .bytes(let bytes):
            if let guests = GuestsFile.decode(bytes) { return guests }
            throw .damagedDevices(path: directory.path(of: name), reason: "it isn't a list of viewers")
        case .tooLong: throw .damagedDevices(path: directory.path(of: name), reason: "it is too large")
        }
    }
}
