import BeamIdentity
import BeamWire
import Foundation
import Synchronization

/// This machine's key and its paired devices, in a directory of the user:
///
/// - `identity.pem`: the private key (PKCS #8 in PEM), created on first use, never replaced;
/// - `devices.json`: the paired devices, replaced as a whole on each change;
/// - `rooms.json`: the rooms of equals in which it is (`TrustStore+Rooms.swift`); `rooms-in-use`: those that a program is in now;
/// - `consents.json`: what desktops gave for a consent to show the screen (`TrustStore+Consents.swift`);
/// - `web.pem`: the key and certificate that browsers see by https (`TrustStore+Web.swift`);
/// - `gateways.json`: what hosts have made at gateways, until it is gone (`TrustStore+Gateways.swift`);
/// - `quiet`: what has to be put back at the desktop's notices (`TrustStore+Quiet.swift`); `quiet-in-use`: by whom;
/// - `lock`: locked (flock) while one of them is changed;
/// - files of running hosts (`TrustStore+Guests.swift`).
///
/// The directory is created with mode 0700 and files with 0600. If other users have access, nothing is read or written.
/// May be used from any thread and by any number of processes. Calls block for the disk and the lock, so they must not
/// be made on an event loop.
public struct TrustStore: Sendable {
    /// The directory.
    public let path: String

    static let identityName = "identity.pem"
    static let devicesName = "devices.json"
    /// In bytes. A P-256 key in PEM takes about 240.
    static let maxIdentityBytes = 16 << 10

    /// A store at `path`, which is created when first needed.
    public init(path: String) { self.path = path }

    /// The user's store: `$XDG_STATE_HOME/beamroom`, or `~/.local/state/beamroom`.
    public init() throws(TrustStoreError) {
        try self.init(path: Self.defaultPath(environment: ProcessInfo.processInfo.environment))
    }

    /// XDG Base Directory Specification: relative paths are ignored.
    static func defaultPath(environment: [String: String]) throws(TrustStoreError) -> String {
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/beamroom" }
        guard let home = [environment["HOME"], Account.home].compactMap({ $0 }).first(where: { $0.hasPrefix("/") })
        else {
            throw .noHome
        }
        return home + "/.local/state/beamroom"
    }

    // MARK: Identity

    /// This machine's identity, created on first use; concurrent processes get the same one.
    ///
    /// An unreadable key file is an error and never replaced, because other devices know this machine by its key.
    public func identity() throws(TrustStoreError) -> LocalIdentity {
        let directory = try PrivateDirectory.make(at: path)
        if let identity = try identity(in: directory) { return identity }
        return try directory.locked { () throws(TrustStoreError) in
            if let identity = try self.identity(in: directory) { return identity }
            do {
                let identity = try LocalIdentity()
                try directory.write(Array(identity.privateKeyPEM.utf8) + [0x0A], to: Self.identityName)
                return identity
            } catch let error as TrustStoreError {
                throw error
            } catch {
                throw .cannotUse(path: path, reason: "\(error)")
            }
        }
    }

    private func identity(in directory: borrowing PrivateDirectory) throws(TrustStoreError) -> LocalIdentity? {
        let file = directory.path(of: Self.identityName)
        switch try directory.read(Self.identityName, atMost: Self.maxIdentityBytes) {
        case .none: return nil
        case .tooLong: throw .damagedIdentity(path: file)
        case .bytes(let bytes):
            guard let identity = try? LocalIdentity(privateKeyPEM: String(decoding: bytes, as: UTF8.self)) else {
                throw .damagedIdentity(path: file)
            }
            return identity
        }
    }

    // MARK: Devices

    /// The remembered devices, sorted by name.
    public func devices() throws(TrustStoreError) -> [RememberedDevice] {
        guard let directory = try PrivateDirectory.existing(at: path) else { return [] }
        return try devices(in: directory)
    }

    /// The name under which a device was remembered.
    public enum Remembered: Hashable, Sendable {
        /// Its own name.
        case asNamed
        /// The name that it already had here. Only the person changes it (`rename`).
        case underOldName(String)
        /// Its own name with the first digits of its key, because another device with a common role has that name.
        case marked(String)
    }

    /// Remembers a device. If its key is remembered already, it keeps its name and gets the new time and the union of
    /// roles and places.
    @discardableResult
    public func remember(_ device: RememberedDevice) throws(TrustStoreError) -> Remembered {
        try change { devices throws(TrustStoreError) in
            if let index = devices.firstIndex(where: { $0.key == device.key }) {
                devices[index] = devices[index].joined(with: device)
                let name = devices[index].name
                return DeviceNames.isVariant(name, of: device.name, device.key) ? .asNamed : .underOldName(name)
            }
            guard devices.count < DevicesFile.maxDevices else {
                throw .tooManyDevices(most: DevicesFile.maxDevices)
            }
            let others = devices
            let isTaken = { name in others.contains { $0.isNamesake(of: device, called: name) } }
            guard isTaken(device.name) else {
                devices.append(device)
                return .asNamed
            }
            let name = DeviceNames.marked(device.name, device.key, isTaken: isTaken)
            devices.append(device.renamed(name))
            return .marked(name)
        }
    }

