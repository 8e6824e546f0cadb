import BeamTerminal
import BeamViewer
import BeamWire
import Synchronization

/// Notices that what was typed as a host's name is a room's: that isn't watched, but entered.
final class RoomNameWatch: Sendable {
    /// How long a host of that name, which may be announced as well, has to answer.
    private static let patience = Duration.seconds(3)

    private struct State {
        var since: ContinuousClock.Instant?
        var isOver = false
    }

    private let name: String
    private let presence = MeshPresence()
    private let state = Mutex(State())

    /// Begins to look for rooms; waits for the Avahi daemon. Nil: the host was named by its address.
    init?(_ host: WatchTarget?) {
        guard case .name(let name, _)? = host?.kind else { return nil }
        self.name = name
        presence.start()
    }

    /// Call it once a second. Returns, once, what the person should do instead: a sentence.
    ///
    /// - Parameter hasAnswered: a host has answered, so that it was meant.
    func look(hasAnswered: Bool, now: ContinuousClock.Instant = .now) -> String? {
        guard !state.withLock({ $0.isOver }) else { return nil }
        let found = hasAnswered ? nil : Self.room(called: name, in: presence.found)
        let isDue = state.withLock { state in
            state.since = found == nil ? nil : state.since ?? now
            let isDue = state.since.map { now - $0 >= Self.patience } ?? false
            state.isOver = hasAnswered || isDue
            return isDue
        }
        return isDue ? found.map(Self.words) : nil
    }

    func stop() { presence.stop() }

    static func room(called name: String, in found: [MeshPresence.Found]) -> String? {
        found.first { DeviceNames.areSame($0.room, name) }?.room
    }

    static func words(_ room: String) -> String {
        "“\(PeerText.name(room))” is a room, which isn't watched: `beamroom room \(CommonText.shellWord(room))` enters it."
    }
}
