import BeamDesktop
import Synchronization

/// Searches for hosts over Bluetooth, for one viewer or for several at once.
final class NearbyHosts: Sendable {
    private struct State {
        var takers: [Int: @Sendable (BluetoothHost) -> Void] = [:]
        var searching: Set<Int> = []
        var last = 0
    }

    /// Shared with the handler of `presence`, which is made first.
    private final class Registry: Sendable {
        let state = Mutex(State())
    }

    private let registry: Registry
    private let presence: BluetoothPresence

    init() {
        let registry = Registry()
        self.registry = registry
        presence = BluetoothPresence { host in
            let takers = registry.state.withLock { state in
                state.takers.filter { id, _ in state.searching.contains(id) }.values
            }
            for take in takers { take(host) }
        }
    }

    /// Adds a viewer. `onHost` is called while it searches, on a thread of the search.
    func makeSearch(_ onHost: @escaping @Sendable (BluetoothHost) -> Void) -> HostSearch {
        let id = registry.state.withLock { state in
            state.last += 1
            state.takers[state.last] = onHost
            return state.last
        }
        return HostSearch(hosts: self, id: id)
    }

    fileprivate func set(_ id: Int, isSearching: Bool) {
        let isWanted = registry.state.withLock { state in
            if isSearching { state.searching.insert(id) } else { state.searching.remove(id) }
            return !state.searching.isEmpty
        }
        if isWanted { presence.search() } else { presence.endSearch() }
    }

    /// The last one ends the search.
    fileprivate func remove(_ id: Int) {
        let isLast = registry.state.withLock { state in
            state.takers[id] = nil
            state.searching.remove(id)
            return state.takers.isEmpty
        }
        if isLast { presence.stop() }
    }
}

/// A viewer's part in the search.
struct HostSearch: Sendable {
    fileprivate let hosts: NearbyHosts
    fileprivate let id: Int

    func begin() { hosts.set(id, isSearching: true) }
    func end() { hosts.set(id, isSearching: false) }
    func stop() { hosts.remove(id) }
}
