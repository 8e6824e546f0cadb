import BeamClock
import BeamMedia

/// A device that sound can be captured from.
public struct SoundDevice: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// What an output plays.
        case monitor
        /// A microphone or another input.
        case input
    }

    /// The server's name, for `SoundTarget.named`: of the output, if it is a monitor.
    public var name: String
    /// What people call it. May be shown as it is.
    public var description: String
    public var kind: Kind
    /// `SoundTarget.automatic` takes it, or `microphone` if it is an input.
    public var isDefault: Bool

    public init(name: String, description: String, kind: Kind, isDefault: Bool) {
        self.name = name
        self.description = description
        self.kind = kind
        self.isDefault = isDefault
    }
}

public enum SoundDevices {
    private static let timeout = Duration.seconds(3)

    /// Outputs first, in the server's order. Waits at most 3 s.
    ///
    /// - Parameter server: as for `PulseCapture`.
    /// - Throws: `noLibrary`, `noServer`, `noMemory`.
    public static func list(server: String? = nil) throws(SoundError) -> [SoundDevice] {
        devices(try ask(server))
    }

    /// Checks that the server has what `name` names for `SoundTarget.named`. Waits at most 3 s.
    ///
    /// - Throws: `noDevice`, and what `list` does.
    public static func find(_ name: String, server: String? = nil) throws(SoundError) {
        let known = try ask(server)
        if case .none = SoundTarget.named(name).choice(in: known) {
            throw .noDevice(name: name, available: devices(known))
        }
    }

    private static func ask(_ server: String?) throws(SoundError) -> PulseDevices {
        try Pulse.load()
        guard let loop = PulseLoop(), let connection = PulseConnection(loop, server: server) else { throw .noMemory }
        let deadline = MediaTime.now + timeout
        while connection.devices == nil {
            if case .failed(let reason) = connection.state { throw .noServer(reason: reason) }
            guard MediaTime.now < deadline else { throw .noServer(reason: "it doesn't answer") }
            connection.askDevices()
            loop.turn(until: deadline)
        }
        guard let devices = connection.devices else { throw .noServer(reason: "it doesn't answer") }
        return devices
    }

    static func devices(_ devices: PulseDevices) -> [SoundDevice] {
        let monitors = devices.sinks.filter { $0.monitor != nil }.map { sink in
            SoundDevice(
                name: sink.name, description: sink.description, kind: .monitor,
                isDefault: sink.name == devices.defaultSink)
        }
        let inputs = devices.sources.filter { $0.monitoredSink == nil }.map { source in
            SoundDevice(
                name: source.name, description: source.description, kind: .input,
                isDefault: source.name == devices.defaultSource)
        }
        return monitors + inputs
    }
}
