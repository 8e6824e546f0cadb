import BeamBus
import BeamClock
import BeamMedia
import Glibc

/// Captures what the person has chosen in a Wayland desktop's own dialog, as soon as something changes and at most at the
/// given frame rate.
///
/// Pictures are BGRX in a pool of `FrameStore.limit` buffers. While all of them are in use, capturing waits.
public final class PortalSource: PictureSource, @unchecked Sendable {
    // Sendable: `init` builds `loop`, after which only the thread in `run` uses it. The rest is immutable.

    public let info: SourceInfo
    private let control: CaptureControl
    private let loop: PortalLoop

    /// Whether this process was started in a Wayland session, by its environment.
    public static var isInWaylandSession: Bool {
        XWayland.environmentNames { getenv($0).map { String(cString: $0) } }
    }

    /// Which version of ScreenCast the desktop's portal has, and whether it remembers that the person agreed. Asks nobody,
    /// and waits 30 s at most for each answer.
    public static func portal(buses: BusAddresses) throws(PortalTrouble) -> (version: UInt32, remembers: Bool) {
        let offer = try PortalSession.offer(
            PortalOptions(drawsCursor: true, maxFrameRate: 60, tokens: .none, buses: buses))
        return (offer.version, offer.remembers)
    }

    /// Asks the desktop. That takes as long as the person needs for its dialog; each other answer is waited for 30 s at
    /// most.
    ///
    /// - Parameters:
    ///   - isWanted: asked while this waits; no ends it.
    ///   - say: tells the person what to do.
    public init(
        _ options: PortalOptions, while isWanted: @escaping () -> Bool = { true },
        say: @escaping (String) -> Void = { _ in }
    ) throws(CaptureError) {
        guard let control = CaptureControl() else { throw .noFileDescriptors }
        let capture = try PortalCapture(options, while: isWanted, say: say)
        self.control = control
        info = SourceInfo(
            description: capture.description, size: capture.layout.size, frameRate: options.maxFrameRate,
            warnings: capture.warnings)
        loop = PortalLoop(capture, options, control)
    }

    public func run(deliver: (Picture) -> Void) throws(CaptureError) {
        CaptureControl.enterThread()
        try loop.run(deliver: deliver)
    }

    public func onVisibility(_ handler: @escaping @Sendable (SourceVisibility) -> Void) { loop.onVisibility = handler }

    public var tellsPointer: Bool { loop.tellsPointer }

    public func onPointer(_ handler: @escaping @Sendable (ScreenPointer) -> Void) { loop.teller.handler = handler }

    public func setPointerApart(_ isApart: Bool) { control.setPointerApart(isApart) }

    public func setActive(_ active: Bool) { control.setActive(active) }

    public func setScreenLocked(_ isLocked: Bool) { control.setScreenLocked(isLocked) }

    public func stop() { control.stop() }
}
