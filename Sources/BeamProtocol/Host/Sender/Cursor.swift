/// How far a sender has come in its layer.
struct Cursor: Hashable, Sendable {
    /// What it sends when nothing is in the middle.
    enum Next: Hashable, Sendable {
        /// Only a keyframe makes sense to the viewer.
        case keyframe
        case frame(position: Int)
    }

    /// A frame of which something has left, and more is to leave.
    struct Current: Hashable, Sendable {
        var position: Int
        /// Bytes of its parts that have left, and of its parity.
        var sent = 0
        var paritySent = 0
    }

    var current: Current?
    var next = Next.keyframe

    /// The oldest frame that it still needs; nil if it needs none that is here.
    var needed: Int? {
        if let current { return current.position }
        if case .frame(let position) = next { return position }
        return nil
    }

    /// The viewer has what the next frames refer to.
    var isStreaming: Bool { current != nil || next != .keyframe }
}
