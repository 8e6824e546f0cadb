import BeamMedia

/// Captures a monitor of a Wayland compositor through ext-image-copy-capture or wlr-screencopy (sway, labwc and others that
/// are made with wlroots), as soon as something changes and at most at the given frame rate. Nobody is asked.
///
/// Pictures are BGRX in a pool of `FrameStore.limit` buffers. While all of them are in use, capturing waits.
public final class WlrSource: PictureSource, @unchecked Sendable {
    // Sendable: `init` builds `loop`, after which only the thread in `run` uses it. The rest is immutable.

    public let info: SourceInfo
    private let control: CaptureControl
    private let loop: WlrLoop

    /// Connects to the compositor and finds the monitor. Throws if there is no compositor, if it doesn't let programs capture
    /// its outputs this way, or if it has no such monitor or region.
    public init(_ options: WlrOptions) throws(CaptureError) {
        guard let control = CaptureControl() else { throw .noFileDescriptors }
        let connection = try WaylandConnection(options.display)
        let outputs = Self.outputs(connection)
        let output = try outputs.choose(options.monitor)
        let bounds = PixelRect(output.uprightSize)
        if let region = options.region, region.isEmpty || !bounds.contains(region) {
            throw .regionOffScreen(region, screen: bounds.size)
        }
        self.control = control
        loop = WlrLoop(connection, control, outputs, name: output.name, options)
        let part = options.region.map { ", region \($0)" } ?? ""
        info = SourceInfo(
            description: "Wayland display \(connection.name), monitor \(output.name)\(part)",
            size: (options.region ?? bounds).size, frameRate: options.maxFrameRate)
    }

    public func run(deliver: (Picture) -> Void) throws(CaptureError) {
        CaptureControl.enterThread()
        try loop.run(deliver: deliver)
    }

    public func onVisibility(_ handler: @escaping @Sendable (SourceVisibility) -> Void) {
        loop.onVisibility = handler
    }

    public func setActive(_ active: Bool) { control.setActive(active) }

    public func stop() { control.stop() }

    /// The monitors of a compositor (nil: the environment's) that are on, a line for each: "0: HDMI-A-1 (1920x1080)".
    public static func monitors(display: String? = nil) throws(CaptureError) -> [String] {
        outputs(try WaylandConnection(display)).descriptions
    }

    private static func outputs(_ connection: WaylandConnection) -> OutputList {
        var outputs = OutputList()
        while let event = connection.nextEvent() {
            switch event {
            case .outputChanged(let output): outputs.update(output)
            case .outputGone(let id): outputs.remove(id)
            default: break
            }
        }
        return outputs
    }
}
