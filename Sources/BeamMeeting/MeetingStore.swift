import BeamLog
import BeamTerminal
import BeamTrust
import BeamWire
import Synchronization

/// Keeps the room for the next time, and for this program: no other one of this user is in it.
final class MeetingStore: Sendable {
    private struct State {
        /// The room's ID, once it is known.
        var id: [UInt8]?
        /// What is to be stored next; nil: nothing waits.
        var unstored: KeptRoom?
        /// When the room was stored last.
        var stored: ContinuousClock.Instant?
        /// No other program of this user is in the room.
        var claim: RoomClaim?
    }

    /// A member can change the room as often as it likes.
    private static let pause = Duration.seconds(2)

    private let context: CommandContext
    private let store: TrustStore
    private let keeper: TrustQueue
    private let state = Mutex(State())

    init(_ context: CommandContext, _ store: TrustStore) {
        self.context = context
        self.store = store
        keeper = TrustQueue(store)
    }

    var id: [UInt8]? { state.withLock { $0.id } }

    /// Takes the room for this program. Waits for the disk.
    ///
    /// - Returns: why it can't be entered; nil: it can.
    func claim(_ room: KeptRoom) -> String? {
        do throws(TrustStoreError) {
            if let id = state.withLock({ $0.claim == nil ? nil : $0.id }), id == room.id { return nil }
            guard let claim = try store.claim(room.id) else {
                return "Another beamroom on this machine is in the room “\(PeerText.name(room.name))” already."
            }
            state.withLock { ($0.claim, $0.id) = (claim, room.id) }
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// The room has changed.
    func keep(_ room: KeptRoom) { state.withLock { ($0.id, $0.unstored) = (room.id, room) } }

    /// Stores what has changed, at most every two seconds but at the end. Call it once a second.
    ///
    /// - Parameter isProved: whether the room is the one that the person means, asked when it is written.
    func write(isEnd: Bool = false, isProved: @escaping @Sendable () -> Bool) {
        let isDue = state.withLock { state in
            guard state.unstored != nil, isEnd || state.stored.map({ .now - $0 >= Self.pause }) ?? true else {
                return false
            }
            state.stored = .now
            return true
        }
        guard isDue else { return }
        perform { [weak self] store in
            guard let self, let room = state.withLock({ $0.unstored.take() }) else { return }
            if let problem = claim(room) { return context.latch.end(.failed(problem)) }
            do {
                try store.keep(room, isProved: isProved())
            } catch {
                context.say("Warning: The room can't be kept for the next time. \(error)")
            }
        }
    }

    /// The person has said that it is the right one.
    func noteProof() {
        if let id { perform { try? $0.noteProof(ofRoom: id) } }
    }

    /// The room isn't kept for the next time. Nothing that waits is stored.
    func forget() {
        let id = state.withLock { state in
            state.unstored = nil
            return state.id
        }
        if let id { perform { try? $0.forgetRoom(id) } }
    }

    /// Does something with the disk, after what was stored before.
    func perform(_ job: @escaping @Sendable (TrustStore) -> Void) { _ = keeper.perform(job) }

    /// Waits until everything is written.
    func finish() { _ = keeper.finish() }

    /// Another room comes: the claim of the old one ends.
    func reset() { state.withLock { $0 = State() } }
}
