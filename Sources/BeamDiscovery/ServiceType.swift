/// DNS-SD service types of BeamRoom.
public struct ServiceType {
    /// The control plane of a host: TCP. The instance name is what people see in a list of hosts.
    public static let control = "_beamctl._tcp"
}
