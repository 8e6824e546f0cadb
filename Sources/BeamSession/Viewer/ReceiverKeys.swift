import BeamWire

extension Receiver {
    /// The keys of a version 2 session's datagrams.
    struct Keys: Sendable {
        var own: MediaUplink
        var media: MediaKeyRing

        /// Each connection has a new key for the viewer's datagrams. The media key stays, or is a later one.
        init(_ new: (own: SealingKey, media: SealingKey), after before: Keys?) {
            own = before?.own ?? MediaUplink(new.own)
            media = before?.media ?? MediaKeyRing()
            own.setKey(new.own)
            media.add(new.media)
        }
    }
}
