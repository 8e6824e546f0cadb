/// What a `PulseCapture` captures.
public enum SoundTarget: Sendable, Hashable {
    /// What the machine plays: the monitor of the default output, whichever that is. Never a microphone.
    case automatic
    /// The default input, whichever that is. Never a monitor.
    case microphone
    /// The input with this name or description, or what the output with this name or description plays.
    case named(String)
}

/// What a `PulseCapture` is doing. Each description is a person-facing sentence.
public enum SoundCaptureState: Sendable, Hashable, CustomStringConvertible {
    /// The device with this description is captured from while the source is active.
    case capturing(name: String)
    /// There is no sound server.
    case noServer(reason: String)
    /// The server has no such device; without a name: no default output, or for `microphone` no default input.
    case noDevice(name: String?)
    /// For `microphone`: the default input is the monitor of an output, which isn't captured unasked.
    case onlyMonitor(name: String)
    /// The server or the device has gone.
    case lost

    public var description: String {
        switch self {
        case .capturing(let name): "Sound is shared: \(name)."
        case .noServer(let reason): "No sound is shared: no sound server answers (\(reason))."
        case .noDevice(nil): "No sound is shared: the sound server has no default device for it."
        case .noDevice(let name?): "No sound is shared: there is no sound device “\(name)”."
        case .onlyMonitor(let name):
            "No sound is shared: the default input isn't a microphone, but what “\(name)” plays. "
                + "Share that with --audio auto, or name an input."
        case .lost: "No sound is shared for now: the sound server or the device has gone."
        }
    }
}

/// What a target is at a server.
enum SoundChoice: Equatable {
    /// A source of the server, and what people call it.
    case source(name: String, description: String)
    /// Why there is none.
    case none(SoundCaptureState)
}

extension SoundTarget {
    func choice(in devices: PulseDevices) -> SoundChoice {
        switch self {
        case .automatic:
            guard let sink = devices.sinks.first(where: { $0.name == devices.defaultSink }) else {
                return .none(.noDevice(name: nil))
            }
            return monitor(of: sink) ?? .none(.noDevice(name: nil))
        case .microphone:
            guard let source = devices.sources.first(where: { $0.name == devices.defaultSource }) else {
                return .none(.noDevice(name: nil))
            }
            if let sink = source.monitoredSink {
                let name = devices.sinks.first { $0.name == sink }?.description
                return .none(.onlyMonitor(name: name ?? source.description))
            }
            return .source(name: source.name, description: source.description)
        case .named(let name):
            if let source = devices.sources.first(where: { $0.name == name }) {
                return .source(name: source.name, description: source.description)
            }
            if let sink = devices.sink(called: name), let monitor = monitor(of: sink) { return monitor }
            if let source = devices.sources.first(where: { $0.description == name }) {
                return .source(name: source.name, description: source.description)
            }
            return .none(.noDevice(name: name))
        }
    }

    private func monitor(of sink: PulseDevices.Sink) -> SoundChoice? {
        sink.monitor.map { .source(name: $0, description: sink.description) }
    }
}
