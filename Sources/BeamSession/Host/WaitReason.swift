/// What the next deadline of a host's session is for.
public enum HostWaitReason: Hashable, Sendable {
    /// Control connections: heartbeats, timeouts, questions.
    case control
    /// The media key, a keyframe request, the end of temporal layers.
    case stream
    /// One viewer's sender.
    case viewer(SenderWaitReason)
}

/// What the next deadline of a viewer's sender is for.
public enum SenderWaitReason: Hashable, Sendable {
    /// Pacing: the token bucket has to fill for the next burst.
    case pace
    /// A retransmission may leave.
    case retransmission
    /// The tail probe, which tells the viewer the newest frame.
    case tail
    /// A keyframe is requested again.
    case keyframe
    /// The path's timeout for what is in flight.
    case path
    /// The next probe of a silent path.
    case probe
    /// The next probe of the path's MTU.
    case mtu
    /// A change of the size in which a viewer shows the picture, or of the most that it wishes, counts from then on.
    case wish
    /// The end of an address validation.
    case addressValidation
    /// The timeout for the viewer's hellos.
    case hello
}
