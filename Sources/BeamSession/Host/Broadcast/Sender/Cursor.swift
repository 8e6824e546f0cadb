import BeamWire

/// A sender's position in its layer.
struct Cursor: Hashable, Sendable {
    /// What is sent after the current frame.
    enum Next: Hashable, Sendable {
        /// The next keyframe: the viewer can't decode anything else.
        case keyframe
        case frame(position: Int)
    }

    /// A frame that is partly sent.
    struct Current: Hashable, Sendable {
        var position: Int
        /// The length of its datagrams, which a frame keeps.
        var size = DatagramSize.full
        /// Bytes sent of its parts, and of its parity.
        var sent = 0
        var paritySent = 0
    }

    var current: Current?
    var next = Next.keyframe

    /// The oldest frame that the sender still needs; nil if it needs none of those present.
    var needed: Int? {
        if let current { return current.position }
        if case .frame(let position) = next { return position }
        return nil
    }

    /// The viewer has the frames that the next ones refer to.
    var isStreaming: Bool { current != nil || next != .keyframe }
}
