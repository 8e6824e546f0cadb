import BeamMedia
import BeamWire

/// The room's code as it is now, for a member's door.
public struct MeshCodeState: Hashable, Sendable {
    /// Nil: there is none.
    public var code: PairingCode?
    public var service: HostCode.Service
    /// Why it is another code than before; nil: it is the same.
    public var reason: CodeChange.Reason?
    /// The member that has asked for it, or at whose door the last wrong code was typed; nil: it isn't known.
    public var member: DeviceKey?
    /// Until it is replaced by itself; nil: it isn't.
    public var left: Duration?
    /// What is counted of wrong tries, and how long no further one is allowed.
    package var wrongTries: Int
    package var pause: Duration?
    /// One more wrong try replaces it.
    package var isBeforeLastTry = false
}

extension MeshCode {
    /// One more wrong try replaces it.
    package var isBeforeLastTry: Bool { service == .everybody && Int(wrongTries) + 1 >= HostCode.mostWrongTries }
}
