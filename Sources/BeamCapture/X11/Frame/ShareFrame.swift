import BeamClock
import BeamMedia
import CXCB
import Synchronization

/// Frames on the screen what is shared, so that its person sees it.
///
/// It has a thread and a connection of its own, so that the capture neither waits for it nor is woken by it. Where it
/// isn't possible (a server without XFIXES, whose windows would take clicks), there is none, and nothing is said.
final class ShareFrame: Sendable {
    enum Subject: Sendable {
        case region(PixelRect)
        /// - Parameter isApart: other windows over it aren't in its picture.
        case window(UInt32, isApart: Bool)
    }

    /// How long `stop` waits for the thread. The server may hang.
    private static let stopTimeout = Duration.seconds(1)

    private let display: String
    private let subject: Subject
    /// Inactive: the share is paused.
    private let control: CaptureControl
    private let thread = Mutex<StageThread?>(nil)

    /// - Parameter display: in DISPLAY's syntax.
    init(_ subject: Subject, display: String) throws(CaptureError) {
        self.subject = subject
        self.display = display
        control = try X11Source.makeControl()
        control.setActive(true)
    }

    func start() {
        thread.withLock { thread in
            thread =
                thread
                ?? StageThread("beam-frame") { [display, subject, control] in
                    withoutBrokenPipeSignal {
                        // What fails here, fails for the capture, too, which says so.
                        guard let connection = try? XConnection(display: display, control: control) else { return }
                        try? FrameLoop(connection, subject)?.run()
                    }
                }
        }
    }

    func setPaused(_ isPaused: Bool) { control.setActive(!isPaused) }

    /// Takes the frame away.
    func stop() {
        control.stop()
        _ = thread.withLock { $0.take() }?.join(until: .now + Self.stopTimeout)
    }
}

/// The frame's work; all on its thread.
private final class FrameLoop {
    /// While a window is dragged, its frame follows no more often than this.
    private static let interval = Duration.milliseconds(10)
    /// Other windows that come to the top are looked for no more often than this: another program may insist on being
    /// there, too.
    private static let orderInterval = Duration.milliseconds(250)

    private let connection: XConnection
    private let subject: any FrameSubject
    private let bars: FrameBars
    private var style = FrameBars.Style()

    private var isOutdated = true
    private var isOrderOutdated = false
    private var isScaleOutdated = true
    private var hasEnded = false
    private var (nextPlace, nextOrder) = (MediaTime.zero, MediaTime.zero)

    /// Nil: there is to be no frame.
    init?(_ connection: XConnection, _ subject: ShareFrame.Subject) throws(XFailure) {
        guard connection.extensions.xfixes != nil else { return nil }
        self.connection = connection
        let mask =
            XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY.rawValue
            | XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue
        xcb_change_window_attributes(connection.raw, connection.root, XCB_CW_EVENT_MASK.rawValue, [mask])
        switch subject {
        case .region(let region): self.subject = FramedRegion(connection, region)
        case .window(let window, let isApart):
            guard let framed = try FramedWindow(connection, window, isApart: isApart) else { return nil }
            self.subject = framed
        }
        bars = try FrameBars(connection)
    }

    /// Returns when the capture stops, or when what is shared or the server has gone.
    func run() throws(XFailure) {
        while !connection.control.isStopped, !connection.isBroken {
            try takeEvents()
            if hasEnded { return }
            let isPaused = connection.control.activation == nil
            if isPaused != style.isPaused {
                style.isPaused = isPaused
                isOutdated = true
            }
            let now = MediaTime.now
            if isOutdated, now >= nextPlace {
                nextPlace = now + Self.interval
                try place()
            }
            if isOrderOutdated, now >= nextOrder {
                nextOrder = now + Self.orderInterval
                try putInOrder()
            }
            let due = [isOutdated ? nextPlace : nil, isOrderOutdated ? nextOrder : nil].compactMap { $0 }.min()
            connection.wait(until: due)
        }
    }

    private func takeEvents() throws(XFailure) {
        while let event = connection.nextEvent() {
            if subject.hasEnded(with: event) { return hasEnded = true }
            if try subject.isMoved(by: event) { isOutdated = true }
            switch event {
            case .configured(let window), .shown(let window), .reparented(let window):
                if !bars.contains(window) { isOrderOutdated = true }
            case .propertyChanged(connection.root, XCB_ATOM_RESOURCE_MANAGER.rawValue):
                (isScaleOutdated, isOutdated) = (true, true)
            default: break
            }
        }
    }

    private func place() throws(XFailure) {
        isOutdated = false
        if isScaleOutdated {
            isScaleOutdated = false
            let scale = try connection.desktopScale()
            style.thickness = Int((Double(FrameShape.thickness) * scale).rounded())
        }
        let rects: [PixelRect]
        do throws(XFailure) {
            rects = try subject.bars(thickness: style.thickness)
        } catch {
            // The window has gone, of which an event follows.
            guard case .refused = error else { throw error }
            rects = []
        }
        if bars.show(rects, style) { bars.raise(above: subject.sibling) }
        // The window may have been raised with the same event.
        if subject.sibling != nil { try putInOrder() }
    }

    private func putInOrder() throws(XFailure) {
        isOrderOutdated = false
        let shown = bars.shown
        guard !shown.isEmpty else { return }
        let children = try connection.children(of: connection.root)
        let isInOrder: Bool
        if let sibling = subject.sibling {
            guard let place = children.firstIndex(of: sibling) else { return }
            isInOrder = Set(children[(place + 1)...].prefix(shown.count)) == Set(shown.map(\.window))
        } else {
            isInOrder = try !isCovered(shown.map(\.rect), by: children)
        }
        if !isInOrder { bars.raise(above: subject.sibling) }
    }

    /// Whether something that is above one of the bars lies over one.
    private func isCovered(_ rects: [PixelRect], by children: [xcb_window_t]) throws(XFailure) -> Bool {
        guard let lowest = children.firstIndex(where: bars.contains) else { return false }
        let above = Set(children[lowest...].filter { !bars.contains($0) })
        guard !above.isEmpty else { return false }
        return try connection.topLevels().contains { other in
            above.contains(other.window) && rects.contains { $0.intersects(other.frame) }
        }
    }
}
