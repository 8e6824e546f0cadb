import BeamLog
import BeamTerminal
import BeamViewer
import BeamWire
import Synchronization

/// Decides what becomes of this device's room when others of its name are announced.
///
/// What is announced proves nothing. So a room is left by itself only if it was just made here, nobody else has ever
/// belonged to it, and nobody has shared or written: then nothing is lost, and the other room's door asks as it asks
/// everybody. In all other cases the person is asked.
final class MeetingNeighbours: Sendable {
    enum Step: Equatable {
        /// Leave this room, and ask to be let into that one.
        case move(MeshPresence.Found)
        /// Ask the person whether to leave this room for that one.
        case offer(MeshPresence.Found)
        /// The room that was offered is gone, or isn't the one that stays any more.
        case withdraw
    }

    /// How long a room counts as just made: those that are made at the same moment see each other within a few seconds, if
    /// the network loses an announcement, too.
    static let youth = Duration.seconds(20)
    /// Before this room is left by itself: of several that are made at the same moment, all see the same ones by then.
    static let calm = Duration.seconds(2)
    /// Before another room is offered: those that give way by themselves have done so.
    static let patience = Duration.seconds(5)
    /// The same for a room that ought to give way and doesn't, because it is in use, or nobody is there to decide.
    static let longPatience = Duration.seconds(15)

    /// How often a program leaves a room by itself, however many better rooms are announced.
    static let mostMoves = 3

    private struct State {
        /// The last step was to leave the room; and how often it was left.
        var isMoving = false
        var moves = 0
        var room: String?
        var entered: ContinuousClock.Instant?
        /// This device has made the room in this run.
        var wasMade = false
        /// Somebody has shared or written in it.
        var isUsed = false
        /// This device shares by itself, as its options say.
        var sharesByItself = false
        /// It may be another one than the person means: so every other one is offered.
        var isProved = true
        /// Somebody else belongs or has belonged to it.
        var hasCompany = false
        /// What the person is asked about, and since when it would be better.
        var offered: MeshPresence.Found?
        var better: (mark: MeshMark?, since: ContinuousClock.Instant)?
        /// Rooms that don't let this device in, or that the person doesn't want.
        var avoided: Set<MeshMark?> = []
    }

    private let state = Mutex(State())

    /// Another room is entered from now on. What was avoided is avoided still.
    func left() {
        state.withLock { state in
            let (avoided, moves) = (state.avoided, state.moves + (state.isMoving ? 1 : 0))
            state = State()
            (state.avoided, state.moves) = (avoided, moves)
        }
    }

    func entered(
        _ room: String, wasMade: Bool, isProved: Bool = true, now: ContinuousClock.Instant = .now
    ) {
        state.withLock { ($0.room, $0.wasMade, $0.isProved, $0.entered) = (room, wasMade, isProved, now) }
    }

    /// It is the one that the person means.
    func noteProof() { state.withLock { $0.isProved = true } }

    /// Somebody shares or has written.
    func noteUse() { state.withLock { $0.isUsed = true } }

    /// This device shares by itself. The room can still give way, as nobody has seen that.
    func noteOwnShare() { state.withLock { $0.sharesByItself = true } }

    /// Known devices may come in unasked: there is nothing to see or to read.
    var showsNothing: Bool { state.withLock { !$0.isUsed && !$0.sharesByItself } }

    /// Somebody else belongs to the room.
    func noteCompany() { state.withLock { $0.hasCompany = true } }

    /// Nobody has shared or written.
    var isUnused: Bool { state.withLock { !$0.isUsed } }

    /// Whether nothing is lost when the room is left, so that it is forgotten then.
    var isEmpty: Bool { state.withLock { $0.wasMade && !$0.isUsed && !$0.hasCompany } }

    /// The room with this mark isn't entered, nor offered again.
    func avoid(_ mark: MeshMark?) {
        state.withLock { state in
            state.avoided.insert(mark)
            if state.offered?.standing?.mark == mark { state.offered = nil }
        }
    }

    /// The rooms that aren't entered; nil stands for those without a mark, of earlier versions.
    var avoided: Set<MeshMark?> { state.withLock { $0.avoided } }

    /// The room that the person is asked about.
    var offered: MeshPresence.Found? { state.withLock { $0.offered } }

    /// Rooms whose names this one's may have been meant to be.
    static func near(_ room: String, in found: [MeshPresence.Found]) -> [String] {
        found.map(\.room).reduce(into: []) { names, name in
            guard NearNames.areNear(name, room), names.count < 3 else { return }
            if !names.contains(where: { DeviceNames.areSame($0, name) }) { names.append(name) }
        }
    }

    /// What is to be done now. Call it once a second.
    ///
    /// - Parameters:
    ///   - found: the other rooms that are announced.
    ///   - own: how this room stands among them; nil: it isn't seen on the network yet.
    func look(
        at found: [MeshPresence.Found], own: MeshStanding?, now: ContinuousClock.Instant = .now
    ) -> Step? {
        state.withLock { state in
            guard let room = state.room, let entered = state.entered else { return nil }
            let better = found.filter { other in
                guard DeviceNames.areSame(other.room, room), !state.avoided.contains(other.standing?.mark) else {
                    return false
                }
                guard let standing = other.standing else { return true }
                // One that doesn't give way is offered to somebody who is alone, too.
                return own.map { $0 < standing || $0.members == 1 || !state.isProved } ?? false
            }.max { one, other in
                guard let first = one.standing, let second = other.standing else {
                    return one.standing == nil && other.standing != nil
                }
                return first < second
            }
            let isBeaten = better?.standing.map { standing in own.map { $0 < standing } ?? false } ?? true
            guard let better else {
                state.better = nil
                return state.offered.take() == nil ? nil : .withdraw
            }
            let mark = better.standing?.mark
            if state.better == nil || state.better?.mark != mark { state.better = (mark, now) }
            let time = state.better.map { now - $0.since } ?? .zero
            if state.wasMade, !state.isUsed, !state.hasCompany, now - entered < Self.youth, mark != nil,
                isBeaten, state.moves < Self.mostMoves
            {
                state.isMoving = time >= Self.calm
                return state.isMoving ? .move(better) : nil
            }
            state.isMoving = false
            guard time >= (isBeaten || !state.isProved ? Self.patience : Self.longPatience) else { return nil }
            guard state.offered?.standing?.mark != mark || state.offered == nil else {
                // More have come, or its members have other addresses.
                state.offered = better
                return nil
            }
            state.offered = better
            return .offer(better)
        }
    }
}
