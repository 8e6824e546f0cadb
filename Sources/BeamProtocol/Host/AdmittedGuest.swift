import BeamMedia

/// An admitted viewer, numbered in the order of admission.
struct ViewerID: Hashable, Sendable {
    var value: UInt64
}

/// What a door says of a guest that it has let in, and all that a broadcast knows of it.
struct AdmittedGuest: Sendable {
    var id: ViewerID
    /// The session's ID at both ends.
    var session: SessionID
    /// Where its control connection comes from.
    var address: IPAddress
    /// Version 2: its device, and the key that its datagrams are sealed with. Nil: version 1.
    var device: DeviceKey?
    var key: SealingKey?
    /// The device was paired.
    var isPaired = false
    /// It may be sent 4:4:4 pictures.
    var decodesFullChroma = false
    /// The largest pictures that it takes; nil: it doesn't say.
    var bounds: PictureBounds?
    /// It acknowledges probes of the path's MTU.
    var acknowledgesProbes = false
    var takesSound = false
}
