import BeamIdentity
import BeamProtocol
import Foundation
import Synchronization

/// This machine's key, and the devices that it has been paired with, in a directory of the user's own:
///
/// - `identity.pem`: the private key (PKCS #8 in PEM), made on first use, never replaced;
/// - `devices.json`: the devices, replaced as a whole by each change;
/// - `lock`: held (flock) by whoever changes one of them;
/// - what running hosts write (`TrustStore+Guests.swift`).
///
/// The directory has mode 0700 and the files 0600, from the moment they exist; where others could have been at them,
/// nothing is read or written. All of it may be called from any thread and any number of processes; calls block for as
/// long as the disk and a lock take, so not from an event loop.
public struct TrustStore: Sendable {
    /// Of the directory.
    public let path: String

    static let identityName = "identity.pem"
    static let devicesName = "devices.json"
    /// A P-256 key takes some 240 bytes.
    static let longestIdentity = 16 << 10

    /// A store at `path`, which is made when it is first needed.
    public init(path: String) { self.path = path }

    /// The user's store: `$XDG_STATE_HOME/beamroom`, or `~/.local/state/beamroom`.
    public init() throws(TrustStoreError) {
        try self.init(path: Self.defaultPath(environment: ProcessInfo.processInfo.environment))
    }

    /// XDG Base Directory Specification: a relative path counts as none.
    static func defaultPath(environment: [String: String]) throws(TrustStoreError) -> String {
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/beamroom" }
        guard let home = [environment["HOME"], Account.home].compactMap({ $0 }).first(where: { $0.hasPrefix("/") })
        else {
            throw .noHome
        }
        return home + "/.local/state/beamroom"
    }

    // MARK: Identity

    /// Who this machine is. Made on first use; processes that come at once get the same one.
    ///
    /// A key file that can't be read is an error, never a reason for a new key: other devices know this machine by it.
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
        switch try directory.read(Self.identityName, atMost: Self.longestIdentity) {
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

    /// The devices that are remembered, by name.
    public func devices() throws(TrustStoreError) -> [RememberedDevice] {
        guard let directory = try PrivateDirectory.existing(at: path) else { return [] }
        return try devices(in: directory)
    }

    /// Under what name a device was remembered.
    public enum Remembered: Hashable, Sendable {
        /// As it calls itself.
        case asNamed
        /// Under the name that it had here before: a new one is the person's to give (`rename`).
        case underOldName(String)
        /// Another device with a role of its has that name: this one's is marked with the first digits of its key.
        case marked(String)
    }

    /// Remembers a device. One that is remembered already (by its key) keeps its name, and gets the new time, both's roles and places.
    @discardableResult
    public func remember(_ device: RememberedDevice) throws(TrustStoreError) -> Remembered {
        try change { devices throws(TrustStoreError) in
            if let index = devices.firstIndex(where: { $0.key == device.key }) {
                devices[index] = devices[index].joined(with: device)
                let name = devices[index].name
                return DeviceNames.isVariant(name, of: device.name, device.key) ? .asNamed : .underOldName(name)
            }
            guard devices.count < DevicesFile.mostDevices else {
                throw .tooManyDevices(most: DevicesFile.mostDevices)
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

    /// The host with this key was watched at `place`, and no other host is there any more.
    public func note(_ place: String, of host: DeviceKey) throws(TrustStoreError) {
        try change { devices throws(TrustStoreError) in
            for index in devices.indices where devices[index].roles.contains(.host) {
                if devices[index].key == host {
                    devices[index] = devices[index].moved(to: place)
                } else if devices[index].places.contains(place) {
                    devices[index] = devices[index].without(place)
                }
            }
        }
    }

    /// Calls a device something else here, and says which it was.
    ///
    /// - Parameters:
    ///   - text: as for `forget(matching:)`.
    ///   - name: what it is called from now on; no other device with a role of its may have that name.
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

    /// Calls `onChange` from a thread of its own, within half a second, whenever the remembered devices have changed, by
    /// this process or another, until the watch is cancelled or let go. `devices()` tells what there is then.
    public func watchChanges(onChange: @escaping @Sendable () -> Void) throws(TrustStoreError) -> TrustWatch {
        // So that there is something to watch.
        _ = try PrivateDirectory.make(at: path)
        return try TrustWatch(directory: path, file: Self.devicesName) {
            onChange()
            return true
        }
    }

    /// Calls `onDevices` with the remembered devices, from a thread of its own: once at the beginning, and within half a
    /// second whenever they have changed, by this process or another, until the watch is cancelled or let go.
    ///
    /// What can't be read is told once, as a failure, and tried again each second until it can be: nobody's being
    /// forgotten goes unnoticed for longer than the list is unreadable.
    public func watchDevices(
        _ onDevices: @escaping @Sendable (Result<[RememberedDevice], TrustStoreError>) -> Void
    ) throws(TrustStoreError) -> TrustWatch {
        try watch(Self.devicesName, onDevices) { () throws(TrustStoreError) in try devices() }
    }

    /// Calls `onValue` with what `read` answers, at the beginning and whenever `file` has changed. A failure is told once,
    /// and `read` tried again each second until it succeeds.
    func watch<Value: Sendable>(
        _ file: String, _ onValue: @escaping @Sendable (Result<Value, TrustStoreError>) -> Void,
        read: @escaping @Sendable () throws(TrustStoreError) -> Value
    ) throws(TrustStoreError) -> TrustWatch {
        // So that there is something to watch.
        _ = try PrivateDirectory.make(at: path)
        let told = ToldFailure()
        return try TrustWatch(directory: path, file: file, tellsFirst: true) {
            do throws(TrustStoreError) {
                let value = try read()
                told.clear()
                onValue(.success(value))
                return true
            } catch {
                if told.isNew(error) { onValue(.failure(error)) }
                return false
            }
        }
    }

    func devices(in directory: borrowing PrivateDirectory) throws(TrustStoreError) -> [RememberedDevice] {
        let file = directory.path(of: Self.devicesName)
        switch try directory.read(Self.devicesName, atMost: DevicesFile.longest) {
        case .none: return []
        case .tooLong:
            throw .damagedDevices(
                path: file, reason: "it is larger than the \(DevicesFile.longest) bytes that are read")
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

/// The failure that was last told, so that it isn't told again each second.
private final class ToldFailure: Sendable {
    private let last = Mutex<TrustStoreError?>(nil)

    func clear() { last.withLock { $0 = nil } }

    func isNew(_ error: TrustStoreError) -> Bool {
        last.withLock { last in
            defer { last = error }
            return last != error
        }
    }
}
