import BeamTrust
import BeamWire
import Foundation

/// The devices that may show their screens at this receiver without its code, and their changes in the store.
final class KnownSenders: Sendable {
    private let store: TrustStore
    private let keeper: TrustQueue

    init(_ store: TrustStore) {
        self.store = store
        keeper = TrustQueue(store)
    }

    /// Those that are stored now.
    func all() throws(TrustStoreError) -> [DeviceKey: String] { Self.senders(try store.devices()) }

    private static func senders(_ devices: [RememberedDevice]) -> [DeviceKey: String] {
        let senders = devices.filter { $0.roles.contains(.sender) }
        return Dictionary(senders.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 })
    }

    /// Calls `onChange` on a thread of its own whenever any program changes them.
    func watch(
        _ onChange: @escaping @Sendable (Result<[DeviceKey: String], TrustStoreError>) -> Void
    ) throws(TrustStoreError) -> TrustWatch {
        try store.watchDevices { onChange($0.map(Self.senders)) }
    }

    /// Reads them once more, on the keeper's thread. Nothing is read if too much waits there already.
    func read(_ onRead: @escaping @Sendable (Result<[DeviceKey: String], TrustStoreError>) -> Void) {
        _ = keeper.perform { store in
            onRead(Result { () throws(TrustStoreError) in Self.senders(try store.devices()) })
        }
    }

    /// Remembers a sender, on the keeper's thread. `onDone` gets a warning if that fails; nil: it is remembered.
    func remember(_ device: DeviceKey, name: String, onDone: @escaping @Sendable (_ warning: String?) -> Void) {
        let sender = RememberedDevice(name: name, key: device, roles: [.sender], pairedAt: Date())
        keeper.remember(sender) { result in
            switch result {
            case .success: onDone(nil)
            case .failure(let error):
                onDone("“\(name)” can't be remembered, so it will have to type the code again. \(error)")
            }
        }
    }

    /// Waits a bounded time for pending changes.
    func finish() { _ = keeper.finish() }
}
