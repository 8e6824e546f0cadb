import BeamMedia
import CXCB

/// An X11 display, or a part of it: grabbed through memory shared with the X server, as soon as something changes and no more
/// often than the frame rate allows.
///
/// Pictures are BGRX, in a few buffers of the source's own; where every one of them is held, capturing waits.
public final class X11Source: PictureSource, @unchecked Sendable {
    // Sendable: `loop` is built by `init`; from then on only the thread in `run` touches it. The rest is immutable.

    public let info: SourceInfo
    private let control: CaptureControl
    private let loop: CaptureLoop

    /// Opens the display and finds what is to be captured.
    ///
    /// Throws when the display can't be opened or read, or has no such monitor, window or region.
    public init(_ options: X11Options) throws(CaptureError) {
        let parts = try withoutBrokenPipeSignal { () throws(CaptureError) in try Parts(options) }
        control = parts.connection.control
        info = parts.info
        loop = CaptureLoop(
            parts.connection, area: parts.area, target: parts.target, damage: parts.damage, pointer: parts.pointer,
            grabber: parts.grabber, maxFrameRate: options.maxFrameRate)
    }

    public func run(deliver: (Picture) -> Void) throws(CaptureError) {
        // The default is 50 µs late; a picture that is due shouldn't be.
        beam_set_timer_slack(1)
        try withoutBrokenPipeSignal { () throws(CaptureError) in try loop.run(deliver: deliver) }
    }

    public func setActive(_ active: Bool) { control.setActive(active) }

    public func stop() { control.stop() }

    /// The monitors of a display (nil: the environment's) in the server's order; empty where it doesn't tell (XRandR 1.5).
    public static func monitors(display: String? = nil) throws(CaptureError) -> [Monitor] {
        try withoutBrokenPipeSignal { () throws(CaptureError) in
            let connection = try XConnection(display: display, control: makeControl())
            return try connection.orEnd { () throws(XFailure) in try connection.monitors() }
        }
    }

    private static func makeControl() throws(CaptureError) -> CaptureControl {
        guard let control = CaptureControl() else { throw .noFileDescriptors }
        return control
    }

    /// What the loop is made of.
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
            if case .window(let window) = options.area {
                area = try WindowArea(connection, window)
            } else {
                area = try ScreenArea(connection, options.area)
            }
            var warnings = area.warnings
            do throws(AreaFailure) {
                target = try area.resolve()
            } catch {
                switch error {
                case .ended(let error), .absent(let error): throw error
                case .x(let failure): throw connection.captureError(failure)
                }
            }
            let obstacle = try SharedSegment.obstacle(connection)
            if let obstacle {
                warnings.append(
                    "The display \(name) gives its pictures through the connection, which takes more time and processor: "
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
                    "The display \(name) doesn't tell what changes (no DAMAGE or XFIXES extension): the whole picture is "
                        + "fetched and compared all the time, which takes a lot of processor.")
                damage = ComparedDamage(grabber)
            }
            if options.drawsCursor, !hasRegions {
                warnings.append("The display \(name) doesn't show its pointer's picture (no XFIXES extension).")
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
