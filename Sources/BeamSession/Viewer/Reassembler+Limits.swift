import BeamMedia

extension Reassembler {
    /// Bounds on memory and waiting. Limits.md has a table of them.
    struct Limits: Sendable {
        /// Frames in reassembly, and the memory reserved for them in bytes.
        var frames = 64
        var bytes = 32 << 20
        /// How long to wait for a frame after its first datagram.
        var timeout = Duration.seconds(1)
        /// How long to wait for a frame, after its first datagram, where missing parts can be requested and parts keep
        /// arriving.
        var timeoutWithRequests = Duration.seconds(5)
        /// With this many frames missing in a row the link was down: a keyframe is faster than recovering all of them.
        var longestRecovery = 32
        /// A keyframe this many frames behind isn't late: the host has restarted its numbering.
        var restartDistance = 256
        /// After this long without progress, any keyframe behind the position counts as a restart.
        var restartSilence = Duration.milliseconds(500)
    }
}
