/// BeamRoom's DNS-SD service types.
public struct ServiceType {
    /// A host's control connection: TCP. The instance name is shown in lists of hosts.
    public static let control = "_beamctl._tcp"
    /// The control port of a member of a room of equals: TCP. The instance name is the room's.
    public static let room = "_beamroom._tcp"
    /// The port of a receiver: TCP. A type of its own, so that no version takes it for a host. The instance name is the
    /// receiver's.
    public static let receiver = "_beamrecv._tcp"
}
