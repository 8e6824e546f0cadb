import BeamMedia

/// An output of a Wayland compositor.
struct WaylandOutput: Equatable {
    /// The compositor's number, for as long as the output is there.
    var id: UInt32
    var name: String
    /// Of its mode, in pixels, before it is turned.
    var size: PixelSize
    var turn: OutputTurn
    /// In hertz; nil: unknown.
    var refreshRate: Double?

    /// As a person sees it.
    var uprightSize: PixelSize { turn.upright(size) }
}

/// The outputs that a compositor has announced.
struct OutputList {
    private var outputs: [WaylandOutput] = []

    mutating func update(_ output: WaylandOutput) {
        if let index = outputs.firstIndex(where: { $0.id == output.id }) {
            outputs[index] = output
        } else {
            outputs.append(output)
        }
    }

    mutating func remove(_ id: UInt32) { outputs.removeAll { $0.id == id } }

    /// Those that are on, in the compositor's order.
    private var usable: [WaylandOutput] { outputs.filter { $0.size.width > 0 && $0.size.height > 0 } }

    subscript(name: String) -> WaylandOutput? { usable.first { $0.name == name } }

    /// "0: HDMI-A-1 (1920x1080)", as people choose them.
    var descriptions: [String] {
        usable.enumerated().map { "\($0): \($1.name) (\($1.uprightSize))" }
    }

    /// The output with this name or number; nil: the only one.
    func choose(_ wanted: String?) throws(CaptureError) -> WaylandOutput {
        let all = usable
        guard let wanted else {
            guard all.count == 1 else { throw .severalMonitors(descriptions) }
            return all[0]
        }
        if let named = self[wanted] { return named }
        guard let number = Int(wanted), all.indices.contains(number) else {
            throw .noSuchMonitor(wanted, available: descriptions)
        }
        return all[number]
    }
}
