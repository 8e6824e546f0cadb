/// Why a host's session waits.
public enum HostWaitReason: Hashable, Sendable {
    /// Connections: heartbeats, time limits, questions.
    case control
    /// The media key, a keyframe that was asked for, the end of temporal layers.
    case stream
    /// What one viewer's sender waits for.
    case viewer(SenderWaitReason)
}

/// Why a viewer's sender waits. It waits for reports as well: those come by themselves.
public enum SenderWaitReason: Hashable, Sendable {
    /// The token bucket: the next burst leaves at the path's pace.
    case pace
    /// What was asked for may be sent again.
    case retransmission
    /// A moment after the last frame the viewer learns that there was one.
    case tail
    /// A keyframe may be asked of the encoder once more.
    case keyframe
    /// The path: what is on its way ought to have been answered.
    case path
    /// A silent path is asked whether the viewer is there.
    case probe
    /// An address is to be proved.
    case addressValidation
    /// The viewer ought to say hello.
    case hello
    /// The viewer ought to give any sign.
    case silence
}
