import BeamNetwork
import BeamSession
import BeamTrust
import BeamWire
import Foundation
import Synchronization

/// Keeps the host and the trust store in sync, on threads that no frame passes: remembers paired viewers, evicts
/// forgotten ones, publishes who watches, and evicts viewers on another process's order.
final class GuestRegistry: Sendable {
    private struct State {
        var server: HostServer?
        var watches: [TrustWatch] = []
        /// A job to publish the viewers is queued; it reads them when it runs.
        var isPublishing = false
        var hasPublished = false
        /// The viewers changed before `connect`: publish then.
        var isBehind = false
    }

    private let store: TrustStore
    private let keeper: TrustQueue
    /// Nil if the system can't identify this process: then viewers can't be listed or evicted by name.
    private let run = HostRun.current
    private let onNotice: @Sendable (HostNotice) -> Void
    private let state = Mutex(State())

    init(_ store: TrustStore, _ onNotice: @escaping @Sendable (HostNotice) -> Void) {
        self.store = store
        self.onNotice = onNotice
        keeper = TrustQueue(store)
    }

    /// Starts to follow the store.
    ///
    /// - Throws: `TrustStoreError` if the store can't be watched.
    func connect(_ server: HostServer) throws(TrustStoreError) {
        // A viewer forgotten by any program is evicted at once.
        var watches = [
            try store.watchDevices { [self] in learn($0, server) }
        ]
        if let run {
            watches.append(
                try store.watchOrders(for: run) { [onNotice] result in
                    switch result {
                    case .success(let orders): for viewer in orders { server.block(viewer) }
                    case .failure(let error):
                        onNotice(
                            .warning("`beamroom devices forget` can't send viewers away at the moment. \(error)"))
                    }
                })
        }
        let isBehind = state.withLock { state in
            state.server = server
            state.watches = watches
            return state.isBehind
        }
        if isBehind { publish() }
    }

    /// Reads the list of paired devices again.
    func reload() {
        _ = keeper.perform { [self] store in
            guard let server = state.withLock({ $0.server }) else { return }
            do throws(TrustStoreError) {
                learn(.success(try store.devices()), server)
            } catch {
                learn(.failure(error), server)
            }
        }
    }

    private func learn(_ devices: Result<[RememberedDevice], TrustStoreError>, _ server: HostServer) {
        switch devices {
        case .success(let devices):
            let viewers = devices.filter { $0.roles.contains(.viewer) }
            server.setRemembered(Dictionary(viewers.map { ($0.key, $0.name) }, uniquingKeysWith: { $1 }))
        case .failure(let error):
            server.setRememberedUnreadable()
            onNotice(.warning("No remembered viewer is let in until this is corrected. \(error)"))
        }
    }

    /// Passes an event on: at once, or, for a paired device, when it has been remembered. Called on the event loop.
    func handle(_ event: HostEvent) {
        switch event {
        case .devicePaired(let device, let name, true): return remember(device, name: name)
        case .viewerPaired, .viewerLeft: publish()
        default: break
        }
        onNotice(.session(event))
    }

    /// Call it before the server is shut down. Takes a bounded time, even if the store blocks.
    func stop() {
        let watches = state.withLock { state in
            state.server = nil
            defer { state.watches = [] }
            return state.watches
        }
        for watch in watches { watch.cancel() }
        if let run, state.withLock({ $0.hasPublished }) { _ = keeper.perform { $0.withdraw(run) } }
        if !keeper.finish() {
            onNotice(
                .warning(
                    "Another program keeps the list of paired devices locked, so a device that was paired just now may "
                        + "not be remembered."))
        }
    }

    private func remember(_ device: DeviceKey, name: String) {
        let remembered = RememberedDevice(name: name, key: device, roles: [.viewer], pairedAt: Date())
        keeper.remember(remembered) { [onNotice] result in
            switch result {
            case .success: onNotice(.session(.devicePaired(device, name: name, isToBeRemembered: true)))
            case .failure(let error):
                onNotice(.session(.devicePaired(device, name: name, isToBeRemembered: false)))
                onNotice(.warning("“\(name)” can't be remembered, so it will have to be paired again. \(error)"))
            }
        }
    }

    /// Removes the device from the list of paired devices.
    func forget(_ device: DeviceKey) {
        let isTaken = keeper.perform { [onNotice] store in
            do throws(TrustStoreError) {
                _ = try store.forget(matching: device.hex)
            } catch .unknownDevice {
                // It wasn't remembered.
            } catch {
                onNotice(.warning("The viewer is sent away, but stays in the list of paired devices. \(error)"))
            }
        }
        if !isTaken {
            onNotice(
                .warning(
                    "The viewer is sent away, but stays in the list of paired devices, because the list is locked. "
                        + "`beamroom devices forget` removes it."))
        }
    }

    /// Publishes the viewers. At most one job waits, however often they change.
    private func publish() {
        guard let run else { return }
        let server = state.withLock { state -> HostServer? in
            state.isBehind = state.server == nil
            guard let server = state.server, !state.isPublishing else { return nil }
            state.isPublishing = true
            state.hasPublished = true
            return server
        }
        guard let server else { return }
        let isTaken = keeper.perform { [self] store in
            state.withLock { $0.isPublishing = false }
            do throws(TrustStoreError) {
                try store.publish(server.guests, of: run)
            } catch {
                onNotice(
                    .warning(
                        "`beamroom devices` can't list the viewers of this host, nor send away one that isn't "
                            + "remembered. \(error)"))
            }
        }
        if !isTaken { state.withLock { $0.isPublishing = false } }
    }
}
