import Synchronization

/// Whether layer 0 is being recorded: from the recorder to the network, which is made later.
final class RecordingWish: Sendable {
    private struct State {
        var isRecording = false
        var follower: (@Sendable (Bool) -> Void)?
    }

    private let state = Mutex(State())

    func set(_ isRecording: Bool) {
        let follower = state.withLock { state in
            state.isRecording = isRecording
            return state.follower
        }
        follower?(isRecording)
    }

    /// `follower` is told at once, and of each change.
    func follow(_ follower: @escaping @Sendable (Bool) -> Void) {
        let isRecording = state.withLock { state in
            state.follower = follower
            return state.isRecording
        }
        follower(isRecording)
    }
}
