import BeamMedia
import BeamWire

/// An admitted viewer, numbered in the order of admission.
struct ViewerID: Hashable, Sendable {
    var value: UInt64
}

/// What a door says of a guest that it has let in: all that the others know of it.
struct AdmittedGuest: Sendable {
    var id: ViewerID
    /// The session's ID at both ends.
    var session: SessionID
    /// Where its control connection comes from.
    var address: IPAddress
    /// Version 2: its device, and the key that its datagrams are sealed with. Nil: version 1.
    var device: DeviceKey?
    var key: SealingKey?
    /// Version 2: the name by which it was paired, or what it calls itself; made safe to show.
    var name = PeerText.unnamed
    /// The device was paired.
    var isPaired = false
    /// What its program can do. Version 1: nothing.
    var features: SecureMessage.Hello.Features = []
    /// The largest pictures that it takes; nil: it doesn't say.
    var bounds: PictureBounds?
}
