import BeamLog
import BeamWire

/// The devices that a host admits without asking, and how others can be paired.
public struct HostTrust: Sendable {
    /// The host's own key, which its certificate shows.
    public var own: DeviceKey
    /// The viewers that were paired before, and their names.
    public var remembered: [DeviceKey: String]
    /// Devices that are let in like paired ones until the host ends, and their names. They aren't stored, and
    /// `HostEvent.expectedGuest` says when they come and go.
    public var expected: [DeviceKey: String] = [:]
    /// The code that an unknown viewer has to type.
    public var code: HostCode
    /// False: unknown viewers are refused, with a code or without.
    public var takesNewViewers: Bool
    /// False: a new pairing is valid until the host ends.
    public var remembersNewViewers: Bool

    public init(
        own: DeviceKey, remembered: [DeviceKey: String] = [:], code: HostCode, takesNewViewers: Bool = true,
        remembersNewViewers: Bool = true
    ) {
        self.own = own
        self.remembered = remembered
        self.code = code
        self.takesNewViewers = takesNewViewers
        self.remembersNewViewers = remembersNewViewers
    }
}
