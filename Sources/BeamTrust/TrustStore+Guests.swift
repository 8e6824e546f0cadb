import BeamLog
import BeamWire
import Foundation

/// Records who watches the running hosts, so that a person can evict any viewer, remembered or not. For each running
/// host there are:
///
/// - `guests-PID-START.json`, written by the host: its admitted viewers;
/// - `orders-PID-START.json`, written by `beamroom devices forget`: the viewers that it has to evict.
///
/// Files left by a killed host are removed by the next host and whenever devices are listed.
extension TrustStore {
    /// A running host and one of its viewers.
    public struct Watching: Hashable, Sendable {
        public var run: HostRun
        public var guest: Guest
    }

    /// A viewer that was forgotten, evicted or both.
    public struct Eviction: Hashable, Sendable {
        /// The name it was remembered or shown under; cleaned.
        public var name: String
        public var identity: Guest.Identity
        public var wasRemembered: Bool
        /// It is watching a host, which evicts it.
        public var wasWatching: Bool
    }

    // MARK: At the host

    /// Writes the viewers of `run`. Blocks while the disk is written.
    public func publish(_ guests: [Guest], of run: HostRun) throws(TrustStoreError) {
        try PrivateDirectory.make(at: path).write(GuestsFile.encode(guests), to: run.guestsName, isLasting: false)
    }

    /// Removes the files of `run`, which is ending, and those of killed hosts.
    public func withdraw(_ run: HostRun) {
        guard let directory = try? PrivateDirectory.existing(at: path) else { return }
        directory.remove(run.guestsName)
        directory.remove(run.ordersName)
        _ = runs(in: directory)
    }

    /// Calls `onOrders` on its own thread with the viewers that `run` has to evict, whenever the list changes. A read
    /// error is reported once, and reading is retried each second.
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

    /// The viewers of all hosts that this user is running. Unreadable files are skipped.
    public func watching() throws(TrustStoreError) -> [Watching] {
        guard let directory = try PrivateDirectory.existing(at: path) else { return [] }
        return watching(in: directory)
    }

    /// Forgets a device and has the hosts that it watches evict it. If it isn't remembered but is watching, those hosts
    /// evict it and refuse it until they end.
    ///
    /// - Parameter text: the whole name, in any case; or the beginning of the key, at least four hexadecimal digits, spaces allowed;
    ///   or the address of a version 1 viewer, which has neither name nor key. A device's name is chosen by its owner
    ///   and can look like another device's key. So a text that matches two devices is an error that lists them. A
    ///   complete key always means the key.
    public func forget(matching text: String) throws(TrustStoreError) -> Eviction {
        let directory = try PrivateDirectory.make(at: path)
        return try directory.locked { () throws(TrustStoreError) in
            let watching = watching(in: directory)
            var devices = try devices(in: directory)
            if let address = IPAddress(text: text) {
                let identity = Guest.Identity.address(address)
                if let known = watching.first(where: { $0.guest.identity == identity }) {
                    // A device's name may look like an address.
                    do throws(TrustStoreError) {
                        let namesake = try Self.match(text, devices, watching)
                        throw .ambiguousAddress(DeviceName.cleaned(text), namesake)
                    } catch .unknownDevice {
                        // No device has this name.
                    }
                    try order(known.guest, among: watching, in: directory)
                    return Eviction(
                        name: known.guest.shownName, identity: identity, wasRemembered: false, wasWatching: true)
                }
            }
            if let browser = try Self.browser(called: text, devices, watching) {
                try order(browser, among: watching, in: directory)
                return Eviction(
                    name: browser.shownName, identity: browser.identity, wasRemembered: false, wasWatching: true)
            }
            let remembered = Set(devices.map(\.key))
            let match = try Self.match(text, devices, watching)
            let identity = Guest.Identity.device(match.key)
            let guest = watching.first { $0.guest.identity == identity }?.guest
            if remembered.contains(match.key) {
                // Hosts notice its absence from the list and evict it. It may be paired again at once.
                devices.removeAll { $0.key == match.key }
                try directory.write(DevicesFile.encode(devices), to: Self.devicesName)
            } else if let guest {
                try order(guest, among: watching, in: directory)
            }
            return Eviction(
                name: match.name, identity: identity, wasRemembered: remembered.contains(match.key),
                wasWatching: guest != nil)
        }
    }

    /// The one browser of that name that watches; nil: there is none. A device may have the same name.
    private static func browser(
        called text: String, _ devices: [RememberedDevice], _ watching: [Watching]
    ) throws(TrustStoreError) -> Guest? {
        let browsers = Set(
            watching.map(\.guest).filter { guest in
                if case .browser = guest.identity { DeviceNames.areSame(guest.shownName, text) } else { false }
            })
        guard let browser = browsers.first else { return nil }
        let namesakes: [RememberedDevice]
        do throws(TrustStoreError) {
            namesakes = [try match(text, devices, watching)]
        } catch .unknownDevice {
            namesakes = []
        }
        guard browsers.count == 1, namesakes.isEmpty else { throw .ambiguousBrowser(DeviceName.cleaned(text)) }
        return browser
    }

    /// The one device that `text` refers to, among remembered and watching ones.
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

    /// Needs the lock. Orders every host with this guest to evict it.
    private func order(
        _ guest: Guest, among watching: [Watching], in directory: borrowing PrivateDirectory
    ) throws(TrustStoreError) {
        for run in Set(watching.filter { $0.guest.identity == guest.identity }.map(\.run)) {
            var orders = try guests(in: directory, file: run.ordersName)
            guard !orders.contains(where: { $0.identity == guest.identity }) else { continue }
            guard orders.count < GuestsFile.maxGuests else { throw .tooManyDevices(most: GuestsFile.maxGuests) }
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

    /// The running hosts that have written files. Removes other hosts' files.
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
        switch try directory.read(name, atMost: GuestsFile.maxBytes) {
        case .none: return []
        case .bytes(let bytes):
            if let guests = GuestsFile.decode(bytes) { return guests }
            throw .damagedDevices(path: directory.path(of: name), reason: "it isn't a list of viewers")
        case .tooLong: throw .damagedDevices(path: directory.path(of: name), reason: "it is too large")
        }
    }
}
