import BeamMedia
import Synchronization

/// What viewers want of the sound: from the network, which says it first, to the sound's stage, which is made later because
/// it needs the network as a sink.
final class SoundWish: Sendable {
    private struct State {
        var demand = SoundDemand()
        var follower: (@Sendable (SoundDemand) -> Void)?
    }

    private let state = Mutex(State())

    func set(_ demand: SoundDemand) {
        state.withLock { $0.demand = demand }
        passOn()
    }

    /// `follower` is told the present demand, and each later one.
    func follow(_ follower: @escaping @Sendable (SoundDemand) -> Void) {
        state.withLock { $0.follower = follower }
        passOn()
    }

    /// Outside the lock; again if the demand changed meanwhile.
    private func passOn() {
        var told: SoundDemand?
        while true {
            let (demand, follower) = state.withLock { ($0.demand, $0.follower) }
            guard let follower, demand != told else { return }
            follower(demand)
            told = demand
        }
    }
}