    /// Records where the host with this key was watched, or the receiver was found. Nothing is written if that is known
    /// already.
    ///
    /// - Parameters:
    ///   - place: the address that the person gave; nil: the host was chosen by name.
    ///   - address: where it has proved its key.
    ///
    /// Both are removed from all other hosts and receivers.
    public func note(
        _ place: String?, at address: KnownAddress? = nil, of host: DeviceKey
    ) throws(TrustStoreError) {
        try change { devices throws(TrustStoreError) in
            for index in devices.indices where !devices[index].roles.isDisjoint(with: [.host, .receiver]) {
                if devices[index].key == host {
                    if let place { devices[index] = devices[index].moved(to: place) }
                    if let address { devices[index] = devices[index].reached(at: address) }
                } else {
                    devices[index] = devices[index].without(place, address)
                }
            }
        }
    }

    /// Records that the host with this key is being watched now.
    public func noteSeen(_ host: DeviceKey, at time: Date = Date()) throws(TrustStoreError) {
        try change { devices throws(TrustStoreError) in
            for index in devices.indices where devices[index].key == host {
                devices[index] = devices[index].seen(at: time)
            }
        }
    }

    /// Renames a device on this machine. Returns it with its old name.
    ///
    /// - Parameters:
    ///   - text: as for `forget(matching:)`.
    ///   - name: the new name; no other device that shares a role may have it.
    public func rename(matching text: String, to name: String) throws(TrustStoreError) -> RememberedDevice {
        guard PeerText.name(name) == name else { throw .unusableName(PeerText.name(name)) }
        return try change { devices throws(TrustStoreError) in
            let device = try Self.match(text, devices, [])
            if let other = devices.first(where: { $0.isNamesake(of: device, called: name) }) {
                throw .nameTaken(name, by: other)
            }
            for index in devices.indices where devices[index].key == device.key {
                devices[index] = devices[index].renamed(name)
            }
            return device
        }
    }

    /// Calls `onDevices` on its own thread with the remembered devices: once at the start, and within half a second
    /// after any process has changed them, until the watch is cancelled or released.
    ///
    /// A read error is reported once, and reading is retried each second, so that a forgotten device is noticed as soon
    /// as the list is readable again.
    public func watchDevices(
        _ onDevices: @escaping @Sendable (Result<[RememberedDevice], TrustStoreError>) -> Void
    ) throws(TrustStoreError) -> TrustWatch {
        try watch(Self.devicesName, onDevices) { () throws(TrustStoreError) in try devices() }
    }

    /// Calls `onValue` with the result of `read`: once at the start, and whenever `file` has changed. A read error is
    /// reported once, and `read` is retried each second until it succeeds.
    func watch<Value: Sendable>(
        _ file: String, _ onValue: @escaping @Sendable (Result<Value, TrustStoreError>) -> Void,
        read: @escaping @Sendable () throws(TrustStoreError) -> Value
    ) throws(TrustStoreError) -> TrustWatch {
        // The directory must exist to be watched.
        _ = try PrivateDirectory.make(at: path)
        let reported = ReportedFailure()
        return try TrustWatch(directory: path, file: file, reportsInitial: true) {
            do throws(TrustStoreError) {
                let value = try read()
                reported.clear()
                onValue(.success(value))
                return true
            } catch {
                if reported.isNew(error) { onValue(.failure(error)) }
                return false
            }
        }
    }

    func devices(in directory: borrowing PrivateDirectory) throws(TrustStoreError) -> [RememberedDevice] {
        let file = directory.path(of: Self.devicesName)
        switch try directory.read(Self.devicesName, atMost: DevicesFile.maxBytes) {
        case .none: return []
        case .tooLong:
            throw .damagedDevices(
                path: file, reason: "it is larger than the \(DevicesFile.maxBytes) bytes that are read")
        case .bytes(let bytes):
            do {
                return try DevicesFile.decode(bytes)
            } catch {
                switch error {
                case .newer(let version): throw .newerDevices(path: file, version: version)
                case .damaged(let reason): throw .damagedDevices(path: file, reason: reason)
                }
            }
        }
    }

    private func change<Result>(
        _ body: (inout [RememberedDevice]) throws(TrustStoreError) -> Result
    ) throws(TrustStoreError) -> Result {
        let directory = try PrivateDirectory.make(at: path)
        return try directory.locked { () throws(TrustStoreError) in
            let before = try devices(in: directory)
            var devices = before
            let result = try body(&devices)
            if devices != before {
                try directory.write(DevicesFile.encode(devices), to: Self.devicesName)
            }
            return result
        }
    }
}

/// The last reported failure, so that it isn't reported again each second.
private final class ReportedFailure: Sendable {
    private let last = Mutex<TrustStoreError?>(nil)

    func clear() { last.withLock { $0 = nil } }

    func isNew(_ error: TrustStoreError) -> Bool {
        last.withLock { last in
            defer { last = error }
            return last != error
        }
    }
}
