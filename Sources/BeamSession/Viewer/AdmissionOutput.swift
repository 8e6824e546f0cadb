import BeamWire

extension Admission {
    enum Output: Sendable {
        /// It is the session's as it is.
        case pass(ViewerSession.Output)
        case admitted(Admitted)
        /// What the host says besides. Version 1's words are among them.
        case said(SecureMessage)
        /// The control connection has ended, or is being closed: what is written from now on is for the next one.
        case closed
        /// An admitted connection is lost. Its session may go on.
        case lost
        /// The host has ended its share, and the session.
        case hostEnded
        /// Refused, or shut down.
        case ended
    }

    /// The host has admitted this viewer, to a new session or to the one that it was in.
    struct Admitted: Sendable {
        var mediaPort: UInt16?
        var isNewSession: Bool
        /// For the first time on this connection: a version 1 host may repeat it.
        var isNews: Bool
        /// Nil in version 1, which doesn't encrypt.
        var secure: Secure?

        struct Secure: Sendable {
            var host: DeviceKey
            var features: SecureMessage.Welcome.Features
            var session: SecureMessage.Session
            /// The host's address isn't the one that the media socket is connected to.
            var hasMoved: Bool
        }
    }
}
