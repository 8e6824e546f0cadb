import Dispatch
import Synchronization

/// The hosts to pick from, and after them the rooms that are announced, as long as no host is chosen.
final class PickList: Sendable {
    private struct State {
        var hosts: [HostChoice]?
        var isChosen = false
    }

    private let state = Mutex(State())
    private let presence = MeshPresence()
    private let queue = DispatchQueue(label: "beam-pick-list")
    private let onChange: @Sendable ([HostChoice]) -> Void

    /// `onChange` is called on the threads of discovery.
    init(onChange: @escaping @Sendable ([HostChoice]) -> Void) { self.onChange = onChange }

    /// Looks for rooms. Returns at once.
    func start() {
        presence.connect { [weak self] event in
            if case .changed = event { self?.tell() }
        }
        queue.async { [self] in if !state.withLock({ $0.isChosen }) { presence.start() } }
    }

    /// The first look for hosts is complete, or they have changed.
    func set(_ hosts: [HostChoice]) {
        state.withLock { $0.hosts = hosts }
        tell()
    }

    /// The person wants to choose again. `set` has to follow.
    func begin() {
        let wasEnded = state.withLock { state in
            defer { (state.isChosen, state.hosts) = (false, nil) }
            return state.isChosen
        }
        if wasEnded { queue.async { [self] in if !state.withLock({ $0.isChosen }) { presence.start() } } }
    }

    /// A host is chosen: no list is shown any more. Returns at once.
    func end() {
        let isFirst = state.withLock { state in
            defer { state.isChosen = true }
            return !state.isChosen
        }
        guard isFirst else { return }
        queue.async { [self] in presence.stop() }
    }

    private func tell() {
        guard let hosts = state.withLock({ $0.isChosen ? nil : $0.hosts }) else { return }
        onChange(hosts + Self.rooms(presence.found))
    }

    static func rooms(_ found: [MeshPresence.Found]) -> [HostChoice] {
        found.compactMap { room in
            room.doors.first.map {
                HostChoice(
                    name: room.room, addresses: room.doors.map(\.host), port: UInt16(clamping: $0.port),
                    members: room.standing?.members ?? 1)
            }
        }
    }
}
