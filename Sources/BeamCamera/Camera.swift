import BeamClock
import BeamMedia
import CBeamCamera
import Glibc
import Synchronization

/// Shows decoded pictures to other programs as a camera, on a thread of its own: the newest one, and it again while nothing
/// changes.
public final class Camera: Sendable {
    /// Where programs find the camera.
    public enum Place: Sendable, Hashable {
        /// A device of v4l2loopback, by its path.
        case device(path: String)
        /// PipeWire, under a name.
        case desktop(name: String)
    }

    public struct Handlers: Sendable {
        /// The first picture is shown.
        public var onShown: @Sendable () -> Void
        /// PipeWire has ended, or refuses the camera, which appears again as soon as that is over.
        public var onLost: @Sendable () -> Void
        /// The camera has ended.
        public var onFailure: @Sendable (CameraError) -> Void

        public init(
            onShown: @escaping @Sendable () -> Void, onLost: @escaping @Sendable () -> Void,
            onFailure: @escaping @Sendable (CameraError) -> Void
        ) {
            self.onShown = onShown
            self.onLost = onLost
            self.onFailure = onFailure
        }
    }

    /// A program that begins to read gets its first picture within this time. A webcam sends 15 to 60 pictures a second, and
    /// programs take one for broken that is silent for long; this is three pictures of the usual 30.
    static let repetition = Duration.milliseconds(100)

    private enum Phase {
        case idle
        case running(StageThread)
        case stopped
    }

    private let inbox: CameraInbox
    private let parcel: Parcel<CameraWork>
    private let phase = Mutex(Phase.idle)

    /// Opens the device, or connects to PipeWire.
    ///
    /// - Parameter size: the size of the camera's pictures, made even; nil: that of the pictures. A device keeps the size of
    ///   the first picture.
    public init(_ place: Place, size: PixelSize? = nil, handlers: Handlers) throws(CameraError) {
        let inbox = CameraInbox()
        self.inbox = inbox
        let size = CameraSize(fixed: size)
        let output: any CameraOutput
        switch place {
        case .device(let path): output = try LoopbackDevice(path: path, size: size)
        case .desktop(let name):
            output = try PipeWireSource(name: name, size: size, onLost: { handlers.onLost() })
        }
        parcel = Parcel(CameraWork(output, inbox, handlers))
    }

    public func start() {
        phase.withLock { phase in
            guard case .idle = phase else { return }
            let parcel = self.parcel
            phase = .running(StageThread("beam-camera") { parcel.take()?.run() })
        }
    }

    /// Shows `picture` (i420 or i444) in place of the last one. Never waits.
    public func push(_ picture: Picture) { inbox.put(picture) }

    /// While it is hidden, the camera is black. Never waits.
    public func setHidden(_ isHidden: Bool) { inbox.setHidden(isHidden) }

    /// The camera goes black, and ends.
    public func stop() {
        inbox.close()
        let before = phase.withLock { phase in
            defer { phase = .stopped }
            return phase
        }
        if case .running(let thread) = before { thread.join() } else { _ = parcel.take() }
    }
}

/// What a camera's thread is given by others.
final class CameraInbox: Sendable {
    private let pictures = LatestSlot<Picture>()
    private let isHidden = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)
    /// An eventfd, so that the thread can wait for PipeWire at the same time.
    let descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))

    deinit { Glibc.close(descriptor) }

    func put(_ picture: Picture) { if pictures.put(picture) { wake() } }

    func setHidden(_ isHidden: Bool) {
        if self.isHidden.exchange(isHidden, ordering: .acquiringAndReleasing) != isHidden { wake() }
    }

    func close() {
        pictures.close()
        isClosed.store(true, ordering: .releasing)
        wake()
    }

    private func wake() { eventfd_write(descriptor, 1) }

    struct News {
        /// Nil: no new one.
        var picture: Picture?
        var isHidden: Bool
        var isClosed: Bool
    }

    /// What has come since the last call.
    func take() -> News {
        // First, so that what comes meanwhile wakes the thread again.
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
        return News(
            picture: pictures.takeIfPresent(), isHidden: isHidden.load(ordering: .acquiring),
            isClosed: isClosed.load(ordering: .acquiring))
    }
}

/// The camera's thread.
final class CameraWork {
    private let output: any CameraOutput
    private let inbox: CameraInbox
    private let handlers: Camera.Handlers
    private var last: Picture?
    private var isHidden = false
    private var hasShown = false

    init(_ output: any CameraOutput, _ inbox: CameraInbox, _ handlers: Camera.Handlers) {
        self.output = output
        self.inbox = inbox
        self.handlers = handlers
    }

    func run() {
        output.enter()
        defer { output.leave() }
        do throws(CameraError) {
            var due = MediaTime.now
            while true {
                wait(until: due)
                let isWanted = try output.turn()
                let news = inbox.take()
                if news.isClosed { return try end() }
                let isNews = news.picture != nil || news.isHidden != isHidden
                last = news.picture ?? last
                isHidden = news.isHidden
                guard isNews || isWanted || MediaTime.now >= due else { continue }
                due = .now + Camera.repetition
                try show()
            }
        } catch {
            handlers.onFailure(error)
        }
    }

    private func show() throws(CameraError) {
        guard let last else { return }
        try output.show(last, isHidden: isHidden)
        if !hasShown { handlers.onShown() }
        hasShown = true
    }

    /// Programs that keep the last picture of a camera that has ended keep black.
    private func end() throws(CameraError) {
        if hasShown, let last { try output.show(last, isHidden: true) }
    }

    private func wait(until deadline: MediaTime) {
        var entries = [pollfd(fd: inbox.descriptor, events: Int16(POLLIN), revents: 0)]
        if let descriptor = output.descriptor {
            entries.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        }
        // One more, so that it isn't called again and again in the last millisecond.
        let left = max(.zero, deadline - .now).inMilliseconds64 + 1
        poll(&entries, nfds_t(entries.count), CInt(clamping: left))
    }
}
