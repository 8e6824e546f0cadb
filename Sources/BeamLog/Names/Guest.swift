import BeamWire

/// An admitted viewer.
public struct Guest: Sendable, Hashable {
    public enum Identity: Sendable, Hashable {
        case device(DeviceKey)
        /// A version 1 viewer, which has no key.
        case address(IPAddress)
        /// A browser, which has no key either: its session's ID at the host.
        case browser(session: String)
    }

    public var identity: Identity
    /// The name that the device gives itself, not yet cleaned by `PeerText`; nil for version 1. A browser's kind.
    public var name: String?

    public init(identity: Identity, name: String?) {
        self.identity = identity
        self.name = name
    }
}
