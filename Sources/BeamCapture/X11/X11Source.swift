import BeamMedia

/// Captures an X11 display or a part of it through memory shared with the X server, as soon as something changes and at
/// most at the given frame rate.
///
/// Pictures are BGRX in a pool of `FrameStore.limit` buffers. While all of them are in use, capturing waits.
public final class X11Source: PictureSource, @unchecked Sendable {
    // Sendable: `init` builds `loop`, after which only the thread in `run` uses it. The rest is immutable.

    public let info: SourceInfo
    private let control: CaptureControl
    private let loop: CaptureLoop
    /// Nil: there is none.
    private let frame: ShareFrame?

    /// Opens the display and locates what is to be captured. Throws if the display can't be opened or read, or has no
    /// such monitor, window or region.
    public init(_ options: X11Options) throws(CaptureError) {
        let parts = try withoutBrokenPipeSignal { () throws(CaptureError) in try Parts(options) }
        control = parts.connection.control
        info = parts.info
        frame = try Self.frame(options, parts)
        loop = CaptureLoop(
            parts.connection, area: parts.area, target: parts.target, damage: parts.damage, pointer: parts.pointer,
            grabber: parts.grabber, maxFrameRate: options.maxFrameRate)
    }

    public func run(deliver: (Picture) -> Void) throws(CaptureError) {
        CaptureControl.enterThread()
        frame?.start()
        defer { frame?.stop() }
        try withoutBrokenPipeSignal { () throws(CaptureError) in try loop.run(deliver: deliver) }
    }

    public func onVisibility(_ handler: @escaping @Sendable (SourceVisibility) -> Void) {
        loop.onVisibility = handler
    }

    public var tellsPointer: Bool { loop.tellsPointer }

    public func onPointer(_ handler: @escaping @Sendable (ScreenPointer) -> Void) { loop.teller.handler = handler }

    public func setPointerApart(_ isApart: Bool) { control.setPointerApart(isApart) }

    public func setActive(_ active: Bool) { control.setActive(active) }

    public func setPaused(_ isPaused: Bool) { frame?.setPaused(isPaused) }

    public func stop() { control.stop() }

    /// The monitors of a display (nil: the environment's) in the server's order; empty if the server has no XRandR 1.5.
    public static func monitors(display: String? = nil) throws(CaptureError) -> [Monitor] {
        try withoutBrokenPipeSignal { () throws(CaptureError) in
            let connection = try XConnection(display: display, control: makeControl())
            return try connection.orEnd { () throws(XFailure) in try connection.monitors() }
        }
    }

    static func makeControl() throws(CaptureError) -> CaptureControl {
        guard let control = CaptureControl() else { throw .noFileDescriptors }
        return control
    }

    private static func frame(_ options: X11Options, _ parts: Parts) throws(CaptureError) -> ShareFrame? {
        guard options.showsFrame else { return nil }
        let subject: ShareFrame.Subject
        if case .region(let region) = options.area {
            subject = .region(region)
        } else if let area = parts.area as? WindowArea {
            subject = .window(area.window, isApart: area.isRedirected)
        } else {
            return nil
        }
        return try ShareFrame(subject, display: parts.connection.name)
    }

    private struct Parts {
        let connection: XConnection
        let area: any CaptureArea
        let target: CaptureTarget
        let damage: any DamageSource
        let pointer: PointerOverlay?
        let grabber: Grabber
        let info: SourceInfo

        init(_ options: X11Options) throws(CaptureError) {
            let connection = try XConnection(display: options.display, control: makeControl())
            self.connection = connection
            let name = connection.name
            let wanted: UInt32? =
                switch options.area {
                case .window(let number): number
                case .windowNamed(let text): try connection.window(named: text)
                case .screen, .monitor, .region: nil
                }
            if let window = wanted, window != connection.root {
                area = try WindowArea(connection, window)
            } else {
                let isHidden = try connection.orEnd { () throws(XFailure) in
                    try XWayland.hidesScreen(connection, isDefaultDisplay: options.display == nil)
                }
                if isHidden { throw .waylandDesktop(display: name) }
                area = try ScreenArea(connection, options.area)
            }
            var warnings = area.warnings
            do throws(AreaFailure) {
                target = try area.resolve()
            } catch {
                switch error {
                case .ended(let error), .absent(_, let error): throw error
                case .x(let failure): throw connection.captureError(failure)
                }
            }
            let obstacle = try SharedSegment.obstacle(connection)
            if let obstacle {
                warnings.append(
                    "The display \(name) has to send its pixels through the connection, which is slower and needs more CPU time: "
                        + "\(obstacle). Share on the machine that runs the X server, if you can.")
            }
            let grabber = Grabber(connection, isShared: obstacle == nil)
            self.grabber = grabber
            let hasRegions = connection.extensions.xfixes != nil
            if connection.extensions.damage != nil, hasRegions {
                let window = area.damageWindow
                damage = try connection.orEnd { () throws(XFailure) in
                    try ReportedDamage(connection, window: window, grabber: grabber)
                }
            } else {
                warnings.append(
                    "The display \(name) doesn't report changes (no DAMAGE or XFIXES extension): the whole picture is "
                        + "fetched and compared for every frame, which needs a lot of CPU time.")
                damage = ComparedDamage(grabber)
            }
            if options.drawsCursor, !hasRegions {
                warnings.append(
                    "The display \(name) doesn't provide the pointer's image (no XFIXES extension): "
                        + "the pointer isn't shared.")
            }
            pointer =
                options.drawsCursor && hasRegions
                ? PointerOverlay(connection, usesEvents: options.usesPointerEvents) : nil
            info = SourceInfo(
                description: "display \(name), \(area.description)", size: target.size, frameRate: options.maxFrameRate,
                warnings: warnings)
        }
    }
}
